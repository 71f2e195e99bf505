/*-------------------------------------------------------------------------
 *
 * statistics.c
 *	  Means, quantiles and Student's t.
 *
 * The distribution of t goes through the regularised incomplete beta
 * function (continued fraction, evaluated by Lentz's method).  The quantile
 * is found by bisection on the upper tail, which keeps its relative precision
 * for p near 0 and 1.  Good to about 1e-10 for every df > 0; called a few
 * times per report, so plain and slow is right.
 *
 * nn_quantile allocates a copy with malloc and frees it.  Everything here is
 * for one thread at a time (lgamma writes a global sign).
 *
 *-------------------------------------------------------------------------
 */
#include "core/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Above this, the expansion about the normal distribution is better than the fraction. */
#define DF_NEARLY_NORMAL	1e5

double
nn_mean(const double *x, int n)
{
	double		sum = 0;
	int			i;

	if (n <= 0)
		return NAN;
	for (i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

double
nn_stddev(const double *x, int n)
{
	double		mean = nn_mean(x, n);
	double		sum_sq = 0;
	int			i;

	if (n < 2)
		return NAN;
	for (i = 0; i < n; i++)
		sum_sq += (x[i] - mean) * (x[i] - mean);
	return sqrt(sum_sq / (n - 1));
}

int
nn_compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

double
nn_quantile(const double *x, int n, double p)
{
	double	   *sorted;
	double		position;
	double		result;
	int			below;
	int			i;

	if (n <= 0 || !(p >= 0.0 && p <= 1.0))
		return NAN;
	for (i = 0; i < n; i++)
		if (isnan(x[i]))
			return NAN;

	sorted = malloc(sizeof(double) * (size_t) n);
	if (sorted == NULL)
		return NAN;
	memcpy(sorted, x, sizeof(double) * (size_t) n);
	qsort(sorted, (size_t) n, sizeof(double), nn_compare_doubles);

	position = p * (n - 1);
	below = (int) position;
	result = sorted[below];
	if (below + 1 < n && position > below)
		result += (position - below) * (sorted[below + 1] - sorted[below]);
	free(sorted);
	return result;
}

/*
 * ln B(a, 1/2).  For large a the difference of two lgamma values loses its
 * digits, so the asymptotic series of ln(gamma(a + 1/2) / gamma(a)) is used
 * there (error below 1e-16 from a = 50).
 */
static double
ln_beta_half(double a)
{
	double		ln_gamma_half = 0.5 * log(M_PI);
	double		inverse = 1 / a;
	double		square = inverse * inverse;

	if (a < 50)
		return ln_gamma_half + lgamma(a) - lgamma(a + 0.5);
	return ln_gamma_half - 0.5 * log(a) +
		inverse * (1.0 / 8 - square * (1.0 / 192 - square * (1.0 / 640 - square * 17.0 / 14336)));
}

/* The continued fraction of the incomplete beta function at x. */
static double
beta_fraction(double a, double b, double x)
{
	const double tiny = DBL_MIN / DBL_EPSILON;
	double		c = 1;
	double		d = 1 - (a + b) * x / (a + 1);
	double		f;
	int			m;

	if (fabs(d) < tiny)
		d = tiny;
	d = 1 / d;
	f = d;
	for (m = 1; m <= 100000; m++)
	{
		double		even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double		odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double		step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= d * c;

		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		f *= step;
		if (fabs(step - 1) <= DBL_EPSILON)
			break;
	}
	return f;
}

/* P(T > t) for t >= 0 and large df: Fisher's expansion in powers of 1 / df. */
static double
t_upper_tail_large(double t, double df)
{
	double		s = t * t;
	double		density = exp(-s / 2) / sqrt(2 * M_PI);
	double		term1 = (s + 1) / 4;
	double		term2 = (((3 * s - 7) * s - 5) * s - 3) / 96;
	double		term3 = (((((s - 11) * s + 14) * s + 6) * s - 3) * s - 15) / 384;

	if (density == 0)
		return 0;
	return 0.5 * erfc(t / M_SQRT2) + density * t * ((term3 / df + term2) / df + term1) / df;
}

/*
 * P(T > t) for t >= 0: half of I_x(df / 2, 1 / 2) with x = df / (df + t^2).
 * The side of the fraction is chosen where it converges.
 */
static double
t_upper_tail(double t, double df)
{
	double		a = df / 2;
	double		ratio = t * t / df;
	double		x = 1 / (1 + ratio);
	double		rest = ratio / (1 + ratio); /* 1 - x without cancellation */
	double		front;

	if (df > DF_NEARLY_NORMAL)
		return t_upper_tail_large(t, df);
	if (isinf(ratio))			/* t^2 overflows: the tail is a power law
								 * there */
		return 0.5 * exp(a * (log(df) - 2 * log(t)) - ln_beta_half(a) - log(a));
	if (ratio == 0)
		return 0.5;

	front = exp(-a * log1p(ratio) + 0.5 * log(rest) - ln_beta_half(a));
	if (x < (a + 1) / (a + 2.5))
		return 0.5 * front * beta_fraction(a, 0.5, x) / a;
	return 0.5 * (1 - front * beta_fraction(0.5, a, rest) / 0.5);
}

double
nn_t_cdf(double t, double df)
{
	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(t))
		return t > 0 ? 1 : 0;
	return t >= 0 ? 1 - t_upper_tail(t, df) : t_upper_tail(-t, df);
}

double
nn_t_quantile(double p, double df)
{
	double		tail = p < 0.5 ? p : 1 - p;
	double		low = 0;
	double		high = 1;
	int			i;

	if (!(p > 0.0 && p < 1.0) || !(df > 0))
		return NAN;
	if (p == 0.5)
		return 0;

	while (t_upper_tail(high, df) > tail)
	{
		low = high;
		high *= 2;
		if (isinf(high))		/* tiny df: the quantile is no double */
			return p < 0.5 ? -high : high;
	}
	for (i = 0; i < 200 && high - low > high * DBL_EPSILON; i++)
	{
		double		middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (t_upper_tail(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	low += (high - low) / 2;
	return p < 0.5 ? -low : low;
}
