/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  The one clock base of everything that is measured.
 *
 * All durations come from CLOCK_MONOTONIC, all CPU times of our own threads
 * and processes from the kernel's per-thread and per-process CPU clocks.
 * CLOCK_MONOTONIC counts from the same origin in every process of a host, so
 * a timestamp may be written by one process and compared by another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CLOCK_H
#define NN_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NN_NS_PER_US	UINT64_C(1000)
#define NN_NS_PER_MS	UINT64_C(1000000)
#define NN_NS_PER_S		UINT64_C(1000000000)

static inline uint64_t
nn_clock_read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t) ts.tv_sec * NN_NS_PER_S + (uint64_t) ts.tv_nsec;
}

/* Monotonic time in nanoseconds. */
static inline uint64_t
nn_now_ns(void)
{
	return nn_clock_read_ns(CLOCK_MONOTONIC);
}

/* CPU time used by the calling thread, in nanoseconds. */
static inline uint64_t
nn_thread_cpu_ns(void)
{
	return nn_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time used by all threads of the calling process, in nanoseconds. */
static inline uint64_t
nn_process_cpu_ns(void)
{
	return nn_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/*
 * Sleep until the monotonic clock reads "until_ns".  May return early on a
 * signal, which callers allow for by looking at the clock again.
 */
extern void nn_sleep_until_ns(uint64_t until_ns);

#endif							/* NN_CLOCK_H */
