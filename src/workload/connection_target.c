/*-------------------------------------------------------------------------
 *
 * connection_target.c
 *	  Where client connections go: libpq's options, and the secrets among them.
 *
 * Filled by the main thread before any connection is opened, then constant.  Memory is from
 * malloc(), because client threads read it, and lives as long as the process.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "workload/connection_internal.h"

/* A later value of a keyword replaces an earlier one.  False: no memory. */
bool
nn_target_add(NnTarget *target, const char *keyword, const char *value)
{
	char	   *copy = strdup(value);
	int			i = 0;

	if (copy == NULL)
		return false;
	while (i < target->n_options && strcmp(target->keywords[i], keyword) != 0)
		i++;
	if (i < target->n_options)
	{
		free(target->values[i]);
		target->values[i] = copy;
		return true;
	}
	if (i >= NN_TARGET_MAX_OPTIONS)
	{
		free(copy);
		return false;
	}
	target->keywords[i] = strdup(keyword);
	target->values[i] = copy;
	if (target->keywords[i] == NULL)
	{
		free(copy);
		target->values[i] = NULL;
		return false;
	}
	target->n_options = i + 1;
	return true;
}

/* Add all that a connection string sets.  False with the reason. */
bool
nn_target_add_conninfo(NnTarget *target, const char *conninfo, char *error, int error_size)
{
	char	   *message = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &message);
	bool		ok = true;

	if (options == NULL)
	{
		snprintf(error, error_size, "%s", message ? message : "out of memory");
		PQfreemem(message);
		return false;
	}
	for (PQconninfoOption *o = options; o->keyword != NULL; o++)
	{
		if (o->val != NULL && o->val[0] != '\0')
			ok = ok && nn_target_add(target, o->keyword, o->val);
	}
	PQconninfoFree(options);
	if (!ok)
		snprintf(error, error_size, "out of memory");
	return ok;
}

/* Value of an option, NULL when it is not set. */
const char *
nn_target_get(const NnTarget *target, const char *keyword)
{
	for (int i = 0; i < target->n_options; i++)
	{
		if (strcmp(target->keywords[i], keyword) == 0)
			return target->values[i];
	}
	return NULL;
}

/*
 * Make libpq forget what the environment of the server's start says: an empty
 * value in the options would not do, libpq takes it for one that is not set.
 */
void
nn_target_forget_environment(void)
{
	static const char *const others[] = {
		"PGREQUIRESSL", "PGSERVICEFILE", "PGDATESTYLE", "PGTZ", "PGGEQO"
	};
	PQconninfoOption *options = PQconninfoParse("", NULL);

	if (options != NULL)
	{
		for (PQconninfoOption *o = options; o->keyword != NULL; o++)
		{
			if (o->envvar != NULL)
				(void) unsetenv(o->envvar);
		}
		PQconninfoFree(options);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		(void) unsetenv(others[i]);
}

/* Overwrite every occurrence of a secret. */
static void
strip_secret(char *message, const char *secret)
{
	size_t		length = secret ? strlen(secret) : 0;
	char	   *at = message;

	if (length == 0)
		return;
	while ((at = strstr(at, secret)) != NULL)
	{
		memset(at, '*', length);
		at += length;
	}
}

/* Overwrite the passwords of the target where they stand in a message. */
void
nn_target_strip_secrets(const NnTarget *target, char *message)
{
	strip_secret(message, nn_target_get(target, "password"));
	strip_secret(message, nn_target_get(target, "sslpassword"));
}
