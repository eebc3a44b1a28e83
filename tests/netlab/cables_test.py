#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two emulated hosts with two cables between them: both are found, share messages by their rates, and one that is cut leaves
the other, with right sums; says how many times as fast two are as one.

usage: cables_test.py NETLAB PROGRAM MULTITREE [CASE...]     exit code 77: skipped, with the reason
"""
import json
import os
import re
import sys
import tempfile
import time

from cuts import Lab
from discover_test import BARE, Desks, kinds_of, without_ipv6
from lab_test import DEADLINE, SKIPPED, Netlab, Up, can_emulate, expect

NETWORK = "ring:2?parallel=2"
BYTES = 2 << 20


def all_reduce(desks, file):
    """Milliseconds of one, the digest of its results, and bytes that have gone over each cable, in both directions."""
    def sent():
        rows = json.loads(desks.netlab.output("stats", desks.name, "--json"))
        return [sum(row["bytes"] for row in rows if row["cable"] == cable) for cable in (1, 2)]

    netlab = Netlab(desks.netlab.script, desks.program)
    netlab.environment["MULTITREE_CLUSTER"] = file
    before = sent()
    said = netlab.output("run", desks.name, "--deadline", str(DEADLINE), "--", "multitree", "run", "-t", file, "-a", "multitree",
                         "-b", str(BYTES), "-e", str(BYTES), "-n", "2", "-w", "1", "--digest", "--json")
    rows = [row["in_place"] for one in json.loads(said)["runs"] for row in one["results"]]
    expect(rows and all(row["nwrong"] == 0 for row in rows), said)
    return rows[0]["time"] / 1000, rows[0]["digest"], [after - some for after, some in zip(sent(), before)]


def with_one_cable(file):
    """The same desks as if they had one cable alone, the fastest: of equal ones it may be either."""
    with open(file, encoding="utf-8") as text:
        cluster = json.load(text)
    del cluster["cables"][1:]
    one = file.replace(".json", "-one.json")
    with open(one, "w", encoding="utf-8") as text:
        json.dump(cluster, text)
    return one


def shares(netlab, rates, kinds):
    """`rates`: of the cables, in Mbit/s, the first is that of the lab."""
    with Up(netlab, NETWORK, *BARE) as name, tempfile.TemporaryDirectory() as folder:
        desks, file = Desks(netlab, name, ["n0", "n1"]), os.path.join(folder, "desks.json")
        netlab.run("set", name, "n0-n1:2", "--rate", f"{rates[1]}mbit")
        found = desks.found("-o", file)
        expect(kinds_of(found) == kinds, str(found["findings"]))
        expect(len(found["cables"]) == 2 and found["links"] == 2, str(found))
        with open(file, encoding="utf-8") as text:
            link = json.load(text)["topology"]["links"][0]["bandwidth"]
        expect(link.endswith("MB/s") and 0.8 < float(link[:-4]) * 8 / sum(rates) < 1.05, f"{link} of {rates} Mbit/s")
        alone, bits, sent = all_reduce(desks, with_one_cable(file))
        expect(min(sent) < 64 << 10, f"a cable that the file has not: {sent}")
        together, same, sent = all_reduce(desks, file)
        expect(same == bits, "results differ from those over one cable")
        share = sent[1] / sum(sent)
        expect(abs(share - rates[1] / sum(rates)) < 0.05, f"cables of {rates} Mbit/s have carried {sent} bytes")
        print(f"cables of {rates[0]} and {rates[1]} Mbit/s: all-reduce of {BYTES >> 20} MiB in {together:.0f} ms, over the first "
              f"alone {alone:.0f} ms: {alone / together:.2f} times as fast", flush=True)


class Job:
    """A program on a lab that is up, which has a file of its cables."""

    def __init__(self, netlab, program, lab_name, file, seconds, failure, **variables):
        self.lab = Lab(netlab.script, dict(netlab.environment, MULTITREE_CLUSTER=file, **variables))
        self.lab.name = lab_name
        self.job = self.lab.start(program, "ring:2", str(seconds), failure)

    def await_lines(self, pattern, count):
        until = time.monotonic() + DEADLINE
        while len(re.findall(pattern, self.job.text, re.M)) < count:
            expect(self.job.process.poll() is None and time.monotonic() < until,
                   f"expected {count} lines '{pattern}'\n{self.job.text}")
            time.sleep(0.05)

    def end(self, failed=False):
        code = self.job.end(DEADLINE)
        expect(code is not None and (code != 0) == failed, f"exit code {code}\n{self.job.text}")
        return self.job.text


class Two:
    """Two hosts at 100 Mbit/s a cable, and the file of their cables."""

    def __init__(self, netlab):
        self.up, self.folder = Up(netlab, NETWORK, "--rate", "100mbit", *BARE[2:]), tempfile.TemporaryDirectory()
        self.netlab = netlab

    def __enter__(self):
        name, file = self.up.__enter__(), os.path.join(self.folder.name, "desks.json")
        Desks(self.netlab, name, ["n0", "n1"]).discover("-o", file)
        return name, file

    def __exit__(self, *what):
        self.up.__exit__(*what)
        self.folder.cleanup()


def goes_on(netlab, program, **variables):
    """Without each of the cables in turn, and back on both. A cut takes two ends half a second to notice."""
    away, back = r"going on with rank \d over (\S+), as one of their cables is silent$", r"going on with rank \d over \[fe80[^,\n]*$"
    with Two(netlab) as (name, file):
        job = Job(netlab, program, name, file, 20, "continue", **variables)
        for count, cable in enumerate(("n0-n1:2", "n0-n1:1"), 1):
            job.lab.set(cable, "--drop")
            job.await_lines(away, 2 * count)
            time.sleep(0.5)
            job.lab.set(cable, "--up")
            job.await_lines(back, 2 * count)
        said = job.end()
        expect(all(there.startswith("[fe80") for there in re.findall(away, said, re.M)), f"not over the other cable\n{said}")
        print(re.search(r"\d+ calls, the longest .*", said).group(), flush=True)


def starts_without_one(netlab, program):
    """And takes it again when it is mended."""
    with Two(netlab) as (name, file):
        netlab.run("set", name, "n0-n1:1", "--drop")
        job = Job(netlab, program, name, file, 6, "continue")
        netlab.run("set", name, "n0-n1:1", "--up")
        job.await_lines(r"going on with rank \d over \[fe80[^,\n]*$", 2)
        job.end()


def stops(netlab, program):
    """Where calls do not go on a cable that is cut is a dead link."""
    with Two(netlab) as (name, file):
        job = Job(netlab, program, name, file, DEADLINE, "stop")
        job.lab.set("n0-n1:2", "--drop")
        expect("over link 0-1" in job.end(failed=True), f"no link is named\n{job.job.text}")


def names_the_port(netlab, multitree):
    """Where calls do not go on, a cable that is silent before the job begins ends it, and the message says which."""
    with Two(netlab) as (name, file):
        netlab.run("set", name, "n0-n1:1", "--drop")
        said = netlab.run("run", name, "--", multitree, "run", "-t", file, "-a", "multitree", "-b", "64K", "-e", "64K", code=4)
        expect(re.search(r"over link 0-1: connection to rank \d failed \(.*, from port l\d\)|nothing from rank", said), said)


def pulled(netlab, multitree):
    """A port without carrier delays nothing, and both ends say that its messages go over the other cable."""
    with Two(netlab) as (name, file):
        netlab.run("set", name, "n0-n1:1", "--down")
        said = netlab.run("run", name, "--", multitree, "run", "-t", file, "-a", "multitree", "-b", "64K", "-e", "64K", "-n", "1")
        for here, there in ("n0", "n1"), ("n1", "n0"):
            expect(re.search(rf"{here}: port l\d, which has a cable in \S+, has no address.* messages to {there} go", said), said)


def main():
    script, program, multitree, *wanted = sys.argv[1:]
    reason = can_emulate() or without_ipv6()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    netlab = Netlab(script, multitree)
    cases = {"equal": lambda: shares(netlab, (20, 20), ["parallel"]),
             "uneven": lambda: shares(netlab, (20, 8), ["parallel", "slow", "slow"]),
             "tenth": lambda: shares(netlab, (20, 2), ["parallel", "slow", "slow"]),
             "cut": lambda: goes_on(netlab, program),
             "cut-encrypted": lambda: goes_on(netlab, program, MULTITREE_ENCRYPT="1"),
             "begun": lambda: starts_without_one(netlab, program),
             "stop": lambda: stops(netlab, program),
             "silent": lambda: names_the_port(netlab, os.path.abspath(multitree)),
             "pulled": lambda: pulled(netlab, os.path.abspath(multitree))}
    for name in wanted or cases:
        cases[name]()
        print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()
