/*-------------------------------------------------------------------------
 *
 * samples.h
 *	  What the sample worker and the lock probe see: a part of shared.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_SAMPLES_H
#define NN_SAMPLES_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/wait_event.h"

#include "core/attribution.h"
#include "core/histogram.h"
#include "core/lock_wait.h"
#include "host/cpu.h"
#include "host/host.h"

#define NN_MAX_WAIT_ENTRIES 1024
#define NN_MAX_BACKEND_TYPES 64
#define NN_MAX_BANDS		64	/* checkpoints that are kept until a block
								 * ends */
#define NN_MAX_LOCK_WORKERS	32

/* CPU of the host in one second or in a whole block; percent of the host's CPU time. NaN: not measured. */
typedef struct NnHostUsage
{
	NnCpuUsage	cpu;
	double		server_pct;		/* every process of the server but our own
								 * workers; workload backends included */
	double		noise_pct;		/* noise workers */
	double		driver_pct;		/* the workload worker */
	double		own_pct;		/* conductor, sample and lock workers */
	double		foreign_pct;	/* busy - server - noise - driver - own; not
								 * below 0 */
	double		run_delay_pct;	/* run-queue delay of the server's processes,
								 * percent of one CPU */
	double		throttled_pct;	/* of the time, our cgroup was throttled */
	double		throttled_periods_pct;	/* of its periods of CPU quota */
	double		psi_cpu_some_pct;
	double		psi_memory_some_pct;
	double		psi_memory_full_pct;
	double		psi_io_some_pct;
	double		psi_io_full_pct;
	double		load;			/* tasks that run or wait, mean of the last
								 * minute, at the end */
	double		memory_high;	/* times that our cgroup was throttled for its
								 * memory */
	double		memory_max;		/* times that its limit stopped it */
	double		oom_kills;
} NnHostUsage;

typedef struct NnHostSecond
{
	NnHostUsage usage;
	double		lwlock_waiters; /* mean number of server processes that wait
								 * for an LWLock */
	bool		checkpoint;		/* a checkpoint was in progress at some time
								 * in this second */
} NnHostSecond;

/* What somebody who shows this wait event is doing. */
static inline NnWaitClass
nn_shared_wait_class(uint32 wait_event_info)
{
	switch (wait_event_info & 0xFF000000U)
	{
		case 0:
			return NN_WAIT_CPU;
		case PG_WAIT_LWLOCK:
			return NN_WAIT_LWLOCK;
		case PG_WAIT_LOCK:
			return NN_WAIT_LOCK;
		case PG_WAIT_IO:
			return NN_WAIT_IO;
		case PG_WAIT_CLIENT:
			return NN_WAIT_CLIENT;
		default:
			return NN_WAIT_OTHER;
	}
}

/* Kinds of server process whose time is kept apart. */
typedef enum NnProcessKind
{
	NN_PROCESS_WORKLOAD,		/* backends of the workload's clients */
	NN_PROCESS_CLIENT,			/* every other client backend */
	NN_PROCESS_CHECKPOINTER,
	NN_PROCESS_BGWRITER,
	NN_PROCESS_WALWRITER,
	NN_PROCESS_AUTOVACUUM,		/* launcher and workers */
	NN_PROCESS_OTHER
} NnProcessKind;

#define NN_PROCESS_KINDS (NN_PROCESS_OTHER + 1)

/* The name of a kind in SQL, e.g. "workload". */
extern const char *nn_process_kind_name(NnProcessKind kind);

/* What all processes of a kind did together. Sums since some moment, or growth in a window. NaN: not measured. */
typedef struct NnProcessUse
{
	double		wall_s;			/* time that they existed */
	double		cpu_s;
	double		run_delay_s;
	double		slices;			/* times that one was given a CPU */
	double		voluntary_switches;
	double		involuntary_switches;
	double		migrations;		/* from one CPU to another */
} NnProcessUse;

/* Small pieces of work that are measured again and again, see sample/probe.c. */
typedef enum NnProbeKind
{
	NN_PROBE_COMPUTE,
	NN_PROBE_L2,
	NN_PROBE_MEMORY
} NnProbeKind;

#define NN_PROBES	(NN_PROBE_MEMORY + 1)

/* CPU time of a computation, or of a load, over the rounds of a window. NaN: not measured. */
typedef struct NnProbeResult
{
	uint64		set_bytes;		/* working set; 0: none */
	uint64		n;
	double		p10_ns;
	double		median_ns;
	double		p90_ns;
	NnWhyNot	why_not;
} NnProbeResult;

/* Samples of one wait event of one backend type. wait_event_info 0 is 'CPU': running or runnable. */
typedef struct NnWaitCount
{
	int32		backend_type;	/* index of NnSampleResult.backend_types */
	uint32		wait_event_info;
	uint64		samples;
	uint32		max_waiters;	/* most processes seen in it in one pass */
} NnWaitCount;

/* Counters of the whole server; a valid bit each, because versions differ. Deltas of a block. */
typedef struct NnServerCounters
{
	/* -1: not measured on this version or lost to a reset: the note says why */
	int64		buffers_checkpointer;	/* pages written */
	int64		buffers_bgwriter;
	int64		buffers_backends;
	int64		maxwritten_clean;
	int64		buffers_alloc;
	int64		wal_bytes;
	int64		fsyncs;			/* of relation files, by backends */
	int64		checkpoints_timed;
	int64		checkpoints_requested;
	int64		checkpoints_done;
	double		write_time_ms;	/* NaN: not measured */
	double		sync_time_ms;
	bool		in_progress_at_end;
	char		note[256];
} NnServerCounters;

/* What the samplers saw in the measured window of a block. Written by the sample worker. */
typedef struct NnSampleResult
{
	uint64		samples_expected;
	uint64		samples_taken;	/* expected - taken were missed */
	int32		n_seconds;
	int32		n_waits;
	int32		waits_lost;		/* distinct wait events beyond
								 * NN_MAX_WAIT_ENTRIES */
	int32		n_backend_types;
	char		backend_types[NN_MAX_BACKEND_TYPES][NAMEDATALEN];
	NnHostUsage usage;			/* whole window */
	NnWhyNot	usage_why_not;	/* the first thing that could not be measured */
	NnServerCounters counters;
	NnProcessUse processes[NN_PROCESS_KINDS];
	NnWhyNot	processes_why_not;
	uint64		workload_samples[NN_WAIT_CLASSES];	/* of the workload's
													 * backends */
	NnProbeResult probes[NN_PROBES];	/* all zero: they were switched off */
	NnWaitCount waits[NN_MAX_WAIT_ENTRIES];
} NnSampleResult;

/* What one worker of the lock probe saw in a block, or all of them together. */
typedef struct NnLockProbeResult
{
	uint64		acquisitions;
	uint64		long_waits;		/* over a millisecond */
	NnLockWait	waits;			/* sums of all; parts are NaN where the kernel
								 * keeps no account */
	NnLockWait	longs;			/* of the long ones */
	NnHistogram hold;
	NnHistogram wait;
} NnLockProbeResult;

/* A lock of our own and the account of its holders, see sample/lock_probe.c. */
typedef struct NnLockProbe
{
	/* immutable */
	uint64		hold_ns;
	uint64		period_ns;

	LWLock		lock;

	/* written by the holder; NnLockAccount says what they are */
	pg_atomic_uint32 version;	/* odd while it writes */
	pg_atomic_uint64 on_ns;
	pg_atomic_uint64 off_ns;
	pg_atomic_uint64 free_ns;
	pg_atomic_uint64 heir_ns;
	pg_atomic_uint64 until_ns;
	pg_atomic_uint32 held;

	NnLockProbeResult results[FLEXIBLE_ARRAY_MEMBER];	/* by worker, its own */
} NnLockProbe;

typedef enum NnBandKind
{
	NN_BAND_UNKNOWN,
	NN_BAND_TIMED,
	NN_BAND_REQUESTED
} NnBandKind;

/* A checkpoint that was on at some time while the run was. */
typedef struct NnBand
{
	int32		number;			/* 1, 2, … */
	NnBandKind	kind;
	int64		started_at;		/* TimestampTz */
	int64		ended_at;		/* not complete: last seen in progress */
	int64		buffers;		/* written, so far; -1: not measured */
	bool		complete;
	bool		began_before;	/* it was on when the run began */
	bool		was_reset;		/* statistics were reset meanwhile */
} NnBand;

#endif							/* NN_SAMPLES_H */
