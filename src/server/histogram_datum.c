/*-------------------------------------------------------------------------
 *
 * histogram_datum.c
 *	  A histogram as a value of the SQL type noisy_histogram.
 *
 * What is read may come from a damaged page or from somebody's binary copy, so
 * it is checked as a whole before anything else sees it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "core/histogram_codec.h"
#include "server/compat.h"
#include "server/histogram_datum.h"

Datum
nn_histogram_to_datum(const NnHistogram *h)
{
	unsigned char *scratch;
	bytea	   *value;
	Size		size;

	if (h->count > NN_HISTOGRAM_COUNT_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("histogram counts too many values"),
				 errdetail("A histogram holds at most %lld values.",
						   (long long) NN_HISTOGRAM_COUNT_MAX)));

	scratch = palloc(NN_HISTOGRAM_BINARY_MAX);
	size = nn_histogram_encode(h, scratch);
	value = palloc(VARHDRSZ + size);
	SET_VARSIZE(value, VARHDRSZ + size);
	memcpy(VARDATA(value), scratch, size);
	pfree(scratch);
	return PointerGetDatum(value);
}

void
nn_histogram_from_datum(NnHistogram *h, Datum value)
{
	struct varlena *plain = PG_DETOAST_DATUM_PACKED(value);
	const char *reason = nn_histogram_decode(h, (const unsigned char *) VARDATA_ANY(plain),
											 VARSIZE_ANY_EXHDR(plain));

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored histogram is damaged"),
				 errdetail("In its binary form, %s.", reason)));
	if ((Pointer) plain != DatumGetPointer(value))
		pfree(plain);
}
