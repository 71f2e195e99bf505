/*-------------------------------------------------------------------------
 *
 * random.c
 *	  Reproducible random numbers: xoshiro256** seeded by splitmix64.
 *
 * The algorithms are those that Blackman and Vigna published; the state is
 * the caller's, one per thread, so that nothing is shared and nothing locked.
 *
 *-------------------------------------------------------------------------
 */
#include "core/random.h"

#include <string.h>

#define TWO_TO_53	9007199254740992.0

static inline uint64_t
rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

/* One step of splitmix64: turns a counter into well mixed words. */
static uint64_t
splitmix64_next(uint64_t *state)
{
	uint64_t	z = (*state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/*
 * The stream is mixed before it meets the seed: neighbouring seeds and
 * neighbouring streams must not give the same or shifted sequences.
 */
void
nn_random_seed(NnRandom *r, uint64_t seed, uint64_t stream)
{
	uint64_t	stream_state = ~stream;
	uint64_t	state = seed ^ splitmix64_next(&stream_state);
	int			i;

	for (i = 0; i < 4; i++)
		r->s[i] = splitmix64_next(&state);

	/* All zeros is the one state that the generator never leaves. */
	if ((r->s[0] | r->s[1] | r->s[2] | r->s[3]) == 0)
		r->s[0] = 1;
}

uint64_t
nn_random_u64(NnRandom *r)
{
	uint64_t	result = rotate_left(r->s[1] * 5, 7) * 9;
	uint64_t	t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotate_left(r->s[3], 45);
	return result;
}

/*
 * Uniform in [0, span).  Draws below 2^64 mod span are thrown away, so that
 * every remainder stands for the same number of draws.
 */
static uint64_t
random_below(NnRandom *r, uint64_t span)
{
	uint64_t	unfair = (UINT64_C(0) - span) % span;
	uint64_t	x;

	do
		x = nn_random_u64(r);
	while (x < unfair);
	return x % span;
}

int64_t
nn_random_range(NnRandom *r, int64_t low, int64_t high)
{
	uint64_t	span = (uint64_t) high - (uint64_t) low + 1;

	if (span == 0)				/* the whole range of int64 */
		return (int64_t) nn_random_u64(r);
	return (int64_t) ((uint64_t) low + random_below(r, span));
}

/* The upper 53 bits: as many as a double holds exactly. */
double
nn_random_double(NnRandom *r)
{
	return (double) (nn_random_u64(r) >> 11) / TWO_TO_53;
}

void
nn_random_fill(NnRandom *r, void *memory, size_t size)
{
	unsigned char *bytes = memory;

	for (size_t i = 0; i < size; i += sizeof(uint64_t))
	{
		uint64_t	word = nn_random_u64(r);

		memcpy(bytes + i, &word, sizeof(word));
	}
}

void
nn_random_cycle(NnRandom *r, uint32_t *next, uint32_t n)
{
	uint32_t	i;

	for (i = 0; i < n; i++)
		next[i] = i;

	/*
	 * Sattolo: swapping only with an earlier element, never with itself,
	 * leaves a permutation of one cycle.
	 */
	for (i = n; i-- > 1;)
	{
		uint32_t	j = (uint32_t) random_below(r, i);
		uint32_t	kept = next[i];

		next[i] = next[j];
		next[j] = kept;
	}
}
