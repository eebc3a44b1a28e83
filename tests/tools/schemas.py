#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What --json prints is what the JSON schema of the command says. usage: schemas.py PROGRAM SOURCE_DIR

Every command with --json has a schema, and no other has one. Schemas are right themselves and describe every member;
objects with a member more are refused. schemas.txt has the commands that are run; between them they print every member
that a schema knows, but for RARE ones. Exit code 77 where no jsonschema is installed.
"""
import copy
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

DEBIAN = "/usr/bin/python3"
try:
    import jsonschema
except ImportError:
    # The Python that CMake found may be another than the one Debian installs packages for.
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN) and os.path.exists(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    print("skipped: expected python3-jsonschema, got none", file=sys.stderr)
    sys.exit(77)

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
COMMANDS = ROOT / "tests/tools/schemas.txt"
# What only shows where ranks or links die, or on other hardware than a test's.
RARE = {"run": {"lost_ranks", "lost_links", "spares", "spare", "rank"}, "topology-discover": {"to", "count"}}


def fail(text):
    sys.exit(f"schemas.py: {text}")


def schemas(folder):
    """By command, with hyphens."""
    subprocess.run([PROGRAM, "manual", "--json-schema", "-o", folder], check=True)
    return {file.stem: json.loads(file.read_text()) for file in pathlib.Path(folder).iterdir()}


def commands_with_json(folder):
    subprocess.run([PROGRAM, "manual", "-o", folder], check=True)
    pages = {file.stem.removeprefix("multitree-"): file.read_text() for file in pathlib.Path(folder).iterdir()}
    return {name for name, page in pages.items() if r"\fB\-\-json\fR" in page}


def parts(schema):
    """All objects of a schema."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts(value)


def check_schema(name, schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in parts(schema):
        if not isinstance(part.get("properties"), dict) or part.get("type") != "object":
            continue
        if part.get("additionalProperties") is not False:
            fail(f"{name}: expected additionalProperties false beside {list(part['properties'])}")
        if name in ("nic-size", "nic-tables") and "parity" in part["properties"]:
            continue  # bits of each field, which the object above describes
        for key, member in part["properties"].items():
            if "description" not in member and "$ref" not in member:
                fail(f"{name}: expected a description of {key}")


def members(schema):
    return {key for part in parts(schema) if part.get("type") == "object" for key in part.get("properties", {})}


def keys(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def with_a_member_more(value):
    """The same with a member that no schema knows, one object after the other; at most the first of a list."""
    if isinstance(value, dict):
        yield {**value, "unknown": 1}
        for key, inner in value.items():
            for changed in with_a_member_more(inner):
                yield {**value, key: changed}
    elif isinstance(value, list) and value:
        for changed in with_a_member_more(value[0]):
            yield [changed, *copy.copy(value[1:])]


def name_of(words, known):
    """The longest beginning of a command that has a schema."""
    names = ["-".join(words[1:end]) for end in (3, 2)]
    return next((name for name in names if name in known), None)


def run(line, here):
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", line], cwd=here, env={**os.environ, "PATH": path}, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=100, check=False)
    if done.returncode not in (0, 1):
        if "built without the hardware" in done.stderr:
            return None
        fail(f"{line}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def check(line, validators, seen, here):
    text = run(line, here)
    words = shlex.split(line)
    if "--json" not in words:
        return
    name = name_of(words, validators)
    if name is None:
        fail(f"{line}: no schema of this command")
    if text is None:
        seen.pop(name, None)
        return
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        fail(f"{line}: expected JSON, got {text[:200]!r}: {error}")
    wrong = list(validators[name].iter_errors(value))
    if wrong:
        best = jsonschema.exceptions.best_match(wrong)
        fail(f"{line}: at {best.json_path}: {best.message[:500]}")
    for changed in with_a_member_more(value):
        if validators[name].is_valid(changed):
            fail(f"{line}: expected the schema to refuse a member more, got it taken")
    if name in seen:
        seen[name] |= keys(value)


def main():
    with tempfile.TemporaryDirectory() as work:
        known = schemas(f"{work}/schemas")
        asked = commands_with_json(f"{work}/man")
        if asked != known.keys():
            fail(f"commands with --json and schemas differ: {sorted(asked ^ known.keys())}")
        for name, schema in known.items():
            check_schema(name, schema)
        here = pathlib.Path(work, "here")
        here.mkdir()
        (here / "data").symlink_to(ROOT / "tests/data")
        validators = {name: jsonschema.Draft202012Validator(schema) for name, schema in known.items()}
        seen = {name: set() for name in known}
        for line in COMMANDS.read_text().splitlines():
            if line and not line.startswith("#"):
                check(line, validators, seen, here)
        for name, found in seen.items():
            if missing := members(known[name]) - found - RARE.get(name, set()):
                fail(f"{name}: {COMMANDS.name} never prints {sorted(missing)}")


main()
