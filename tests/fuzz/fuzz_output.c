/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each writer over a capture whose names are any bytes: what comes out is text without control
 * bytes, or JSON that parses. Names follow one another in the input, each up to its NUL or 64
 * bytes, and begin again at its end.
 */
#include <json-c/json.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bpf/events.h"
#include "build_model.h"
#include "model/top.h"
#include "output/diff.h"
#include "output/flame.h"
#include "export/csv.h"
#include "export/firefox.h"
#include "export/folded.h"
#include "export/json.h"
#include "export/ndjson.h"
#include "export/otlp.h"
#include "export/perf_script.h"
#include "export/perfetto.h"
#include "export/pprof.h"
#include "export/speedscope.h"
#include "export/svg.h"
#include "output/metrics.h"
#include "output/report.h"
#include "output/requests_table.h"
#include "output/runq.h"
#include "otlp.pb-c.h"
#include "perfetto.pb-c.h"
#include "pprof.pb-c.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

struct input {
	const char *data;
	size_t size, at;
};

static const char *next_name(struct input *in, char buf[80])
{
	size_t len = 0;

	if (in->at >= in->size)
		in->at = 0;
	while (in->at < in->size && len < 64) {
		buf[len] = in->data[in->at++];
		if (!buf[len])
			break;
		len++;
	}
	buf[len] = 0;
	return buf;
}

static const char *next_str(struct model *m, struct input *in)
{
	char buf[80];

	return model_str(m, next_name(in, buf));
}

static void name_process(struct model *m, uint32_t row, struct input *in)
{
	struct model_process *p = &m->processes[row];

	p->name = next_str(m, in);
	p->comm = next_str(m, in);
	p->exe = next_str(m, in);
	p->unit = next_str(m, in);
	p->container = next_str(m, in);
	p->container_id = next_str(m, in);
	p->container_name = next_str(m, in);
	p->pod = next_str(m, in);
	p->namespace = next_str(m, in);
	p->cgroup = next_str(m, in);
}

static struct model *make(struct input *in)
{
	struct model_service served = {
		.open = 3, .late = 2, .stuck = 1, .oldest_ns = 20 * BUILD_SECOND, .backlog = 128};
	struct model *m = build_model(2, 99);
	char name[80], module[80];
	uint32_t symbols[4], processes[2], endpoint;

	m->host.name = next_str(m, in);
	m->host.kernel = next_str(m, in);
	m->host.filter = next_str(m, in);
	m->host.command = next_str(m, in);
	m->host.taken = next_str(m, in);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread;

		processes[i] = build_process(m, 100 + i, "", i ? 0 : PROCESS_DOTNET);
		name_process(m, processes[i], in);
		thread = build_thread(m, processes[i], 100 + i, next_name(in, name), BUILD_SECOND,
				      'R');
		for (uint32_t k = 0; k < 3; k++) {
			next_name(in, name);
			symbols[k] = build_symbol(m, name, next_name(in, module),
						  k ? KIND_NATIVE : KIND_JIT, !k);
		}
		symbols[3] =
			build_unnamed(m, next_name(in, module), 16, KIND_NATIVE, REASON_NO_SYMBOL);
		build_samples(m, thread, 20, i ? STACK_BROKEN : 0, symbols, 4);
		if (i)
			build_broken_at(m, next_name(in, module));
		build_sched(m, thread, &(struct sched_figures){.waited_ns = BUILD_SECOND / 2});
	}
	build_contention(m, 0, processes[1], processes[0], 500);
	build_books(m, 2);
	endpoint = build_endpoint(m, processes[0], "0.0.0.0", 80);
	served.endpoint = endpoint;
	build_service(m, &served);
	build_answers(m, 0, endpoint, BUILD_SECOND, 10);
	return m;
}

/* Lines of valid UTF-8 without a control byte, nor one of Unicode that turns what follows
 * around. */
static void check_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

		must(c == '\n' || (c >= 0x20 && c != 0x7f));
		must(c < 0x80 || c >= 0xc2);
		must(!(c == 0xc2 && (unsigned char)text[i + 1] < 0xa0));
		must(!(c == 0xe2 && text[i + 1] == '\x80' && text[i + 2] >= '\xaa' &&
		       text[i + 2] <= '\xae'));
		while (more--)
			must((text[++i] & 0xc0) == 0x80);
	}
}

static void check_json(const char *text, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(64);
	struct json_object *parsed;

	check_text(text, len);
	must(!memchr(text, '<', len) && !memchr(text, '>', len));
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	parsed = json_tokener_parse_ex(tokener, text, (int)len);
	must(parsed && json_tokener_get_error(tokener) == json_tokener_success);
	json_object_put(parsed);
	json_tokener_free(tokener);
}

static void check_lines_of_json(char *text, size_t len)
{
	must(text[len - 1] == '\n');
	for (char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		check_json(line, (size_t)(end - line));
	}
}

/* As many fields in each line as in the first; a quote within a text is double. */
static void check_csv(const char *text, size_t len)
{
	size_t fields = 0, first = 0;
	bool quoted = false;

	check_text(text, len);
	for (size_t i = 0; i < len; i++) {
		must(!quoted || text[i] != '\n');
		if (text[i] == '"')
			quoted = !quoted;
		else if (text[i] == ',' && !quoted)
			fields++;
		if (text[i] == '"' && quoted && i && text[i - 1] == ',')
			must(!strchr("=+-@", text[i + 1]));
		if (text[i] != '\n')
			continue;
		first = first ? first : fields;
		must(fields == first);
		fields = 0;
	}
	must(!quoted);
}

/* Tags are ours, and what they enclose is closed. */
static void check_svg(const char *text, size_t len)
{
	static const char *const tags[] = {"?xml ",   "svg ",  "rect ",	 "g>",	"title>",
					   "/title>", "text ", "/text>", "/g>", "/svg>"};

	check_text(text, len);
	for (const char *tag = text; (tag = strchr(tag, '<')); tag++) {
		bool known = false;

		for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
			known |= !strncmp(tag + 1, tags[i], strlen(tags[i]));
		must(known);
	}
	for (const char *and = text; (and = strchr(and, '&')); and++)
		must(!strncmp(and, "&lt;", 4) || !strncmp(and, "&gt;", 4) ||
		     !strncmp(and, "&amp;", 5) || !strncmp(and, "&quot;", 6) ||
		     !strncmp(and, "&#39;", 5));
	must(!strcmp(text + len - 7, "</svg>\n"));
}

/* The length of a document, the document; what follows are numbers. */
static void check_flame_data(char *bytes, size_t len)
{
	const unsigned char *size = (const unsigned char *)bytes;
	size_t document;

	must(len > 4);
	document = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
	must(document <= len - 4);
	check_json(bytes + 4, document);
}

/* Frames; a blank; a number. */
static void check_folded(const char *text, size_t len)
{
	check_text(text, len);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n'), *digit;

		must(end && end > line);
		for (digit = end; digit > line && digit[-1] >= '0' && digit[-1] <= '9';)
			digit--;
		must(digit < end && digit > line + 1 && digit[-1] == ' ');
	}
}

/* Samples; each frame a line that begins with a tab and ends with its file. */
static void check_perf_script(char *text, size_t len)
{
	size_t events = 0, ends = 0;

	for (char *line = text; *line; line = strchr(line, '\n') + 1) {
		char *end = strchr(line, '\n');

		must(end);
		if (*line == '\t') {
			*line = ' ';
			must(end[-1] == ')');
		} else if (line == end) {
			ends++;
		} else {
			must(end > line + 12 && !memcmp(end - 12, " cpu-clock: ", 12));
			events++;
		}
	}
	must(events && events == ends);
	check_text(text, len);
}

/* It unpacks, and its strings are text. */
static void check_pprof(const char *bytes, size_t len)
{
	static unsigned char plain[1 << 20];
	z_stream z = {.next_in = (unsigned char *)bytes,
		      .avail_in = (unsigned int)len,
		      .next_out = plain,
		      .avail_out = sizeof(plain)};
	Pprof__Profile *profile;

	must(inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END);
	profile = pprof__profile__unpack(NULL, z.total_out, plain);
	must(profile && profile->n_sample);
	for (size_t i = 0; i < profile->n_string_table; i++)
		check_text(profile->string_table[i], strlen(profile->string_table[i]));
	pprof__profile__free_unpacked(profile, NULL);
	inflateEnd(&z);
}

static void check_otlp(const char *bytes, size_t len)
{
	Otlp__ProfilesData *data = otlp__profiles_data__unpack(NULL, len, (const uint8_t *)bytes);

	must(data && data->dictionary && data->n_resource_profiles);
	for (size_t i = 0; i < data->dictionary->n_string_table; i++)
		check_text(data->dictionary->string_table[i],
			   strlen(data->dictionary->string_table[i]));
	otlp__profiles_data__free_unpacked(data, NULL);
}

static void check_perfetto(const char *bytes, size_t len)
{
	Perfetto__Trace *trace = perfetto__trace__unpack(NULL, len, (const uint8_t *)bytes);
	size_t samples = 0;

	must(trace);
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TrackDescriptor *track = trace->packet[i]->track_descriptor;

		samples += trace->packet[i]->perf_sample != NULL;
		if (track && track->process)
			check_text(track->process->process_name,
				   strlen(track->process->process_name));
		if (track && track->thread)
			check_text(track->thread->thread_name, strlen(track->thread->thread_name));
	}
	must(samples);
	perfetto__trace__free_unpacked(trace, NULL);
}

/* Sample lines: a name, labels, a number; a quote of a label is escaped. */
static void check_metrics(const struct metrics_names *names)
{
	char labels[METRICS_LABELS_BYTES];
	size_t len = metrics_labels(labels, names);
	bool quoted = false;

	must(len < sizeof(labels) && strlen(labels) == len);
	check_text(labels, len);
	for (size_t i = 0; i < len; i++) {
		must(labels[i] != '\n');
		if (quoted && labels[i] == '\\')
			must(strchr("\\\"n", labels[++i]) && labels[i]);
		else if (labels[i] == '"')
			quoted = !quoted;
	}
	must(!quoted);
}

enum format {
	REPORT,
	REPORT_JSON,
	FOLDED,
	FLAME_DATA,
	RUNQ,
	REQUESTS,
	EXPORTS, /* those of other tools: one of them an input, by its size */
	FIREFOX = EXPORTS,
	PPROF,
	SPEEDSCOPE,
	PERF_SCRIPT,
	JSON,
	NDJSON,
	CSV,
	SVG,
	OTLP,
	PERFETTO,
	DIFF_DATA,
	FORMATS
};

/* Of a capture and itself; names of files are any bytes, too. */
static int write_diff(FILE *out, struct model *m)
{
	const struct diff_side sides[DIFF_SIDES] = {{.m = m}, {.m = m}};
	const struct diff_options options = {.names = {m->processes[0].name, m->host.name}};
	struct diff_book *book = diff_book_new(sides);
	struct diff *d = book ? diff_new(book, DIFF_PER_AUTO) : NULL;
	struct diff_beside *beside = d ? diff_beside_new(book, NULL) : NULL;
	int err;

	must(beside);
	err = diff_write_data(out, d, beside, &options);
	diff_beside_free(beside);
	diff_free(d);
	diff_book_free(book);
	return err;
}

static int write_one(FILE *out, struct model *m, enum format format)
{
	switch (format) {
	case REPORT:
		return report_write(out, m, NULL);
	case REPORT_JSON:
		return report_json_write(out, m, NULL);
	case FOLDED:
		return folded_write(out, m, &(struct export_options){0});
	case PPROF:
		return pprof_write(out, m, &(struct export_options){0});
	case FIREFOX:
		return firefox_write(out, m, &(struct export_options){0});
	case SPEEDSCOPE:
		return speedscope_write(out, m, &(struct export_options){0});
	case JSON:
		return json_write(out, m, &(struct export_options){0});
	case NDJSON:
		return ndjson_write(out, m, &(struct export_options){0});
	case CSV:
		return csv_write(out, m, &(struct export_options){.table = "samples"});
	case SVG:
		return svg_write(out, m, &(struct export_options){0});
	case OTLP:
		return otlp_write(out, m, &(struct export_options){0});
	case PERFETTO:
		return perfetto_write(out, m, &(struct export_options){0});
	case PERF_SCRIPT:
		return perf_script_write(out, m, &(struct export_options){0});
	case FLAME_DATA:
		return flame_write_data(out, m, &(struct flame_options){.process = MODEL_NONE});
	case DIFF_DATA:
		return write_diff(out, m);
	case RUNQ:
		return runq_write(out, m, &(struct runq_options){0});
	default:
		return requests_table_write(out, m, &(struct requests_table_options){0});
	}
}

static bool is_binary(enum format format)
{
	return format == PPROF || format == OTLP || format == PERFETTO || format == FLAME_DATA ||
	       format == DIFF_DATA;
}

static void check(struct model *m, enum format format)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	must(out && !write_one(out, m, format) && !fclose(out));
	must(len && (is_binary(format) || strlen(text) == len));
	if (format == PPROF)
		check_pprof(text, len);
	else if (format == OTLP)
		check_otlp(text, len);
	else if (format == PERFETTO)
		check_perfetto(text, len);
	else if (format == PERF_SCRIPT)
		check_perf_script(text, len);
	else if (format == NDJSON)
		check_lines_of_json(text, len);
	else if (format == CSV)
		check_csv(text, len);
	else if (format == SVG)
		check_svg(text, len);
	else if (format == FLAME_DATA || format == DIFF_DATA)
		check_flame_data(text, len);
	else if (format == JSON || format == REPORT_JSON || format == SPEEDSCOPE ||
		 format == FIREFOX)
		check_json(text, len);
	else if (format == FOLDED)
		check_folded(text, len);
	else
		check_text(text, len);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {(const char *)data, size, 0};
	struct model *m = make(&in);
	struct model_process *p = &m->processes[0];

	for (int format = 0; format < EXPORTS; format++)
		check(m, (enum format)format);
	check(m, (enum format)(EXPORTS + size % (FORMATS - EXPORTS)));
	check_metrics(
		&(struct metrics_names){p->name, p->unit, p->namespace, p->pod, p->container_name});
	model_free(m);
	return 0;
}
