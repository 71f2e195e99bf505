/*-------------------------------------------------------------------------
 *
 * request.c
 *	  From the arguments of noisy_calibrate() to a complete, checked request.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "calibrate/request.h"
#include "host/topology.h"
#include "server/settings.h"

#define NN_MIN_DURATION_S	0.01
#define NN_MAX_REPEATS		1000
#define NN_MAX_LABEL		1024	/* bytes */
#define NN_MAX_THREADS		256
#define NN_TRIAL_OVERHEAD_NS (2 * NN_NS_PER_S)
#define NN_PROBE_OVERHEAD_NS (300 * NN_NS_PER_S)	/* a file is written, or a
													 * data set */
#define NN_HOLD_S			600
#define NN_DISK_BYTES		(UINT64CONST(256) << 20)

static const char *const options_known[] = {
	"cpu_max_prime", "disk_bytes", "disk_depths", "disk_read_pct", "expect", "hold", "level", "memory_bytes", "threads", NULL
};

static const char **
probe_names(void)
{
	static const char *names[NN_MAX_PROBES + 1];
	int			n = 0;

	for (; nn_probes[n] && n < NN_MAX_PROBES; n++)
		names[n] = nn_probes[n]->name;
	names[n] = NULL;
	return names;
}

static void
read_probes(const NnCalibrateArgs *args, NnCalibrationRequest *request)
{
	int			n;
	Datum	   *elements = nn_array_elements(args->probes, "probes", TEXTOID, &n);

	for (int i = 0; i < n; i++)
	{
		char	   *name = TextDatumGetCString(elements[i]);
		int			place = 0;

		while (nn_probes[place] && strcmp(nn_probes[place]->name, name) != 0)
			place++;
		if (nn_probes[place] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("probe \"%s\" is not known", nn_shorten(name)),
					 errdetail("The probes are %s.", nn_quoted_list(probe_names()))));
		for (int k = 0; k < request->n_probes; k++)
			if (request->probes[k] == place)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("probe \"%s\" is named twice", name)));
		request->probes[request->n_probes++] = place;
	}
}

static uint64
read_bytes(const JsonbValue *value, const char *key)
{
	int64		bytes;

	if (value->type == jbvNumeric)
		bytes = (int64) nn_json_number(value, key, 0, 1e15);
	else
		bytes = DatumGetInt64(DirectFunctionCall1(pg_size_bytes, PointerGetDatum(cstring_to_text(nn_json_string(value, key)))));
	if (bytes < 1024 * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is below 1 MB", key)));
	return (uint64) bytes;
}

/* A list of small integers, or one. */
static int
read_integers(const JsonbValue *value, const char *key, int most, int *list, int max)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	element;
	int			n = 0;

	if (value->type == jbvNumeric)
	{
		list[0] = (int) nn_json_number(value, key, 1, most);
		return 1;
	}
	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be a list of integers", key),
				 errhint("For example: {\"%s\": [1, 2, 4]}.", key)));
	it = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&it, &element, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (n == max)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" has more than %d elements", key, max)));
		list[n++] = (int) nn_json_number(&element, key, 1, most);
	}
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not be empty", key)));
	return n;
}

static void
read_option(const char *key, const JsonbValue *value, void *arg)
{
	NnProbeOptions *options = arg;

	if (strcmp(key, "threads") == 0)
		options->n_threads = read_integers(value, key, NN_MAX_THREADS, options->threads, NN_MAX_PROBE_THREADS);
	else if (strcmp(key, "cpu_max_prime") == 0)
		options->cpu_max_prime = (uint32_t) nn_json_number(value, key, 3, 1000000);
	else if (strcmp(key, "memory_bytes") == 0)
		options->memory_bytes = read_bytes(value, key);
	else if (strcmp(key, "disk_bytes") == 0)
		options->disk_bytes = read_bytes(value, key);
	else if (strcmp(key, "disk_depths") == 0)
		options->n_depths = read_integers(value, key, NN_MAX_THREADS, options->depths, NN_MAX_DEPTHS);
	else if (strcmp(key, "disk_read_pct") == 0)
		options->disk_read_pct = nn_json_number(value, key, 0, 100);
	else if (strcmp(key, "hold") == 0)
		options->hold_ns = nn_json_duration_ns(value, key, 1000, nn_max_duration_s * 1000.0);
	else if (strcmp(key, "level") == 0)
		options->level_pct = nn_json_number(value, key, 1, 100);
	else if (strcmp(key, "expect") == 0)
	{
		/* kept with the calibration, and looked at when it is compared */
		if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"expect\" must be a json object"),
					 errhint("For example: {\"expect\": {\"quota_cpus\": null}}.")));
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is not known", nn_shorten(key)),
				 errdetail("The options are %s.", nn_quoted_list(options_known))));
}

/* The option "hold" has the probe of that name done, and the probe without the option lasts ten minutes. */
static void
settle_hold(NnCalibrationRequest *request)
{
	int			place = 0;
	bool		named = false;

	while (nn_probes[place] != &nn_probe_hold)
		place++;
	for (int i = 0; i < request->n_probes; i++)
		named |= request->probes[i] == place;
	if (named && request->options.hold_ns == 0)
		request->options.hold_ns = Min(NN_HOLD_S, nn_max_duration_s) * NN_NS_PER_S;
	if (!named && request->options.hold_ns > 0)
		request->probes[request->n_probes++] = place;
}

/* 1, 2, 4, … and the usable CPUs, rounded up. */
static void
default_threads(NnProbeOptions *options, const NnTopology *host)
{
	int			cpus = Max((int) ceil(host->usable_cpus), 1);

	/* a quota is seen only by more threads than it has CPUs */
	cpus = Min(Max(cpus, host->affinity_cpus), NN_MAX_THREADS);
	for (int threads = 1; threads < cpus && options->n_threads < NN_MAX_PROBE_THREADS - 1; threads *= 2)
		options->threads[options->n_threads++] = threads;
	options->threads[options->n_threads++] = cpus;
}

static void
read_options(const NnCalibrateArgs *args, NnCalibrationRequest *request, const NnTopology *host)
{
	NnProbeOptions *options = &request->options;

	options->cpu_max_prime = 10000;
	options->disk_bytes = Min(NN_DISK_BYTES, (uint64) nn_max_disk_mb << 20);
	options->disk_read_pct = 70;
	options->level_pct = 50;
	options->seed = pg_prng_uint64(&pg_global_prng_state);
	options->memory_room_bytes = nn_memory_room_bytes(host) / 100 * (uint64) nn_max_memory_percent;
	if (args->options == NULL)
		nn_refuse_null("options");
	nn_json_each(&args->options->root, "argument \"options\"", read_option, options);
	if (options->n_threads == 0)
		default_threads(options, host);
	if (options->n_depths == 0)
	{
		options->depths[options->n_depths++] = 1;
		options->depths[options->n_depths++] = 16;
	}
	if (options->disk_bytes > (uint64) nn_max_disk_mb << 20)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("option \"disk_bytes\" is above the ceiling"),
				 errdetail("It is " UINT64_FORMAT " bytes; pg_noisyneighbor.max_disk_bytes is %d MB.",
						   options->disk_bytes, nn_max_disk_mb)));
	if (options->memory_bytes > options->memory_room_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("option \"memory_bytes\" is more than noise may take"),
				 errdetail("It is " UINT64_FORMAT " bytes; %d %% of the memory that is available are " UINT64_FORMAT " bytes.",
						   options->memory_bytes, nn_max_memory_percent, options->memory_room_bytes)));
}

/* The time after which nothing is measured any more, whoever hangs. */
static void
set_deadline(NnCalibrationRequest *request, const NnTopology *host)
{
	const NnProbeOptions *options = &request->options;
	NnTrial    *trials = palloc0(sizeof(NnTrial) * NN_MAX_TRIALS);
	char		error[NN_PROBE_ERROR_LEN];

	request->longest_ns = 60 * NN_NS_PER_S;
	for (int i = 0; i < request->n_probes; i++)
	{
		const NnProbe *probe = nn_probes[request->probes[i]];
		int			n = probe->plan(options, host, trials, error);

		request->longest_ns += NN_PROBE_OVERHEAD_NS;
		for (int t = 0; t < n; t++)
		{
			uint64		length_ns = trials[t].duration_ns ? trials[t].duration_ns : options->duration_ns;

			request->longest_ns += 2 * (length_ns + NN_NS_PER_S) * (uint64) (options->repeats + 1) + NN_TRIAL_OVERHEAD_NS;
		}
	}
	pfree(trials);
}

static char *
describe(const NnCalibrateArgs *args, const NnCalibrationRequest *request)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"duration_s\": %s, \"repeats\": %d, \"probes\": [",
					 DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(request->options.duration_ns / 1e9))),
					 request->options.repeats);
	for (int i = 0; i < request->n_probes; i++)
		appendStringInfo(&buf, "%s\"%s\"", i ? ", " : "", nn_probes[request->probes[i]]->name);
	appendStringInfo(&buf, "], \"options\": %s}", JsonbToCString(NULL, &args->options->root, VARSIZE(args->options)));
	return buf.data;
}

char *
nn_calibrate_request_build(const NnCalibrateArgs *args, NnCalibrationRequest *request)
{
	NnTopology	host;
	double		seconds;

	memset(request, 0, sizeof(*request));
	request->database_oid = MyDatabaseId;
	request->schema_oid = get_func_namespace(args->function);
	request->role_oid = GetUserId();
	strlcpy(request->role_name, GetUserNameFromId(GetUserId(), false), NAMEDATALEN);
	nn_settings_host_root(&request->root);
	nn_topology_read(&request->root, &host);
	read_probes(args, request);
	if (args->duration == NULL)
		nn_refuse_null("duration");
	seconds = nn_interval_s(args->duration);
	if (!(seconds >= NN_MIN_DURATION_S && seconds <= nn_max_duration_s))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"duration\" is out of range"),
				 errdetail("It is %g s and must be from %g s to %d s (pg_noisyneighbor.max_duration).",
						   seconds, NN_MIN_DURATION_S, nn_max_duration_s)));
	request->options.duration_ns = (uint64) (seconds * 1e9);
	if (!args->has_repeats)
		nn_refuse_null("repeats");
	if (args->repeats < 1 || args->repeats > NN_MAX_REPEATS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"repeats\" is out of range"),
				 errdetail("It is %d and must be from 1 to %d.", args->repeats, NN_MAX_REPEATS)));
	request->options.repeats = args->repeats;
	if (args->label && strlen(args->label) > NN_MAX_LABEL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"label\" is longer than %d bytes", NN_MAX_LABEL)));
	read_options(args, request, &host);
	settle_hold(request);
	set_deadline(request, &host);
	return describe(args, request);
}
