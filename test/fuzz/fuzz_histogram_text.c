/*-------------------------------------------------------------------------
 *
 * fuzz_histogram_text.c
 *	  The text form of a histogram, as noisy_histogram_in() gets it from anybody.
 *
 * Seed: expected/histogram.out has examples.
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
	static NnHistogram h;
	char	   *text = malloc(size + 1);
	const char *reason;

	memcpy(text, data, size);
	text[size] = '\0';
	reason = nn_histogram_decode_text(&h, text);
	free(text);
	if (reason != NULL)
		require(reason[0] != '\0');
	else
		require_sound(&h);
	return 0;
}
