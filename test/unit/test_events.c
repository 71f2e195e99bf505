/*-------------------------------------------------------------------------
 *
 * test_events.c
 *	  Load, memory events, context switches and kernels that have something turned off, on recorded hosts.
 *
 * Some files open and then answer an error when they are read.  No file that can be recorded does so, so
 * read() is ours here.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "host/load.h"
#include "host/pressure.h"
#include "host/process.h"
#include "hosts.h"

static int	read_error;			/* what every read answers; 0: the kernel's
								 * own */
static int	reads_before_error; /* so many are let through */

ssize_t
read(int fd, void *buf, size_t size)
{
	if (read_error != 0 && reads_before_error-- <= 0)
	{
		errno = read_error;
		return -1;
	}
	return syscall(SYS_read, fd, buf, size);
}

static void
test_load(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnWhyNot	why = {""};

	ok(nn_load_read(&root, &why) == 0.52 && why.reason[0] == '\0', "load: the mean of the last minute");
	root = recorded("old-kernel");
	ok(near(nn_load_read(&root, &why), 12.07, 1e-12), "load: of a busy host");
	root = recorded("v1-container");
	ok(isnan(nn_load_read(&root, &why)) && strstr(why.reason, "does not begin with a load") != NULL,
	   "load: something else is refused");
	root = recorded("arm64");
	ok(isnan(nn_load_read(&root, &why)) && strstr(why.reason, "does not exist") != NULL, "load: a missing file is named");
}

static void
test_memory_events(void)
{
	NnHostRoot	root = recorded("v2-nested");
	NnMemoryEvents events;
	NnWhyNot	why = {""};

	ok(nn_memory_events_read(&root, &events, &why) && events.high == 4711 && events.max == 12 && events.oom_kills == 1,
	   "memory events: those of the nearest group that counts");
	root = recorded("v2-half-cpu");
	ok(nn_memory_events_read(&root, &events, &why) && events.high == 5 && events.max == 17 && isnan(events.oom_kills),
	   "memory events: what an older kernel does not count is not measured");
	root = recorded("v1-container");
	ok(nn_memory_events_read(&root, &events, &why) && isnan(events.high) && events.max == 23 && events.oom_kills == 2,
	   "memory events: version 1 has them in other files, and no high");
	root = recorded("v1-parent");
	ok(nn_memory_events_read(&root, &events, &why) && events.max == 0 && isnan(events.oom_kills),
	   "memory events: nothing happened is 0, not counted is not measured");
	root = recorded("old-kernel");
	why.reason[0] = '\0';
	ok(!nn_memory_events_read(&root, &events, &why) && isnan(events.max) && why.reason[0] != '\0',
	   "memory events: a host without control groups has a reason");
}

static void
test_switches(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnSwitches	switches;
	NnWhyNot	why = {""};

	ok(nn_switches_read(&root, 4242, &switches, &why) && switches.voluntary == 77225 && switches.involuntary == 13745 &&
	   switches.has_migrations && switches.migrations == 1632 && why.reason[0] == '\0',
	   "switches: voluntary, involuntary, migrations");
	ok(nn_switches_read(&root, 4243, &switches, &why) && switches.voluntary == 15 && !switches.has_migrations &&
	   strstr(why.reason, "sched") != NULL, "switches: without the scheduler's file only migrations are missing");
	ok(!nn_switches_read(&root, 4244, &switches, &why), "switches: something else is refused");
	ok(!nn_switches_read(&root, 99999, &switches, &why) && strstr(why.reason, "does not exist") != NULL,
	   "switches: a process that is gone is said to be");
}

/* Files that are kept open, on this host. */
static void
test_kept_open(void)
{
	NnHostRoot	own = {.proc = NN_HOST_PROC,.sys = NN_HOST_SYS};
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnSchedstat stat;
	NnSchedstat later;
	pid_t		child;
	int			fd;

	fd = nn_schedstat_open(&root, 4242);
	ok(fd >= 0 && nn_schedstat_reread(fd, &stat) && stat.run_delay_ns == 912345678 && nn_schedstat_reread(fd, &later) &&
	   later.run_ns == stat.run_ns, "an account that is kept open can be read again and again");
	nn_schedstat_close(fd);
	ok(nn_schedstat_open(&root, 99999) < 0 && !nn_schedstat_reread(-1, &stat), "one that is not there can't be opened");
	fd = nn_schedstat_open(&root, 4243);
	ok(!nn_schedstat_reread(fd, &stat), "zeros are no account");
	nn_schedstat_close(fd);

	child = fork();
	if (child == 0)
		for (;;)
			(void) getppid();
	nn_sleep_until_ns(nn_now_ns() + 20 * NN_NS_PER_MS);
	fd = nn_schedstat_open(&own, child);
	if (fd < 0 || !nn_schedstat_reread(fd, &stat))
		tap_skip("this kernel keeps no account of processes");
	else
	{
		nn_sleep_until_ns(nn_now_ns() + 50 * NN_NS_PER_MS);
		ok(nn_schedstat_reread(fd, &later) && later.run_ns + later.run_delay_ns > stat.run_ns + stat.run_delay_ns,
		   "the account of a process that runs goes on");
	}
	kill(child, SIGKILL);
	(void) waitpid(child, NULL, 0);
	ok(!nn_schedstat_reread(fd, &later), "and ends with it");
	nn_schedstat_close(fd);
}

static void
test_turned_off(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnPressure	pressure;
	NnWhyNot	why = {""};

	read_error = EOPNOTSUPP;
	reads_before_error = 0;
	ok(!nn_pressure_read(&root, &pressure, &why) && isnan(pressure.cpu_some_s) && isnan(pressure.io_full_s),
	   "pressure that is there and turned off is not measured");
	ok(strstr(why.reason, "/pressure/") != NULL && strstr(why.reason, "the kernel has it turned off") != NULL,
	   "and the reason says so");
	ok(isnan(nn_load_read(&root, &why)), "nor is anything else that cannot be read");
	read_error = EACCES;
	reads_before_error = 0;
	ok(!nn_pressure_read(&root, &pressure, &why) && strstr(why.reason, "may not be read") != NULL,
	   "what may not be read is said to be so");
	read_error = 0;
}

int
main(int argc, char **argv)
{
	fixtures = argc > 1 ? argv[1] : "test/fixtures";
	test_load();
	test_memory_events();
	test_switches();
	test_kept_open();
	test_turned_off();
	return tap_done();
}
