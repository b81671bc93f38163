/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_OTLP_H
#define HOTRUN_EXPORT_OTLP_H
/*
 * ProfilesData of the OpenTelemetry protocol, version v1development of August 2026
 * (opentelemetry/proto/profiles/ in github.com/open-telemetry/opentelemetry-proto;
 * schema/otlp.proto has what is written of it): a resource a process, heaviest first, and in it a
 * profile each of CPU time, of the threads that waited meanwhile, and of blocked time, in ns, as
 * far as the capture knows them; that of options.weight first. A sample is a thread and a stack,
 * with its values and their times; a location a method over its tiers, its mapping the file with
 * its build id, or the assembly.
 */
#include "export/options.h"

int otlp_write(FILE *out, struct model *m, const struct export_options *options);
#endif
