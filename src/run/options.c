/*-------------------------------------------------------------------------
 *
 * options.c
 *	  The options of a request: the keys of noisy_run's last json argument.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "core/clock.h"
#include "core/looks.h"
#include "run/request.h"

#define NN_MIN_LIMIT_MS		0.001
#define NN_MAX_LIMIT_MS		600000.0
#define NN_DEFAULT_MAX_BLOCKS 16
#define NN_GUARD_MIN_NS		NN_NS_PER_S /* shorter blocks can't be judged: CPU
										 * time is known to a clock tick */

static const char *const options_known[] = {
	"abort_slo_ms", "checkpoint", "guard", "latency_limit_ms", "lock_probe", "max_blocks", "probes", "sample_interval",
	"seed", "settle", "tail", "until", NULL
};
static const char *const options_planned[] = {
	"scale", "slo_ms", NULL
};
static const char *const guard_options[] = {"max_repeats", NULL};

/* What has been read, before it is held against the rest of the request. */
typedef struct Options
{
	NnRequest  *request;
	bool		guard_given;
	bool		until_verdict;
	int			max_blocks;		/* 0: not given */
} Options;

static int64
json_integer(const JsonbValue *value, const char *key)
{
	double		number = NAN;

	if (value->type == jbvNumeric)
		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8,
													NumericGetDatum(value->val.numeric)));
	if (!(fabs(number) < 9223372036854775808.0 && number == floor(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be an integer", key)));
	return DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric)));
}

/* An integer from 0 or 1 to the most blocks of a run. */
static int
json_blocks(const JsonbValue *value, const char *key, int least)
{
	int64		number = json_integer(value, key);

	if (number < least || number > NN_MAX_BLOCKS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is out of range", key),
				 errdetail("It is " INT64_FORMAT " and must be from %d to %d.", number, least, NN_MAX_BLOCKS)));
	return (int) number;
}

/* One of a few words. Returns its place. */
static int
json_word(const JsonbValue *value, const char *key, const char *const *words)
{
	char	   *word = nn_json_string(value, key);

	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" has no value \"%s\"", key, nn_shorten(word)),
			 errdetail("The values are %s.", nn_quoted_list(words))));
	return -1;
}

static bool
json_boolean(const JsonbValue *value, const char *key)
{
	if (value->type != jbvBool)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be true or false", key)));
	return value->val.boolean;
}

static void
read_guard_option(const char *key, const JsonbValue *value, void *arg)
{
	Options    *options = arg;

	if (!nn_in_list(key, guard_options))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"guard\" has no option \"%s\"", nn_shorten(key)),
				 errdetail("Its options are %s.", nn_quoted_list(guard_options))));
	options->request->max_repeats = json_blocks(value, key, 0);
}

/* true, false or {"max_repeats": ...} */
static void
read_guard(const JsonbValue *value, Options *options)
{
	if (value->type == jbvBool)
		options->request->guard = value->val.boolean;
	else if (value->type == jbvBinary)
	{
		options->request->guard = true;
		nn_json_each(value->val.binary.data, "option \"guard\"", read_guard_option, options);
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"guard\" must be true, false or a json object"),
				 errhint("For example: {\"guard\": {\"max_repeats\": 5}}.")));
	options->guard_given = options->request->guard;
}

static void
read_option(const char *key, const JsonbValue *value, void *arg)
{
	static const char *const checkpoints[] = {"none", "before_block", NULL};
	static const char *const goals[] = {"verdict", NULL};
	Options    *options = arg;
	NnRequest  *request = options->request;

	if (nn_in_list(key, options_planned))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"%s\" is not supported by this version", key),
				 errdetail("The options are %s.", nn_quoted_list(options_known))));
	if (strcmp(key, "seed") == 0)
		request->seed = (uint64) json_integer(value, key);
	else if (strcmp(key, "checkpoint") == 0)
		request->checkpoint = json_word(value, key, checkpoints) == 0 ? NN_CHECKPOINT_NONE : NN_CHECKPOINT_BEFORE_BLOCK;
	else if (strcmp(key, "latency_limit_ms") == 0)
		request->latency_limit_ns = nn_json_duration_ns(value, key, NN_MIN_LIMIT_MS, NN_MAX_LIMIT_MS);
	else if (strcmp(key, "abort_slo_ms") == 0)
		request->abort_slo_ns = nn_json_duration_ns(value, key, NN_MIN_LIMIT_MS, NN_MAX_LIMIT_MS);
	else if (strcmp(key, "sample_interval") == 0)
		request->sample_interval_ms = (int) ((nn_json_duration_ns(value, key, 1, 10000) + NN_NS_PER_MS / 2) / NN_NS_PER_MS);
	else if (strcmp(key, "lock_probe") == 0)
		nn_request_lock_probe(value, request);
	else if (strcmp(key, "probes") == 0)
		request->probes = json_boolean(value, key);
	else if (strcmp(key, "tail") == 0)
		request->tail = json_boolean(value, key);
	else if (strcmp(key, "settle") == 0)
		request->settle_ns = nn_json_duration_ns(value, key, 0, 60000);
	else if (strcmp(key, "guard") == 0)
		read_guard(value, options);
	else if (strcmp(key, "until") == 0)
	{
		(void) json_word(value, key, goals);
		options->until_verdict = true;
	}
	else if (strcmp(key, "max_blocks") == 0)
		options->max_blocks = json_blocks(value, key, 2);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is not known", nn_shorten(key)),
				 errdetail("The options are %s.", nn_quoted_list(options_known))));
}

/* The looks of a run that goes on until there is a verdict. */
static void
plan_looks(const NnRunArgs *args, int n_doses, Options *options)
{
	NnRequest  *request = options->request;
	int			first = Max(args->repeats, 2);	/* one block has no interval */

	if (!options->until_verdict)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"max_blocks\" needs option \"until\""),
				 errhint("Use \"repeats\" for a fixed number of blocks.")));
	if (n_doses == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"until\" needs a noise level above 0"),
				 errdetail("Without one there is no verdict.")));
	if (options->max_blocks == 0)
		options->max_blocks = Max(NN_DEFAULT_MAX_BLOCKS, first);
	if (options->max_blocks < first)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"max_blocks\" is below the number of repeats"),
				 errdetail("It is %d, and the first look is after %d blocks of each level.",
						   options->max_blocks, first)));
	request->n_looks = nn_looks_make(first, options->max_blocks, request->looks);
}

int
nn_request_options(const NnRunArgs *args, int n_doses, NnRequest *request)
{
	Options		options = {.request = request};

	request->guard = true;
	request->max_repeats = -1;
	if (args->options == NULL)
		nn_refuse_null("options");
	nn_json_each(&args->options->root, "argument \"options\"", read_option, &options);

	if (options.guard_given && request->duration_ns < NN_GUARD_MIN_NS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"guard\" needs blocks of 1 s or longer"),
				 errdetail("\"duration\" is %g s; what happens in so short a time cannot be judged.",
						   request->duration_ns / 1e9)));
	if (!request->has_workload || request->duration_ns < NN_GUARD_MIN_NS)
		request->guard = false;
	if (!request->guard)
		request->max_repeats = 0;
	if (!options.until_verdict && options.max_blocks == 0)
		return args->repeats;
	plan_looks(args, n_doses, &options);
	return options.max_blocks;
}
