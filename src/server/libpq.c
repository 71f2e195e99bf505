/*-------------------------------------------------------------------------
 *
 * libpq.c
 *	  Connection strings.
 *
 * A connection string may hold a password: it is parsed here, and no message ever repeats it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "libpq-fe.h"

#include "server/libpq.h"

void
nn_conninfo_check(const char *conninfo)
{
	char	   *error = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &error);

	if (options == NULL)
	{
		/* libpq's message may quote the string, and with it a password */
		PQfreemem(error);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"conninfo\" is not a valid connection string"),
				 errhint("For example: 'host=db2 port=5432 dbname=bench user=bench'.")));
	}
	PQconninfoFree(options);
}

char *
nn_conninfo_describe(const char *conninfo)
{
	static const char *const shown[] = {"host", "hostaddr", "port", "dbname", "user"};
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	StringInfoData buf;

	initStringInfo(&buf);
	for (PQconninfoOption *option = options; option && option->keyword; option++)
		for (int i = 0; i < (int) lengthof(shown); i++)
			if (option->val && strcmp(option->keyword, shown[i]) == 0)
				appendStringInfo(&buf, "%s%s=%s", buf.len ? " " : "", option->keyword, option->val);
	PQconninfoFree(options);
	return buf.data;
}
