/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  The shared memory of a run, and how a run is found.
 *
 * A run lives in one dynamic shared memory segment.  The caller creates it and
 * writes the request; the conductor, the noise workers, the workload
 * worker and the sample worker attach to it; anybody may attach to look at the progress.
 * The segment is gone when the last of them has gone.
 *
 * Finding a run: the conductor holds two session-level user locks in the
 * server's lock table, which vanish with it however it ends.  One has the same
 * tag in the whole cluster and makes sure that one load is generated at a time.  The
 * other carries the database, the segment's handle and the run's id in its tag.
 *
 * Who writes what:
 *
 *	 request, plan, load threads	the caller, before the conductor is registered; immutable after
 *	 order					the conductor, while every worker waits; order_seq is
 *							advanced behind a barrier afterwards; immutable until all have answered
 *	 worker slots			the worker itself
 *	 results of a block		the worker that measures them, between order_seq and its
 *							done_seq; read by the conductor after done_seq
 *	 progress, state, error	the conductor, under the mutex
 *	 checkpoint bands		the sample worker, under the mutex; band_mark atomically
 *	 stop request			anybody, atomically: the first one wins
 *
 * Nothing is allocated and no error raised under the mutex.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_SHARED_H
#define NN_SHARED_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/spin.h"

#include "core/attribution.h"
#include "core/guard.h"
#include "core/histogram.h"
#include "core/looks.h"
#include "host/host.h"
#include "server/samples.h"

#define NN_NAME				"pg_noisyneighbor"
#define NN_MAX_STRESSORS	8
#define NN_MESSAGE_LEN		512

/* States of a run. The names are those of noisy_runs.state. */
typedef enum NnRunState
{
	NN_RUN_STARTING,			/* workers are being started, nothing is
								 * loaded */
	NN_RUN_RUNNING,
	NN_RUN_COMPLETED,			/* every block was measured */
	NN_RUN_STOPPED,				/* noisy_stop() */
	NN_RUN_CANCELLED,			/* its caller was cancelled or went away */
	NN_RUN_FAILED,				/* an error, kept in "failure" */
	NN_RUN_ABORTED				/* a worker or the server died */
} NnRunState;

extern const char *nn_run_state_name(NnRunState state);

/* Why a run is to end early; the first one that is stored wins. */
typedef enum NnStopReason
{
	NN_STOP_NONE,
	NN_STOP_FINISHED,			/* the conductor: all is done, workers go home */
	NN_STOP_REQUESTED,			/* noisy_stop() */
	NN_STOP_CALLER_GONE			/* the waiting caller was cancelled or ended */
} NnStopReason;

typedef enum NnQueryMode
{
	NN_QUERY_SIMPLE,
	NN_QUERY_EXTENDED,
	NN_QUERY_PREPARED
} NnQueryMode;

typedef enum NnCheckpointOption
{
	NN_CHECKPOINT_NONE,
	NN_CHECKPOINT_BEFORE_BLOCK
} NnCheckpointOption;

/* An error that crosses processes. */
typedef struct NnFailure
{
	int			sqlerrcode;		/* 0: no failure */
	char		message[NN_MESSAGE_LEN];
	char		detail[NN_MESSAGE_LEN];
	char		hint[NN_MESSAGE_LEN];
} NnFailure;

typedef struct NnStressorSpec
{
	char		name[NAMEDATALEN];
	int			workers;		/* load threads */
	uint64		bytes;			/* per load thread; 0 where the stressor takes
								 * none */
} NnStressorSpec;

/*
 * What was asked for, checked and complete.  Immutable once the conductor is registered.
 */
typedef struct NnRequest
{
	Oid			database_oid;
	Oid			role_oid;		/* the caller */
	Oid			schema_oid;		/* of the extension */
	char		database_name[NAMEDATALEN];
	char		role_name[NAMEDATALEN];
	bool		role_is_superuser;
	bool		wait;			/* the caller waits: its end ends the run */
	bool		has_workload;	/* false: noise alone */
	char		workload[NAMEDATALEN];	/* name of a built-in script */
	NnQueryMode query_mode;
	int			max_clients;	/* the largest clients of the plan */
	int			threads;		/* of the workload worker */
	double		rate;			/* transactions/s of all clients; 0: a closed
								 * loop */
	uint64		latency_limit_ns;	/* 0: none */
	int			scale;			/* of the pgbench tables; found by the
								 * workload worker, see NnWorkloadResult */
	uint64		duration_ns;
	uint64		warmup_ns;
	uint64		settle_ns;		/* after each block, not recorded */
	uint64		seed;
	NnCheckpointOption checkpoint;
	bool		guard;			/* blocks that something else disturbed are
								 * rejected and measured again */
	int			max_repeats;	/* blocks beyond the plan, at most */
	uint64		abort_slo_ns;	/* a block with a higher p99 ends the run; 0:
								 * none */
	int			n_looks;		/* 0: every block of the plan is measured */
	int			looks[NN_MAX_LOOKS];	/* repeats after which a number of
										 * clients may be decided */
	int			sample_interval_ms;
	bool		probes;			/* fixed work and memory latency */
	bool		tail;			/* follow the transactions of one client */
	int			lock_probe_workers; /* 0: no lock probe */
	uint64		lock_probe_hold_ns;
	uint64		lock_probe_period_ns;	/* from one turn of a worker to its
										 * next */
	int			n_stressors;
	NnStressorSpec stressors[NN_MAX_STRESSORS];
	int			n_blocks;		/* of the plan */
	int			n_load_threads;
	int			n_noise_workers;	/* processes that the load threads are
									 * spread over */
	int			max_seconds;	/* rows of the per-second arrays */
	NnHostRoot	root;			/* /proc and /sys */
	double		usable_cpus;	/* as the caller saw it */
} NnRequest;

/* One block of the plan. */
typedef struct NnPlanBlock
{
	int32		block;			/* 1, 2, … */
	int32		repeat;			/* 1, 2, … of its clients group */
	int32		clients;
	double		level_pct;		/* 0 is the baseline */
} NnPlanBlock;

/*
 * A finished block in short, for progress lines. Written by the conductor; the verdict may change
 * afterwards, under the mutex.
 */
typedef struct NnBlockSummary
{
	NnPlanBlock block;
	double		achieved_pct;	/* NaN: no dose measured */
	double		tps;			/* NaN without a workload */
	double		p50_ms;
	double		p99_ms;
	uint64		errors;
	double		middle_s;		/* middle of the window, monotonic */
	NnGuardVerdict verdict;
} NnBlockSummary;

/* One load thread of the plan, and its dose in the block that ended last. */
typedef struct NnLoadThread
{
	/* immutable */
	int32		stressor;		/* index in request.stressors */
	int32		worker;			/* 1, 2, … within its stressor:
								 * noisy_dose.worker */
	int32		process;		/* index of the noise worker that runs it */

	/* written by the thread's process, per block */
	double		requested_pct;
	double		achieved_pct;	/* in the measured window */
	double		rate;			/* units per second in the window, or the
								 * amount held */
	double		cpu_pct;		/* CPU time of the thread in the window,
								 * percent of one CPU, whatever the kind of
								 * dose */
	bool		unreachable;	/* the CPU (or memory) was not to be had */
} NnLoadThread;

/* Achieved dose of one load thread in one second of the measured window. */
typedef struct NnDoseSecond
{
	float		achieved_pct;	/* NaN: not measured */
} NnDoseSecond;

/* What the workload did in one second of the measured window. */
typedef struct NnWorkloadSecond
{
	uint64		transactions;
	uint64		errors;
	double		avg_ms;			/* NaN when no transaction ended */
	double		p50_ms;
	double		p95_ms;
	double		p99_ms;
	double		max_ms;
} NnWorkloadSecond;

typedef struct NnWorkloadErrors
{
	uint64		serialization;	/* 40001 */
	uint64		deadlock;		/* 40P01 */
	uint64		connection;		/* lost connections */
	uint64		other;
} NnWorkloadErrors;

/* What the workload did in the measured window of a block. Written by the workload worker. */
typedef struct NnWorkloadResult
{
	int32		clients;		/* connected at the end of the window */
	int32		scale;			/* rows of pgbench_branches, found when the
								 * run started */
	int32		n_seconds;		/* rows filled of the seconds array */
	uint64		window_ns;		/* real length of the window */
	NnWorkloadErrors errors;
	char		last_error[NN_MESSAGE_LEN]; /* of the latest error of the
											 * block; empty: none */
	double		driver_cpu_s;	/* CPU time of the workload worker in the
								 * window */
	double		driver_busiest_pct; /* of the busiest driver thread, percent
									 * of one CPU */
	uint64		unfinished;		/* in flight at the end of the window */
	uint64		late;			/* over request.latency_limit_ms, or waiting
								 * or in flight for longer than that at the
								 * end */
	NnHistogram latency;

	/* open loop */
	uint64		not_started;	/* due by the end of the window, and waiting
								 * for a client */
	uint64		backlog_max;	/* most that waited at once */
	double		generator_lag_p99_ms;	/* how late transactions were sent for
										 * which a client was idle; NaN */
	NnHistogram service;		/* from the real sending */

	/* transactions of one client that were followed; n = 0: none */
	NnFollowedMean followed;
	NnFollowedMean tail;		/* the slowest hundredth of them */

	/*
	 * seconds of the window that lay wholly in a checkpoint, and those in
	 * which none was on
	 */
	double		inside_s;
	double		outside_s;
	NnHistogram inside;			/* latency in these */
	NnHistogram outside;
} NnWorkloadResult;

/* What the workers are to do next. */
typedef enum NnOrderKind
{
	NN_ORDER_PREPARE,			/* have exactly "clients" connections; answer
								 * when that is so */
	NN_ORDER_RUN				/* run one block */
} NnOrderKind;

typedef struct NnOrder
{
	NnOrderKind kind;
	int32		block;
	int32		clients;
	double		level_pct;
	uint64		start_ns;		/* monotonic: load and workload start, warm-up */
	uint64		measure_ns;		/* the measured window starts */
	uint64		end_ns;			/* and ends; load and workload end */
	int32		n_seconds;		/* whole and partial seconds of the window */
} NnOrder;

typedef enum NnWorkerKind
{
	NN_WORKER_NOISE,
	NN_WORKER_WORKLOAD,
	NN_WORKER_LOCK_PROBE,
	NN_WORKER_SAMPLE
} NnWorkerKind;

typedef enum NnWorkerState
{
	NN_WORKER_REGISTERED,
	NN_WORKER_READY,			/* waits for orders */
	NN_WORKER_FAILED,			/* "failure" says why */
	NN_WORKER_GONE				/* its exit callback ran */
} NnWorkerState;

typedef struct NnWorkerSlot
{
	/* immutable */
	NnWorkerKind kind;
	int32		index;			/* among its kind */

	/* the worker's own */
	pg_atomic_uint32 state;		/* NnWorkerState */
	pg_atomic_uint32 procno;	/* its PGPROC, for the latch; valid once READY */
	pg_atomic_uint32 pid;
	pg_atomic_uint64 done_seq;	/* the last order it has carried out */
	pg_atomic_uint64 cpu_ns;	/* CPU time of the process; published at least
								 * every 250 ms */
	NnFailure	failure;		/* complete before state is FAILED or GONE;
								 * sqlerrcode 0: it just ended */
} NnWorkerSlot;

typedef struct NnShared
{
	uint32		magic;
	Size		size;

	/* offsets from the start of the segment; immutable */
	Size		plan_offset;
	Size		summaries_offset;
	Size		load_threads_offset;
	Size		dose_seconds_offset;
	Size		workload_seconds_offset;
	Size		host_seconds_offset;
	Size		workers_offset;
	Size		lock_probe_offset;
	Size		conninfo_offset;	/* 0: this server. Holds credentials:
									 * never shown */
	Size		label_offset;	/* 0: NULL */
	Size		parameters_offset;	/* jsonb as text */
	int32		n_workers;

	NnRequest	request;

	/* stop: see nn_shared_request_stop */
	pg_atomic_uint32 stop;		/* NnStopReason */

	/* The last moment of the run; nothing burns CPU after it, whoever died. */
	pg_atomic_uint64 hard_deadline_ns;

	/*
	 * Odd while a checkpoint is in progress, and another number after each
	 * change.
	 */
	pg_atomic_uint32 band_mark;

	/* orders */
	NnOrder		order;
	pg_atomic_uint64 order_seq;

	/* conductor */
	pg_atomic_uint32 conductor_pid;
	pg_atomic_uint32 conductor_procno;

	/* results of the block that ended last */
	NnWorkloadResult workload;
	NnSampleResult sample;

	/* progress, under the mutex */
	slock_t		mutex;
	NnRunState	state;
	int64		run_id;			/* 0: none yet */
	int32		blocks_done;	/* summaries[0 … blocks_done - 1] are valid */
	int32		blocks;			/* expected in all */
	NnPlanBlock now;			/* the block that is on; block 0: none yet */
	uint32		judgements;		/* how often verdicts were renewed */
	char		phase[NAMEDATALEN]; /* 'starting', 'connecting', 'warm-up',
									 * 'measuring', 'settling', 'storing' */
	uint64		started_ns;
	uint64		ends_ns;		/* estimate */
	uint64		last_commit_ns; /* when a transaction of the workload was last
								 * seen to end; 0: never */
	double		live_tps;		/* of the last second; NaN */
	double		live_p99_ms;
	NnFailure	failure;
	int32		n_bands;		/* seen so far; the last NN_MAX_BANDS are
								 * kept, number n in bands[(n - 1) %
								 * NN_MAX_BANDS]. Written by the sample worker */
	NnBand		bands[NN_MAX_BANDS];
	int32		waiter_procno;	/* PGPROC of the waiting caller, -1: none */
} NnShared;

#define NN_SHARED_AT(shared, type, member) \
	((type *) ((char *) (shared) + (shared)->member))

#define nn_shared_plan(s)			NN_SHARED_AT(s, NnPlanBlock, plan_offset)
#define nn_shared_summaries(s)		NN_SHARED_AT(s, NnBlockSummary, summaries_offset)
#define nn_shared_load_threads(s)	NN_SHARED_AT(s, NnLoadThread, load_threads_offset)
#define nn_shared_workload_seconds(s) NN_SHARED_AT(s, NnWorkloadSecond, workload_seconds_offset)
#define nn_shared_host_seconds(s)	NN_SHARED_AT(s, NnHostSecond, host_seconds_offset)
#define nn_shared_workers(s)		NN_SHARED_AT(s, NnWorkerSlot, workers_offset)
#define nn_shared_lock_probe(s)		NN_SHARED_AT(s, NnLockProbe, lock_probe_offset)
#define nn_shared_conninfo(s) \
	((s)->conninfo_offset ? NN_SHARED_AT(s, const char, conninfo_offset) : NULL)
#define nn_shared_label(s) \
	((s)->label_offset ? NN_SHARED_AT(s, const char, label_offset) : NULL)
#define nn_shared_parameters(s)		NN_SHARED_AT(s, const char, parameters_offset)

/* Row "second" (0, 1, …) of load thread "thread". */
static inline NnDoseSecond *
nn_shared_dose_second(NnShared *shared, int thread, int second)
{
	return NN_SHARED_AT(shared, NnDoseSecond, dose_seconds_offset)
		+ (Size) thread * shared->request.max_seconds + second;
}

/* --- memory --- */
extern NnShared *nn_shared_create(const NnRequest *request, const NnPlanBlock *plan,
								  const NnLoadThread *load_threads, const char *conninfo,
								  const char *label, const char *parameters,
								  dsm_segment **segment);
extern NnShared *nn_shared_attach(dsm_handle handle, dsm_segment **segment);	/* NULL: gone */

/* --- stopping: safe anywhere, threads and exit callbacks included --- */
extern bool nn_shared_request_stop(NnShared *shared, NnStopReason reason);

static inline NnStopReason
nn_shared_stop_reason(NnShared *shared)
{
	return (NnStopReason) pg_atomic_read_u32(&shared->stop);
}

/* Has the run been stopped, or is it past its hard deadline?  For threads too. */
extern bool nn_shared_must_stop(NnShared *shared);

/* --- finding runs: the lock table --- */
typedef struct NnLiveRun
{
	int			pid;			/* of the conductor */
	Oid			database_oid;	/* InvalidOid: it is just starting */
	dsm_handle	handle;
	uint32		run_id_low;		/* low 32 bits of the run's id */
	Oid			calibration_database_oid;
	uint32		calibration_id; /* low 32 bits; 0: it is none */
} NnLiveRun;

extern bool nn_live_run_find(NnLiveRun *live);
extern bool nn_live_run_claim(void);	/* conductor: the cluster-wide lock;
										 * false: another load is on */
extern void nn_live_run_advertise(dsm_handle handle, int64 run_id);
extern void nn_live_calibration_advertise(int64 calibration_id);

#endif							/* NN_SHARED_H */
