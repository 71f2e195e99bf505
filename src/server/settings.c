/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  Configuration parameters: pg_noisyneighbor.*
 *
 * The ceilings are for superusers to set: they bound what a role that was granted
 * EXECUTE on noisy_run() can ask of the host.  A run copies what it needs of
 * these into its shared memory when it starts, so that a change does not
 * reach a run that is on, and a session's own value reaches its workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "server/settings.h"

int			nn_max_duration_s = 3600;
int			nn_max_memory_percent = 25;
int			nn_max_disk_mb = 1024;
int			nn_max_noise_workers = 256;
int			nn_max_clients = 1000;
int			nn_sample_interval_ms = 10;

static char *proc_path;
static char *sys_path;

/* A folder: absolute, and short enough for NnHostRoot. */
static bool
check_folder(char **newval, void **extra, GucSource source)
{
	if ((*newval)[0] != '/')
	{
		GUC_check_errdetail("The folder must be an absolute path.");
		return false;
	}
	if (strlen(*newval) >= sizeof(((NnHostRoot *) NULL)->proc))
	{
		GUC_check_errdetail("The folder must be shorter than %zu bytes.",
							sizeof(((NnHostRoot *) NULL)->proc));
		return false;
	}
	return true;
}

static void
define_ceilings(void)
{
	DefineCustomIntVariable("pg_noisyneighbor.max_duration",
							"Longest measured time of one block.",
							NULL,
							&nn_max_duration_s,
							3600,	/* boot value */
							1,	/* minimum */
							24 * 3600,	/* maximum */
							PGC_SUSET,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_noisyneighbor.max_memory_percent",
							"Largest share of the available memory that noise may take.",
							"Available is the smaller of the host's available memory and what the "
							"control group's limit leaves.",
							&nn_max_memory_percent,
							25,
							1,
							90,
							PGC_SUSET,
							0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_noisyneighbor.max_disk_bytes",
							"Most bytes that files of one run may take on the disk.",
							"A tenth of the file system is left free in any case.",
							&nn_max_disk_mb,
							1024,
							1,
							INT_MAX,
							PGC_SUSET,
							GUC_UNIT_MB,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_noisyneighbor.max_noise_workers",
							"Most load threads of one run, all stressors together.",
							NULL,
							&nn_max_noise_workers,
							256,
							1,
							4096,
							PGC_SUSET,
							0,
							NULL, NULL, NULL);

	DefineCustomIntVariable("pg_noisyneighbor.max_clients",
							"Most clients of one run.",
							NULL,
							&nn_max_clients,
							1000,
							1,
							10000,
							PGC_SUSET,
							0,
							NULL, NULL, NULL);
}

void
nn_settings_define(void)
{
	define_ceilings();

	DefineCustomIntVariable("pg_noisyneighbor.sample_interval",
							"Time between two samples of the wait events.",
							NULL,
							&nn_sample_interval_ms,
							10,
							1,
							10000,
							PGC_USERSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);

	DefineCustomStringVariable("pg_noisyneighbor.proc_path",
							   "Folder where the host's /proc is mounted.",
							   NULL,
							   &proc_path,
							   "/proc",
							   PGC_SUSET,
							   0,
							   check_folder, NULL, NULL);

	DefineCustomStringVariable("pg_noisyneighbor.sys_path",
							   "Folder where the host's /sys is mounted.",
							   NULL,
							   &sys_path,
							   "/sys",
							   PGC_SUSET,
							   0,
							   check_folder, NULL, NULL);

	MarkGUCPrefixReserved("pg_noisyneighbor");
}

void
nn_settings_host_root(NnHostRoot *root)
{
	strlcpy(root->proc, proc_path, sizeof(root->proc));
	strlcpy(root->sys, sys_path, sizeof(root->sys));
}
