/*-------------------------------------------------------------------------
 *
 * tranche.c
 *	  The tranche of the lock of the lock probe.  See tranche.h.
 *
 * Numbers of tranches are never given back, and there are 65536 of them; so a session obtains one and uses it again, which is
 * possible because one load at a time is on in a cluster.  The name belongs to a process: one that has
 * not learnt it shows "extension" instead.  Where the library is preloaded the server
 * keeps number and name itself, and every process knows them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"

#include "server/tranche.h"

static shmem_request_hook_type next_request_hook;
static bool requested;			/* inherited from the postmaster */
static int	obtained;			/* 0: none yet */

static void
request_tranche(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestNamedLWLockTranche(NN_LOCK_PROBE_TRANCHE, 1);
}

void
nn_tranche_request(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_tranche;
	requested = true;
}

int
nn_tranche_obtain(void)
{
	if (requested)
		return GetNamedLWLockTranche(NN_LOCK_PROBE_TRANCHE)->lock.tranche;
	if (obtained == 0)
		obtained = LWLockNewTrancheId();
	LWLockRegisterTranche(obtained, NN_LOCK_PROBE_TRANCHE);
	return obtained;
}

void
nn_tranche_learn(int tranche)
{
	if (!requested)
		LWLockRegisterTranche(tranche, NN_LOCK_PROBE_TRANCHE);
}
