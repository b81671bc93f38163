/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/loader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"

enum worker_state { WORKER_IDLE, WORKER_BUSY, WORKER_DONE };

/* What a thread and the loader share; freed by the one that leaves last. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum worker_state state;
	struct loader_job *job;
	pid_t tid;     /* 0 = it did not come to run yet */
	bool quit;     /* the loader wants no more of it */
	bool hung;     /* abandoned with its job */
	bool returned; /* the abandoned job came back: the loader may forget it */
	bool orphan;   /* the loader is gone: the thread frees this */
};

struct loader {
	uint64_t deadline_ns;
	uint64_t timeouts;
	pthread_t thread;
	struct worker *worker; /* NULL = no thread at the moment */
	struct worker *abandoned[LOADER_MAX_ABANDONED];
	unsigned abandoned_cnt;
};

static void worker_free(struct worker *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static struct worker *worker_new(void)
{
	struct worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attr);
	pthread_condattr_destroy(&attr);
	return w;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	bool orphan;

	pthread_mutex_lock(&w->lock);
	w->tid = gettid();
	while (!w->quit) {
		if (w->state != WORKER_BUSY) {
			pthread_cond_wait(&w->changed, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		w->job->run(w->job);
		pthread_mutex_lock(&w->lock);
		w->state = WORKER_DONE;
		pthread_cond_signal(&w->changed);
	}
	if (w->hung && w->job)
		w->job->release(w->job);
	w->returned = true;
	orphan = w->orphan;
	pthread_mutex_unlock(&w->lock);
	if (orphan)
		worker_free(w);
	return NULL;
}

static int start_worker(struct loader *l)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	l->worker = worker_new();
	if (!l->worker)
		return -EAGAIN;
	/* Signals are for the main thread: a stop request must interrupt its wait. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, LOADER_STACK_BYTES);
	err = pthread_create(&l->thread, &attr, worker_main, l->worker);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		worker_free(l->worker);
		l->worker = NULL;
		return -EAGAIN;
	}
	return 0;
}

struct loader *loader_new(uint64_t deadline_ns)
{
	struct loader *l = calloc(1, sizeof(*l));

	if (l)
		l->deadline_ns = deadline_ns;
	return l;
}

/* Frees the shared part of threads whose job came back meanwhile. */
static void reap(struct loader *l)
{
	for (unsigned i = 0; i < l->abandoned_cnt;) {
		struct worker *w = l->abandoned[i];
		bool returned;

		pthread_mutex_lock(&w->lock);
		returned = w->returned;
		pthread_mutex_unlock(&w->lock);
		if (returned) {
			worker_free(w);
			l->abandoned[i] = l->abandoned[--l->abandoned_cnt];
		} else {
			i++;
		}
	}
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	if (l->worker) {
		pthread_mutex_lock(&l->worker->lock);
		l->worker->quit = true;
		pthread_cond_signal(&l->worker->changed);
		pthread_mutex_unlock(&l->worker->lock);
		pthread_join(l->thread, NULL);
		worker_free(l->worker);
	}
	for (unsigned i = 0; i < l->abandoned_cnt; i++) {
		struct worker *w = l->abandoned[i];
		bool returned;

		pthread_mutex_lock(&w->lock);
		returned = w->returned;
		w->orphan = !returned;
		pthread_mutex_unlock(&w->lock);
		if (returned)
			worker_free(w);
	}
	free(l);
}

/* Waits for so long with the lock held. Returns true when the job is done. */
static bool wait_once(struct loader *l, uint64_t ns)
{
	struct worker *w = l->worker;
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ns / 1000000000u);
	until.tv_nsec += (long)(ns % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (w->state != WORKER_DONE && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&w->changed, &w->lock, &until);
	return w->state == WORKER_DONE;
}

static struct process_turns turns_of(const struct loader *l)
{
	struct process_turns t = process_turns_of(l->worker->tid);

	t.cpu_ns = clock_thread_cpu_ns(l->thread);
	if (!l->worker->tid)
		t.runnable = true;
	return t;
}

/* With the lock held. Returns true when the job is done. */
static bool wait_job(struct loader *l)
{
	struct process_turns now = turns_of(l);
	struct patience patience = patience_new(l->deadline_ns, &now);
	uint64_t looked_ns = clock_now_ns(), now_ns;

	for (;;) {
		if (wait_once(l, patience_look_ns(&patience)))
			return true;
		now = turns_of(l);
		now_ns = clock_now_ns();
		if (patience_is_over(&patience, &now, now_ns - looked_ns))
			return false;
		looked_ns = now_ns;
	}
}

int loader_run(struct loader *l, struct loader_job *job)
{
	struct worker *w;
	bool done;

	reap(l);
	if (!l->worker) {
		/* The next job may hang too: there must be room to abandon it. */
		if (l->abandoned_cnt == LOADER_MAX_ABANDONED)
			return -EBUSY;
		if (start_worker(l))
			return -EAGAIN;
	}
	w = l->worker;
	pthread_mutex_lock(&w->lock);
	w->job = job;
	w->state = WORKER_BUSY;
	pthread_cond_signal(&w->changed);
	done = wait_job(l);
	if (done) {
		w->state = WORKER_IDLE;
		w->job = NULL;
		pthread_mutex_unlock(&w->lock);
		return 0;
	}
	w->quit = w->hung = true;
	pthread_detach(l->thread);
	pthread_mutex_unlock(&w->lock);
	l->abandoned[l->abandoned_cnt++] = w;
	l->worker = NULL;
	l->timeouts++;
	return -ETIMEDOUT;
}

uint64_t loader_timeouts(const struct loader *l)
{
	return l->timeouts;
}
