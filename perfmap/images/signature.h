/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_SIGNATURE_H
#define PERFMAP_IMAGES_SIGNATURE_H
/*
 * Signatures of methods in ready-to-run images: which instantiation of which generic method a piece
 * of code is, in the words of a perf map. Input is hostile: the types of one signature and their
 * depth are bounded. Not for use outside perfmap/. Pure, no threads.
 *
 * Source: ECMA-335 II.23.2; dotnet/runtime docs/design/coreclr/botr/readytorun-format.md (flags of
 * methods, module overrides), src/coreclr/inc/corhdr.h and cortypeinfo.h (element types of its
 * own).
 */
#include "perfmap/images/metadata.h"

#define PERFMAP_SIGNATURE_TYPES_MAX 256u /* of one signature; 40 are many */
#define PERFMAP_SIGNATURE_DEPTH_MAX 48u

/* Element types that are more than a name; from NATIVE_VALUE_TYPE on those of images alone. */
enum perfmap_element {
	PERFMAP_ELEMENT_POINTER = 0x0f,
	PERFMAP_ELEMENT_BYREF = 0x10,
	PERFMAP_ELEMENT_VALUE_TYPE = 0x11,
	PERFMAP_ELEMENT_CLASS = 0x12,
	PERFMAP_ELEMENT_VAR = 0x13,
	PERFMAP_ELEMENT_ARRAY = 0x14,
	PERFMAP_ELEMENT_INSTANCE = 0x15,
	PERFMAP_ELEMENT_FUNCTION = 0x1b,
	PERFMAP_ELEMENT_VECTOR = 0x1d,
	PERFMAP_ELEMENT_METHOD_VAR = 0x1e,
	PERFMAP_ELEMENT_REQUIRED = 0x1f,
	PERFMAP_ELEMENT_OPTIONAL = 0x20,
	PERFMAP_ELEMENT_ADDRESS = 0x21, /* in memory alone */
	PERFMAP_ELEMENT_VAR_TOKEN = 0x3b,
	PERFMAP_ELEMENT_NATIVE_VALUE_TYPE = 0x3d,
	PERFMAP_ELEMENT_MODULE = 0x3f,
	PERFMAP_ELEMENT_PINNED = 0x45,
};

/* Metadata that signatures of an image may speak of. */
struct perfmap_modules {
	/* The image's own; of a composite image all its assemblies, in the order of its table. */
	const struct perfmap_metadata *components;
	size_t components_cnt;
	const struct perfmap_metadata *manifest; /* references to more assemblies; NULL = none */
	bool composite;
	/* Set to the number of a component whose metadata was needed and is not loaded. */
	uint32_t *missing;
	struct perfmap_work *work; /* of the name that is put */
};

/* Where tokens mean something. */
struct perfmap_scope {
	const struct perfmap_metadata *md; /* NULL: of an assembly that is not in this file */
	struct perfmap_span assembly;	   /* its name; len 0 = not told */
};

struct perfmap_method_signature {
	uint32_t module;	     /* that tokens are of, for perfmap_module_at() */
	struct perfmap_token method; /* METHOD_DEF or MEMBER_REF; row 0: of an array */
	size_t owner_at;	     /* of the owner's type in the bytes; 0 = that of the token */
	size_t end;
};

/* The assembly that an index in a signature stands for; 0 is the image's own. */
struct perfmap_scope perfmap_module_at(const struct perfmap_modules *modules, uint32_t index);

/* Takes a signature apart that begins at an offset > 0. False where it is malformed, or past the
 * limit of work. */
bool perfmap_signature_parse(struct perfmap_bytes b, size_t at, struct perfmap_work *work,
			     struct perfmap_method_signature *ret);

/* Puts "instance void [assembly] Ns.Type`1[System.Int32]::Method(!0)". False where the metadata
 * lacks it, or is not loaded (modules->missing), or the output is cut or the work's limit passed;
 * what was put is then of no use. */
bool perfmap_put_instance(const struct perfmap_modules *modules, struct perfmap_bytes b,
			  const struct perfmap_method_signature *signature,
			  struct perfmap_out *out);

/* The same for a method that is not generic: a row of METHOD_DEF. */
bool perfmap_put_method_def(const struct perfmap_modules *modules,
			    const struct perfmap_metadata *md, uint32_t row,
			    struct perfmap_out *out);
#endif
