/*-------------------------------------------------------------------------
 *
 * environment.c
 *	  Host and server that a run was made on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/json.h"

#include "host/detail.h"
#include "host/topology.h"
#include "server/environment.h"

/* Settings of the server that decide about its performance. */
static const char *const settings[] = {
	"autovacuum", "bgwriter_delay", "bgwriter_lru_maxpages", "checkpoint_completion_target",
	"checkpoint_timeout", "data_checksums", "effective_io_concurrency", "fsync", "full_page_writes",
	"huge_pages", "jit", "max_connections", "max_wal_size", "max_worker_processes", "port", "server_version",
	"shared_buffers", "shared_preload_libraries", "synchronous_commit", "track_io_timing",
	"wal_buffers", "wal_compression", "wal_level", "wal_sync_method"
};

static void
add_string(StringInfo buf, const char *key, const char *value)
{
	appendStringInfo(buf, "%s\"%s\": ", buf->data[buf->len - 1] == '{' ? "" : ", ", key);
	if (value && value[0])
		escape_json(buf, value);
	else
		appendStringInfoString(buf, "null");
}

/* NaN: null. The point is a point under every lc_numeric. */
static void
add_number(StringInfo buf, const char *key, double value)
{
	appendStringInfo(buf, "%s\"%s\": ", buf->data[buf->len - 1] == '{' ? "" : ", ", key);
	if (isnan(value))
		appendStringInfoString(buf, "null");
	else
		appendStringInfoString(buf, DatumGetCString(DirectFunctionCall1(float8out,
																		Float8GetDatum(value))));
}

static double
nan_if_zero(uint64 value)
{
	return value ? (double) value : NAN;
}

static void
add_detail(StringInfo buf, const NnHostRoot *root)
{
	NnHostDetail detail;

	nn_host_detail_read(root, &detail);
	add_string(buf, "microcode", detail.microcode);
	add_string(buf, "affinity", detail.affinity);
	add_string(buf, "numa_nodes", detail.numa_nodes);
	add_number(buf, "smt", detail.smt);
	add_number(buf, "cpu_mhz", detail.cpu_mhz);
	add_number(buf, "cpu_max_mhz", detail.cpu_max_mhz);
	add_number(buf, "clock_read_ns", detail.clock_read_ns);
	add_string(buf, "cgroup_path", detail.cgroup_path);
	add_string(buf, "file_system", detail.file_system);
	add_string(buf, "device", detail.device);
}

char *
nn_environment_describe(const NnHostRoot *root)
{
	NnTopology	host;
	StringInfoData buf;

	nn_topology_read(root, &host);
	initStringInfo(&buf);
	appendStringInfoChar(&buf, '{');
	add_string(&buf, "host_name", host.host_name);
	add_string(&buf, "cpu_model", host.cpu_model);
	add_string(&buf, "architecture", host.architecture);
	add_string(&buf, "kernel", host.kernel);
	add_string(&buf, "virtualisation", host.virtualisation);
	add_string(&buf, "clocksource", host.clocksource);
	add_string(&buf, "governor", host.governor);
	add_number(&buf, "online_cpus", host.online_cpus);
	add_number(&buf, "affinity_cpus", host.affinity_cpus);
	add_number(&buf, "usable_cpus", host.usable_cpus);
	add_number(&buf, "quota_cpus", host.limits.quota_cpus);
	add_number(&buf, "quota_period_ms", host.limits.period_ms);
	add_string(&buf, "quota_source", host.limits.quota_source);
	add_number(&buf, "l2_bytes", nan_if_zero(host.l2_bytes));
	add_number(&buf, "llc_bytes", nan_if_zero(host.llc_bytes));
	add_string(&buf, "llc_source", host.llc_source);
	add_number(&buf, "mem_total_bytes", nan_if_zero(host.mem_total_bytes));
	add_number(&buf, "mem_available_bytes", nan_if_zero(host.mem_available_bytes));
	add_number(&buf, "mem_limit_bytes", host.limits.memory_limit_bytes);
	add_number(&buf, "autogroup", host.autogroup < 0 ? NAN : host.autogroup);
	add_number(&buf, "block_size_bytes", BLCKSZ);

	add_detail(&buf, root);

	appendStringInfoString(&buf, ", \"settings\": {");
	for (int i = 0; i < (int) lengthof(settings); i++)
		add_string(&buf, settings[i], GetConfigOption(settings[i], true, false));
	appendStringInfoString(&buf, "}}");
	return buf.data;
}
