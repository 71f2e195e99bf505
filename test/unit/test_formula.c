/*-------------------------------------------------------------------------
 *
 * test_formula.c
 *	  Formulas at the edges of their domains; test/sql/formula.sql has their values.
 *
 *-------------------------------------------------------------------------
 */
#include "core/formula.h"
#include "tap.h"

int
main(void)
{
	ok(near(nn_change_pct(5615.76, 3726.01), -33.6508, 1e-5) && nn_change_pct(3, 0) == -100, "change in percent");
	ok(isnan(nn_change_pct(0, 1)) && isnan(nn_change_pct(-1, 1)) && isnan(nn_change_pct(1, -1)) && isnan(nn_change_pct(INFINITY, 1)) &&
	   isnan(nn_change_pct(1, NAN)), "no change from nothing, or to less than nothing");
	ok(near(nn_recommended_cpulimit(10731.79, 23471.57, 4), 1.8289, 1e-4) && isnan(nn_recommended_cpulimit(1, 1, 0)),
	   "the limit that makes two hosts equal");
	ok(near(nn_throttle_stall_ms(1.8, 4, 100), 55, 1e-12) && nn_throttle_stall_ms(1.8, 1.8, 100) == 0 &&
	   nn_throttle_stall_ms(1.8, 0, 100) == 0 && isnan(nn_throttle_stall_ms(0, 4, 100)), "a quota stalls only where it binds");
	ok(near(nn_implied_dose_pct(1.8, 4, 3785.25, 5615.76), 14.67, 1e-3) && nn_implied_dose_pct(2, 4, 110, 100) < 0 &&
	   nn_implied_dose_pct(2, 4, 0, 100) == 50, "a loss of throughput implies a dose");
	ok(near(nn_little_clients(4442.78, 22.50), 99.96, 1e-4) && nn_little_clients(0, 5) == 0 && isnan(nn_little_clients(-1, 5)),
	   "Little's law gives clients");
	ok(near(nn_fanout(0.01, 100), 0.634, 1e-3) && nn_fanout(0, 100) == 0 && nn_fanout(1, 1) == 1 && nn_fanout(1, 0) == 0 &&
	   near(nn_fanout(1e-18, 1000), 1e-15, 1e-9) && isnan(nn_fanout(1.1, 2)), "fan-out, also of tiny probabilities");
	ok(nn_equivalent_maxpages(1024) == 800 && nn_equivalent_maxpages(32768) == 25 && isnan(nn_equivalent_maxpages(3000)) &&
	   isnan(nn_equivalent_maxpages(65536)) && isnan(nn_equivalent_maxpages(0)), "pages of real block sizes only");
	ok(nn_bgwriter_ceiling_bytes_per_s(100, 200, 8192) == 4096000 && nn_bgwriter_ceiling_bytes_per_s(0, 200, 8192) == 0 &&
	   isnan(nn_bgwriter_ceiling_bytes_per_s(100, 0, 8192)), "most that the background writer writes");
	ok(near(nn_added_us(25373, 7144), 100.6, 1e-3) && nn_added_us(10, 10) == 0 && isnan(nn_added_us(10, 0)), "added time per operation");
	ok(near(nn_stall_percentile_ms(500, 20, 0.99), 300, 1e-12) && near(nn_stall_percentile_ms(500, 20, 0.98), 100, 1e-12) &&
	   nn_stall_percentile_ms(500, 20, 0.9) == 0 && nn_stall_percentile_ms(500, 20, 1) == 500 &&
	   nn_stall_percentile_ms(500, 0.5, 0) == 0 && isnan(nn_stall_percentile_ms(500, 0.4, 0.5)),
	   "percentiles of one stall, from all of it down to nothing");
	return tap_done();
}
