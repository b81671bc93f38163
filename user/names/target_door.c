/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/target_door.h"

_Static_assert(TARGET_GIVEN_MAX == TARGET_OPENED_MAX, "what is asked for is what is handed over");

enum model_reason target_door_open(const struct sources *sources, const struct model *m,
				   uint32_t process, const struct target_mapping *files,
				   uint32_t files_cnt, int *ret_fd, int *ret_error)
{
	static struct file_request request; /* large; one thread */
	struct file_reply reply;
	enum model_reason reason;

	*ret_error = 0;
	request = (struct file_request){.kind = FILE_REQUEST_TARGET};
	for (uint32_t i = 0; i < files_cnt && i < TARGET_OPENED_MAX; i++)
		request.memory.files[request.memory.files_cnt++] =
			(struct target_file){files[i].start, files[i].end};
	reason = file_requests_open(sources->requests, m, process, &request, -1, &reply, ret_fd);
	if (reason)
		return reason;
	if (!reply.error && *ret_fd >= 0)
		return REASON_NAMED;
	*ret_error = reply.error;
	return reply.error ? REASON_FILE_DENIED : REASON_LIMIT;
}
