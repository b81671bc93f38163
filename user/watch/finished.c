/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told of a capture when it is there: a line in the journal, and the operator's program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "judge/trunks.h"
#include "kernel/host.h"
#include "model/extract.h"
#include "output/json.h"
#include "output/report_text.h"
#include "output/verdict_words.h"
#include "watch/private.h"

int64_t finished_now_s(const struct watch *w)
{
	return w->policy_base_s + (int64_t)(clock_ns(CLOCK_BOOTTIME) / SECOND_NS);
}

/* --- words ----------------------------------------------------------------------------------- */

/* "12:13:14 UTC" */
static void clock_text(char buf[static 16], uint64_t monotonic_ns)
{
	int64_t unix_s = ((int64_t)monotonic_ns + host_wall_offset_ns()) / (int64_t)SECOND_NS;
	struct number whole = number_utc(unix_s);
	const char *at = strchr(whole.text, ' ');

	snprintf(buf, 16, "%.8s UTC", at ? at + 1 : whole.text);
}

void finished_who(char buf[static AUTO_WHO_BYTES], const struct suspect *s)
{
	char name[2 * SUSPECT_NAME], since[16];

	text_copy_safe(name, sizeof(name), s->name, strlen(s->name));
	clock_text(since, s->since_ns);
	if (s->tgid)
		snprintf(buf, AUTO_WHO_BYTES, "%s %s %u since %s", verdict_id(s->result.verdict),
			 name, s->tgid, since);
	else
		snprintf(buf, AUTO_WHO_BYTES, "%s, the host %s, since %s",
			 verdict_id(s->result.verdict), name, since);
}

void finished_evidence(char buf[static VERDICT_WORDS_BYTES], const struct suspect *s)
{
	*buf = '\0';
	if (s->result.evidence_cnt)
		verdict_words(buf, &s->result.evidence[0], &s->input);
}

/* --- trunks ---------------------------------------------------------------------------------- */

int finished_trunks(struct watch *w, const struct suspect *who, uint64_t from_ns,
		    struct auto_trunks *ret)
{
	struct extract *x = extract_new();
	uint32_t process = MODEL_NONE;
	struct trunks trunks = {0};
	struct model *m;
	int err;

	*ret = (struct auto_trunks){.cnt = 0};
	if (!x)
		return -ENOMEM;
	err = ring_extract(w->ring, collector_model(w->collector), from_ns, x);
	m = extract_model(x);
	if (!err && who->tgid)
		process = model_process_find(m, who->tgid, who->start_ns);
	/* Who did nothing in these seconds has none. */
	if (!err && (!who->tgid || process != MODEL_NONE))
		err = trunks_of(m, process, &trunks);
	for (size_t i = 0; !err && i < trunks.cnt; i++) {
		trunks_name(ret->names[i], m, trunks.rows[i].symbol);
		ret->shares[i] = (double)trunks.rows[i].samples / (double)trunks.all;
		ret->cnt++;
	}
	extract_free(x);
	return err;
}

void finished_see(struct watch *w, const struct suspect *s, const struct auto_trunks *trunks)
{
	char identity[SUSPECT_IDENTITY];

	suspect_identity(identity, s);
	for (size_t i = 0; i < trunks->cnt; i++)
		policy_seen(&w->policy, identity, trunks->names[i], s->result.verdict,
			    finished_now_s(w));
	/* The next time it may run too little to show a trunk. */
	policy_seen(&w->policy, identity, policy_evidence(&s->result), s->result.verdict,
		    finished_now_s(w));
}

/* --- the journal ----------------------------------------------------------------------------- */

void finished_expect(struct watch *w, const char *name, const struct suspect *s, const char *taken)
{
	/* The oldest makes room. */
	struct auto_note *note = &w->notes[w->notes_next++ % AUTO_NOTES];

	*note = (struct auto_note){.who = *s};
	snprintf(note->name, sizeof(note->name), "%s", name);
	snprintf(note->taken, sizeof(note->taken), "%s", taken);
}

static struct auto_note *find_note(struct watch *w, const char *name)
{
	for (size_t i = 0; i < AUTO_NOTES; i++)
		if (*name && !strcmp(w->notes[i].name, name))
			return &w->notes[i];
	return NULL;
}

void finished_capture(struct watch *w, const char *name)
{
	struct auto_note *note = find_note(w, name);
	uint64_t from_ns;

	if (!note || !w->collector)
		return;
	from_ns = note->who.since_ns > SECOND_NS ? note->who.since_ns - SECOND_NS : 0;
	if (!finished_trunks(w, &note->who, from_ns, &note->trunks))
		finished_see(w, &note->who, &note->trunks);
}

/* "Shop.Orders.Load (Shop.Web) 61 %, ..." */
static void trunks_text(char *buf, size_t bytes, const struct auto_trunks *trunks)
{
	size_t at = 0;

	snprintf(buf, bytes, "none: too few samples of its CPU");
	for (size_t i = 0; i < trunks->cnt && at < bytes; i++)
		at += (size_t)snprintf(buf + at, bytes - at, "%s%s %.0f %%", i ? ", " : "",
				       trunks->names[i], 100 * trunks->shares[i]);
}

static void tell(const struct auto_note *note, int err)
{
	char who[AUTO_WHO_BYTES], evidence[VERDICT_WORDS_BYTES], trunks[TRUNKS_MAX * 280];

	finished_who(who, &note->who);
	finished_evidence(evidence, &note->who);
	trunks_text(trunks, sizeof(trunks), &note->trunks);
	log_info("capture %s: done%s: %s: %s; thickest trunks: %s", note->name,
		 err ? "" : ", with report and page", who, evidence, trunks);
}

/* --- the operator's own program -------------------------------------------------------------- */

struct paths_of {
	char capture[2 * FOLDER_NAME_BYTES + 256], report[2 * FOLDER_NAME_BYTES + 256],
		page[2 * FOLDER_NAME_BYTES + 256];
};

/* Whole paths, whatever the folder was called on the command line. "" = it is not there. */
static void name_paths(const struct watch *w, const char *name, int err, struct paths_of *p)
{
	char link[64], folder[FOLDER_NAME_BYTES + 256];
	int base = (int)(strlen(name) - strlen(".hotrun"));
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", w->dir);
	len = readlink(link, folder, sizeof(folder) - 1);
	folder[len > 0 ? len : 0] = '\0';
	*p = (struct paths_of){.report = "", .page = ""};
	snprintf(p->capture, sizeof(p->capture), "%s/%s", folder, name);
	if (err)
		return;
	snprintf(p->report, sizeof(p->report), "%s/%.*s.txt", folder, base, name);
	snprintf(p->page, sizeof(p->page), "%s/%.*s.html", folder, base, name);
}

static void put_evidence(struct json *j, const struct suspect *who)
{
	json_array(j, "evidence");
	for (size_t i = 0; who && i < who->result.evidence_cnt; i++) {
		const struct verdict_evidence *e = &who->result.evidence[i];

		json_object(j, NULL);
		json_text(j, "figure", verdict_figure_id(e->figure));
		json_real(j, "value", e->value);
		json_real(j, "limit", e->limit);
		json_text(j, "unit", verdict_figure_unit(e->figure));
		json_flag(j, "bad", e->bad);
		json_end(j);
	}
	json_end(j);
}

static void put_trunks(struct json *j, const struct auto_note *note)
{
	json_array(j, "trunks");
	for (size_t i = 0; note && i < note->trunks.cnt; i++) {
		json_object(j, NULL);
		json_text(j, "method", note->trunks.names[i]);
		json_real(j, "share", note->trunks.shares[i]);
		json_end(j);
	}
	json_end(j);
}

static void put_json(FILE *out, const struct auto_note *note, const struct paths_of *p)
{
	const struct suspect *who = note ? &note->who : NULL;
	char evidence[VERDICT_WORDS_BYTES] = "";
	struct json j;

	if (who)
		finished_evidence(evidence, who);
	json_begin(&j, out, "on_capture");
	json_text(&j, "capture", p->capture);
	json_text(&j, "report", p->report);
	json_text(&j, "page", p->page);
	json_text(&j, "why", note ? "auto" : "trigger");
	json_text(&j, "process", who && who->tgid ? who->name : "");
	if (who && who->tgid)
		json_count(&j, "pid", who->tgid);
	else
		json_null(&j, "pid");
	json_text(&j, "unit", who ? who->unit : "");
	json_text(&j, "verdict", who ? verdict_id(who->result.verdict) : "");
	json_text(&j, "rests_on", evidence);
	json_text(&j, "taken_because", note ? note->taken : "");
	put_evidence(&j, who);
	put_trunks(&j, note);
	json_finish(&j);
}

/* One log line until it works again. */
static void note_hook(struct watch *w, int err)
{
	if (err && !w->hook_failed)
		log_warn("on-capture: %s: %s; captures are not affected", w->config.on_capture,
			 err == -ETIMEDOUT ? "did not end in 10 s, and was killed"
			 : err == -EIO	   ? "it failed"
			 : err == -E2BIG   ? "too many captures wait for it"
					   : strerror(-err));
	else if (!err && w->hook_failed)
		log_info("on-capture: works again");
	w->hook_failed = err != 0;
}

static void run_hook(struct watch *w, const char *name, const struct auto_note *note, int err)
{
	const struct suspect *who = note ? &note->who : NULL;
	char process[2 * SUSPECT_NAME] = "", *json = NULL;
	struct paths_of paths;
	size_t len = 0;
	FILE *out;

	if (!*w->config.on_capture)
		return;
	name_paths(w, name, err, &paths);
	if (who && who->tgid)
		text_copy_safe(process, sizeof(process), who->name, strlen(who->name));
	out = open_memstream(&json, &len);
	if (out) {
		const char *const args[HOOK_ARGS] = {paths.capture, paths.report, paths.page,
						     process,
						     who ? verdict_id(who->result.verdict) : ""};

		put_json(out, note, &paths);
		err = fclose(out) ? -ENOMEM
				  : hook_add(w->hook, w->config.on_capture, args, json, len);
	} else {
		err = -ENOMEM;
	}
	free(json);
	if (err)
		note_hook(w, err);
}

static uint64_t time_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_usec * 1000;
}

/* Of those that have ended: reports, pages, and the operator's program. */
static uint64_t children_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
}

void finished_artifacts(struct watch *w, const char *name, int err)
{
	struct auto_note *note = find_note(w, name);
	uint64_t cpu_ns = children_cpu_ns();

	policy_spent(&w->policy, cpu_ns - w->children_ns, finished_now_s(w));
	w->children_ns = cpu_ns;
	if (err)
		log_warn("capture %s: its report and page could not be written: %s", name,
			 strerror(-err));
	if (note)
		tell(note, err);
	else if (!err)
		log_info("capture %s: done, with report and page", name);
	run_hook(w, name, note, err);
	if (note)
		*note = (struct auto_note){.name = ""};
}

void finished_look(struct watch *w, uint64_t now_ns)
{
	int err;

	while (hook_look(w->hook, now_ns, &err))
		note_hook(w, err);
}
