/*-------------------------------------------------------------------------
 *
 * waits.c
 *	  Samples of what every process of the server waits for.
 *
 * A pass reads pid and wait event of every PGPROC, without a lock and without a
 * snapshot: both are single words that their owner stores whole.  A process
 * that comes or goes during the pass is seen or isn't; no sample is wrong by more than its own
 * moment.  A PGPROC keeps the pid of a process that has ended before
 * version 17, but not the ownership of its latch, so both must agree.  Dummies of prepared
 * transactions have neither.
 *
 * What kind of process a PGPROC belongs to is found once and remembered until its
 * pid changes.  The first max_connections of them are handed to client sessions only, so
 * that clients that come and go cost nothing.  The others are looked up: that copies the status of
 * every backend, so it happens at most every 100 ms, and samples of processes that aren't
 * looked up yet, or have no status yet, count as 'unknown'.
 *
 * Our own workers are left out, and the session that waits for the run.
 *
 * Results go straight to shared->sample.  The rest is private memory of the
 * context in which the window was started; a pass allocates nothing, except for a look-up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/proc.h"
#include "utils/backend_status.h"
#include "utils/wait_event.h"

#include "core/clock.h"
#include "sample/backends.h"
#include "sample/waits.h"
#include "server/compat.h"

#define LOOKUP_INTERVAL_NS	(100 * NN_NS_PER_MS)

#define CLASS_OF(wait_event_info)	((wait_event_info) & 0xFF000000U)

/* Slots of the hash table, a power of two; a quarter of them stays free. */
#define TABLE_SLOTS			4096
#define TABLE_MAX_ENTRIES	(TABLE_SLOTS / 4 * 3)

/* backend_types[0] and [1]; the first is also for names beyond NN_MAX_BACKEND_TYPES. */
#define TYPE_UNKNOWN		0
#define TYPE_CLIENT			1
#define TYPE_SKIPPED		(-1)

/* What we know of the process of a PGPROC. */
typedef struct ProcKind
{
	int			pid;			/* 0: none was seen */
	int16		type;			/* index of backend_types or TYPE_* */
	bool		known;
} ProcKind;

/* One (backend type, wait event); those beyond NN_MAX_WAIT_ENTRIES are only known to exist. */
typedef struct Entry
{
	int16		type;
	int16		used;
	uint32		wait_event_info;
	int32		index;			/* in result->waits, -1: no room */
	uint32		pass;			/* in which it was seen last */
	uint32		waiters;		/* in that pass */
} Entry;

/* A process as a pass found it. */
typedef struct Sighting
{
	int			proc;
	uint32		wait_event_info;
} Sighting;

struct NnWaits
{
	NnShared   *shared;
	NnKinds    *kinds;
	NnSampleResult *result;
	int			n_procs;
	ProcKind   *known;
	Sighting   *sightings;
	uint64		looked_up_ns;
	uint32		pass;
	int			n_entries;
	Entry		entries[TABLE_SLOTS];
};

NnWaits *
nn_waits_create(NnShared *shared, NnKinds *kinds)
{
	NnWaits    *waits = palloc0(sizeof(NnWaits));

	waits->shared = shared;
	waits->kinds = kinds;
	waits->result = &shared->sample;
	waits->n_procs = (int) ProcGlobal->allProcCount;
	waits->known = palloc0(sizeof(ProcKind) * waits->n_procs);
	waits->sightings = palloc0(sizeof(Sighting) * waits->n_procs);
	waits->result->n_waits = 0;
	waits->result->waits_lost = 0;
	memset(waits->result->workload_samples, 0, sizeof(waits->result->workload_samples));
	waits->result->n_backend_types = 2;
	strlcpy(waits->result->backend_types[TYPE_UNKNOWN], "unknown", NAMEDATALEN);
	strlcpy(waits->result->backend_types[TYPE_CLIENT], GetBackendTypeDesc(B_BACKEND), NAMEDATALEN);
	return waits;
}

/* Index of a backend type's name. */
static int16
type_index(NnSampleResult *result, const char *name)
{
	for (int i = 0; i < result->n_backend_types; i++)
		if (strncmp(result->backend_types[i], name, NAMEDATALEN - 1) == 0)
			return i;
	if (result->n_backend_types == NN_MAX_BACKEND_TYPES)
		return TYPE_UNKNOWN;
	strlcpy(result->backend_types[result->n_backend_types], name, NAMEDATALEN);
	return result->n_backend_types++;
}

/* As pg_stat_activity.backend_type has it. */
static const char *
type_name(const PgBackendStatus *status)
{
	if (status->st_backendType == B_BG_WORKER)
	{
		const char *name = GetBackgroundWorkerTypeByPid(status->st_procpid);

		if (name)
			return name;
	}
	return GetBackendTypeDesc(status->st_backendType);
}

/* Find the types of those processes that have none yet. */
static void
look_up_types(NnWaits *waits, int n_sightings)
{
	int			n;

	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int s = 0; s < n_sightings; s++)
	{
		ProcKind   *kind = &waits->known[waits->sightings[s].proc];

		for (int i = 1; i <= n && !kind->known; i++)
		{
			LocalPgBackendStatus *entry = nn_compat_backend_status(i);

			if (entry && entry->backendStatus.st_procpid == kind->pid)
			{
				kind->type = type_index(waits->result, type_name(&entry->backendStatus));
				kind->known = true;
			}
		}
	}
	pgstat_clear_backend_activity_snapshot();
}

/* The entry of a pair, made if need be; NULL when the table is full. */
static Entry *
find_entry(NnWaits *waits, int16 type, uint32 wait_event_info)
{
	NnSampleResult *result = waits->result;
	uint32		hash = (wait_event_info ^ ((uint32) type << 19)) * UINT32_C(0x9E3779B1);
	uint32		slot = hash >> 20;	/* the upper bits are the best mixed */
	Entry	   *entry;

	StaticAssertStmt(TABLE_SLOTS == 1 << 12, "hash gives 12 bits");
	for (;; slot = (slot + 1) % TABLE_SLOTS)
	{
		entry = &waits->entries[slot];
		if (!entry->used)
			break;
		if (entry->type == type && entry->wait_event_info == wait_event_info)
			return entry;
	}

	if (waits->n_entries == TABLE_MAX_ENTRIES)
		return NULL;
	waits->n_entries++;
	entry->used = true;
	entry->type = type;
	entry->wait_event_info = wait_event_info;
	entry->index = -1;
	if (result->n_waits == NN_MAX_WAIT_ENTRIES)
		result->waits_lost++;
	else
	{
		NnWaitCount *count = &result->waits[result->n_waits];

		entry->index = result->n_waits++;
		count->backend_type = type;
		count->wait_event_info = wait_event_info;
		count->samples = 0;
		count->max_waiters = 0;
	}
	return entry;
}

static void
count_sample(NnWaits *waits, int16 type, uint32 wait_event_info)
{
	Entry	   *entry = find_entry(waits, type, wait_event_info);
	NnWaitCount *count;

	if (entry == NULL || entry->index < 0)
		return;
	if (entry->pass != waits->pass)
	{
		entry->pass = waits->pass;
		entry->waiters = 0;
	}
	entry->waiters++;
	count = &waits->result->waits[entry->index];
	count->samples++;
	count->max_waiters = Max(count->max_waiters, entry->waiters);
}

/* Samples of the workload's own backends are counted by class as well, for its budget of time. */
static void
count_workload_sample(NnWaits *waits, const Sighting *sighting)
{
	int			pid = waits->known[sighting->proc].pid;

	if (sighting->proc < MaxConnections &&
		nn_kinds_find(waits->kinds, sighting->proc, pid) == NN_PROCESS_WORKLOAD)
		waits->result->workload_samples[nn_shared_wait_class(sighting->wait_event_info)]++;
}

/*
 * Read every PGPROC into "sightings", fast and before anything else is done, so that the
 * sample is of one moment.  Returns their number; "*unknown" tells whether there are
 * processes whose type has to be looked up, "*stale" whether there are some whose kind has to be.
 */
static int
read_procs(NnWaits *waits, bool *unknown, bool *stale)
{
	int			waiter = *(volatile int32 *) &waits->shared->waiter_procno;
	int			n = 0;

	*unknown = false;
	*stale = false;
	for (int i = 0; i < waits->n_procs; i++)
	{
		PGPROC	   *proc = GetPGProcByNumber(i);
		ProcKind   *kind = &waits->known[i];
		int			pid = nn_proc_pid(proc);
		uint32		wait_event_info = *(volatile uint32 *) &proc->wait_event_info;

		if (pid == 0)
			continue;
		if (pid != kind->pid)
		{
			kind->pid = pid;
			kind->known = true;
			if (nn_process_is_ours(waits->shared, pid))
				kind->type = TYPE_SKIPPED;
			else if (i < MaxConnections)
				kind->type = TYPE_CLIENT;
			else
			{
				kind->type = TYPE_UNKNOWN;
				kind->known = false;
			}
		}
		if (kind->type == TYPE_SKIPPED || i == waiter)
			continue;
		*stale |= nn_kinds_is_stale(waits->kinds, i, pid);
		*unknown |= !kind->known;
		waits->sightings[n].proc = i;
		waits->sightings[n].wait_event_info = wait_event_info;
		n++;
	}
	return n;
}

int
nn_waits_pass(NnWaits *waits, uint64 now_ns)
{
	bool		unknown;
	bool		stale;
	int			n = read_procs(waits, &unknown, &stale);
	int			lwlock_waiters = 0;

	if (unknown && now_ns >= waits->looked_up_ns + LOOKUP_INTERVAL_NS)
	{
		look_up_types(waits, n);
		waits->looked_up_ns = now_ns;
	}
	if (stale)
		nn_kinds_refresh(waits->kinds, now_ns);

	waits->pass++;
	for (int s = 0; s < n; s++)
	{
		uint32		wait_event_info = waits->sightings[s].wait_event_info;

		count_sample(waits, waits->known[waits->sightings[s].proc].type, wait_event_info);
		count_workload_sample(waits, &waits->sightings[s]);
		if (CLASS_OF(wait_event_info) == PG_WAIT_LWLOCK)
			lwlock_waiters++;
	}
	return lwlock_waiters;
}
