/*-------------------------------------------------------------------------
 *
 * pg_noisyneighbor.c
 *	  Module entry: defines the settings, and asks for what only a preloaded library gets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "server/settings.h"
#include "server/tranche.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	nn_settings_define();
	nn_tranche_request();
}
