/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_STUDENT_H
#define HOTRUN_MODEL_STUDENT_H
/*
 * Student's t distribution, of differences whose spread is itself estimated from few parts. By the
 * regularised incomplete beta function (DLMF 8.17.22, continued fraction); good to 1e-10. Pure; no
 * threads.
 */

/* Probability of |T| >= |t| with df degrees of freedom (1 or more; infinite allowed). */
double student_p(double t, double df);
/* t of which |T| is larger with probability p (0 < p < 1). */
double student_t(double p, double df);
#endif
