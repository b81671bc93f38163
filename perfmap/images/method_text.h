/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_METHOD_TEXT_H
#define PERFMAP_IMAGES_METHOD_TEXT_H
/*
 * Return type and arguments of a method as perf maps have them, in the words of the runtime's
 * signature printer: "instance class [System.Linq]System.Linq.IGrouping`2<int32,!0> ". Input is
 * hostile and bounded as in signature.h. Not for use outside perfmap/. Pure, no threads.
 *
 * Source: the text of perf maps and jitdumps of .NET 8 to 10; ECMA-335 II.23.2.
 */
#include "perfmap/images/metadata.h"

/*
 * A signature that lies elsewhere than in the row of its method, as those made at run time: md is
 * what its tokens are of, NULL = none; put_type has what the runtime calls the type at an address,
 * NULL = none is told.
 */
struct perfmap_method_blob {
	const struct perfmap_metadata *md;
	struct perfmap_bytes bytes;
	bool (*put_type)(void *source, uint64_t address, struct perfmap_out *out);
	void *source;
};
void perfmap_put_blob_return(const struct perfmap_method_blob *blob, struct perfmap_work *work,
			     struct perfmap_out *out);
void perfmap_put_blob_arguments(const struct perfmap_method_blob *blob, struct perfmap_work *work,
				struct perfmap_out *out);

/* Puts "instance " where the method is one, its return type, and a blank; nothing where the
 * signature is malformed. */
void perfmap_put_return(const struct perfmap_metadata *md, struct perfmap_work *work,
			struct perfmap_token method, struct perfmap_out *out);
/* Puts "(int32,class System.Type)"; nothing where the signature is malformed. */
void perfmap_put_arguments(const struct perfmap_metadata *md, struct perfmap_work *work,
			   struct perfmap_token method, struct perfmap_out *out);
#endif
