/*-------------------------------------------------------------------------
 *
 * noise_request.c
 *	  The noise of a request: which stressors, how many load threads, how much memory and disk.
 *
 * Load threads default to the usable CPUs of each stressor with a CPU dose.  Memory is counted
 * against a ceiling before anything is started: an amount that was asked for is refused when it is
 * too large; a default is made smaller to fit.  Files have a ceiling of their own, and leave a part of the
 * file system free.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "host/space.h"
#include "noise/stressor.h"
#include "run/request.h"
#include "server/settings.h"

#define NN_MIN_BYTES	4096

static const char *const planned[] = {"lock", NULL};

typedef struct NoiseOptions
{
	NnStressorSpec *spec;
	const NnStressor *stressor;
	bool		bytes_given;
} NoiseOptions;

typedef struct NoiseRequest
{
	NnRequest  *request;
	NoiseOptions options[NN_MAX_STRESSORS];
} NoiseRequest;

static const char *const *
stressor_names(void)
{
	static const char *names[NN_MAX_STRESSORS + 1];

	for (int i = 0; nn_stressors[i] && i < NN_MAX_STRESSORS; i++)
		names[i] = nn_stressors[i]->name;
	return names;
}

static void
read_names(const NnRunArgs *args, const NnTopology *host, NoiseRequest *noise)
{
	NnRequest  *request = noise->request;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (args->noise == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"noise\" must not be null")));
	if (ARR_NDIM(args->noise) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("argument \"noise\" must be a one-dimensional array")));
	deconstruct_array(args->noise, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		const NnStressor *stressor;
		NoiseOptions *options = &noise->options[request->n_stressors];
		char	   *name;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"noise\" must not contain null")));
		name = TextDatumGetCString(elements[i]);
		if (nn_in_list(name, planned))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("noise \"%s\" is not supported by this version", name),
					 errdetail("The kinds of noise are %s.", nn_quoted_list(stressor_names()))));
		stressor = nn_stressor_find(name);
		if (stressor == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("noise \"%s\" is not known", nn_shorten(name)),
					 errdetail("The kinds of noise are %s.", nn_quoted_list(stressor_names()))));
		for (int j = 0; j < request->n_stressors; j++)
			if (strcmp(request->stressors[j].name, name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("noise \"%s\" is given twice", name),
						 errhint("Set \"workers\" in noise_options for more load threads.")));
		options->spec = &request->stressors[request->n_stressors++];
		options->stressor = stressor;
		strlcpy(options->spec->name, name, sizeof(options->spec->name));
		options->spec->workers = stressor->default_workers(host);
		options->spec->bytes = stressor->default_bytes ? stressor->default_bytes(host) : 0;
	}
}

/* '256MB', or a number of bytes */
static uint64
json_bytes(const JsonbValue *value, const char *stressor)
{
	double		bytes = 0;

	if (value->type == jbvString)
		bytes = (double) DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
														   PointerGetDatum(cstring_to_text_with_len(value->val.string.val,
																									value->val.string.len))));
	else if (value->type == jbvNumeric)
		bytes = DatumGetFloat8(DirectFunctionCall1(numeric_float8,
												   NumericGetDatum(value->val.numeric)));
	if (!(bytes >= NN_MIN_BYTES && bytes < 9223372036854775808.0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"bytes\" of noise \"%s\" is out of range", stressor),
				 errdetail("It must be a size of at least %d bytes.", NN_MIN_BYTES),
				 errhint("For example: \"64MB\".")));
	return (uint64) bytes;
}

static void
read_option(const char *key, const JsonbValue *value, void *arg)
{
	NoiseOptions *options = arg;
	const NnStressor *stressor = options->stressor;
	const char *known[3] = {NULL, NULL, NULL};
	int			n = 0;

	if (stressor->options & NN_STRESSOR_WORKERS)
		known[n++] = "workers";
	if (stressor->options & NN_STRESSOR_BYTES)
		known[n++] = "bytes";
	if (!nn_in_list(key, known))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("noise \"%s\" has no option \"%s\"", stressor->name, nn_shorten(key)),
				 errdetail("Its options are %s.", nn_quoted_list(known))));
	if (strcmp(key, "bytes") == 0)
	{
		options->spec->bytes = json_bytes(value, stressor->name);
		options->bytes_given = true;
	}
	else
	{
		double		workers = 0;

		if (value->type == jbvNumeric)
			workers = DatumGetFloat8(DirectFunctionCall1(numeric_float8,
														 NumericGetDatum(value->val.numeric)));
		if (!(workers >= 1 && workers <= nn_max_noise_workers && workers == (int) workers))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"workers\" of noise \"%s\" is out of range", stressor->name),
					 errdetail("It must be an integer from 1 to %d.", nn_max_noise_workers),
					 errhint("The upper bound is pg_noisyneighbor.max_noise_workers.")));
		options->spec->workers = (int) workers;
	}
}

static void
read_stressor_options(const char *key, const JsonbValue *value, void *arg)
{
	NoiseRequest *noise = arg;

	for (int i = 0; i < noise->request->n_stressors; i++)
		if (strcmp(noise->request->stressors[i].name, key) == 0)
		{
			if (value->type != jbvBinary)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("options of noise \"%s\" must be a json object", key)));
			nn_json_each(value->val.binary.data, psprintf("options of noise \"%s\"", key),
						 read_option, &noise->options[i]);
			return;
		}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("noise_options names \"%s\", which is not in \"noise\"", nn_shorten(key)),
			 nn_stressor_find(key) ? errhint("Add it to \"noise\".") :
			 errdetail("The kinds of noise are %s.", nn_quoted_list(stressor_names()))));
}

/* Hold the memory of all load threads against the ceiling. */
static void
check_memory(const NnTopology *host, NoiseRequest *noise)
{
	NnRequest  *request = noise->request;
	uint64		room = nn_memory_room_bytes(host);
	double		ceiling = room * (nn_max_memory_percent / 100.0);
	double		given = 0;
	double		by_default = 0;

	if (host->mem_available_bytes == 0)
		return;					/* the host does not say */
	for (int i = 0; i < request->n_stressors; i++)
	{
		double		bytes = (double) request->stressors[i].bytes * request->stressors[i].workers;

		if (noise->options[i].stressor->on_disk)
			continue;
		if (noise->options[i].bytes_given)
			given += bytes;
		else
			by_default += bytes;
	}
	if (given > ceiling)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("noise would take too much memory"),
				 errdetail("Needed %.0f MB, at most %.0f MB: %d %% of the %.0f MB that are available.",
						   given / 1048576, ceiling / 1048576, nn_max_memory_percent,
						   room / 1048576.0),
				 errhint("Set \"bytes\" or \"workers\" in noise_options lower; the ceiling is "
						 "pg_noisyneighbor.max_memory_percent.")));
	if (given + by_default > ceiling)
		for (int i = 0; i < request->n_stressors; i++)
			if (!noise->options[i].bytes_given && request->stressors[i].bytes > 0 &&
				!noise->options[i].stressor->on_disk)
				request->stressors[i].bytes =
					Max((uint64) (request->stressors[i].bytes * (ceiling - given) / by_default),
						NN_MIN_BYTES);
}

/* Hold the files of all load threads against the ceiling, and against the room that there is. */
static void
check_disk(const NoiseRequest *noise)
{
	const NnRequest *request = noise->request;
	double		ceiling = nn_max_disk_mb * 1048576.0;
	double		needed = 0;
	NnSpace		space;

	for (int i = 0; i < request->n_stressors; i++)
		if (noise->options[i].stressor->on_disk)
			needed += (double) request->stressors[i].bytes * request->stressors[i].workers;
	if (needed > ceiling)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("noise would take too much of the disk"),
				 errdetail("Needed %.0f MB, at most %.0f MB.", needed / 1048576, ceiling / 1048576),
				 errhint("Set \"bytes\" or \"workers\" in noise_options lower; the ceiling is "
						 "pg_noisyneighbor.max_disk_bytes.")));

	/* The folder may not be there yet; the one above always is. */
	if (needed == 0 || !(nn_space_read(NN_STRESSOR_FOLDER, &space, NULL) ||
						 nn_space_read("base", &space, NULL)))
		return;
	if (needed > (double) nn_space_room_bytes(&space))
		ereport(ERROR,
				(errcode(ERRCODE_DISK_FULL),
				 errmsg("noise would take too much of the disk"),
				 errdetail("Needed %.0f MB, %.0f MB are free, and %d %% of the file system's %.0f MB stay so.",
						   needed / 1048576, space.free_bytes / 1048576.0, NN_SPACE_KEPT_PERCENT,
						   space.total_bytes / 1048576.0),
				 errhint("Set \"bytes\" or \"workers\" in noise_options lower.")));
}

/* Deal the load threads out to the stressors. */
static void
make_load_threads(NnRunPlan *plan)
{
	NnRequest  *request = &plan->request;
	int			n = 0;

	plan->load_threads = palloc0(sizeof(NnLoadThread) * Max(request->n_load_threads, 1));
	for (int s = 0; s < request->n_stressors; s++)
		for (int w = 1; w <= request->stressors[s].workers; w++)
		{
			plan->load_threads[n].stressor = s;
			plan->load_threads[n].worker = w;
			n++;
		}
}

/*
 * Fill in stressors and load threads.  any_dose: whether the plan has a level above 0; without, no noise
 * worker is started.  The processes are dealt out later, when the free slots are known.
 */
void
nn_request_noise(const NnRunArgs *args, bool any_dose, NnRunPlan *plan)
{
	NnRequest  *request = &plan->request;
	NoiseRequest noise;
	int64		n_threads = 0;

	memset(&noise, 0, sizeof(noise));
	noise.request = request;
	read_names(args, &plan->host, &noise);
	if (request->n_stressors == 0 && any_dose)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"noise\" must not be empty"),
				 errdetail("A level above 0 was asked for."),
				 errhint("The kinds of noise are %s.", nn_quoted_list(stressor_names()))));
	if (args->noise_options == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"noise_options\" must not be null")));
	nn_json_each(&args->noise_options->root, "argument \"noise_options\"",
				 read_stressor_options, &noise);
	if (!any_dose)
		request->n_stressors = 0;
	for (int i = 0; i < request->n_stressors; i++)
		n_threads += request->stressors[i].workers;
	if (n_threads > nn_max_noise_workers)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many load threads"),
				 errdetail("Needed " INT64_FORMAT ", at most %d.", n_threads, nn_max_noise_workers),
				 errhint("Set \"workers\" in noise_options lower, or raise "
						 "pg_noisyneighbor.max_noise_workers.")));
	check_memory(&plan->host, &noise);
	check_disk(&noise);
	request->n_load_threads = (int) n_threads;
	make_load_threads(plan);
}
