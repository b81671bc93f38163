/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/label.h"
#include "output/report_text.h"
#include "output/words.h"

/* Of a wait, those that ran meanwhile. */
#define BEHIND_SHOWN 3
/* Who woke who woke a thread. */
#define CHAIN_MOST 3
/* A thread that ran for so long before it woke another one did not just pass a wakeup on. */
#define CHAIN_NS	1000000ull
#define THREAD_COLUMNS	34
#define PROCESS_COLUMNS 40

struct sheet {
	FILE *out;
	const struct model *m;
	const struct turns *t;
	struct timeline_options options;
	bool *chosen; /* by row of the process; NULL = all */
};

/* What a process did in the window. */
struct process_sum {
	uint64_t ran_ns, waited_ns;
	uint64_t turns, waits;
	uint32_t threads; /* that ran */
	uint32_t longest; /* the turn before its longest wait, or TURN_NONE */
	uint32_t process;
};

static double seconds_at(const struct sheet *s, uint64_t ns)
{
	return ((double)ns - (double)s->m->host.start_ns) / 1e9;
}

/* "Shop.Api/.NET TP Worker 4711", made safe. */
static void put_thread(char text[static NAME_BYTES], const struct model *m, uint32_t row,
		       size_t columns)
{
	const struct model_thread *thread = &m->threads[row];
	const struct model_process *p = &m->processes[thread->process];
	const char *known = *p->name ? p->name : p->comm;
	char name[NAME_BYTES], comm[NAME_BYTES] = "", id[16];
	size_t room;

	snprintf(id, sizeof(id), " %" PRIu32, thread->tid);
	room = columns > strlen(id) + 8 ? columns - strlen(id) : 8;
	if (p->flags & PROCESS_KERNEL) {
		label_process(name, p, room);
	} else if (*thread->comm && strcmp(thread->comm, p->comm)) {
		label_name(comm, thread->comm, room / 2, CUT_END);
		label_name(name, known, room - text_columns(comm) - 1, CUT_MIDDLE);
	} else {
		label_name(name, known, room, CUT_MIDDLE);
	}
	snprintf(text, NAME_BYTES, "%.*s%s%.*s%s", 480, name, *comm ? "/" : "", 480, comm, id);
}

static bool is_wanted(void *ctx, const struct turn *turn)
{
	const struct sheet *s = ctx;
	const struct timeline_options *o = &s->options;

	if (o->one_cpu && turn->cpu != o->cpu)
		return false;
	if (turn->thread == MODEL_NONE)
		return !s->chosen && !o->tid;
	if (o->tid && s->m->threads[turn->thread].tid != o->tid)
		return false;
	return !s->chosen || s->chosen[s->m->threads[turn->thread].process];
}

/* --- head and CPUs ---------------------------------------------------------------------------- */

static void put_head(const struct sheet *s)
{
	const struct turns *t = s->t;
	uint64_t turns = 0, lost = 0;
	char host[NAME_BYTES];

	for (size_t i = 0; i < t->cpus_cnt; i++)
		turns += t->cpus[i].turns;
	for (size_t i = 0; i < s->m->losses_cnt; i++)
		if (s->m->losses[i].cause == LOSS_SWITCHES)
			lost += s->m->losses[i].count;
	label_name(host, s->m->host.name, 40, CUT_END);
	fprintf(s->out,
		"%s · %u CPU%s · single switches of %s, from %.3f to %.3f s of the recording", host,
		s->m->host.cpus_online, s->m->host.cpus_online == 1 ? "" : "s",
		number_time(t->length_ns).text, seconds_at(s, t->from_ns), seconds_at(s, t->to_ns));
	if (t->windows > 1)
		fprintf(s->out, " (%u windows)", t->windows);
	fprintf(s->out, "\n%s turn%s of threads, %s wakeup%s", number_count(turns).text,
		turns == 1 ? "" : "s", number_count(t->wakeups).text, t->wakeups == 1 ? "" : "s");
	if (lost)
		fprintf(s->out,
			"; %s switches not kept in the capture, or of a thread that is not known",
			number_count(lost).text);
	fputs("\n\n", s->out);
}

static struct number share(uint64_t part, uint64_t all)
{
	return number_percent(all ? (double)part / (double)all : 0);
}

static void put_cpus(const struct sheet *s)
{
	fprintf(s->out, "%5s %9s %10s %10s %10s %12s\n", "CPU", "busy", "turns", "mean turn",
		"interrupts", "softirqs");
	for (size_t i = 0; i < s->t->cpus_cnt; i++) {
		const struct turn_cpu *cpu = &s->t->cpus[i];
		uint64_t known = cpu->busy_ns + cpu->idle_ns;

		if (!known && !cpu->unknown_ns)
			continue;
		if (s->options.one_cpu && cpu->cpu != s->options.cpu)
			continue;
		fprintf(s->out, "%5" PRIu32 " %9s %10s %10s %10s %12s", cpu->cpu,
			share(cpu->busy_ns, known).text, number_count(cpu->turns).text,
			cpu->turns ? number_time(cpu->busy_ns / cpu->turns).text : "-",
			share(cpu->irq_ns, known).text, share(cpu->softirq_ns, known).text);
		if (cpu->unknown_ns)
			fprintf(s->out, "   not known who ran: %s",
				number_time(cpu->unknown_ns).text);
		fputc('\n', s->out);
	}
	fputc('\n', s->out);
}

/* --- processes -------------------------------------------------------------------------------- */

static int compare_sums(const void *a, const void *b)
{
	const struct process_sum *x = a, *y = b;
	uint64_t of_x = x->ran_ns + x->waited_ns, of_y = y->ran_ns + y->waited_ns;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return (x->process > y->process) - (x->process < y->process);
}

static void sum_up(const struct sheet *s, struct process_sum *sums)
{
	for (size_t i = 0; i < s->t->turns_cnt; i++) {
		const struct turn *turn = &s->t->turns[i];
		uint64_t begin_ns = turn->begin_ns > s->t->from_ns ? turn->begin_ns : s->t->from_ns;
		uint64_t end_ns = turn->end_ns < s->t->to_ns ? turn->end_ns : s->t->to_ns;
		struct process_sum *sum;

		if (turn->thread == MODEL_NONE || !is_wanted((void *)s, turn))
			continue;
		sum = &sums[s->m->threads[turn->thread].process];
		sum->turns++;
		sum->ran_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
		if (turn->begin_ns < s->t->from_ns || !turn_waited(turn))
			continue;
		sum->waits++;
		sum->waited_ns += turn_waited(turn);
		if (sum->longest == TURN_NONE ||
		    turn_waited(turn) > turn_waited(&s->t->turns[sum->longest]))
			sum->longest = (uint32_t)i;
	}
	for (size_t i = 0; i < s->t->threads_cnt; i++)
		if (s->t->threads[i].turns)
			sums[s->m->threads[i].process].threads++;
}

static void put_processes(const struct sheet *s, struct process_sum *sums)
{
	size_t cnt = s->m->processes_cnt, shown = 0, left = 0;

	qsort(sums, cnt, sizeof(*sums), compare_sums);
	fprintf(s->out, "%9s %9s %9s %10s %9s %8s  %-*s %8s\n", "ran", "waited", "turns",
		"mean turn", "longest", "threads", PROCESS_COLUMNS, "process", "pid");
	for (size_t i = 0; i < cnt && sums[i].turns; i++) {
		const struct process_sum *sum = &sums[i];
		const struct model_process *p = &s->m->processes[sum->process];
		char name[NAME_BYTES];

		if (shown == s->options.rows) {
			left++;
			continue;
		}
		shown++;
		label_process(name, p, PROCESS_COLUMNS);
		fprintf(s->out, "%9s %9s %9s %10s %9s %8" PRIu32 "  %s%*s %8" PRIu32 "\n",
			number_time(sum->ran_ns).text, number_time(sum->waited_ns).text,
			number_count(sum->turns).text, number_time(sum->ran_ns / sum->turns).text,
			sum->longest == TURN_NONE
				? "-"
				: number_time(turn_waited(&s->t->turns[sum->longest])).text,
			sum->threads, name, (int)(PROCESS_COLUMNS - text_columns(name)), "",
			p->tgid);
	}
	if (left)
		fprintf(s->out, "%9s %zu more processes (-n)\n", "…", left);
	if (!shown)
		fputs("  nobody of these ran\n", s->out);
	fputc('\n', s->out);
}

/* --- waits ------------------------------------------------------------------------------------ */

/* "woken by A 12 ← B 13 (an interrupt)" */
static void add_wakers(const struct sheet *s, struct words *w, const struct turn *turn)
{
	for (int i = 0; i < CHAIN_MOST; i++) {
		const struct turn *by;
		char name[NAME_BYTES];

		if (!turn->woken) {
			if (!i)
				words_add(w, "had been preempted");
			return;
		}
		if (turn->waker == MODEL_NONE || turn->by_irq) {
			words_add(w, "%s%s", i ? " ← " : "woken by ",
				  turn->by_irq ? "an interrupt" : "an idle CPU");
			return;
		}
		put_thread(name, s->m, turn->waker, THREAD_COLUMNS);
		words_add(w, "%s%s", i ? " ← " : "woken by ", name);
		if (turn->waker_turn == TURN_NONE)
			return;
		by = &s->t->turns[turn->waker_turn];
		if (by->thread != turn->waker || turn->ready_ns - by->begin_ns > CHAIN_NS)
			return;
		turn = by;
	}
}

static void add_behind(const struct sheet *s, struct words *w, uint32_t at)
{
	uint64_t waited_ns = turn_waited(&s->t->turns[at]), left = waited_ns;
	struct turn_behind rows[BEHIND_SHOWN];
	size_t cnt = turns_behind(s->t, at, rows, BEHIND_SHOWN);

	words_add(w, "; behind");
	for (size_t i = 0; i < cnt; i++) {
		char name[NAME_BYTES] = "nobody that is known";

		if (rows[i].thread != MODEL_NONE)
			put_thread(name, s->m, rows[i].thread, THREAD_COLUMNS);
		else if (rows[i].idle)
			snprintf(name, sizeof(name), "an idle CPU");
		words_add(w, "%s %s %s", i ? "," : "", name, number_time(rows[i].ns).text);
		left -= rows[i].ns < left ? rows[i].ns : left;
	}
	if (left)
		words_add(w, ", others %s", number_time(left).text);
}

static void put_wait(const struct sheet *s, uint32_t i)
{
	const struct turn *turn = &s->t->turns[i];
	struct words w = {.len = 0};
	char name[NAME_BYTES];
	int at;

	put_thread(name, s->m, turn->thread, THREAD_COLUMNS);
	at = fprintf(s->out, "%9s  at %.6f s on CPU %" PRIu32 ": ",
		     number_time(turn_waited(turn)).text, seconds_at(s, turn->ready_ns), turn->cpu);
	words_add(&w, "%s, ", name);
	add_wakers(s, &w, turn);
	add_behind(s, &w, i);
	words_put(s->out, s->options.width, w.text, at > 0 ? (size_t)at : 0, 11);
}

static int compare_longest(const void *a, const void *b, void *ctx)
{
	const struct process_sum *x = a, *y = b;
	const struct turn *turns = ctx;
	uint64_t of_x = x->longest == TURN_NONE ? 0 : turn_waited(&turns[x->longest]);
	uint64_t of_y = y->longest == TURN_NONE ? 0 : turn_waited(&turns[y->longest]);

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return (x->process > y->process) - (x->process < y->process);
}

/* Of a process with many threads all waits may be alike: the longest of each tells more. */
static void put_waits_of_each(const struct sheet *s, struct process_sum *sums)
{
	size_t shown = 0;

	qsort_r(sums, s->m->processes_cnt, sizeof(*sums), compare_longest, s->t->turns);
	fputs("the longest wait for a CPU of each process\n", s->out);
	while (shown < s->m->processes_cnt && shown < s->options.rows &&
	       sums[shown].longest != TURN_NONE)
		put_wait(s, sums[shown++].longest);
	if (!shown)
		fputs("  nobody waited\n", s->out);
}

static int put_longest(const struct sheet *s)
{
	uint32_t *turns = calloc(s->options.rows, sizeof(*turns));
	size_t cnt;

	if (!turns)
		return -ENOMEM;
	cnt = turns_longest(s->t, is_wanted, (void *)s, turns, s->options.rows);
	fputs("the longest waits for a CPU\n", s->out);
	for (size_t i = 0; i < cnt; i++)
		put_wait(s, turns[i]);
	if (!cnt)
		fputs("  nobody waited\n", s->out);
	free(turns);
	return 0;
}

/* --- every turn ------------------------------------------------------------------------------- */

static const char *left_text(const struct turn *turn)
{
	if (!turn->left)
		return "goes on";
	if (turn->preempted)
		return "preempted";
	switch (turn->left) {
	case 'S':
		return "sleeps";
	case 'D':
		return "state D";
	case 'X':
	case 'Z':
		return "ends";
	case 'I':
		return "idle";
	default:
		return "stopped";
	}
}

static void put_turn(const struct sheet *s, const struct turn *turn)
{
	char name[NAME_BYTES];
	struct words w = {.len = 0};

	if (turn->thread == MODEL_NONE)
		snprintf(name, sizeof(name), "%s", turn->unknown ? "(not known who)" : "(idle)");
	else
		put_thread(name, s->m, turn->thread, THREAD_COLUMNS);
	fprintf(s->out, "%12.6f %4" PRIu32 " %9s %9s  %s", seconds_at(s, turn->begin_ns), turn->cpu,
		number_time(turn->end_ns - turn->begin_ns).text,
		turn->thread == MODEL_NONE || !turn->ready_ns ? "-"
							      : number_time(turn_waited(turn)).text,
		name);
	if (turn->thread != MODEL_NONE) {
		words_add(&w, "%*s%s", (int)(THREAD_COLUMNS + 1 - text_columns(name)), "",
			  left_text(turn));
		if (turn->irq_ns || turn->softirq_ns)
			words_add(&w, ", %s in interrupts",
				  number_time((uint64_t)turn->irq_ns + turn->softirq_ns).text);
		if (turn->woken) {
			words_add(&w, "; ");
			add_wakers(s, &w, turn);
		}
	}
	fprintf(s->out, "%s\n", w.text);
}

static void put_turns(const struct sheet *s)
{
	fprintf(s->out, "%12s %4s %9s %9s  %s\n", "s", "CPU", "ran", "waited", "thread");
	for (size_t i = 0; i < s->t->turns_cnt && !ferror(s->out); i++)
		if (is_wanted((void *)s, &s->t->turns[i]))
			put_turn(s, &s->t->turns[i]);
}

static int put_tables(const struct sheet *s)
{
	size_t cnt = s->m->processes_cnt;
	struct process_sum *sums = calloc(cnt ?: 1, sizeof(*sums));
	int err = sums ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < cnt; i++) {
		sums[i].process = (uint32_t)i;
		sums[i].longest = TURN_NONE;
	}
	if (!err) {
		sum_up(s, sums);
		put_cpus(s);
		put_processes(s, sums);
		if (s->chosen || s->options.tid)
			err = put_longest(s);
		else
			put_waits_of_each(s, sums);
	}
	free(sums);
	return err;
}

int timeline_write(FILE *out, const struct model *m, const struct turns *t,
		   const struct timeline_options *options)
{
	struct sheet s = {.out = out, .m = m, .t = t, .options = *options};
	int err = 0;

	s.options.width = options->width ?: TIMELINE_DEFAULT_WIDTH;
	s.options.rows = options->rows ?: TIMELINE_DEFAULT_ROWS;
	if (options->processes_cnt) {
		s.chosen = calloc(m->processes_cnt ?: 1, sizeof(*s.chosen));
		if (!s.chosen)
			return -ENOMEM;
		for (size_t i = 0; i < options->processes_cnt; i++)
			s.chosen[options->processes[i]] = true;
	}
	put_head(&s);
	if (options->turns)
		put_turns(&s);
	else
		err = put_tables(&s);
	free(s.chosen);
	if (!err && ferror(out))
		err = -EIO;
	return err;
}
