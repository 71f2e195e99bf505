/*-------------------------------------------------------------------------
 *
 * script.c
 *	  What one transaction of a workload does.  See script.h.
 *
 * The built-in scripts issue the statements of pgbench's built-in scripts of the same
 * names, on the same tables, with the same distribution of the values, so that results compare.
 *
 * Pure functions on memory of the caller: no locks, nothing is allocated.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/script.h"

#include <stdio.h>
#include <string.h>

#define ACCOUNTS_PER_BRANCH		100000
#define TELLERS_PER_BRANCH		10

static bool
is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || (unsigned char) c >= 0x80;
}

/* An empty script, with the one variable that all have. */
void
nn_script_begin(NnScript *script, const char *name)
{
	memset(script, 0, sizeof(*script));
	snprintf(script->name, sizeof(script->name), "%s", name);
	(void) nn_script_variable(script, "scale", 5);
}

static int
find_variable(const NnScript *script, const char *name, int length)
{
	for (int i = 0; i < script->n_variables; i++)
	{
		if (strncmp(script->variables[i], name, length) == 0 &&
			script->variables[i][length] == '\0')
			return i;
	}
	return -1;
}

/* Number of the variable of that name, which is made if need be.  -1: no room. */
int
nn_script_variable(NnScript *script, const char *name, int length)
{
	int			number;

	if (length <= 0 || length >= NN_SCRIPT_NAME_LEN)
		return -1;
	number = find_variable(script, name, length);
	if (number >= 0)
		return number;
	if (script->n_variables >= NN_SCRIPT_MAX_VARIABLES)
		return -1;
	number = script->n_variables++;
	memcpy(script->variables[number], name, length);
	script->variables[number][length] = '\0';
	return number;
}

static NnScriptStep *
add_step(NnScript *script, NnStepKind kind)
{
	NnScriptStep *step;

	if (script->n_steps >= NN_SCRIPT_MAX_STEPS)
		return NULL;
	step = &script->steps[script->n_steps++];
	step->kind = kind;
	return step;
}

/*
 * Are these operations an expression?  Their variables exist, each finds on the stack what it
 * needs, and one value is left.
 */
static bool
is_expression(const NnScript *script, const NnOperation *operations, int n)
{
	int			height = 0;

	for (int i = 0; i < n; i++)
	{
		if (operations[i].kind == NN_OPERATION_VARIABLE &&
			(operations[i].value < 0 || operations[i].value >= script->n_variables))
			return false;
		if (operations[i].kind == NN_OPERATION_CONSTANT ||
			operations[i].kind == NN_OPERATION_VARIABLE)
			height++;
		else if (height < 2)
			return false;
		else
			height--;
		if (height > NN_SCRIPT_MAX_STACK)
			return false;
	}
	return height == 1;
}

/* Variable := expression. */
bool
nn_script_add_set(NnScript *script, int variable, const NnOperation *operations, int n)
{
	NnScriptStep *step;

	if (variable < 0 || variable >= script->n_variables || !is_expression(script, operations, n) ||
		n > NN_SCRIPT_MAX_OPERATIONS - script->n_operations)
		return false;
	step = add_step(script, NN_STEP_SET);
	if (step == NULL)
		return false;
	step->variable = variable;
	step->first_operation = script->n_operations;
	step->n_operations = n;
	memcpy(script->operations + script->n_operations, operations, n * sizeof(NnOperation));
	script->n_operations += n;
	return true;
}

/* Append to the text. */
static bool
append(NnScript *script, const char *from, int length)
{
	if (length > NN_SCRIPT_TEXT_BYTES - script->text_used)
		return false;
	memcpy(script->text + script->text_used, from, length);
	script->text_used += length;
	return true;
}

/*
 * Length of the :name at "at", 0 when there is none.  A cast (::type) is none.
 */
static int
place_length(const char *statement, int at)
{
	int			length = 1;

	if (statement[at] != ':' || (at > 0 && statement[at - 1] == ':'))
		return 0;
	while (is_name_character(statement[at + length]))
		length++;
	return length > 1 ? length : 0;
}

/*
 * A statement with :name where a variable goes.  Names that no variable has are left alone, as
 * they may be part of the statement: an array slice, a time.
 */
bool
nn_script_add_statement(NnScript *script, const char *statement)
{
	NnScriptStep *step = add_step(script, NN_STEP_STATEMENT);
	int			copied = 0;

	if (step == NULL)
		return false;
	snprintf(step->prepared, sizeof(step->prepared), "nn_%d", script->n_steps);
	step->named = script->text_used;
	step->first_place = script->n_places;
	if (!append(script, statement, (int) strlen(statement) + 1))
		return false;

	step->numbered = script->text_used;
	for (int at = 0; statement[at] != '\0'; at++)
	{
		int			length = place_length(statement, at);
		int			variable;
		NnScriptPlace *place;
		char		number[16];

		variable = length > 0 ? find_variable(script, statement + at + 1, length - 1) : -1;
		if (variable < 0)
			continue;
		if (step->n_places >= NN_SCRIPT_MAX_PARAMETERS ||
			script->n_places >= NN_SCRIPT_MAX_PLACES)
			return false;
		place = &script->places[script->n_places++];
		place->variable = variable;
		place->offset = at;
		place->length = length;
		step->n_places++;
		snprintf(number, sizeof(number), "$%d", step->n_places);
		if (!append(script, statement + copied, at - copied) ||
			!append(script, number, (int) strlen(number)))
			return false;
		at += length - 1;
		copied = at + 1;
	}
	return append(script, statement + copied, (int) strlen(statement + copied) + 1);
}

/*
 * Value of the expression of a NN_STEP_SET.  False: division by zero, a
 * result out of range, or a random range without values.
 */
bool
nn_script_evaluate(const NnScript *script, const NnScriptStep *step,
				   const int64_t *variables, NnRandom *random, int64_t *result)
{
	int64_t		stack[NN_SCRIPT_MAX_STACK];
	int			top = -1;
	const NnOperation *operation = script->operations + step->first_operation;
	const NnOperation *end = operation + step->n_operations;

	for (; operation < end; operation++)
	{
		int64_t		a;
		int64_t		b;
		bool		bad = false;

		if (operation->kind == NN_OPERATION_CONSTANT)
		{
			stack[++top] = operation->value;
			continue;
		}
		if (operation->kind == NN_OPERATION_VARIABLE)
		{
			stack[++top] = variables[operation->value];
			continue;
		}
		b = stack[top--];
		a = stack[top];
		switch (operation->kind)
		{
			case NN_OPERATION_ADD:
				bad = __builtin_add_overflow(a, b, &stack[top]);
				break;
			case NN_OPERATION_SUBTRACT:
				bad = __builtin_sub_overflow(a, b, &stack[top]);
				break;
			case NN_OPERATION_MULTIPLY:
				bad = __builtin_mul_overflow(a, b, &stack[top]);
				break;
			case NN_OPERATION_DIVIDE:
				bad = b == 0 || (a == INT64_MIN && b == -1);
				if (!bad)
					stack[top] = a / b;
				break;
			case NN_OPERATION_RANDOM:
				bad = a > b;
				if (!bad)
					stack[top] = nn_random_range(random, a, b);
				break;
			default:
				bad = true;
		}
		if (bad)
			return false;
	}
	*result = stack[0];
	return true;
}

/* Write a 64-bit integer as decimal text, terminated; buf has NN_SCRIPT_VALUE_LEN bytes. */
void
nn_script_format(char *buf, int64_t value)
{
	char		digits[NN_SCRIPT_VALUE_LEN];
	int			n = 0;
	uint64_t	rest = value < 0 ? UINT64_C(0) - (uint64_t) value : (uint64_t) value;

	do
	{
		digits[n++] = (char) ('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		*buf++ = '-';
	while (n > 0)
		*buf++ = digits[--n];
	*buf = '\0';
}

/*
 * Write a statement with the values in place of the names, terminated.
 * Returns the length that it needs without the terminator; it is cut where that is "size" or more.
 */
int
nn_script_interpolate(const NnScript *script, const NnScriptStep *step,
					  char (*values)[NN_SCRIPT_VALUE_LEN], char *buf, int size)
{
	const char *statement = nn_script_named(script, step);
	int			copied = 0;
	int			used = 0;

	for (int i = 0; i <= step->n_places; i++)
	{
		const NnScriptPlace *place = NULL;
		const char *value = "";
		int			length;
		int			value_length;

		if (i < step->n_places)
		{
			place = &script->places[step->first_place + i];
			value = values[place->variable];
			length = place->offset - copied;
		}
		else
			length = (int) strlen(statement + copied);
		value_length = (int) strlen(value);
		if (used + length + value_length < size)
		{
			memcpy(buf + used, statement + copied, length);
			memcpy(buf + used + length, value, value_length);
			buf[used + length + value_length] = '\0';
		}
		used += length + value_length;
		if (place != NULL)
			copied = place->offset + place->length;
	}
	return used;
}

/* --- built-in scripts --- */

/* random(low, high), or random(low, high * :scale). */
typedef struct BuiltinVariable
{
	const char *name;
	int64_t		low;
	int64_t		high;
	bool		scaled;
} BuiltinVariable;

typedef struct BuiltinScript
{
	const char *name;
	const BuiltinVariable *variables;	/* ends with a NULL name */
	const char *const *statements;	/* ends with NULL */
	const NnScriptNeed *needs;	/* ends with a NULL table */
} BuiltinScript;

static const BuiltinVariable update_variables[] = {
	{"aid", 1, ACCOUNTS_PER_BRANCH, true},
	{"bid", 1, 1, true},
	{"tid", 1, TELLERS_PER_BRANCH, true},
	{"delta", -5000, 5000, false},
	{NULL, 0, 0, false}
};

static const BuiltinVariable select_variables[] = {
	{"aid", 1, ACCOUNTS_PER_BRANCH, true},
	{NULL, 0, 0, false}
};

#define UPDATE_ACCOUNTS "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;"
#define SELECT_ACCOUNTS "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;"
#define UPDATE_TELLERS	"UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;"
#define UPDATE_BRANCHES "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;"
#define INSERT_HISTORY \
	"INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) " \
	"VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);"

static const char *const tpcb_like_statements[] = {
	"BEGIN;", UPDATE_ACCOUNTS, SELECT_ACCOUNTS, UPDATE_TELLERS, UPDATE_BRANCHES,
	INSERT_HISTORY, "END;", NULL
};

static const char *const simple_update_statements[] = {
	"BEGIN;", UPDATE_ACCOUNTS, SELECT_ACCOUNTS, INSERT_HISTORY, "END;", NULL
};

static const char *const select_only_statements[] = {
	SELECT_ACCOUNTS, NULL
};

/* pgbench_branches is read in every case: it tells the scale. */
static const NnScriptNeed tpcb_like_needs[] = {
	{"pgbench_accounts", "SELECT"}, {"pgbench_accounts", "UPDATE"},
	{"pgbench_branches", "SELECT"}, {"pgbench_branches", "UPDATE"},
	{"pgbench_tellers", "SELECT"}, {"pgbench_tellers", "UPDATE"},
	{"pgbench_history", "INSERT"}, {NULL, NULL}
};

static const NnScriptNeed simple_update_needs[] = {
	{"pgbench_accounts", "SELECT"}, {"pgbench_accounts", "UPDATE"},
	{"pgbench_branches", "SELECT"}, {"pgbench_history", "INSERT"}, {NULL, NULL}
};

static const NnScriptNeed select_only_needs[] = {
	{"pgbench_accounts", "SELECT"}, {"pgbench_branches", "SELECT"}, {NULL, NULL}
};

static const BuiltinScript builtins[] = {
	{"tpcb-like", update_variables, tpcb_like_statements, tpcb_like_needs},
	{"simple-update", update_variables, simple_update_statements, simple_update_needs},
	{"select-only", select_variables, select_only_statements, select_only_needs},
};

#define N_BUILTINS	((int) (sizeof(builtins) / sizeof(builtins[0])))

const char *
nn_script_builtin_name(int number)
{
	return number >= 0 && number < N_BUILTINS ? builtins[number].name : NULL;
}

static bool
add_random_variable(NnScript *script, const BuiltinVariable *variable)
{
	int			number = nn_script_variable(script, variable->name, (int) strlen(variable->name));
	NnOperation operations[] = {
		{NN_OPERATION_CONSTANT, variable->low},
		{NN_OPERATION_CONSTANT, variable->high},
		{NN_OPERATION_VARIABLE, NN_SCRIPT_SCALE},
		{NN_OPERATION_MULTIPLY, 0},
		{NN_OPERATION_RANDOM, 0}
	};

	if (!variable->scaled)
		operations[2] = operations[4];
	return nn_script_add_set(script, number, operations, variable->scaled ? 5 : 3);
}

bool
nn_script_builtin(NnScript *script, const char *name)
{
	for (int i = 0; i < N_BUILTINS; i++)
	{
		const BuiltinScript *builtin = &builtins[i];
		bool		ok = true;

		if (strcmp(builtin->name, name) != 0)
			continue;
		nn_script_begin(script, name);
		script->needs = builtin->needs;
		for (const BuiltinVariable *v = builtin->variables; v->name != NULL; v++)
			ok = ok && add_random_variable(script, v);
		for (const char *const *s = builtin->statements; *s != NULL; s++)
			ok = ok && nn_script_add_statement(script, *s);
		return ok;
	}
	return false;
}
