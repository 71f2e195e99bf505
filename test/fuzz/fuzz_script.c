/*-------------------------------------------------------------------------
 *
 * fuzz_script.c
 *	  Workload scripts: putting one together, and computing and writing the statements of a transaction.
 *
 * Links: src/workload/script.c
 *
 * The input is read line by line.  A line "=name c7 v0 + - * / r" assigns an expression in
 * postfix order (constant 7, variable 0, operators, random), any other line is a statement.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "fuzz.h"
#include "workload/script.h"

#define MAX_OPERATIONS	(NN_SCRIPT_MAX_OPERATIONS + 8)

static NnScript script;

static int
read_operations(char *at, NnOperation *operations)
{
	int			n = 0;
	char	   *word;

	for (word = strtok(at, " "); word != NULL && n < MAX_OPERATIONS; word = strtok(NULL, " "))
	{
		const char *kinds = "cv+-*/r";
		const char *kind = strchr(kinds, word[0]);

		operations[n].kind = kind != NULL ? (NnOperationKind) (kind - kinds) : NN_OPERATION_RANDOM;
		operations[n].value = strtoll(word + 1, NULL, 10);
		n++;
	}
	return n;
}

static bool
add_line(char *line)
{
	static NnOperation operations[MAX_OPERATIONS];
	size_t		length;
	int			variable;

	if (line[0] != '=')
		return nn_script_add_statement(&script, line);
	length = strcspn(line + 1, " ");
	variable = nn_script_variable(&script, line + 1, (int) length);
	return nn_script_add_set(&script, variable, operations, read_operations(line + 1 + length, operations));
}

/* $1, $2, … stand where the values go, and nowhere is the text cut. */
static void
require_statement(const NnScriptStep *step, char (*values)[NN_SCRIPT_VALUE_LEN])
{
	static char whole[NN_SCRIPT_TEXT_BYTES * NN_SCRIPT_VALUE_LEN];
	char		cut[64];
	const char *named = nn_script_named(&script, step);
	int			length;
	int			i;

	require(memchr(named, '\0', sizeof(script.text) - (size_t) step->named) != NULL);
	require(memchr(nn_script_numbered(&script, step), '\0', sizeof(script.text) - (size_t) step->numbered) != NULL);
	require(step->n_places >= 0 && step->n_places <= NN_SCRIPT_MAX_PARAMETERS);
	for (i = 0; i < step->n_places; i++)
	{
		const NnScriptPlace *place = &script.places[step->first_place + i];

		require(place->variable >= 0 && place->variable < script.n_variables);
		require(named[place->offset] == ':');
		require(strncmp(named + place->offset + 1, script.variables[place->variable], (size_t) place->length - 1) == 0);
	}
	length = nn_script_interpolate(&script, step, values, whole, sizeof(whole));
	require(length >= 0 && (size_t) length < sizeof(whole) && strlen(whole) == (size_t) length);
	require(nn_script_interpolate(&script, step, values, cut, sizeof(cut)) == length);
}

static void
run_transaction(void)
{
	char		values[NN_SCRIPT_MAX_VARIABLES][NN_SCRIPT_VALUE_LEN];
	int64_t		variables[NN_SCRIPT_MAX_VARIABLES] = {3};
	NnRandom	random;
	int			i;

	nn_random_seed(&random, 1, 1);
	for (i = 0; i < NN_SCRIPT_MAX_VARIABLES; i++)
		nn_script_format(values[i], variables[i]);
	for (i = 0; i < script.n_steps; i++)
	{
		const NnScriptStep *step = &script.steps[i];

		if (step->kind == NN_STEP_STATEMENT)
			require_statement(step, values);
		else if (nn_script_evaluate(&script, step, variables, &random, &variables[step->variable]))
		{
			nn_script_format(values[step->variable], variables[step->variable]);
			require(strtoll(values[step->variable], NULL, 10) == variables[step->variable]);
		}
		else
			return;
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char	   *text = malloc(size + 1);
	char	   *line = text;
	bool		ok = true;

	memcpy(text, data, size);
	text[size] = '\0';
	nn_script_begin(&script, "fuzz");
	while (ok && line != NULL)
	{
		char	   *end = strchr(line, '\n');

		if (end != NULL)
			*end++ = '\0';
		ok = add_line(line);
		line = end;
	}
	free(text);
	if (ok)
		run_transaction();
	return 0;
}
