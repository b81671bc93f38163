#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_schema.py FILE...: holds each output of hotrun against deploy/hotrun.schema.json, and the schema
against its own rules. Exit code 1 where anything differs."""
import json
import os
import re
import sys

import jsonschema

SCHEMA = os.path.join(os.path.dirname(__file__), '../../deploy/hotrun.schema.json')


def parts(node):
    """Where the objects stand that others are made of (allOf): those close them."""
    if isinstance(node, list):
        return {at for child in node for at in parts(child)}
    if not isinstance(node, dict):
        return set()
    return {part['$ref'].lstrip('#') for part in node.get('allOf', [])} | {
        at for child in node.values() for at in parts(child)}


def loose(node, at, open_ones):
    """Objects that let keys in that nobody documented, or leave some out; keys of another style."""
    if isinstance(node, list):
        for i, child in enumerate(node):
            yield from loose(child, f'{at}/{i}', open_ones)
    if not isinstance(node, dict):
        return
    if 'properties' in node and isinstance(node['properties'], dict):
        keys = node['properties']
        closed = node.get('unevaluatedProperties' if 'allOf' in node else 'additionalProperties')
        if (closed is not False and at not in open_ones) or node.get('required') != list(keys):
            yield f'{at}: not closed'
        yield from (f'{at}: {key}' for key in keys if not re.fullmatch('[a-z][a-z0-9_]*', key))
    for key, child in node.items():
        yield from loose(child, f'{at}/{key}', open_ones)


def main(files):
    schema = json.load(open(SCHEMA))
    wrong = [f'schema: {text}' for text in loose(schema, '', parts(schema))]
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in files:
        told = json.load(open(path))
        kind = told.get('kind')
        if kind not in schema['$defs']:
            wrong.append(f'{path}: kind {kind}')
            continue
        # The branch of its kind alone: what differs is told where it does.
        of_kind = {'$ref': f'#/$defs/{kind}', '$defs': schema['$defs']}
        for error in jsonschema.Draft202012Validator(of_kind).iter_errors(told):
            wrong.append(f'{path}: {error.json_path}: {error.message[:200]}')
    print('\n'.join(wrong) or f'schema: {len(files)} files are as it says')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
