/*-------------------------------------------------------------------------
 *
 * test_stream.c
 *	  Stream noise goes through all of its memory.
 *
 * Links: src/noise/stressor.c src/noise/cpu.c src/noise/cache.c src/noise/disk.c src/noise/memory.c src/noise/switch.c
 *
 *-------------------------------------------------------------------------
 */
#include "noise/stream.c"

#include "tap.h"

static void
test_pass(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	const uint64_t bytes = UINT64_C(10) * CHUNK * ARRAYS * sizeof(double) + 1000;
	StreamState *stream = stream_create(bytes, 1, error);
	uint64_t	done = 0;
	bool		all = true;

	ok(stream != NULL && stream->chunks == 10, "the arrays take what was asked for, in whole chunks");
	if (stream == NULL)
		return;
	for (int i = 0; i < 9; i++)
		done += stream_burn(stream);
	ok(stream->arrays[9 * CHUNK - 1] == 4.0 && stream->arrays[9 * CHUNK] == 1.0, "a piece of work is a chunk of each array");
	done += stream_burn(stream);
	for (uint64_t i = 0; i < 10 * CHUNK; i++)
		all = all && stream->arrays[i] == 4.0 && stream->arrays[10 * CHUNK + i] == 1.0;
	ok(all && stream->next == 0, "one pass goes through all of them, and begins again");
	ok(done == stream_size(stream), "and counts each byte once");
	stream_destroy(stream);

	stream = stream_create(1, 1, error);
	ok(stream != NULL && stream_burn(stream) > 0 && stream_burn(stream) > 0, "however little it is");
	if (stream != NULL)
		stream_destroy(stream);
	ok(stream_create(UINT64_C(1) << 50, 1, error) == NULL && strstr(error, "could not map") != NULL,
	   "an amount that cannot be mapped is refused with the reason (%s)", error);
}

int
main(void)
{
	NnTopology	host;

	memset(&host, 0, sizeof(host));
	host.usable_cpus = 8;
	host.llc_bytes = UINT64_C(32) << 20;
	host.mem_total_bytes = host.mem_available_bytes = UINT64_C(64) << 30;
	host.limits.memory_limit_bytes = NAN;
	host.limits.memory_usage_bytes = NAN;
	host.limits.memory_room_bytes = NAN;
	test_pass();
	ok(stream_default_bytes(&host) == 4 * host.llc_bytes && stream_default_workers(&host) == 8,
	   "four times the last-level cache for each usable CPU");
	return tap_done();
}
