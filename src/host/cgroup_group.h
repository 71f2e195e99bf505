/*-------------------------------------------------------------------------
 *
 * cgroup_group.h
 *	  Our control group and its parents.  For the files of host/ only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_CGROUP_GROUP_H
#define NN_HOST_CGROUP_GROUP_H

#include "host/parse.h"

/* A group while walking up: "dir" is cut until only the mount point is left. */
typedef struct NnCgroupGroup
{
	char		dir[NN_PATH_LEN];
	size_t		mount_length;
} NnCgroupGroup;

/* The folder of our group in the hierarchy of a controller; false when it is not mounted. */
extern bool nn_cgroup_group_find(const NnHostRoot *root, int version, const char *controller,
								 NnCgroupGroup *group);

/* Go to the parent; false at the top of what can be seen. */
extern bool nn_cgroup_group_up(NnCgroupGroup *group);

#endif							/* NN_HOST_CGROUP_GROUP_H */
