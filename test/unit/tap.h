/*-------------------------------------------------------------------------
 *
 * tap.h
 *	  The little that a unit test needs to print TAP.
 *
 * A test is a program with one main() that calls ok() for each assertion, named by
 * a sentence, and returns tap_done().
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_TAP_H
#define NN_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	tap_tests = 0;
static int	tap_failures = 0;

static inline void ok(bool passed, const char *fmt,...) __attribute__((format(printf, 2, 3)));

static inline void
ok(bool passed, const char *fmt,...)
{
	va_list		args;

	tap_tests++;
	if (!passed)
		tap_failures++;
	printf("%s %d - ", passed ? "ok" : "not ok", tap_tests);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

/* What was seen, for the reader of a failure. */
static inline void tap_note(const char *fmt,...) __attribute__((format(printf, 1, 2)));

static inline void
tap_note(const char *fmt,...)
{
	va_list		args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static inline void tap_skip(const char *fmt,...) __attribute__((format(printf, 1, 2)));

static inline void
tap_skip(const char *fmt,...)
{
	va_list		args;

	tap_tests++;
	printf("ok %d # SKIP ", tap_tests);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

/* Are two numbers equal within "tolerance", relative to the larger one? Two NaN are. */
static inline bool
near(double a, double b, double tolerance)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	return a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_tests);
	return tap_failures > 0;
}

#endif							/* NN_TAP_H */
