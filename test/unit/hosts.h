/*-------------------------------------------------------------------------
 *
 * hosts.h
 *	  Recorded hosts: folders of test/fixtures that stand for /proc and /sys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOSTS_H
#define NN_HOSTS_H

#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "tap.h"

static const char *fixtures;

static inline NnHostRoot
recorded(const char *host)
{
	NnHostRoot	root;

	snprintf(root.proc, sizeof(root.proc), "%s/%s/proc", fixtures, host);
	snprintf(root.sys, sizeof(root.sys), "%s/%s/sys", fixtures, host);
	return root;
}

/* Does a source end with this file of the recorded host? */
static inline bool
ends_with(const char *text, const char *end)
{
	size_t		n = strlen(text);
	size_t		m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

#endif							/* NN_HOSTS_H */
