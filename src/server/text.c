/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Text that came from elsewhere, made fit for the database.
 *
 * Messages of clients are cut to the room that shared memory has for them, in the middle of a character perhaps, and
 * those of another server may be in another encoding.  A value that is not valid in the encoding of the database
 * must not get into a table: it could be neither read by functions nor restored from a dump.
 *
 * For processes that are connected to a database: elsewhere its encoding is not known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "server/text.h"

void
nn_text_repair(char *text)
{
	int			encoding = GetDatabaseEncoding();
	char	   *end = text + strlen(text);
	char	   *at = text;

	while (at < end)
	{
		int			length = pg_encoding_verifymbchar(encoding, at, (int) (end - at));

		if (length > 0)
			at += length;
		else if (pg_encoding_mblen(encoding, at) > end - at)
			break;				/* cut */
		else
			*at++ = '?';
	}
	*at = '\0';
}
