/*-------------------------------------------------------------------------
 *
 * test_script.c
 *	  Scripts of the workloads: what is sent, and with which values.
 *
 * Links: src/workload/script.c
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "workload/script.h"

static NnScript script;

/* The n-th statement of the script, 0, 1, …; NULL after the last. */
static const NnScriptStep *
statement(int n)
{
	for (int i = 0; i < script.n_steps; i++)
	{
		if (script.steps[i].kind == NN_STEP_STATEMENT && n-- == 0)
			return &script.steps[i];
	}
	return NULL;
}

static int
variable(const char *name)
{
	return nn_script_variable(&script, name, (int) strlen(name));
}

static void
test_builtins(void)
{
	static const char *const names[] = {"tpcb-like", "simple-update", "select-only"};
	static const int statements[] = {7, 5, 1};

	for (int i = 0; i < 3; i++)
	{
		int			n = 0;

		ok(nn_script_builtin(&script, names[i]), "%s is built in", names[i]);
		while (statement(n) != NULL)
			n++;
		ok(n == statements[i], "%s sends %d statements", names[i], statements[i]);
		ok(strcmp(nn_script_builtin_name(i), names[i]) == 0, "%s is listed", names[i]);
	}
	ok(nn_script_builtin_name(3) == NULL, "there are three built-in scripts");
	ok(!nn_script_builtin(&script, "tpcb"), "a name that is not known is refused");
}

static void
test_statements(void)
{
	char		values[NN_SCRIPT_MAX_VARIABLES][NN_SCRIPT_VALUE_LEN];
	char		buf[256];
	const NnScriptStep *insert;
	int			length;

	nn_script_builtin(&script, "tpcb-like");
	insert = statement(5);
	ok(strcmp(nn_script_numbered(&script, statement(1)),
			  "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;") == 0,
	   "names become numbered parameters in the order of their places");
	ok(strcmp(nn_script_numbered(&script, insert),
			  "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
			  "VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);") == 0,
	   "four places make four parameters");
	ok(insert->n_places == 4 &&
	   script.places[insert->first_place + 3].variable == variable("delta"),
	   "each parameter knows its variable");

	snprintf(values[variable("tid")], NN_SCRIPT_VALUE_LEN, "7");
	snprintf(values[variable("bid")], NN_SCRIPT_VALUE_LEN, "1");
	snprintf(values[variable("aid")], NN_SCRIPT_VALUE_LEN, "99999");
	snprintf(values[variable("delta")], NN_SCRIPT_VALUE_LEN, "-4711");
	length = nn_script_interpolate(&script, insert, values, buf, sizeof(buf));
	ok(strcmp(buf, "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
			  "VALUES (7, 1, 99999, -4711, CURRENT_TIMESTAMP);") == 0,
	   "values are written into the statement");
	ok(length == (int) strlen(buf), "the length of the statement is told");
	ok(nn_script_interpolate(&script, insert, values, buf, 20) == length,
	   "the length that is needed is told when there is no room");

	nn_script_begin(&script, "mine");
	(void) variable("b");
	ok(nn_script_add_statement(&script, "SELECT a[1:b], :b::int, ':c', :bb, 2*:b"),
	   "a statement with colons of other kinds is taken");
	ok(strcmp(nn_script_numbered(&script, statement(0)),
			  "SELECT a[1$1], $2::int, ':c', :bb, 2*$3") == 0,
	   "casts and unknown names stay as they are");
}

/* What the variables of a built-in script are over many transactions. */
static void
test_values(void)
{
	int64_t		low[NN_SCRIPT_MAX_VARIABLES];
	int64_t		high[NN_SCRIPT_MAX_VARIABLES];
	int64_t		values[NN_SCRIPT_MAX_VARIABLES] = {3};
	bool		all = true;
	NnRandom	random;

	nn_script_builtin(&script, "tpcb-like");
	nn_random_seed(&random, 1, 1);
	for (int v = 0; v < script.n_variables; v++)
	{
		low[v] = INT64_MAX;
		high[v] = INT64_MIN;
	}
	for (int n = 0; n < 2000000; n++)
	{
		for (int i = 0; i < script.n_steps; i++)
		{
			const NnScriptStep *step = &script.steps[i];
			int			v = step->variable;

			if (step->kind != NN_STEP_SET)
				continue;
			all = all && nn_script_evaluate(&script, step, values, &random, &values[v]);
			low[v] = values[v] < low[v] ? values[v] : low[v];
			high[v] = values[v] > high[v] ? values[v] : high[v];
		}
	}
	ok(all, "every expression has a value");
	ok(low[variable("aid")] >= 1 && low[variable("aid")] < 10 &&
	   high[variable("aid")] <= 300000 && high[variable("aid")] > 299990,
	   "at scale 3 aid is from 1 to 300000");
	ok(low[variable("bid")] == 1 && high[variable("bid")] == 3, "bid is from 1 to 3");
	ok(low[variable("tid")] == 1 && high[variable("tid")] == 30, "tid is from 1 to 30");
	ok(low[variable("delta")] == -5000 && high[variable("delta")] == 5000,
	   "delta is from -5000 to 5000");
}

static bool
evaluate(const NnOperation *operations, int n, int64_t *result)
{
	int64_t		values[NN_SCRIPT_MAX_VARIABLES] = {6};
	NnRandom	random;

	nn_random_seed(&random, 1, 1);
	nn_script_begin(&script, "mine");
	return nn_script_add_set(&script, variable("x"), operations, n) &&
		nn_script_evaluate(&script, &script.steps[0], values, &random, result);
}

static void
test_expressions(void)
{
	int64_t		result = 0;
	NnOperation sum[] = {
		{NN_OPERATION_VARIABLE, NN_SCRIPT_SCALE}, {NN_OPERATION_CONSTANT, 4},
		{NN_OPERATION_MULTIPLY, 0}, {NN_OPERATION_CONSTANT, 3}, {NN_OPERATION_SUBTRACT, 0}
	};
	NnOperation division[] = {
		{NN_OPERATION_CONSTANT, 1}, {NN_OPERATION_CONSTANT, 0}, {NN_OPERATION_DIVIDE, 0}
	};
	NnOperation range[] = {
		{NN_OPERATION_CONSTANT, 1}, {NN_OPERATION_CONSTANT, 0}, {NN_OPERATION_RANDOM, 0}
	};
	NnOperation large[] = {
		{NN_OPERATION_CONSTANT, INT64_MAX}, {NN_OPERATION_CONSTANT, 2}, {NN_OPERATION_MULTIPLY, 0}
	};

	ok(evaluate(sum, 5, &result) && result == 21, "6 * 4 - 3 is 21");
	ok(!evaluate(sum, 4, &result), "an expression that leaves two values is refused");
	ok(!evaluate(sum + 2, 1, &result), "an operation without operands is refused");
	ok(!evaluate(division, 3, &result), "a division by zero has no value");
	ok(!evaluate(range, 3, &result), "an empty random range has no value");
	ok(!evaluate(large, 3, &result), "a result beyond 64 bits is no value");
}

static void
test_formatting(void)
{
	static const int64_t numbers[] = {0, 1, -1, 9, 10, 99999, -5000, INT64_MAX, INT64_MIN};
	char		buf[NN_SCRIPT_VALUE_LEN];
	char		expected[NN_SCRIPT_VALUE_LEN];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
	{
		nn_script_format(buf, numbers[i]);
		snprintf(expected, sizeof(expected), "%" PRId64, numbers[i]);
		ok(strcmp(buf, expected) == 0, "%s is written so", expected);
	}
}

static void
test_limits(void)
{
	bool		took = true;
	int			n = 0;

	nn_script_begin(&script, "long");
	while (n <= NN_SCRIPT_MAX_STEPS && nn_script_add_statement(&script, "SELECT 1"))
		n++;
	ok(n == NN_SCRIPT_MAX_STEPS, "more than %d steps are refused", NN_SCRIPT_MAX_STEPS);

	nn_script_begin(&script, "wide");
	for (n = 1; n < NN_SCRIPT_MAX_VARIABLES; n++)
	{
		char		name[16];

		snprintf(name, sizeof(name), "v%d", n);
		took = took && variable(name) == n;
	}
	ok(took && variable("more") < 0, "more than %d variables are refused", NN_SCRIPT_MAX_VARIABLES);
	ok(variable("v5") == 5, "a variable that exists is found again");
}

int
main(void)
{
	test_builtins();
	test_statements();
	test_values();
	test_expressions();
	test_formatting();
	test_limits();
	return tap_done();
}
