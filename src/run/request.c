/*-------------------------------------------------------------------------
 *
 * request.c
 *	  From the arguments of noisy_run() to a complete, checked request.
 *
 * Everything is checked before anything is started.  An argument that this version
 * does not carry out is refused by its name, never ignored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "core/clock.h"
#include "run/plan.h"
#include "noise/stressor.h"
#include "run/request.h"
#include "run/resources.h"
#include "server/libpq.h"
#include "server/settings.h"

#define NN_MIN_DURATION_S	0.1
#define NN_MAX_THREADS		256
#define NN_MAX_LABEL		1024	/* bytes */
#define NN_SETTLE_NS		(200 * NN_NS_PER_MS)
#define NN_MAX_RATE			1000000.0	/* transactions/s */

static const char *const workloads[] = {"tpcb-like", "simple-update", "select-only", NULL};
static const char *const query_modes[] = {"simple", "extended", "prepared", NULL};

/* An argument in nanoseconds. */
static uint64
interval_ns(const Interval *interval, const char *argument, double min_s, double max_s)
{
	double		seconds;

	if (interval == NULL)
		nn_refuse_null(argument);
	seconds = nn_interval_s(interval);
	if (!(seconds >= min_s && seconds <= max_s))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", argument),
				 errdetail("It is %g s and must be from %g s to %g s.", seconds, min_s, max_s),
				 errhint("The upper bound is pg_noisyneighbor.max_duration.")));
	return (uint64) (seconds * NN_NS_PER_S);
}

/* A number with a decimal point under every lc_numeric. */
static char *
json_number(double value)
{
	return DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(value)));
}

/* Levels above 0, each once, in the order given. */
static double *
read_doses(const NnRunArgs *args, int *n_doses)
{
	int			n;
	Datum	   *elements = nn_array_elements(args->levels, "levels", NUMERICOID, &n);
	double	   *doses = palloc(sizeof(double) * n);

	*n_doses = 0;
	for (int i = 0; i < n; i++)
	{
		double		level = DatumGetFloat8(DirectFunctionCall1(numeric_float8, elements[i]));

		if (!(level >= 0 && level <= 100))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("noise level %s is out of range",
							nn_shorten(DatumGetCString(DirectFunctionCall1(numeric_out, elements[i])))),
					 errdetail("A level is a percentage of one CPU per load thread, from 0 to 100.")));
		for (int j = 0; j < *n_doses; j++)
			if (doses[j] == level)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("noise level %g is given twice", level),
						 errhint("Use \"repeats\" to measure a level more often.")));
		if (level > 0)
			doses[(*n_doses)++] = level;
	}
	return doses;
}

static int32 *
read_clients(const NnRunArgs *args, NnRequest *request, int *n_clients)
{
	Datum	   *elements = nn_array_elements(args->clients, "clients", INT4OID, n_clients);
	int32	   *clients = palloc(sizeof(int32) * *n_clients);

	for (int i = 0; i < *n_clients; i++)
	{
		clients[i] = DatumGetInt32(elements[i]);
		if (clients[i] < 1 || clients[i] > nn_max_clients)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of clients %d is out of range", clients[i]),
					 errdetail("It must be from 1 to %d.", nn_max_clients),
					 errhint("The upper bound is pg_noisyneighbor.max_clients.")));
		for (int j = 0; j < i; j++)
			if (clients[j] == clients[i])
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("number of clients %d is given twice", clients[i]),
						 errhint("Use \"repeats\" to measure it more often.")));
		request->max_clients = Max(request->max_clients, clients[i]);
	}
	return clients;
}

static void
read_workload(const NnRunArgs *args, NnRequest *request)
{
	if (args->workload == NULL)
		nn_refuse_null("workload");
	if (strcmp(args->workload, "external") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("workload \"external\" is not supported by this version"),
				 errhint("Use noisy_load() for a load that somebody else measures.")));
	if (!nn_in_list(args->workload, workloads))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("workload \"%s\" is not known", nn_shorten(args->workload)),
				 errdetail("The workloads are %s.", nn_quoted_list(workloads))));
	strlcpy(request->workload, args->workload, sizeof(request->workload));
	request->has_workload = true;

	if (args->query_mode == NULL)
		nn_refuse_null("query_mode");
	if (!nn_in_list(args->query_mode, query_modes))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query mode \"%s\" is not known", nn_shorten(args->query_mode)),
				 errdetail("The query modes are %s.", nn_quoted_list(query_modes))));
	request->query_mode =
		strcmp(args->query_mode, "simple") == 0 ? NN_QUERY_SIMPLE :
		strcmp(args->query_mode, "extended") == 0 ? NN_QUERY_EXTENDED : NN_QUERY_PREPARED;

	if (args->has_rate && !(args->rate > 0 && args->rate <= NN_MAX_RATE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rate %s is out of range", json_number(args->rate)),
				 errdetail("It is in transactions per second, all clients together, and must be above 0 and at most %.0f.",
						   NN_MAX_RATE),
				 errhint("Leave it NULL for a closed loop.")));
	request->rate = args->rate;
	if (args->conninfo && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to use argument \"conninfo\""),
				 errdetail("Only superusers may drive another server.")));
	if (args->has_threads && (args->threads < 1 || args->threads > NN_MAX_THREADS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of threads %d is out of range", args->threads),
				 errdetail("It must be from 1 to %d.", NN_MAX_THREADS)));
}

static void
append_json_string(StringInfo buf, const char *key, const char *value)
{
	appendStringInfo(buf, "\"%s\": ", key);
	if (value)
		escape_json(buf, value);
	else
		appendStringInfoString(buf, "null");
	appendStringInfoString(buf, ", ");
}

/* How many blocks come of the plan, and which count. */
static void
append_options(StringInfo buf, const NnRequest *request)
{
	if (request->guard)
		appendStringInfo(buf, "\"guard\": {\"max_repeats\": %d}, ", request->max_repeats);
	else
		appendStringInfoString(buf, "\"guard\": false, ");
	appendStringInfo(buf, "\"abort_slo_ms\": %s, \"until\": %s, ",
					 request->abort_slo_ns > 0 ? json_number((double) request->abort_slo_ns / NN_NS_PER_MS) : "null",
					 request->n_looks > 0 ? "\"verdict\"" : "null");
	if (request->n_looks > 0)
	{
		appendStringInfo(buf, "\"max_blocks\": %d, \"looks\": [", request->looks[request->n_looks - 1]);
		for (int i = 0; i < request->n_looks; i++)
			appendStringInfo(buf, "%s%d", i ? ", " : "", request->looks[i]);
		appendStringInfo(buf, "], \"confidence\": %s, ", json_number(nn_looks_confidence(request->n_looks)));
	}
}

/* What was asked for, with the defaults filled in and without credentials. */
static char *
describe_request(const NnRunArgs *args, const NnRunPlan *plan, const int32 *clients, int n_clients,
				 const double *doses, int n_doses)
{
	const NnRequest *request = &plan->request;
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '{');
	append_json_string(&buf, "workload", request->has_workload ? request->workload : NULL);
	appendStringInfoString(&buf, "\"clients\": [");
	for (int i = 0; i < n_clients; i++)
		appendStringInfo(&buf, "%s%d", i ? ", " : "", clients[i]);
	appendStringInfo(&buf, "], \"levels\": [%s", args->noise_only ? "" : "0");
	for (int i = 0; i < n_doses; i++)
		appendStringInfo(&buf, "%s%s", i || !args->noise_only ? ", " : "", json_number(doses[i]));
	appendStringInfoString(&buf, "], \"noise\": {");
	for (int i = 0; i < request->n_stressors; i++)
		appendStringInfo(&buf, "%s\"%s\": {\"workers\": %d, \"bytes\": " UINT64_FORMAT "}",
						 i ? ", " : "", request->stressors[i].name,
						 request->stressors[i].workers, request->stressors[i].bytes);
	appendStringInfo(&buf, "}, \"noise_processes\": %d, \"duration_s\": %s, ",
					 request->n_noise_workers, json_number(request->duration_ns / 1e9));
	appendStringInfo(&buf, "\"warmup_s\": %s, \"settle_s\": %s, \"repeats\": %d, ",
					 json_number(request->warmup_ns / 1e9), json_number(request->settle_ns / 1e9),
					 args->repeats);
	if (request->has_workload)
	{
		append_json_string(&buf, "query_mode", args->query_mode);
		appendStringInfo(&buf, "\"threads\": %d, \"rate\": %s, \"latency_limit_ms\": %s, ",
						 request->threads,
						 request->rate > 0 ? json_number(request->rate) : "null",
						 request->latency_limit_ns > 0 ?
						 json_number((double) request->latency_limit_ns / NN_NS_PER_MS) : "null");
		append_json_string(&buf, "server",
						   args->conninfo ? nn_conninfo_describe(args->conninfo) : NULL);
	}
	append_json_string(&buf, "checkpoint",
					   request->checkpoint == NN_CHECKPOINT_NONE ? "none" : "before_block");
	if (request->has_workload)
		append_options(&buf, request);
	if (request->lock_probe_workers > 0)
		appendStringInfo(&buf, "\"lock_probe\": {\"workers\": %d, \"hold_us\": %s, \"pause_us\": %s}, ",
						 request->lock_probe_workers,
						 json_number((double) request->lock_probe_hold_ns / NN_NS_PER_US),
						 json_number((double) (request->lock_probe_period_ns - request->lock_probe_hold_ns) / NN_NS_PER_US));
	appendStringInfo(&buf, "\"sample_interval_ms\": %d, \"probes\": %s, \"tail\": %s}",
					 request->sample_interval_ms, request->probes ? "true" : "false",
					 request->tail ? "true" : "false");
	return buf.data;
}

/* Who asks, from where, and what the host is like. */
static void
read_caller(const NnRunArgs *args, NnRunPlan *plan)
{
	NnRequest  *request = &plan->request;

	request->database_oid = MyDatabaseId;
	request->role_oid = GetUserId();
	request->schema_oid = get_func_namespace(args->function);
	strlcpy(request->database_name, get_database_name(MyDatabaseId), NAMEDATALEN);
	strlcpy(request->role_name, GetUserNameFromId(GetUserId(), false), NAMEDATALEN);
	request->role_is_superuser = superuser();
	request->wait = args->wait;
	request->sample_interval_ms = nn_sample_interval_ms;
	request->probes = true;
	request->tail = true;
	request->settle_ns = NN_SETTLE_NS;
	request->seed = pg_prng_uint64(&pg_global_prng_state) & PG_INT64_MAX;
	nn_settings_host_root(&request->root);
	nn_topology_read(&request->root, &plan->host);
	request->usable_cpus = plan->host.usable_cpus;
}

/* Time that the first touch of what is held takes, about a second per gigabyte: noisy_load() has no argument for it. */
static uint64
fill_ns(const NnRequest *request, double level_pct)
{
	double		most_bytes = 0;

	for (int i = 0; i < request->n_stressors; i++)
		if (nn_stressor_find(request->stressors[i].name)->kind == NN_DOSE_HOLD)
			most_bytes += (double) request->stressors[i].bytes * request->stressors[i].workers;
	return (uint64) (most_bytes * level_pct / 100);
}

void
nn_request_build(const NnRunArgs *args, NnRunPlan *plan)
{
	NnRequest  *request = &plan->request;
	double	   *doses;
	int32		no_clients = 0;
	int32	   *clients = &no_clients;
	int			n_doses;
	int			n_clients = 1;
	int			repeats;
	uint64		n_blocks;

	memset(plan, 0, sizeof(*plan));
	read_caller(args, plan);
	doses = read_doses(args, &n_doses);
	if (!args->noise_only)
	{
		read_workload(args, request);
		clients = read_clients(args, request, &n_clients);
		request->threads = args->has_threads ? args->threads :
			(int) Max(1, Min(request->max_clients, plan->host.usable_cpus) / 2);
		request->threads = Min(request->threads, request->max_clients);
		if (args->conninfo)
			nn_conninfo_check(args->conninfo);
	}
	if (args->label && strlen(args->label) > NN_MAX_LABEL)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("argument \"label\" is too long"),
				 errdetail("It has %zu bytes, and %d are possible.", strlen(args->label), NN_MAX_LABEL)));
	nn_request_noise(args, n_doses > 0, plan);
	request->duration_ns = interval_ns(args->duration, "duration", NN_MIN_DURATION_S,
									   nn_max_duration_s);
	request->warmup_ns = interval_ns(args->warmup, "warmup", 0, nn_max_duration_s);
	if (args->noise_only && n_doses > 0)
		request->warmup_ns += fill_ns(request, doses[0]);
	request->max_seconds = (int) ((request->duration_ns + NN_NS_PER_S - 1) / NN_NS_PER_S);
	if (args->repeats < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of repeats %d is out of range", args->repeats),
				 errdetail("It must be at least 1.")));
	repeats = nn_request_options(args, n_doses, request);
	n_blocks = args->noise_only ? 1 : nn_plan_count(n_clients, n_doses, repeats);
	if (n_blocks + Max(request->max_repeats, 0) > NN_MAX_BLOCKS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the run would have " UINT64_FORMAT " blocks", n_blocks + Max(request->max_repeats, 0)),
				 errdetail("At most %d are possible.", NN_MAX_BLOCKS),
				 errhint("Ask for fewer client counts, levels or repeats, or lower \"max_blocks\" or \"max_repeats\".")));
	request->n_blocks = (int) n_blocks;
	if (request->max_repeats < 0)
		request->max_repeats = Min((request->n_blocks + 1) / 2, NN_MAX_BLOCKS - request->n_blocks);
	plan->blocks = palloc0(sizeof(NnPlanBlock) * n_blocks);
	if (args->noise_only)
	{
		plan->blocks[0].block = plan->blocks[0].repeat = 1;
		plan->blocks[0].level_pct = n_doses > 0 ? doses[0] : 0;
	}
	else
		nn_plan_make(clients, n_clients, doses, n_doses, repeats, request->seed, plan->blocks);
	nn_resources_check(request, plan->load_threads, args->conninfo == NULL);
	plan->parameters = describe_request(args, plan, clients, n_clients, doses, n_doses);
}
