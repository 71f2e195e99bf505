/*-------------------------------------------------------------------------
 *
 * fuzz_histogram_binary.c
 *	  The binary form of a histogram, as noisy_histogram_recv() gets it from anybody, and as it may
 *	  come from a damaged page.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "core/histogram_codec.h"
#include "fuzz.h"
#include "fuzz_histogram.h"

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static unsigned char again[NN_HISTOGRAM_BINARY_MAX];
	static NnHistogram h;
	const char *reason = nn_histogram_decode(&h, data, size);

	if (reason != NULL)
	{
		require(reason[0] != '\0');
		return 0;
	}
	/* There is one way to write a histogram. */
	require(nn_histogram_encode(&h, again) == size && memcmp(again, data, size) == 0);
	require_sound(&h);
	return 0;
}
