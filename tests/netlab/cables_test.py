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
        sizes = variables.pop("SIZES", None)
        self.lab = Lab(netlab.script, dict(netlab.environment, MULTITREE_CLUSTER=file, **variables))
        self.lab.name = lab_name
        self.job = self.lab.start(program, "ring:2", str(seconds), failure, *([sizes] if sizes else []))

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


def starts_over_the_other(netlab, multitree):
    """Also where calls do not go on a job starts without a cable that is silent, and one line says so."""
    with Two(netlab) as (name, file):
        netlab.run("set", name, "n0-n1:1", "--drop")
        said = netlab.run("run", name, "--", multitree, "run", "-t", file, "-a", "multitree", "-b", "1M", "-e", "1M", "-n", "2")
        lines = re.findall(r"rank 0: nothing passes over cable n0 l0 - n1 l0: messages to rank 1 go over their other cables", said)
        expect(len(lines) == 1 and said.count("nothing passes") == 1, said)


def names_all(netlab, multitree):
    """Where no cable is left nobody waits for long, and the message names both, and what to do."""
    with Two(netlab) as (name, file):
        for cable in "n0-n1:1", "n0-n1:2":
            netlab.run("set", name, cable, "--drop")
        said = netlab.run("run", name, "--", multitree, "run", "-t", file, "-a", "multitree", "-b", "64K", "-e", "64K", code=4)
        expect(re.search(r"no connection to rank 1 over link 0-1.*nothing passes over cable n0 l\d - n1 l\d, nor over cable "
                         r"n0 l\d - n1 l\d: .*; plug one in, .*--on-failure continue.*discover --install'", said), said)


def loses_its_share(netlab, program):
    """A cable that becomes slow carries what it can, and its half again when it is as fast as before."""
    with Two(netlab) as (name, file):
        job = Job(netlab, program, name, file, 45, "stop", SIZES="large")

        def share(seconds=3):
            def sent():
                rows = json.loads(netlab.output("stats", name, "--json"))
                return [sum(row["bytes"] for row in rows if row["cable"] == cable) for cable in (1, 2)]
            before = sent()
            time.sleep(seconds)
            over = [after - some for after, some in zip(sent(), before)]
            return over[1] / sum(over)

        def becomes(rate, line):
            netlab.run("set", name, "n0-n1:2", "--rate", rate)
            job.await_lines(rf"rank \d: cable n\d l1 - n\d l1 brings \d+ % of its rate beside the others to rank \d: {line}", 2)
            time.sleep(1)
            return share()

        whole = share()
        expect(abs(whole - 0.5) < 0.1, f"a share of {whole:.2f} before")
        slow = becomes("20mbit", "it carries less")
        expect(abs(slow - 1 / 6) < 0.07, f"a share of {slow:.2f} at a fifth of the rate")
        back = becomes("100mbit", "it has its share again")
        expect(abs(back - 0.5) < 0.1, f"a share of {back:.2f} after")
        print(f"shares of a cable at 100, 20 and 100 Mbit/s beside one of 100: {whole:.2f}, {slow:.2f}, {back:.2f}", flush=True)
        job.end()


def predicts_all(netlab, multitree):
    """A network in one's own words, one link at 100 Mbit/s, counts both cables of the file."""
    def predicted(name, file):
        lab = Netlab(netlab.script, multitree)
        lab.environment["MULTITREE_CLUSTER"] = file
        said = lab.output("run", name, "--", multitree, "run", "-t", "ring:2?bw=12.5MB/s", "-a", "multitree", "-b", "1M", "-e",
                          "1M", "-n", "1", "--predict", "--json")
        return [row["predicted_time"] for one in json.loads(said)["runs"] for row in one["results"]][0]

    with Two(netlab) as (name, file):
        both, alone = predicted(name, file), predicted(name, with_one_cable(file))
        expect(0.45 < both / alone < 0.55, f"predicted {both} us over both cables, {alone} us over one")


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
             "silent": lambda: starts_over_the_other(netlab, os.path.abspath(multitree)),
             "predicted": lambda: predicts_all(netlab, os.path.abspath(multitree)),
             "dead": lambda: names_all(netlab, os.path.abspath(multitree)),
             "becomes-slow": lambda: loses_its_share(netlab, program),
             "pulled": lambda: pulled(netlab, os.path.abspath(multitree))}
    for name in wanted or cases:
        cases[name]()
        print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()
