/*-------------------------------------------------------------------------
 *
 * host.h
 *	  What the operating system says about the host: common types.
 *
 * Functions of host/ read /proc, /sys and system calls.  They return a value or "why not",
 * never raise an error, allocate nothing that outlives the call, and know nothing of the
 * server, so that they can be called from any thread and tested on recorded files.
 *
 * A double that was not measured is NaN; NnWhyNot says why, in words that can be shown to a person.
 * It is written only when there is something to say, so that one object can collect the reason of
 * several calls: set it to empty before the first.  NULL: nobody wants to know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_H
#define NN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where this machine's own are.  A pid of this process's namespace means something only there. */
#define NN_HOST_PROC	"/proc"
#define NN_HOST_SYS		"/sys"

/* Where /proc and /sys are: mounted elsewhere in a container, recorded files in tests. */
typedef struct NnHostRoot
{
	char		proc[512];
	char		sys[512];
} NnHostRoot;

typedef struct NnWhyNot
{
	char		reason[256];	/* empty: no reason, the value is there */
} NnWhyNot;

extern void nn_why_not(NnWhyNot *why, const char *fmt,...) __attribute__((format(printf, 2, 3)));

/*
 * Read a whole small file into buf, NUL-terminated.  Returns the length or
 * -1 with the reason.  A file that opens and answers an error on read
 * (pressure files do) is "not there".
 */
extern ssize_t nn_read_file(const char *path, char *buf, size_t size, NnWhyNot *why);

#endif							/* NN_HOST_H */
