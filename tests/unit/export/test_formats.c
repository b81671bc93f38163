/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds for each format alike. */
#include <criterion/criterion.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#include "export/trunks.h"
#include "export_models.h"

enum form { FORM_TEXT, FORM_JSON, FORM_BYTES };

static const struct format {
	const char *name;
	export_write write;
	enum form form;
} formats[] = {
	{"csv", csv_write, FORM_TEXT},
	{"firefox", firefox_write, FORM_JSON},
	{"folded", folded_write, FORM_TEXT},
	{"json", json_write, FORM_JSON},
	{"ndjson", ndjson_write, FORM_TEXT},
	{"otlp", otlp_write, FORM_BYTES},
	{"perf-script", perf_script_write, FORM_TEXT},
	{"perfetto", perfetto_write, FORM_BYTES},
	{"pprof", pprof_write, FORM_BYTES},
	{"speedscope", speedscope_write, FORM_JSON},
	{"svg", svg_write, FORM_TEXT},
	{"trunks", trunks_write, FORM_TEXT},
};
#define FORMATS_CNT (sizeof(formats) / sizeof(*formats))

/* Lines of valid UTF-8 without a control byte but tabs, nor a character that turns text around. */
static void check_text(const struct format *f, const char *text, size_t len)
{
	cr_expect_eq(strlen(text), len, "%s: a NUL byte", f->name);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

		cr_assert(c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f), "%s: byte %02x",
			  f->name, c);
		cr_assert(c < 0x80 || c >= 0xc2, "%s: byte %02x", f->name, c);
		cr_assert_not(c == 0xe2 && text[i + 1] == '\x80' && text[i + 2] >= '\xa8' &&
			      text[i + 2] <= '\xae');
		while (more--)
			cr_assert_eq(text[++i] & 0xc0, 0x80, "%s: cut UTF-8", f->name);
	}
}

static void check_json(const struct format *f, const char *text, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(64);
	struct json_object *parsed;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	parsed = json_tokener_parse_ex(tokener, text, (int)len);
	cr_expect(parsed, "%s: %s", f->name,
		  json_tokener_error_desc(json_tokener_get_error(tokener)));
	cr_expect_not(memchr(text, '<', len), "%s: a tag may begin", f->name);
	json_object_put(parsed);
	json_tokener_free(tokener);
}

static void check(const struct format *f, enum export_model which, enum export_weight weight)
{
	struct model *m = export_model(which);
	size_t samples = m->samples_cnt, stands = m->stands_cnt, len;
	char *text = export_text(f->write, m, (struct export_options){.weight = weight}, &len);

	if (f->form != FORM_BYTES)
		check_text(f, text, len);
	if (f->form == FORM_JSON)
		check_json(f, text, len);
	cr_expect_eq(m->samples_cnt, samples, "%s changed the samples", f->name);
	cr_expect_eq(m->stands_cnt, stands, "%s changed the stands", f->name);
	free(text);
	model_free(m);
}

Test(formats, each_is_whole_whatever_it_is_of)
{
	for (size_t i = 0; i < FORMATS_CNT; i++)
		for (int which = 0; which < EXPORT_MODELS; which++)
			for (int weight = 0; weight < EXPORT_WEIGHTS; weight++)
				check(&formats[i], (enum export_model)which,
				      (enum export_weight)weight);
}

Test(formats, a_full_device_is_told)
{
	for (size_t i = 0; i < FORMATS_CNT; i++) {
		struct model *m = export_model(EXPORT_DEEP);
		FILE *out = fopen("/dev/full", "w");

		cr_assert(out);
		setvbuf(out, NULL, _IONBF, 0);
		/* Of three samples there is no trunk. */
		cr_expect_eq(formats[i].write(out, m, &(struct export_options){0}),
			     formats[i].write == trunks_write ? 0 : -EIO, "%s", formats[i].name);
		fclose(out);
		model_free(m);
	}
}
