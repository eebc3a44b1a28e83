#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shell blocks of documents run, and make the pictures that stand beside them.
usage: shell_blocks.py PROGRAM SOURCE_DIR DOCUMENT... [--update]

Each ```sh block of a document is run by bash, one after the other in one directory that sees the program on its PATH and
tests/ and scripts/ of the sources; every command has to succeed. A comment on the line before decides otherwise:
`<!-- not run: REASON -->` skips the block and prints the reason, `<!-- makes FILE -->` compares that file with the one in
the sources, byte for byte (--update copies it there).
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
UPDATE = "--update" in sys.argv
DOCUMENTS = [ROOT / name for name in sys.argv[3:] if name != "--update"]
BLOCK = re.compile(r"(?:^<!-- (not run: [^\n]*|makes [^\n]*) -->\n)?^```sh\n(.*?)^```$", re.M | re.S)


def prepare(directory):
    """What a reader has: the sources, and the program on the PATH."""
    (directory / "bin").mkdir()
    (directory / "here/docs/pictures").mkdir(parents=True)
    for name in ("multitree", "multitree-study"):
        (directory / "bin" / name).symlink_to(PROGRAM.parent / name)
    for name in ("tests", "scripts"):
        (directory / "here" / name).symlink_to(ROOT / name)
    return directory / "here"


def run(block, here):
    environment = dict(os.environ, PATH=f"{here.parent}/bin:{os.environ['PATH']}", LC_ALL="C", HOME=str(here))
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", block], cwd=here, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)


def compare(name, here):
    made, kept = here / name, ROOT / name
    if UPDATE:
        kept.write_bytes(made.read_bytes())
    return made.read_bytes() == kept.read_bytes()


def check(document, here):
    """What is wrong with a document's blocks, and how many ran."""
    wrong, ran = [], 0
    for match in BLOCK.finditer(document.read_text()):
        mark, block = match.group(1) or "", match.group(2)
        where = f"{document.relative_to(ROOT)}: {block.splitlines()[0][:60]}"
        if mark.startswith("not run"):
            print(f"{where}: {mark}")
            continue
        done = run(block, here)
        ran += 1
        if done.returncode:
            wrong.append(f"{where}: exit code {done.returncode}:\n{done.stdout}")
        elif mark and not compare(mark.removeprefix("makes ").strip(), here):
            wrong.append(f"{where}: {mark}, but another one than that of the sources (--update takes it)")
    return wrong, ran


def main():
    wrong, ran = [], 0
    for document in DOCUMENTS:
        with tempfile.TemporaryDirectory() as directory:
            more, count = check(document, prepare(pathlib.Path(directory)))
            wrong, ran = wrong + more, ran + count
    print(f"{ran} blocks of {len(DOCUMENTS)} documents ran")
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    sys.exit(1 if wrong or not ran else 0)


main()
