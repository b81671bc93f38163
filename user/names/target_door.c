/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/target_door.h"

#include <string.h>
#include <unistd.h>

void target_door_give(struct workers_job *job, const int fds[TARGET_FDS])
{
	for (int i = 0; i < TARGET_FDS; i++) {
		if (job)
			workers_job_give(job, fds[i]);
		else if (fds[i] >= 0)
			close(fds[i]);
	}
}

enum model_reason target_door_open(const struct sources *sources, const struct model *m,
				   uint32_t process, struct parse_request *parse,
				   int ret_fds[TARGET_FDS], int *ret_error)
{
	static const enum file_request_kind kinds[TARGET_FDS] = {
		FILE_REQUEST_MEMORY, FILE_REQUEST_PAGES, FILE_REQUEST_MAPPINGS};
	int fds[TARGET_FDS] = {-1, -1, -1};
	uint32_t in_socket = 0;

	*ret_error = 0;
	for (int i = 0; i < TARGET_FDS; i++) {
		struct file_request request = {.kind = kinds[i]};
		struct file_reply reply;
		enum model_reason reason = file_requests_open(sources->requests, m, process,
							      &request, -1, &reply, &fds[i]);

		if (!reason && (reply.error || fds[i] < 0)) {
			*ret_error = reply.error;
			reason = reply.error ? REASON_FILE_DENIED : REASON_LIMIT;
		}
		if (reason) {
			target_door_give(NULL, fds);
			return reason;
		}
		in_socket |= (uint32_t)reply.in_socket << i;
	}
	parse->in_socket = in_socket;
	memcpy(ret_fds, fds, sizeof(fds));
	return REASON_NAMED;
}
