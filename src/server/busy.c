/*-------------------------------------------------------------------------
 *
 * busy.c
 *	  One load at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "core/clock.h"
#include "server/busy.h"
#include "server/shared.h"

#define NN_ENDING_BOUND_NS	(5 * NN_NS_PER_S)
#define NN_CALIBRATION_BOUND_NS NN_NS_PER_S /* it does not say that it is
											 * ending */

/* Has a live run been told to end? */
static bool
is_ending(const NnLiveRun *live)
{
	dsm_segment *segment = NULL;
	NnShared   *shared = OidIsValid(live->database_oid) ? nn_shared_attach(live->handle, &segment) : NULL;
	bool		ending = shared != NULL && nn_shared_stop_reason(shared) != NN_STOP_NONE;

	if (segment)
		dsm_detach(segment);
	return ending;
}

void
nn_refuse_if_busy(void)
{
	uint64		since_ns = nn_now_ns();
	NnLiveRun	live;
	const char *where;

	for (;;)
	{
		uint64		waited_ns = nn_now_ns() - since_ns;

		if (!nn_live_run_find(&live))
			return;
		if (waited_ns > NN_ENDING_BOUND_NS ||
			(live.calibration_id ? waited_ns > NN_CALIBRATION_BOUND_NS : !is_ending(&live)))
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 20,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	if (live.calibration_id)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("a calibration is on in this cluster"),
				 errdetail("It is calibration %u in database \"%s\", carried out by process %d.",
						   live.calibration_id, get_database_name(live.calibration_database_oid), live.pid),
				 errhint("Wait for its end, or cancel the session that called noisy_calibrate().")));
	where = OidIsValid(live.database_oid) ? get_database_name(live.database_oid) : NULL;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("another run is on in this cluster"),
			 where ? errdetail("It is run %u in database \"%s\", conducted by process %d.",
							   live.run_id_low, where, live.pid) :
			 errdetail("Process %d is just starting it.", live.pid),
			 errhint("Wait for its end, or stop it with noisy_stop() in its database.")));
}
