/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/student.h"

#include <math.h>

/* Beyond so many degrees of freedom it is the normal distribution. */
#define DF_NORMAL 1e6
#define STEPS	  500
#define PRECISION 1e-14
#define TINY	  1e-300

/* Keeps a denominator of the continued fraction from being nothing. */
static double away_from_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of I_x(a, b), by Lentz's method (1976). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;

	for (int m = 1; m <= STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		f *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		factor = d * c;
		f *= factor;
		if (fabs(factor - 1) < PRECISION)
			break;
	}
	return f;
}

/* I_x(a, b) */
static double beta_part(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_p(double t, double df)
{
	if (df > DF_NORMAL)
		return erfc(fabs(t) / sqrt(2));
	return beta_part(df / (df + t * t), df / 2, 0.5);
}

double student_t(double p, double df)
{
	double low = 0, high = 1;

	while (student_p(high, df) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double middle = low + (high - low) / 2;

		if (student_p(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}
