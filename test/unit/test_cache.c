/*-------------------------------------------------------------------------
 *
 * test_cache.c
 *	  The working set of cache noise is one cycle, and all of it is visited.
 *
 * Links: src/noise/stressor.c src/noise/stream.c src/noise/switch.c src/noise/cpu.c src/noise/disk.c src/noise/memory.c
 *
 *-------------------------------------------------------------------------
 */
#include "noise/cache.c"

#include "tap.h"

#define LINES	(16 * UINT64_C(1024))

static CacheState *
create(uint64_t seed)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	CacheState *cache = cache_create(LINES * LINE_BYTES, seed, error);

	if (cache == NULL)
		tap_note("%s", error);
	return cache;
}

static uint64_t
cycle_length(const CacheState *cache)
{
	const Line *line = cache->lines;
	uint64_t	length = 0;

	do
	{
		line = line->next;
		length++;
	} while (line != cache->lines && length <= cache->n_lines);
	return length;
}

static bool
same_cycle(const CacheState *a, const CacheState *b)
{
	for (uint64_t i = 0; i < a->n_lines; i++)
	{
		if (a->lines[i].next - a->lines != b->lines[i].next - b->lines)
			return false;
	}
	return true;
}

static void
test_cycle(void)
{
	CacheState *cache = create(1);
	CacheState *again = create(1);
	CacheState *other = create(2);
	uint64_t	near_by = 0;

	ok(sizeof(Line) == LINE_BYTES, "an entry is a cache line");
	ok(cache->n_lines == LINES && cycle_length(cache) == LINES, "one cycle goes through all lines");
	ok(same_cycle(cache, again) && !same_cycle(cache, other), "the seed decides its order");
	for (uint64_t i = 0; i < LINES; i++)
	{
		if (labs((long) (cache->lines[i].next - &cache->lines[i])) <= 8)
			near_by++;
	}
	ok(near_by < LINES / 100, "the successor of a line is seldom near it (%d of %d)", (int) near_by, (int) LINES);
	cache_destroy(cache);
	cache_destroy(again);
	cache_destroy(other);
}

static void
test_visits(void)
{
	CacheState *cache = create(3);
	uint64_t	visited = 0;
	uint64_t	wrong = 0;

	for (int round = 0; round < 3; round++)
	{
		for (uint64_t i = 0; i < LINES / (STEPS * CURSORS); i++)
			visited += cache_burn(cache);
		for (uint64_t i = 0; i < LINES; i++)
			wrong += cache->lines[i].visits != (uint64_t) round + 1;
	}
	ok(visited == 3 * LINES, "a piece of work tells how many lines it visited");
	ok(wrong == 0, "no line is visited again before all others have been");
	cache_destroy(cache);
}

static void
test_refused(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";

	ok(cache_create(UINT64_C(1) << 50, 1, error) == NULL && error[0] != '\0',
	   "a working set that cannot be had is refused with the reason (%s)", error);
	error[0] = '\0';
	ok(map_lines((size_t) 1 << 50, error) == NULL && strstr(error, "1125899906842624") != NULL,
	   "and so is one that cannot be mapped (%s)", error);
}

/* Defaults of a host with so many CPUs, so much cache and memory. */
static void
test_defaults(void)
{
	NnTopology	host;

	memset(&host, 0, sizeof(host));
	host.usable_cpus = 2;
	host.llc_bytes = UINT64_C(32) << 20;
	host.mem_total_bytes = host.mem_available_bytes = UINT64_C(16) << 30;
	host.limits.memory_limit_bytes = NAN;
	host.limits.memory_usage_bytes = NAN;
	host.limits.memory_room_bytes = NAN;
	ok(cache_default_workers(&host) == 2 && cache_default_bytes(&host) == UINT64_C(64) << 20,
	   "twice the last-level cache for each usable CPU");
	host.usable_cpus = 128;
	host.llc_bytes = UINT64_C(512) << 20;
	ok(cache_default_workers(&host) == 2 && cache_default_bytes(&host) == UINT64_C(1) << 30,
	   "fewer threads where memory is short of that");
	host.mem_available_bytes = UINT64_C(1) << 30;
	ok(cache_default_workers(&host) == 1 && cache_default_bytes(&host) == UINT64_C(128) << 20,
	   "and one that takes an eighth of the memory at the least");
	host.usable_cpus = 0.5;
	host.mem_available_bytes = 0;
	ok(cache_default_workers(&host) == 1 && nn_stressor_cpu.default_workers(&host) == 1,
	   "half a CPU has one load thread");
	host.usable_cpus = 1.8;
	ok(nn_stressor_cpu.default_workers(&host) == 2, "1.8 CPUs have two");
}

static void
test_list(void)
{
	int			n = 0;
	bool		complete = true;

	for (; nn_stressors[n] != NULL; n++)
	{
		const NnStressor *s = nn_stressors[n];

		complete = complete && nn_stressor_find(s->name) == s && s->rate_unit && s->version > 0 &&
			s->default_workers && s->create && s->destroy &&
			(s->kind == NN_DOSE_HOLD ? s->hold != NULL : s->burn != NULL) &&
			((s->options & NN_STRESSOR_BYTES) != 0) == (s->default_bytes != NULL);
	}
	ok(n >= 6 && complete, "every descriptor is complete and found by its name");
	ok(nn_stressor_find("cach") == NULL && nn_stressor_find("") == NULL, "no other name finds one");
}

int
main(void)
{
	test_cycle();
	test_visits();
	test_refused();
	test_defaults();
	test_list();
	return tap_done();
}
