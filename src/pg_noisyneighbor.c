/*-------------------------------------------------------------------------
 *
 * pg_noisyneighbor.c
 *	  Module entry: defines the settings, and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "server/settings.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	nn_settings_define();
}
