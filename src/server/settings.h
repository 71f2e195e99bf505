/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  Configuration parameters: pg_noisyneighbor.*
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_SETTINGS_H
#define NN_SETTINGS_H

#include "host/host.h"

extern int	nn_max_duration_s;	/* ceiling for the duration of one block,
								 * seconds */
extern int	nn_max_memory_percent;	/* of the memory that is available */
extern int	nn_max_disk_mb;		/* of files of one run, MB */
extern int	nn_max_noise_workers;	/* load threads of one run */
extern int	nn_max_clients;
extern int	nn_sample_interval_ms;

extern void nn_settings_define(void);

/* The folders that stand for /proc and /sys, from the settings. */
extern void nn_settings_host_root(NnHostRoot *root);

#endif							/* NN_SETTINGS_H */
