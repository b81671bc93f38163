/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Minutes, decisions and trunks into the history's file, and what is too much out of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "store/history_private.h"

/* Of the bound: from here on minutes are forgotten, until it is less. A minute of 256 kinds has
 * some 15 KB, an hour that is forgotten gives back 60 times that. */
#define FULL_PART 0.9
/* Hours of minutes that are forgotten at a time, and pages that are given back to the disk: some
 * tens of milliseconds. */
#define THIN_HOURS  4
#define THIN_VACUUM "PRAGMA incremental_vacuum(256)"
/* Minutes of so many hours are not given up for old hours. */
#define MINUTES_LEAST_HOURS 24
/* A kind that was seen so lately keeps its place. */
#define KIND_LATELY_S 600

/* --- small statements ------------------------------------------------------------------------ */

/* Runs a statement with up to two numbers; its first column, 0 without a row. 0 or negative
 * errno. */
static int ask(struct history_file *f, const char *sql, int64_t a, int64_t b, int64_t *ret_value)
{
	sqlite3_stmt *stmt = NULL;
	int rc, err = 0;

	if (sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL))
		return store_db_error(f->db);
	if (sqlite3_bind_parameter_count(stmt) > 0)
		sqlite3_bind_int64(stmt, 1, a);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_int64(stmt, 2, b);
	*ret_value = 0;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret_value = sqlite3_column_int64(stmt, 0);
	else if (rc != SQLITE_DONE)
		err = store_db_error(f->db);
	sqlite3_finalize(stmt);
	return err;
}

static int tell(struct history_file *f, const char *sql, int64_t a)
{
	int64_t none;

	return ask(f, sql, a, 0, &none);
}

static void give_up(struct history_file *f)
{
	/* Some errors have rolled back already. */
	if (!sqlite3_get_autocommit(f->db))
		history_run(f, STMT_ROLLBACK);
}

/* Ends a transaction, or what is left of it. */
static int finish(struct history_file *f, int err)
{
	if (!err)
		err = history_run(f, STMT_COMMIT);
	if (err)
		give_up(f);
	return err;
}

/* --- kinds ----------------------------------------------------------------------------------- */

static struct history_kind *find_kind(struct history_file *f, const char *name, const char *place)
{
	for (size_t i = 0; i < f->kinds_cnt; i++)
		if (!strcmp(f->kinds[i].name, name) && !strcmp(f->kinds[i].place, place))
			return &f->kinds[i];
	return NULL;
}

/* Whose place a new one may take, or NULL. */
static struct history_kind *least_kind(struct history_file *f, int64_t now_s)
{
	struct history_kind *least = NULL;

	for (size_t i = 0; i < f->kinds_cnt; i++) {
		struct history_kind *k = &f->kinds[i];

		if (k->last_s + KIND_LATELY_S > now_s && k->last_s <= now_s)
			continue;
		if (!least || k->minutes < least->minutes ||
		    (k->minutes == least->minutes && k->last_s < least->last_s))
			least = k;
	}
	return least;
}

static int drop_kind(struct history_file *f, struct history_kind *k)
{
	int err;

	sqlite3_bind_int64(f->stmt[STMT_DROP_KIND], 1, k->id);
	err = history_run(f, STMT_DROP_KIND);
	if (!err)
		*k = f->kinds[--f->kinds_cnt];
	return err;
}

static int add_kind(struct history_file *f, const struct history_kind *kind,
		    struct history_kind **ret_kind)
{
	sqlite3_stmt *stmt = f->stmt[STMT_ADD_KIND];
	sqlite3_int64 id;
	int err;

	if (GROW(f->kinds, f->kinds_cnt, f->kinds_cap))
		return -ENOMEM;
	if (sqlite3_bind_text(stmt, 1, kind->name, -1, SQLITE_STATIC) ||
	    sqlite3_bind_text(stmt, 2, kind->place, -1, SQLITE_STATIC) ||
	    sqlite3_bind_int64(stmt, 3, kind->first_s / HISTORY_MINUTE_S) ||
	    sqlite3_bind_int64(stmt, 4, kind->last_s / HISTORY_MINUTE_S))
		return store_db_error(f->db);
	err = history_run(f, STMT_ADD_KIND);
	if (err)
		return err;
	id = sqlite3_last_insert_rowid(f->db);
	if (id <= HISTORY_OTHER || id >= HISTORY_ANY)
		return -EBADMSG;
	f->kinds[f->kinds_cnt] = *kind;
	f->kinds[f->kinds_cnt].id = (uint32_t)id;
	*ret_kind = &f->kinds[f->kinds_cnt++];
	return 0;
}

/* *ret_kind NULL: it has no place of its own. */
static int take_kind(struct history_file *f, const struct history_row *row, int64_t time_s,
		     struct history_kind **ret_kind)
{
	struct history_kind kind = {.first_s = time_s, .last_s = time_s}, *least;
	int err;

	*ret_kind = NULL;
	if (!row->name || !*row->name)
		return 0;
	history_copy(kind.name, sizeof(kind.name), row->name);
	history_copy(kind.place, sizeof(kind.place), row->place);
	*ret_kind = find_kind(f, kind.name, kind.place);
	if (*ret_kind)
		return 0;
	if (f->kinds_cnt >= HISTORY_KINDS) {
		least = least_kind(f, time_s);
		if (!least)
			return 0;
		err = drop_kind(f, least);
		if (err)
			return err;
	}
	return add_kind(f, &kind, ret_kind);
}

static int see_kind(struct history_file *f, struct history_kind *k, int64_t time_s, bool first)
{
	sqlite3_stmt *stmt = f->stmt[STMT_SET_KIND];

	k->minutes += first;
	if (time_s < k->first_s)
		k->first_s = time_s;
	if (time_s > k->last_s)
		k->last_s = time_s;
	if (sqlite3_bind_int64(stmt, 1, k->first_s / HISTORY_MINUTE_S) ||
	    sqlite3_bind_int64(stmt, 2, k->last_s / HISTORY_MINUTE_S) ||
	    sqlite3_bind_int64(stmt, 3, (sqlite3_int64)k->minutes) ||
	    sqlite3_bind_int64(stmt, 4, k->id))
		return store_db_error(f->db);
	return history_run(f, STMT_SET_KIND);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* *ret_there false: there is no such row, and *ret_figures is zero. */
static int get_row(struct history_file *f, enum history_statement which, int64_t number,
		   uint32_t kind, bool *ret_there, struct history_figures *ret_figures)
{
	sqlite3_stmt *stmt = f->stmt[which];
	int rc, err = 0;

	*ret_figures = (struct history_figures){0};
	sqlite3_bind_int64(stmt, 1, number);
	sqlite3_bind_int64(stmt, 2, kind);
	rc = sqlite3_step(stmt);
	*ret_there = rc == SQLITE_ROW;
	if (rc == SQLITE_ROW)
		err = history_read_figures(stmt, 0, ret_figures);
	else if (rc != SQLITE_DONE)
		err = store_db_error(f->db);
	sqlite3_reset(stmt);
	return err;
}

static int put_row(struct history_file *f, enum history_statement which, int64_t number,
		   uint32_t kind, struct history_figures *figures)
{
	sqlite3_stmt *stmt = f->stmt[which];
	int rc = sqlite3_bind_int64(stmt, 1, number) | sqlite3_bind_int64(stmt, 2, kind);

	for (size_t i = 0; i < HISTORY_FIGURES; i++) {
		uint64_t value = *history_figure(figures, i);

		rc |= sqlite3_bind_int64(stmt, 3 + (int)i,
					 value > INT64_MAX ? INT64_MAX : (sqlite3_int64)value);
	}
	return rc ? store_db_error(f->db) : history_run(f, which);
}

static int add_row(struct history_file *f, int64_t time_s, const struct history_row *row)
{
	int64_t minute = time_s / HISTORY_MINUTE_S, hour = time_s / HISTORY_HOUR_S;
	struct history_figures of_minute, of_hour, more = row->figures;
	uint32_t id = row->name ? HISTORY_OTHER : HISTORY_HOST;
	bool was_there, there, was_bad;
	struct history_kind *kind;
	int err = take_kind(f, row, time_s, &kind);

	if (kind)
		id = kind->id;
	if (!err)
		err = get_row(f, STMT_GET_MINUTE, minute, id, &was_there, &of_minute);
	if (!err)
		err = get_row(f, STMT_GET_HOUR, hour, id, &there, &of_hour);
	if (err)
		return err;
	/* Two parts of a minute may make a bad one together. */
	was_bad = of_minute.bad_minutes;
	history_add(&of_minute, &more, f->options.worse);
	of_minute.bad_minutes = of_minute.hurt_ms >= HISTORY_BAD_MS;
	more.bad_minutes = of_minute.bad_minutes && !was_bad;
	history_add(&of_hour, &more, f->options.worse);
	err = put_row(f, STMT_PUT_MINUTE, minute, id, &of_minute);
	if (!err)
		err = put_row(f, STMT_PUT_HOUR, hour, id, &of_hour);
	if (!err && kind)
		err = see_kind(f, kind, time_s, !was_there);
	return err;
}

/* --- what is too much ------------------------------------------------------------------------ */

static int used_bytes(struct history_file *f, uint64_t *ret_bytes)
{
	int64_t pages, left, page_bytes;
	int err = ask(f, "PRAGMA page_count", 0, 0, &pages);

	if (!err)
		err = ask(f, "PRAGMA freelist_count", 0, 0, &left);
	if (!err)
		err = ask(f, "PRAGMA page_size", 0, 0, &page_bytes);
	if (!err)
		*ret_bytes = (uint64_t)(pages - left) * (uint64_t)page_bytes;
	return err;
}

/* A day that is forgotten takes with it what was decided on it, and who was seen no later. */
static int forget_before(struct history_file *f, int64_t day)
{
	int64_t day_s = day * HISTORY_DAY_S;
	int err = tell(f, "DELETE FROM minute WHERE minute < ?", day_s / HISTORY_MINUTE_S);

	if (!err)
		err = tell(f, "DELETE FROM hour WHERE hour < ?", day_s / HISTORY_HOUR_S);
	if (!err)
		err = tell(f, "DELETE FROM decision WHERE last_s < ?", day_s);
	if (!err)
		err = tell(f, "DELETE FROM trunk WHERE time_s < ?", day_s);
	for (size_t i = f->kinds_cnt; !err && i-- > 0;)
		if (f->kinds[i].last_s < day_s)
			err = drop_kind(f, &f->kinds[i]);
	return err;
}

static int first_of(struct history_file *f, const char *sql, int64_t from, int64_t *ret_number)
{
	return ask(f, sql, from, 0, ret_number);
}

/* Days that anything is known of, in their order; at most one more than cnt. */
static int forget_days(struct history_file *f)
{
	int64_t hour = 0, second = 0;
	uint64_t days = 0;
	int err = 0;

	for (;;) {
		err = first_of(f, "SELECT min(hour) FROM hour WHERE hour >= ?", hour, &hour);
		if (err || !hour)
			break;
		days++;
		if (days == 2)
			second = hour / 24;
		hour = (hour / 24 + 1) * 24;
	}
	if (err || days <= f->options.days_max || days < 2)
		return err;
	return forget_before(f, second);
}

/* An hour of minutes; when only the last ones are left, a day of hours. */
static int thin_once(struct history_file *f, bool *ret_more)
{
	int64_t minute, newest, hour;
	int err = first_of(f, "SELECT min(minute) FROM minute WHERE minute >= ?", 0, &minute);

	if (!err)
		err = first_of(f, "SELECT max(minute) FROM minute WHERE minute >= ?", 0, &newest);
	if (!err)
		err = first_of(f, "SELECT min(hour) FROM hour WHERE hour >= ?", 0, &hour);
	if (err)
		return err;
	*ret_more = true;
	if (minute && newest - minute > MINUTES_LEAST_HOURS * 60)
		return tell(f, "DELETE FROM minute WHERE minute < ?", (minute / 60 + 1) * 60);
	if (hour && hour / 24 < newest / 60 / 24)
		return forget_before(f, hour / 24 + 1);
	/* A bound of less than a day: of the minutes there is less still. */
	*ret_more = minute && minute != newest;
	return *ret_more ? tell(f, "DELETE FROM minute WHERE minute < ?", (minute / 60 + 1) * 60)
			 : 0;
}

static int thin(struct history_file *f, unsigned int times)
{
	uint64_t bytes;
	bool more = true;
	int err = 0;

	for (unsigned int i = 0; !err && more && i < times; i++) {
		err = used_bytes(f, &bytes);
		if (err || (double)bytes < FULL_PART * (double)f->options.bytes_max)
			return err;
		err = thin_once(f, &more);
	}
	return err;
}

static int keep_notes(struct history_file *f, const char *last, const char *drop)
{
	int64_t id;
	int err = ask(f, last, 0, 0, &id);

	return err || id <= HISTORY_NOTES ? err : tell(f, drop, id - HISTORY_NOTES);
}

/* Where the bound itself is met (it was lowered, or names are long): makes room first. */
static void make_room(struct history_file *f)
{
	if (history_run(f, STMT_BEGIN))
		return;
	finish(f, thin(f, 4 * THIN_HOURS));
}

/* --- minutes --------------------------------------------------------------------------------- */

static int write_minutes(struct history_file *f, const struct history_minute *minutes, size_t cnt)
{
	int64_t newest_s = f->newest_s;
	int err = 0;

	for (size_t i = 0; !err && i < cnt; i++) {
		const struct history_minute *m = &minutes[i];

		if (m->time_s < HISTORY_EPOCH_S)
			continue;
		for (size_t k = 0; !err && k < m->rows_cnt; k++)
			err = add_row(f, m->time_s, &m->rows[k]);
		/* Once an hour. */
		if (!err && m->time_s / HISTORY_HOUR_S != newest_s / HISTORY_HOUR_S)
			err = forget_days(f);
		newest_s = m->time_s;
	}
	if (!err)
		err = thin(f, THIN_HOURS);
	if (!err)
		f->newest_s = newest_s;
	return err;
}

/* What was made of kinds in a transaction that failed is not there. */
static int take_kinds_again(struct history_file *f)
{
	struct history_kind *kinds;
	size_t cnt;
	int err = history_file_kinds(f, &kinds, &cnt);

	if (err)
		return err;
	free(f->kinds);
	f->kinds = kinds;
	f->kinds_cnt = f->kinds_cap = cnt;
	return 0;
}

int history_file_write(struct history_file *f, const struct history_minute *minutes, size_t cnt)
{
	int err = history_run(f, STMT_BEGIN), again;

	if (err)
		return err;
	err = finish(f, write_minutes(f, minutes, cnt));
	if (err) {
		again = take_kinds_again(f);
		if (err == -ENOSPC)
			make_room(f);
		return again == -EBADMSG ? again : err;
	}
	/* Of its own transaction: that it fails is no loss. */
	sqlite3_exec(f->db, THIN_VACUUM, NULL, NULL, NULL);
	return 0;
}

/* --- decisions, trunks ----------------------------------------------------------------------- */

static int bind_texts(sqlite3_stmt *stmt, int first, const char *const *texts, const size_t *bytes,
		      size_t cnt)
{
	char copy[HISTORY_REASON_BYTES];

	for (size_t i = 0; i < cnt; i++) {
		history_copy(copy, bytes[i], texts[i] ? texts[i] : "");
		if (sqlite3_bind_text(stmt, first + (int)i, copy, -1, SQLITE_TRANSIENT))
			return store_db_error(sqlite3_db_handle(stmt));
	}
	return 0;
}

static int run_once(struct history_file *f, sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : store_db_error(f->db);
}

/* The same as what was decided last of that process: *ret_again. */
static int decide_again(struct history_file *f, const struct history_decision *d, bool *ret_again)
{
	static const size_t bytes[] = {HISTORY_NAME_BYTES, HISTORY_REASON_BYTES};
	const char *const texts[] = {d->process, d->reason};
	sqlite3_stmt *stmt = NULL;
	int err;

	/* Each capture is one of its own. */
	*ret_again = false;
	if (d->taken)
		return 0;
	if (sqlite3_prepare_v2(f->db,
			       "UPDATE decision SET last_s = ?1, times = times + 1 WHERE id = "
			       "(SELECT max(id) FROM decision WHERE process = ?2) AND reason = ?3 "
			       "AND taken = 0 AND verdict = ?4 AND time_s <= ?1",
			       -1, &stmt, NULL))
		return store_db_error(f->db);
	err = bind_texts(stmt, 2, texts, bytes, 2);
	if (!err) {
		sqlite3_bind_int64(stmt, 1, d->time_s);
		sqlite3_bind_int64(stmt, 4, d->verdict);
		err = run_once(f, stmt);
	}
	*ret_again = !err && sqlite3_changes(f->db) > 0;
	sqlite3_finalize(stmt);
	return err;
}

static int add_decision(struct history_file *f, const struct history_decision *d)
{
	static const size_t bytes[] = {HISTORY_NAME_BYTES, HISTORY_REASON_BYTES, HISTORY_PATH_BYTES,
				       HISTORY_FILE_BYTES};
	const char *const texts[] = {d->process, d->reason, d->trunk, d->capture};
	sqlite3_stmt *stmt = NULL;
	int err;

	if (sqlite3_prepare_v2(f->db,
			       "INSERT INTO decision (time_s, last_s, times, verdict, taken, "
			       "process, reason, trunk, capture) "
			       "VALUES (?1, ?1, 1, ?2, ?3, ?4, ?5, ?6, ?7)",
			       -1, &stmt, NULL))
		return store_db_error(f->db);
	err = bind_texts(stmt, 4, texts, bytes, 4);
	if (!err) {
		sqlite3_bind_int64(stmt, 1, d->time_s);
		sqlite3_bind_int64(stmt, 2, d->verdict);
		sqlite3_bind_int64(stmt, 3, d->taken);
		err = run_once(f, stmt);
	}
	sqlite3_finalize(stmt);
	return err ? err
		   : keep_notes(f, "SELECT max(id) FROM decision",
				"DELETE FROM decision WHERE id <= ?");
}

int history_file_decide(struct history_file *f, const struct history_decision *decision)
{
	bool again = false;
	int err;

	if (decision->time_s < 0)
		return 0;
	err = history_run(f, STMT_BEGIN);
	if (err)
		return err;
	err = decide_again(f, decision, &again);
	if (!err && !again)
		err = add_decision(f, decision);
	return finish(f, err);
}

static int add_trunk(struct history_file *f, const struct history_trunk *t)
{
	static const size_t bytes[] = {HISTORY_FILE_BYTES, HISTORY_NAME_BYTES, HISTORY_PATH_BYTES};
	const char *const texts[] = {t->capture, t->process, t->path};
	sqlite3_stmt *stmt = NULL;
	int err;

	if (sqlite3_prepare_v2(f->db,
			       "INSERT INTO trunk (time_s, share, seconds, people, capture, "
			       "process, path) VALUES (?, ?, ?, ?, ?, ?, ?)",
			       -1, &stmt, NULL))
		return store_db_error(f->db);
	err = bind_texts(stmt, 5, texts, bytes, 3);
	if (!err) {
		sqlite3_bind_int64(stmt, 1, t->time_s);
		sqlite3_bind_double(stmt, 2, t->share);
		sqlite3_bind_double(stmt, 3, t->seconds);
		sqlite3_bind_double(stmt, 4, t->people);
		err = run_once(f, stmt);
	}
	sqlite3_finalize(stmt);
	return err;
}

int history_file_trunks(struct history_file *f, const struct history_trunk *trunks, size_t cnt)
{
	int err = history_run(f, STMT_BEGIN);

	if (err)
		return err;
	for (size_t i = 0; !err && i < cnt; i++)
		if (trunks[i].time_s >= 0)
			err = add_trunk(f, &trunks[i]);
	if (!err)
		err = keep_notes(f, "SELECT max(id) FROM trunk", "DELETE FROM trunk WHERE id <= ?");
	return finish(f, err);
}
