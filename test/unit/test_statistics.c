/*-------------------------------------------------------------------------
 *
 * test_statistics.c
 *	  Statistics against tabulated values.
 *
 *-------------------------------------------------------------------------
 */
#include "core/statistics.h"
#include "tap.h"

/* Published tables of Student's t, four to six digits. */
static const struct
{
	double		p;
	double		df;
	double		t;
	double		tolerance;
}			table[] = {
	{0.975, 1, 12.7062, 1e-5},
	{0.975, 2, 4.30265, 1e-5},
	{0.975, 3, 3.18245, 1e-5},
	{0.975, 4, 2.77645, 1e-5},
	{0.975, 5, 2.57058, 1e-5},
	{0.975, 7, 2.36462, 1e-5},
	{0.975, 10, 2.22814, 1e-5},
	{0.975, 20, 2.08596, 1e-5},
	{0.975, 30, 2.04227, 1e-5},
	{0.975, 60, 2.00030, 1e-5},
	{0.975, 120, 1.97993, 1e-5},
	{0.95, 1, 6.31375, 1e-5},
	{0.95, 8, 1.85955, 1e-5},
	{0.995, 2, 9.92484, 1e-5},
	{0.995, 9, 3.24984, 1e-5},
	{0.9995, 5, 6.86883, 1e-5},
	{0.75, 3, 0.764892, 1e-5},
	{0.025, 4, -2.77645, 1e-5},
	{0.975, 1e12, 1.959963985, 1e-9},
	{0.975, INFINITY, 1.959963985, 1e-9},
	{0.999999, 3, 103.299, 1e-5},
};

/* One and two degrees of freedom have closed forms. */
static void
test_closed_forms(void)
{
	double		worst = 0;
	int			i;

	for (i = 1; i < 1000; i++)
	{
		double		p = i / 1000.0;
		double		t1 = tan(M_PI * (p - 0.5));
		double		t2 = (2 * p - 1) / sqrt(2 * p * (1 - p));

		if (i == 500)
			continue;
		worst = fmax(worst, fabs(nn_t_quantile(p, 1) / t1 - 1));
		worst = fmax(worst, fabs(nn_t_quantile(p, 2) / t2 - 1));
	}
	ok(worst < 1e-11, "t of 1 and 2 degrees of freedom agrees with the closed form (%.1e)", worst);
	ok(near(nn_t_quantile(1e-12, 1), tan(M_PI * (1e-12 - 0.5)), 1e-3) &&
	   near(nn_t_quantile(1e-12, 2), -0.5 * M_SQRT2 * 1e6, 1e-9), "the far tail of t keeps its digits");
}

static void
test_inverse(void)
{
	static const double dfs[] = {0.5, 1, 2.5, 7, 49, 99, 101, 1000, 12345.6, 99999, 100001, 1e6, 2e8, INFINITY};
	static const double ps[] = {1e-9, 1e-4, 0.025, 0.3, 0.51, 0.9, 0.99999};
	double		worst = 0;
	size_t		i;
	size_t		j;

	for (i = 0; i < sizeof(dfs) / sizeof(dfs[0]); i++)
		for (j = 0; j < sizeof(ps) / sizeof(ps[0]); j++)
			worst = fmax(worst, fabs(nn_t_cdf(nn_t_quantile(ps[j], dfs[i]), dfs[i]) / ps[j] - 1));
	ok(worst < 1e-9, "the distribution function undoes the quantile (%.1e)", worst);

	worst = -1;
	for (i = 1; i < 400; i++)
		worst = fmax(worst, nn_t_quantile(0.975, (double) i + 1) - nn_t_quantile(0.975, (double) i));
	ok(worst < 0, "t falls with the degrees of freedom, also where the method changes");
	ok(near(nn_t_quantile(0.975, 1e5), nn_t_quantile(0.975, 1e5 + 1e-6), 1e-9),
	   "t is continuous where the normal distribution takes over");
}

static void
test_undefined(void)
{
	ok(isnan(nn_t_quantile(0, 5)) && isnan(nn_t_quantile(1, 5)) && isnan(nn_t_quantile(-1, 5)) &&
	   isnan(nn_t_quantile(NAN, 5)) && isnan(nn_t_quantile(0.9, 0)) && isnan(nn_t_quantile(0.9, NAN)) &&
	   isnan(nn_t_cdf(NAN, 5)) && isnan(nn_t_cdf(1, -1)),
	   "t out of its domain is not a number");
	ok(nn_t_quantile(0.5, 3) == 0 && nn_t_cdf(0, 3) == 0.5 && nn_t_cdf(INFINITY, 3) == 1 && nn_t_cdf(-INFINITY, 3) == 0,
	   "t is symmetric about 0");
}

static void
test_samples(void)
{
	static const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
	static const double unsorted[] = {9, 1, 7, 3};
	static const double with_nan[] = {1, NAN, 3};

	ok(nn_mean(x, 8) == 5 && near(nn_stddev(x, 8), sqrt(32.0 / 7), 1e-15), "mean and sample deviation are right");
	ok(isnan(nn_mean(x, 0)) && isnan(nn_stddev(x, 1)) && isnan(nn_quantile(x, 0, 0.5)),
	   "too few values have no mean, deviation or quantile");
	ok(nn_quantile(unsorted, 4, 0) == 1 && nn_quantile(unsorted, 4, 1) == 9 && nn_quantile(unsorted, 4, 0.5) == 5 &&
	   near(nn_quantile(unsorted, 4, 0.1), 1.6, 1e-15) && unsorted[0] == 9,
	   "quantiles interpolate between the sorted values and leave the sample alone");
	ok(isnan(nn_quantile(with_nan, 3, 0.5)) && isnan(nn_quantile(x, 8, 1.01)),
	   "a sample with a gap, or a fraction out of range, has no quantile");
}

int
main(void)
{
	size_t		i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
	{
		double		t = nn_t_quantile(table[i].p, table[i].df);

		ok(near(t, table[i].t, table[i].tolerance), "t(%g, %g) is %g (%.9g)", table[i].p, table[i].df, table[i].t, t);
	}
	test_closed_forms();
	test_inverse();
	test_undefined();
	test_samples();
	return tap_done();
}
