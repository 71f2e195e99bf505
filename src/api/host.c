/*-------------------------------------------------------------------------
 *
 * host.c
 *	  The host as it is now, and what can be measured on it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <time.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "api/arrays.h"
#include "host/cpu.h"
#include "host/load.h"
#include "host/pressure.h"
#include "host/process.h"
#include "host/topology.h"
#include "server/settings.h"
#include "server/text.h"

PG_FUNCTION_INFO_V1(nn_sql_host);
PG_FUNCTION_INFO_V1(nn_sql_capabilities);

#define HOST_COLUMNS		24
#define CAPABILITY_COLUMNS	4

/* Empty: not known. */
static void
put_text(Datum *values, bool *nulls, int column, const char *value)
{
	char	   *text = pstrdup(value ? value : "");

	nn_text_repair(text);
	nn_put_text(values, nulls, column, text[0] ? text : NULL);
}

static void
put_int(Datum *values, bool *nulls, int column, int value)
{
	values[column] = Int32GetDatum(value);
	nulls[column] = value < 0;
}

/* 0: not known */
static void
put_bytes(Datum *values, bool *nulls, int column, uint64 value)
{
	values[column] = Int64GetDatum((int64) value);
	nulls[column] = value == 0;
}

/* NaN: no limit */
static void
put_limit(Datum *values, bool *nulls, int column, double value)
{
	nulls[column] = isnan(value);
	values[column] = Int64GetDatum(nulls[column] ? 0 : (int64) value);
}

Datum
nn_sql_host(PG_FUNCTION_ARGS)
{
	Datum		values[HOST_COLUMNS];
	bool		nulls[HOST_COLUMNS] = {false};
	NnHostRoot	root;
	NnTopology	host;
	int			c = 0;

	nn_settings_host_root(&root);
	nn_topology_read(&root, &host);
	put_text(values, nulls, c++, host.host_name);
	put_text(values, nulls, c++, host.cpu_model);
	put_text(values, nulls, c++, host.architecture);
	nn_put_float(values, nulls, c++, host.usable_cpus);
	put_int(values, nulls, c++, host.online_cpus);
	put_int(values, nulls, c++, host.affinity_cpus);
	nn_put_float(values, nulls, c++, host.limits.quota_cpus);
	nn_put_float(values, nulls, c++, host.limits.period_ms);
	put_text(values, nulls, c++, host.limits.quota_source);
	put_bytes(values, nulls, c++, host.l2_bytes);
	put_bytes(values, nulls, c++, host.llc_bytes);
	put_text(values, nulls, c++, host.llc_source);
	put_bytes(values, nulls, c++, host.mem_total_bytes);
	put_bytes(values, nulls, c++, host.mem_available_bytes);
	put_limit(values, nulls, c++, host.limits.memory_limit_bytes);
	put_limit(values, nulls, c++, host.limits.memory_usage_bytes);
	put_text(values, nulls, c++, host.limits.memory_source);
	put_int(values, nulls, c++, host.autogroup);
	put_text(values, nulls, c++, host.clocksource);
	put_text(values, nulls, c++, host.governor);
	put_text(values, nulls, c++, host.kernel);
	put_text(values, nulls, c++, host.virtualisation);
	nn_put_float(values, nulls, c++, nn_load_read(&root, NULL));
	put_int(values, nulls, c++, BLCKSZ);
	Assert(c == HOST_COLUMNS);
	return nn_make_row(fcinfo, values, nulls);
}

static void
put_capability(FunctionCallInfo fcinfo, const char *source, bool available, const char *fallback,
			   const NnWhyNot *why)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[CAPABILITY_COLUMNS];
	bool		nulls[CAPABILITY_COLUMNS] = {false};

	values[0] = CStringGetTextDatum(source);
	values[1] = BoolGetDatum(available);
	put_text(values, nulls, 2, available ? NULL : fallback);
	put_text(values, nulls, 3, available ? NULL :
			 why->reason[0] ? why->reason : "the kernel does not count it");
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_host(FunctionCallInfo fcinfo, const NnHostRoot *root)
{
	NnWhyNot	why = {.reason = ""};
	NnCpuTimes	cpu;
	NnPressure	pressure;
	bool		found;

	found = nn_cpu_times_read(root, &cpu, &why);
	put_capability(fcinfo, "CPU time of the host", found, "no shares of the host's CPU", &why);
	put_capability(fcinfo, "steal", found && !isnan(cpu.steal_s), "taken for none", &why);
	why.reason[0] = '\0';
	put_capability(fcinfo, "load", !isnan(nn_load_read(root, &why)), NULL, &why);

	/*
	 * The reason is about the last file that can't be read: cpu, memory, io
	 * in this order.
	 */
	why.reason[0] = '\0';
	(void) nn_pressure_read(root, &pressure, &why);
	put_capability(fcinfo, "pressure: cpu", !isnan(pressure.cpu_some_s), "run-queue delay tells", &why);
	put_capability(fcinfo, "pressure: memory", !isnan(pressure.memory_some_s), NULL, &why);
	put_capability(fcinfo, "pressure: io", !isnan(pressure.io_some_s), "IO wait events tell", &why);
}

static void
put_cgroup(FunctionCallInfo fcinfo, const NnHostRoot *root)
{
	NnWhyNot	why = {.reason = ""};
	NnCgroupLimits limits;
	NnCgroupThrottle throttle;
	NnMemoryEvents events;
	NnTopology	host;

	/* A reason is given too where there is simply no quota. */
	put_capability(fcinfo, "CPU quota", nn_cgroup_limits_read(root, &limits, &why), "affinity only", &why);
	why.reason[0] = '\0';
	put_capability(fcinfo, "throttling", nn_cgroup_throttle_read(root, &throttle, &why), NULL, &why);
	why.reason[0] = '\0';
	put_capability(fcinfo, "memory events", nn_memory_events_read(root, &events, &why), NULL, &why);

	nn_topology_read(root, &host);
	why.reason[0] = '\0';
	nn_why_not(&why, "no cache of the third level is described below %s", root->sys);
	put_capability(fcinfo, "cache sizes", strcmp(host.llc_source, "sysfs") == 0,
				   strcmp(host.llc_source, "sysconf") == 0 ? "those of the C library" : "32 MB for the last level", &why);
	nn_why_not(&why, "the host does not offer it");
	put_capability(fcinfo, "frequency governor", host.governor[0] != '\0', NULL, &why);
}

/* Of processes there is only this machine's own account, wherever the host's files are. */
static void
put_processes(FunctionCallInfo fcinfo)
{
	NnHostRoot	own;
	NnWhyNot	why = {.reason = ""};
	NnSchedstat stat;
	NnSwitches	switches = {0};
	bool		found;

	strlcpy(own.proc, NN_HOST_PROC, sizeof(own.proc));
	strlcpy(own.sys, NN_HOST_SYS, sizeof(own.sys));
	put_capability(fcinfo, "run-queue delay of processes", nn_schedstat_read(&own, MyProcPid, &stat, &why),
				   "no attribution", &why);
	why.reason[0] = '\0';
	found = nn_switches_read(&own, MyProcPid, &switches, &why);
	put_capability(fcinfo, "context switches of processes", found, NULL, &why);
	put_capability(fcinfo, "migrations of processes", found && switches.has_migrations, NULL, &why);
}

Datum
nn_sql_capabilities(PG_FUNCTION_ARGS)
{
	NnHostRoot	root;

	nn_settings_host_root(&root);
	InitMaterializedSRF(fcinfo, 0);
	put_host(fcinfo, &root);
	put_cgroup(fcinfo, &root);
	put_processes(fcinfo);
	return (Datum) 0;
}
