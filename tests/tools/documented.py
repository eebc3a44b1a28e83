#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Documents list what the program lists. usage: documented.py PROGRAM SOURCE_DIR [--update]

A document has the lines `<!-- multitree list TITLE -->` and `<!-- end of list -->`, and between them what this
makes of `multitree list --json`; --update writes it there. Besides, docs/cli.md describes every command, and the
C header has every collective, type and operator, with its number, and no other.
"""
import json
import pathlib
import re
import subprocess
import sys

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
UPDATE = "--update" in sys.argv[3:]
BLOCK = re.compile(r"(?<=^<!-- multitree list )(\w+)( -->\n)(.*?)(?=^<!-- end of list -->$)", re.M | re.S)


def cell(text):
    return text.replace("|", "\\|").replace("*", "\\*")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def spec(row):
    return f"`{row['name']}:{row['dims']}`" if row["dims"] else f"`{row['name']}`"


def topologies(rows):
    return table(("family", "ranks", "links", "parameters"),
                 ((spec(row), cell(row["ranks"]), cell(row["links"]), cell(row["parameters"])) for row in rows))


def algorithms(rows):
    return table(("algorithm", "what it is", "from", "options"),
                 ((f"`{row['name']}`", cell(row["summary"]), cell(row["source"]), cell(row["parameters"]))
                  for row in rows))


def collectives(rows):
    return table(("collective", "starts with", "ends with"),
                 ((f"`{row['name']}`", row["starts"], row["ends"]) for row in rows))


def types(rows):
    return table(("type", "bytes", "in C"),
                 ((f"`{row['name']}`", str(row["bytes"]), f"`{row['c']}`") for row in rows))


def operators(rows):
    return ", ".join(f"`{row['name']}`" for row in rows) + "\n"


def formats(rows):
    return table(("extension", "format", "what it is"),
                 ((f"`{row['name']}`", f"`{row['format']}`", cell(row["summary"])) for row in rows))


def summaries(rows):
    return table(("name", "what it is"), ((f"`{row['name']}`", cell(row["summary"])) for row in rows))


MAKE = {"topologies": topologies, "algorithms": algorithms, "collectives": collectives, "types": types,
        "operators": operators, "formats": formats, "commands": summaries, "transports": summaries, "files": summaries,
        "exports": summaries, "imports": summaries}


def listed():
    text = subprocess.run([PROGRAM, "list", "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def check_blocks(lists):
    """What differs; written instead with --update."""
    seen = set()
    for document in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]):
        text = document.read_text()
        for block in BLOCK.finditer(text):
            title = block[1]
            seen.add(title)
            if title not in lists:
                yield f"{document.relative_to(ROOT)}: the program has no list of {title}"
            elif not UPDATE and block[3] != MAKE[title](lists[title]):
                yield f"{document.relative_to(ROOT)}: its list of {title} is another than the program's"
        if UPDATE:
            document.write_text(BLOCK.sub(lambda b: b[1] + b[2] + MAKE[b[1]](lists[b[1]]), text))
    for title in sorted(lists.keys() - seen):
        yield f"docs: no document has the list of {title}"


def check_commands(lists):
    text = (ROOT / "docs/cli.md").read_text()
    for row in lists["commands"]:
        if not re.search(rf"^multitree {row['name']}\b", text, re.M):
            yield f"docs/cli.md: 'multitree {row['name']}' is not among the commands at the top"
        if f"\n## multitree {row['name']}\n" not in text:
            yield f"docs/cli.md: no section describes 'multitree {row['name']}'"


def enumerators(header, name):
    """Of an enumeration of the C header, with their numbers; those of one number are one value by several names."""
    body = re.search(r"typedef enum \{([^}]*)\} " + name + ";", header)[1]
    return {found: int(number) for found, number in re.findall(r"(\w+) = (\d+)", body)}


def check_header(lists):
    """Each row has its names in the C header, with the row's number, and each of these names has a row."""
    header = (ROOT / "runtime/c/multitree.h").read_text()
    for title, name in (("types", "mtDataType_t"), ("operators", "mtRedOp_t")):
        there = enumerators(header, name)
        for row in lists[title]:
            if there.get(row["c"]) != row["number"]:
                yield f"runtime/c/multitree.h: expected {row['c']} = {row['number']} in {name}"
        for found in there.keys() - {f for row in lists[title] for f in there if there[f] == row["number"]}:
            yield f"runtime/c/multitree.h: {found} of {name} is none of the {title} that the program lists"
    there = {found.lower(): found for found in re.findall(r"^MT_API mtResult_t (\w+)\(const void\* send,", header, re.M)}
    wanted = {form.format(row["name"].replace("-", ""))
              for row in lists["collectives"] for form in ("mt{}", "mti{}", "mt{}init")}
    for found in sorted(wanted - there.keys()):
        yield f"runtime/c/multitree.h: no {found}(), in whatever case, for a collective that the program lists"
    for found in sorted(there.keys() - wanted):
        yield f"runtime/c/multitree.h: {there[found]}() is of no collective that the program lists"


def main():
    lists = listed()
    wrong = [*check_blocks(lists), *check_commands(lists), *check_header(lists)]
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong and not UPDATE:
        print("tests/tools/documented.py PROGRAM . --update writes the lists", file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
