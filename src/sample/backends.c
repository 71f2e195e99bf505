/*-------------------------------------------------------------------------
 *
 * backends.c
 *	  CPU time of the server's processes and of our own.
 *
 * The server's CPU time is that of the postmaster, of the children that it has waited for, and of all
 * live processes: those that have a PGPROC, and those children of
 * the postmaster that have none (the logger).  A process that
 * ends moves its time from the last part to the second, so the sum neither jumps nor loses
 * anything; it is read again when the second part changed meanwhile.  Until the
 * postmaster has waited for a process that gave up its PGPROC, it stays on the
 * list of "others".  Time of programs that a backend runs (COPY FROM PROGRAM, archive_command) appears when
 * they end.
 *
 * Live processes are read by their CPU clocks (clock_getcpuclockid): all threads, in
 * nanoseconds, and two system calls, where the stat file has ticks of 10 ms, which over a hundred
 * processes and a second make several percent of noise.  For a process that is running
 * right now the clock lags by at most one scheduler tick.  The same clocks
 * give our workers' time: what they publish themselves is exact, but up to
 * 250 ms old, too old for a second.  It is used for a worker that has ended.
 *
 * Run-queue delay is the sum of what each process gained since the reading before; so is what each kind
 * of process did.  What a process gained between the last reading and its end is lost.  The scheduler's
 * account of a process is kept open and read again, as long as there are file descriptors to spare.
 * Context switches and migrations come from longer files, so they are read at the ends of a window
 * only, and only processes that live at both count.
 *
 * A pid means something in our own namespace only: so processes are always looked up under
 * the machine's own folder, also where the settings name another for the host's files.
 *
 * Everything is private memory of the context that it was created in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

#include "miscadmin.h"

#include "core/clock.h"
#include "host/children.h"
#include "host/process.h"
#include "sample/backends.h"

#define MAX_OTHERS			64
#define MAX_TRIES			3
#define SPARE_FILES			256 /* that we leave to the server and to
								 * libraries */
#define NO_FILE				(-1)

typedef struct Process
{
	pid_t		pid;			/* 0: none */
	uint64		start_ticks;	/* 0: stat file not read yet */
	double		children_s;		/* programs that it ran and waited for */
	NnSchedstat stat;			/* at the last reading */
	bool		stat_known;
	bool		file_open;
	int			fd;				/* of its schedstat */
	NnSwitches	switches;		/* at the last reading of them */
	bool		switches_known;
} Process;

struct NnBackends
{
	NnShared   *shared;
	NnKinds    *kinds;
	NnHostRoot	root;
	bool		read_before;	/* false: the next reading is the first */
	bool		delay_available;
	NnWhyNot	delay_why_not;
	uint64		run_delay_ns;	/* sum of all gains */
	uint64		read_ns;		/* when the last reading was */
	double		since_s;		/* time between the last two */
	NnProcessUse use[NN_PROCESS_KINDS];
	int			files_left;		/* that may still be opened and kept */
	Process		postmaster;
	int			n_procs;
	Process    *procs;			/* by number of PGPROC; pid 0 for our own */
	int			n_others;
	Process		others[MAX_OTHERS];
};

bool
nn_process_is_ours(NnShared *shared, int pid)
{
	if ((uint32) pid == pg_atomic_read_u32(&shared->conductor_pid))
		return true;
	for (int i = 0; i < shared->n_workers; i++)
		if ((uint32) pid == pg_atomic_read_u32(&nn_shared_workers(shared)[i].pid))
			return true;
	return false;
}

/* CPU time of all threads of a process; false when it has gone. A zombie still has its clock. */
static bool
read_clock(pid_t pid, double *cpu_s)
{
#ifdef __linux__
	clockid_t	clock;
	struct timespec now;

	/* Pid 0 would be ourselves. */
	if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &now) != 0)
		return false;
	*cpu_s = (double) now.tv_sec + (double) now.tv_nsec / NN_NS_PER_S;
	return true;
#else
	return false;
#endif
}

static bool
has_proc(const NnBackends *backends, pid_t pid)
{
	for (int i = 0; i < backends->n_procs; i++)
		if (backends->procs[i].pid == pid)
			return true;
	return false;
}

/* Keep the scheduler's account of a process open, if there is a descriptor to spare. */
static void
open_file(NnBackends *backends, Process *process)
{
	if (process->file_open || backends->files_left <= 0)
		return;
	process->fd = nn_schedstat_open(&backends->root, process->pid);
	process->file_open = process->fd >= 0;
	if (process->file_open)
		backends->files_left--;
}

static void
close_file(NnBackends *backends, Process *process)
{
	if (!process->file_open)
		return;
	nn_schedstat_close(process->fd);
	process->file_open = false;
	backends->files_left++;
}

static void
add_other(NnBackends *backends, Process *process)
{
	if (backends->n_others < MAX_OTHERS)
		backends->others[backends->n_others++] = *process;
	else
		close_file(backends, process);
}

/* Bring the list of processes with a PGPROC up to date. */
static void
follow_procs(NnBackends *backends)
{
	for (int i = 0; i < backends->n_procs; i++)
	{
		Process    *process = &backends->procs[i];
		int			pid = nn_proc_pid(GetPGProcByNumber(i));

		if (pid == process->pid)
			continue;
		if (pid != 0 && nn_process_is_ours(backends->shared, pid))
			pid = 0;
		if (process->pid != 0)
			add_other(backends, process);
		memset(process, 0, sizeof(*process));
		process->pid = pid;
	}
}

/* Drop the others that have ended, or that have got a PGPROC. */
static void
check_others(NnBackends *backends)
{
	int			kept = 0;

	for (int i = 0; i < backends->n_others; i++)
	{
		Process    *other = &backends->others[i];
		NnProcessCpu cpu;

		if (!has_proc(backends, other->pid) &&
			nn_process_cpu_read(&backends->root, other->pid, &cpu, NULL) &&
			(other->start_ticks == 0 || other->start_ticks == cpu.start_ticks))
			backends->others[kept++] = *other;
		else
			close_file(backends, other);
	}
	backends->n_others = kept;
}

/* Children of the postmaster without a PGPROC. Those that are just starting get one soon. */
static void
find_others(NnBackends *backends)
{
	pid_t	   *children = palloc(sizeof(pid_t) * (backends->n_procs + MAX_OTHERS));
	int			n;

	n = nn_process_children_read(&backends->root, PostmasterPid, children,
								 backends->n_procs + MAX_OTHERS, NULL);
	for (int i = 0; i < n; i++)
	{
		Process		other = {.pid = children[i]};

		if (!has_proc(backends, other.pid) && !nn_process_is_ours(backends->shared, other.pid))
			add_other(backends, &other);
	}
	pfree(children);
}

/* File descriptors that this process may keep open for a while. */
static int
spare_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
		limit.rlim_cur > 1 << 20)
		return 1 << 20;
	return (int) limit.rlim_cur - SPARE_FILES;
}

NnBackends *
nn_backends_create(NnShared *shared, NnKinds *kinds)
{
	NnBackends *backends = palloc0(sizeof(NnBackends));
	NnSchedstat own;

	backends->shared = shared;
	backends->kinds = kinds;
	backends->files_left = spare_files();
	for (int k = 0; k < NN_PROCESS_KINDS; k++)
	{
		backends->use[k].voluntary_switches = NAN;
		backends->use[k].involuntary_switches = NAN;
		backends->use[k].migrations = NAN;
	}
	strlcpy(backends->root.proc, NN_HOST_PROC, sizeof(backends->root.proc));
	strlcpy(backends->root.sys, NN_HOST_SYS, sizeof(backends->root.sys));
	backends->postmaster.pid = PostmasterPid;
	backends->n_procs = (int) ProcGlobal->allProcCount;
	backends->procs = palloc0(sizeof(Process) * backends->n_procs);
	backends->delay_available = nn_schedstat_read(&backends->root, MyProcPid, &own,
												  &backends->delay_why_not);
	follow_procs(backends);
	find_others(backends);
	return backends;
}

void
nn_backends_close(NnBackends *backends)
{
	close_file(backends, &backends->postmaster);
	for (int i = 0; i < backends->n_procs; i++)
		close_file(backends, &backends->procs[i]);
	for (int i = 0; i < backends->n_others; i++)
		close_file(backends, &backends->others[i]);
}

static bool
read_schedstat(NnBackends *backends, Process *process, NnSchedstat *stat)
{
	open_file(backends, process);
	if (process->file_open)
		return nn_schedstat_reread(process->fd, stat);
	return nn_schedstat_read(&backends->root, process->pid, stat, NULL);
}

static double
gain(uint64 from, uint64 to)
{
	return to > from ? (double) (to - from) : 0;
}

/* What a process gained since the last reading; since its birth, when it was born since then. */
static void
add_gains(NnBackends *backends, NnProcessUse *use, const NnSchedstat *from, const NnSchedstat *to,
		  bool born)
{
	use->cpu_s += gain(from->run_ns, to->run_ns) / NN_NS_PER_S;
	use->run_delay_s += gain(from->run_delay_ns, to->run_delay_ns) / NN_NS_PER_S;
	use->slices += gain(from->slices, to->slices);
	use->wall_s += born ? backends->since_s / 2 : backends->since_s;
	backends->run_delay_ns += (uint64) gain(from->run_delay_ns, to->run_delay_ns);
}

/* Read the files of a process. It may end at any moment, which is no error. */
static void
read_files(NnBackends *backends, Process *process, NnProcessKind kind, bool children)
{
	static const NnSchedstat nothing = {0, 0, 0};
	NnProcessCpu cpu;
	NnSchedstat stat;

	if ((children || process->start_ticks == 0) &&
		nn_process_cpu_read(&backends->root, process->pid, &cpu, NULL))
	{
		process->children_s = cpu.children_s;
		process->start_ticks = cpu.start_ticks;
	}

	if (!backends->delay_available || !read_schedstat(backends, process, &stat))
		return;
	if (process->stat_known)
		add_gains(backends, &backends->use[kind], &process->stat, &stat, false);
	else if (backends->read_before)
		add_gains(backends, &backends->use[kind], &nothing, &stat, true);
	process->stat = stat;
	process->stat_known = true;
}

/* CPU time of the live processes; NaN when the postmaster's can't be read. */
static double
sum_live_s(const NnBackends *backends)
{
	double		sum_s;
	double		cpu_s;

	if (!read_clock(backends->postmaster.pid, &sum_s))
		return NAN;
	for (int i = 0; i < backends->n_procs; i++)
	{
		const Process *process = &backends->procs[i];

		if (process->pid != 0 && read_clock(process->pid, &cpu_s))
			sum_s += cpu_s + process->children_s;
	}
	for (int i = 0; i < backends->n_others; i++)
		if (read_clock(backends->others[i].pid, &cpu_s))
			sum_s += cpu_s + backends->others[i].children_s;
	return sum_s;
}

/*
 * Live and ended processes.  Where connections come and go too fast for a
 * quiet moment, the last try is taken: it lacks what ended during it, which the next reading has.
 */
static double
sum_server_s(const NnBackends *backends, NnWhyNot *why)
{
	NnProcessCpu before;
	NnProcessCpu after;
	double		live_s;
	int			tries = 0;

	if (!nn_process_cpu_read(&backends->root, backends->postmaster.pid, &after, why))
		return NAN;
	do
	{
		before = after;
		live_s = sum_live_s(backends);
		if (!nn_process_cpu_read(&backends->root, backends->postmaster.pid, &after, why))
			return NAN;
	} while (after.children_s != before.children_s && ++tries < MAX_TRIES);

	if (isnan(live_s))
		nn_why_not(why, "CPU clocks of other processes can't be read on this platform");
	return live_s + before.children_s;
}

static void
sum_own_workers(NnBackends *backends, NnServerCpu *cpu)
{
	NnShared   *shared = backends->shared;
	double		cpu_s;

	cpu->noise_s = 0;
	cpu->driver_s = 0;
	cpu->own_s = (double) nn_process_cpu_ns() / NN_NS_PER_S;
	if (read_clock((pid_t) pg_atomic_read_u32(&shared->conductor_pid), &cpu_s))
		cpu->own_s += cpu_s;
	for (int i = 0; i < shared->n_workers; i++)
	{
		NnWorkerSlot *slot = &nn_shared_workers(shared)[i];
		pid_t		pid = (pid_t) pg_atomic_read_u32(&slot->pid);

		if (slot->kind == NN_WORKER_SAMPLE)
			continue;			/* that's us */
		if (!read_clock(pid, &cpu_s))
			cpu_s = (double) pg_atomic_read_u64(&slot->cpu_ns) / NN_NS_PER_S;
		if (slot->kind == NN_WORKER_NOISE)
			cpu->noise_s += cpu_s;
		else if (slot->kind == NN_WORKER_LOCK_PROBE)
			cpu->own_s += cpu_s;
		else
			cpu->driver_s += cpu_s;
	}
}

void
nn_backends_read(NnBackends *backends, bool thorough, NnServerCpu *cpu, NnWhyNot *why)
{
	uint64		now_ns = nn_now_ns();

	follow_procs(backends);
	check_others(backends);
	nn_kinds_refresh(backends->kinds, now_ns);
	backends->since_s = backends->read_before ?
		(double) (now_ns - backends->read_ns) / NN_NS_PER_S : 0;
	backends->read_ns = now_ns;

	read_files(backends, &backends->postmaster, NN_PROCESS_OTHER, false);
	for (int i = 0; i < backends->n_procs; i++)
	{
		Process    *process = &backends->procs[i];

		/*
		 * Auxiliary processes come behind the backends; the archiver runs
		 * programs all the time.
		 */
		if (process->pid != 0)
			read_files(backends, process, nn_kinds_find(backends->kinds, i, process->pid),
					   thorough || i >= MaxBackends);
	}
	for (int i = 0; i < backends->n_others; i++)
		read_files(backends, &backends->others[i], NN_PROCESS_OTHER, true);
	backends->read_before = true;
	memcpy(cpu->processes, backends->use, sizeof(cpu->processes));

	/* Last, so that the children's part is as fresh as the rest. */
	cpu->server_s = sum_server_s(backends, why);
	sum_own_workers(backends, cpu);
	cpu->run_delay_s = NAN;
	if (backends->delay_available)
		cpu->run_delay_s = (double) backends->run_delay_ns / NN_NS_PER_S;
	else if (why->reason[0] == '\0')
		*why = backends->delay_why_not;
}

static void
add_switches(NnProcessUse *use, const NnSwitches *from, const NnSwitches *to)
{
	if (isnan(use->voluntary_switches))
		use->voluntary_switches = use->involuntary_switches = use->migrations = 0;
	use->voluntary_switches += gain(from->voluntary, to->voluntary);
	use->involuntary_switches += gain(from->involuntary, to->involuntary);
	if (from->has_migrations && to->has_migrations)
		use->migrations += gain(from->migrations, to->migrations);
	else
		use->migrations = NAN;
}

void
nn_backends_read_switches(NnBackends *backends, NnServerCpu *cpu, NnWhyNot *why)
{
	for (int i = 0; i < backends->n_procs; i++)
	{
		Process    *process = &backends->procs[i];
		NnProcessUse *use;
		NnSwitches	switches;

		if (process->pid == 0 ||
			!nn_switches_read(&backends->root, process->pid, &switches, why))
		{
			process->switches_known = false;
			continue;
		}
		use = &backends->use[nn_kinds_find(backends->kinds, i, process->pid)];
		if (process->switches_known)
			add_switches(use, &process->switches, &switches);
		process->switches = switches;
		process->switches_known = true;
	}
	for (int k = 0; k < NN_PROCESS_KINDS; k++)
	{
		cpu->processes[k].voluntary_switches = backends->use[k].voluntary_switches;
		cpu->processes[k].involuntary_switches = backends->use[k].involuntary_switches;
		cpu->processes[k].migrations = backends->use[k].migrations;
	}
}
