/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  The shared memory of a run, and how a run is found.  See shared.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/shmem.h"

#include "core/clock.h"
#include "server/shared.h"
#include "server/tranche.h"

#define NN_SHARED_MAGIC		0x6e6f6973	/* "nois" */

/*
 * Tags in the lock table.  LOCKTAG_USERLOCK is not used by the server itself and cannot
 * meet an advisory lock.  The claim has one tag for the whole cluster; the advertisement has the
 * database in field1, the segment's handle in field2 and the run's id in field3.
 */
#define NN_LOCK_CLAIM		0x4e4e
#define NN_LOCK_RUN			0x4e52
#define NN_LOCK_CALIBRATION	0x4e43

static const char *const run_state_names[] = {
	[NN_RUN_STARTING] = "starting",
	[NN_RUN_RUNNING] = "running",
	[NN_RUN_COMPLETED] = "completed",
	[NN_RUN_STOPPED] = "stopped",
	[NN_RUN_CANCELLED] = "cancelled",
	[NN_RUN_FAILED] = "failed",
	[NN_RUN_ABORTED] = "aborted",
};

const char *
nn_run_state_name(NnRunState state)
{
	return run_state_names[state];
}

static const char *const process_kind_names[NN_PROCESS_KINDS] = {
	[NN_PROCESS_WORKLOAD] = "workload",
	[NN_PROCESS_CLIENT] = "other clients",
	[NN_PROCESS_CHECKPOINTER] = "checkpointer",
	[NN_PROCESS_BGWRITER] = "background writer",
	[NN_PROCESS_WALWRITER] = "walwriter",
	[NN_PROCESS_AUTOVACUUM] = "autovacuum",
	[NN_PROCESS_OTHER] = "other"
};

const char *
nn_process_kind_name(NnProcessKind kind)
{
	return process_kind_names[kind];
}

/* Reserve room for n objects at the end of the segment; returns their offset. */
static Size
reserve(Size *size, Size n, Size object_size)
{
	Size		offset = *size;

	*size = add_size(offset, MAXALIGN(mul_size(n, object_size)));
	return offset;
}

/* The same for a string; 0 for NULL. */
static Size
reserve_string(Size *size, const char *string)
{
	return string ? reserve(size, strlen(string) + 1, 1) : 0;
}

static void
copy_string(NnShared *shared, Size offset, const char *string)
{
	if (string)
		strcpy((char *) shared + offset, string);
}

static void
init_lock_probe(NnShared *shared)
{
	NnLockProbe *lock = nn_shared_lock_probe(shared);

	lock->hold_ns = shared->request.lock_probe_hold_ns;
	lock->period_ns = shared->request.lock_probe_period_ns;
	LWLockInitialize(&lock->lock, nn_tranche_obtain());
	pg_atomic_init_u32(&lock->version, 0);
	pg_atomic_init_u64(&lock->on_ns, 0);
	pg_atomic_init_u64(&lock->off_ns, 0);
	pg_atomic_init_u64(&lock->free_ns, 0);
	pg_atomic_init_u64(&lock->heir_ns, 0);
	pg_atomic_init_u64(&lock->until_ns, 0);
	pg_atomic_init_u32(&lock->held, 0);
}

/* Workers stand in this order: noise, workload, lock probe, sample. */
static void
init_workers(NnShared *shared)
{
	const NnRequest *request = &shared->request;
	int			first_probe = shared->n_workers - 1 - request->lock_probe_workers;

	for (int i = 0; i < shared->n_workers; i++)
	{
		NnWorkerSlot *slot = &nn_shared_workers(shared)[i];

		slot->kind = i < request->n_noise_workers ? NN_WORKER_NOISE :
			i < first_probe ? NN_WORKER_WORKLOAD :
			i < shared->n_workers - 1 ? NN_WORKER_LOCK_PROBE : NN_WORKER_SAMPLE;
		slot->index = slot->kind == NN_WORKER_NOISE ? i :
			slot->kind == NN_WORKER_LOCK_PROBE ? i - first_probe : 0;
		pg_atomic_init_u32(&slot->state, NN_WORKER_REGISTERED);
		pg_atomic_init_u32(&slot->procno, 0);
		pg_atomic_init_u32(&slot->pid, 0);
		pg_atomic_init_u64(&slot->done_seq, 0);
		pg_atomic_init_u64(&slot->cpu_ns, 0);
	}
}

/*
 * Create the segment of a run and fill in what is immutable.  The mapping
 * belongs to the current resource owner.  conninfo and label may be NULL.
 */
NnShared *
nn_shared_create(const NnRequest *request, const NnPlanBlock *plan,
				 const NnLoadThread *load_threads, const char *conninfo,
				 const char *label, const char *parameters,
				 dsm_segment **segment)
{
	NnShared	layout;
	NnShared   *shared;
	Size		size = MAXALIGN(sizeof(NnShared));

	memset(&layout, 0, sizeof(layout));
	layout.n_workers = request->n_noise_workers + (request->has_workload ? 1 : 0) +
		request->lock_probe_workers + 1;
	layout.plan_offset = reserve(&size, request->n_blocks, sizeof(NnPlanBlock));
	layout.summaries_offset = reserve(&size, add_size(request->n_blocks, request->max_repeats),
									  sizeof(NnBlockSummary));
	layout.load_threads_offset = reserve(&size, request->n_load_threads, sizeof(NnLoadThread));
	layout.dose_seconds_offset =
		reserve(&size, mul_size(request->n_load_threads, request->max_seconds),
				sizeof(NnDoseSecond));
	layout.workload_seconds_offset =
		reserve(&size, request->max_seconds, sizeof(NnWorkloadSecond));
	layout.host_seconds_offset = reserve(&size, request->max_seconds, sizeof(NnHostSecond));
	layout.workers_offset = reserve(&size, layout.n_workers, sizeof(NnWorkerSlot));
	layout.lock_probe_offset = request->lock_probe_workers == 0 ? size :
		reserve(&size, 1, add_size(offsetof(NnLockProbe, results),
								   mul_size(request->lock_probe_workers, sizeof(NnLockProbeResult))));
	layout.conninfo_offset = reserve_string(&size, conninfo);
	layout.label_offset = reserve_string(&size, label);
	layout.parameters_offset = reserve_string(&size, parameters);
	layout.size = size;

	*segment = dsm_create(size, 0);
	shared = dsm_segment_address(*segment);
	memset(shared, 0, size);
	*shared = layout;
	shared->request = *request;

	memcpy(nn_shared_plan(shared), plan, request->n_blocks * sizeof(NnPlanBlock));
	if (request->n_load_threads > 0)
		memcpy(nn_shared_load_threads(shared), load_threads,
			   request->n_load_threads * sizeof(NnLoadThread));
	copy_string(shared, shared->conninfo_offset, conninfo);
	copy_string(shared, shared->label_offset, label);
	copy_string(shared, shared->parameters_offset, parameters);

	init_workers(shared);
	if (request->lock_probe_workers > 0)
		init_lock_probe(shared);

	pg_atomic_init_u32(&shared->stop, NN_STOP_NONE);
	pg_atomic_init_u64(&shared->hard_deadline_ns, 0);
	pg_atomic_init_u64(&shared->order_seq, 0);
	pg_atomic_init_u32(&shared->band_mark, 0);
	pg_atomic_init_u32(&shared->conductor_pid, 0);
	pg_atomic_init_u32(&shared->conductor_procno, 0);
	SpinLockInit(&shared->mutex);
	shared->state = NN_RUN_STARTING;
	strlcpy(shared->phase, "starting", sizeof(shared->phase));
	shared->blocks = request->n_blocks;
	shared->live_tps = NAN;
	shared->live_p99_ms = NAN;
	shared->waiter_procno = -1;
	shared->started_ns = nn_now_ns();
	pg_write_barrier();
	shared->magic = NN_SHARED_MAGIC;
	return shared;
}

/*
 * Attach to a run's segment.  NULL when it has gone, or is not one of ours.  "segment" is
 * set to NULL where this process had it attached already.
 */
NnShared *
nn_shared_attach(dsm_handle handle, dsm_segment **segment)
{
	dsm_segment *found = dsm_find_mapping(handle);
	NnShared   *shared;

	*segment = NULL;
	if (found == NULL)
	{
		found = dsm_attach(handle);
		if (found == NULL)
			return NULL;
		*segment = found;
	}
	shared = dsm_segment_address(found);
	if (dsm_segment_map_length(found) < sizeof(NnShared) || shared->magic != NN_SHARED_MAGIC)
	{
		if (*segment)
			dsm_detach(*segment);
		*segment = NULL;
		return NULL;
	}
	if (shared->request.lock_probe_workers > 0)
		nn_tranche_learn(nn_shared_lock_probe(shared)->lock.tranche);
	return shared;
}

/* Ask a run to end. Returns whether this was the first to ask. */
bool
nn_shared_request_stop(NnShared *shared, NnStopReason reason)
{
	uint32		expected = NN_STOP_NONE;

	return pg_atomic_compare_exchange_u32(&shared->stop, &expected, reason);
}

bool
nn_shared_must_stop(NnShared *shared)
{
	uint64		deadline_ns;

	if (pg_atomic_read_u32(&shared->stop) != NN_STOP_NONE)
		return true;
	deadline_ns = pg_atomic_read_u64(&shared->hard_deadline_ns);
	return deadline_ns != 0 && nn_now_ns() > deadline_ns;
}

static void
set_lock_tag(LOCKTAG *tag, uint32 field1, uint32 field2, uint32 field3, uint16 field4)
{
	SET_LOCKTAG_ADVISORY(*tag, field1, field2, field3, field4);
	tag->locktag_type = LOCKTAG_USERLOCK;
}

/* Take the lock that only one load generator of the cluster can have. Kept until the process ends. */
bool
nn_live_run_claim(void)
{
	LOCKTAG		tag;

	set_lock_tag(&tag, 0, 0, 0, NN_LOCK_CLAIM);
	return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Make the run known to nn_live_run_find(). Kept until the process ends. */
void
nn_live_run_advertise(dsm_handle handle, int64 run_id)
{
	LOCKTAG		tag;

	set_lock_tag(&tag, MyDatabaseId, handle, (uint32) run_id, NN_LOCK_RUN);
	(void) LockAcquire(&tag, ExclusiveLock, true, true);
}

/* The same for a calibration, which has no segment that others attach to. */
void
nn_live_calibration_advertise(int64 calibration_id)
{
	LOCKTAG		tag;

	set_lock_tag(&tag, MyDatabaseId, 0, (uint32) calibration_id, NN_LOCK_CALIBRATION);
	(void) LockAcquire(&tag, ExclusiveLock, true, true);
}

/*
 * Find the run that is on in this cluster.  False when there is none.
 */
bool
nn_live_run_find(NnLiveRun *live)
{
	LockData   *locks = GetLockStatusData();
	bool		found = false;

	memset(live, 0, sizeof(*live));
	for (int i = 0; i < locks->nelements; i++)
	{
		const LockInstanceData *lock = &locks->locks[i];
		const LOCKTAG *tag = &lock->locktag;

		if (tag->locktag_type != LOCKTAG_USERLOCK || lock->holdMask == 0)
			continue;
		if (tag->locktag_field4 == NN_LOCK_CLAIM && tag->locktag_field1 == 0)
		{
			live->pid = lock->pid;
			found = true;
		}
		else if (tag->locktag_field4 == NN_LOCK_RUN)
		{
			live->database_oid = tag->locktag_field1;
			live->handle = tag->locktag_field2;
			live->run_id_low = tag->locktag_field3;
		}
		else if (tag->locktag_field4 == NN_LOCK_CALIBRATION)
		{
			live->calibration_database_oid = tag->locktag_field1;
			live->calibration_id = tag->locktag_field3;
		}
	}
	pfree(locks->locks);
	pfree(locks);
	return found;
}
