/*-------------------------------------------------------------------------
 *
 * script.h
 *	  What one transaction of a workload does: assignments and statements.
 *
 * A script is a list of steps.  A step either computes a variable or sends a statement.  An
 * expression is a list of operations in postfix order on a small stack of
 * 64-bit integers; a statement is kept as it was written, with :name where a
 * variable goes, and with $1, $2, … for the protocols that send values apart.
 *
 * Scripts are put together by nn_script_begin(), nn_script_add_set() and
 * nn_script_add_statement(); the built-in ones are filled from a table by nn_script_builtin(), a
 * reader of script files uses the same functions.  A script lives in one flat object without
 * pointers to memory that could go away, belongs to whoever declared it, and is read by any number of threads
 * once it is complete.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_SCRIPT_H
#define NN_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/random.h"

#define NN_SCRIPT_MAX_STEPS			64
#define NN_SCRIPT_MAX_VARIABLES		32
#define NN_SCRIPT_MAX_OPERATIONS	256
#define NN_SCRIPT_MAX_STACK			16
#define NN_SCRIPT_MAX_PARAMETERS	32	/* of one statement */
#define NN_SCRIPT_MAX_PLACES		256 /* of all statements */
#define NN_SCRIPT_NAME_LEN			64
#define NN_SCRIPT_TEXT_BYTES		16384	/* of all statements, both forms */
#define NN_SCRIPT_VALUE_LEN			24	/* a 64-bit integer as text */

/* Variable 0 of every script: the scale of the tables. */
#define NN_SCRIPT_SCALE				0

typedef enum NnOperationKind
{
	NN_OPERATION_CONSTANT,		/* push value */
	NN_OPERATION_VARIABLE,		/* push the variable of that number */
	NN_OPERATION_ADD,			/* the others: pop two, push one */
	NN_OPERATION_SUBTRACT,
	NN_OPERATION_MULTIPLY,
	NN_OPERATION_DIVIDE,
	NN_OPERATION_RANDOM			/* uniform in [first, second], both included */
} NnOperationKind;

typedef struct NnOperation
{
	NnOperationKind kind;
	int64_t		value;
} NnOperation;

/* Where a value goes in a statement. */
typedef struct NnScriptPlace
{
	int			variable;
	int			offset;			/* of the colon, from the start of the
								 * statement */
	int			length;			/* of :name */
} NnScriptPlace;

typedef enum NnStepKind
{
	NN_STEP_SET,
	NN_STEP_STATEMENT
} NnStepKind;

typedef struct NnScriptStep
{
	NnStepKind	kind;

	/* NN_STEP_SET */
	int			variable;
	int			first_operation;
	int			n_operations;

	/* NN_STEP_STATEMENT */
	int			named;			/* offset in the text: with :name */
	int			numbered;		/* the same with $1, $2, … */
	int			first_place;
	int			n_places;		/* one parameter each, in this order */
	char		prepared[16];	/* name of the prepared statement */
} NnScriptStep;

/* A table that a script needs, and what it does with it. */
typedef struct NnScriptNeed
{
	const char *table;
	const char *privilege;		/* as has_any_column_privilege() wants it */
} NnScriptNeed;

typedef struct NnScript
{
	char		name[NN_SCRIPT_NAME_LEN];
	const NnScriptNeed *needs;	/* constant; ends with a NULL table. NULL: not
								 * known */
	int			n_steps;
	int			n_variables;
	int			n_operations;
	int			n_places;
	int			text_used;
	NnScriptStep steps[NN_SCRIPT_MAX_STEPS];
	char		variables[NN_SCRIPT_MAX_VARIABLES][NN_SCRIPT_NAME_LEN];
	NnOperation operations[NN_SCRIPT_MAX_OPERATIONS];
	NnScriptPlace places[NN_SCRIPT_MAX_PLACES];
	char		text[NN_SCRIPT_TEXT_BYTES];
} NnScript;

/* --- putting a script together; false: no room, or a name that is not known --- */
extern void nn_script_begin(NnScript *script, const char *name);
extern int	nn_script_variable(NnScript *script, const char *name, int length);
extern bool nn_script_add_set(NnScript *script, int variable,
							  const NnOperation *operations, int n);
extern bool nn_script_add_statement(NnScript *script, const char *statement);

/* Fill in a built-in script.  False when there is none of that name. */
extern bool nn_script_builtin(NnScript *script, const char *name);

/* Name of built-in script 0, 1, …; NULL after the last one. */
extern const char *nn_script_builtin_name(int number);

/* --- using it --- */
extern bool nn_script_evaluate(const NnScript *script, const NnScriptStep *step,
							   const int64_t *variables, NnRandom *random, int64_t *result);
extern int	nn_script_interpolate(const NnScript *script, const NnScriptStep *step,
								  char (*values)[NN_SCRIPT_VALUE_LEN], char *buf, int size);
extern void nn_script_format(char *buf, int64_t value);

static inline const char *
nn_script_named(const NnScript *script, const NnScriptStep *step)
{
	return script->text + step->named;
}

static inline const char *
nn_script_numbered(const NnScript *script, const NnScriptStep *step)
{
	return script->text + step->numbered;
}

#endif							/* NN_SCRIPT_H */
