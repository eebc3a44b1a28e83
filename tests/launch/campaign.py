#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills ranks and cuts links at random moments, and counts what comes of it.

usage: campaign.py MULTITREE [--kills N] [--cuts N] [--seed N] [--netlab SCRIPT] [--log FILE]

Half of the runs are to go on, the others to stop. A fault is noticed when rank 0 tells what is lost, or a survivor its
error. Exit code 1 if a run hangs, ends with a wrong sum, dies by itself or tells of another loss. Without root there are no links to cut: that
part is skipped, with the reason.
"""
import argparse
import collections
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netlab"))
sys.dont_write_bytecode = True
from lab_test import can_emulate  # noqa: E402
from ports import free_port  # noqa: E402
from watched import Job, ranks_where  # noqa: E402

PATIENCE = 60  # seconds after which a run hangs
TIMEOUT = 20  # of the communicator
LINK_TIMEOUT = 1
SLACK = 1  # seconds beyond the deadline, for a busy machine to tell
KILL_DEADLINE = 1  # seconds in which a death is to be known
NET = "torus:3x2"

COLUMNS = ("runs", "faults", "noticed", "went on", "stopped", "in vain", "late", "misnamed", "wrong", "hangs",
           "crashes")


class Tally:
    def __init__(self):
        self.count, self.delays = collections.Counter(), []

    def bad(self):
        return sum(self.count[what] for what in ("hangs", "wrong", "crashes", "misnamed"))


def sums_are_right(text):
    rows = [line.split("|") for line in text.splitlines() if re.match(r" +\d+ .*\|", line)]
    return all(mode.split()[-1] == "0" for row in rows for mode in row[1:]) and "FAILED" not in text


def misnamed(text, faults):
    """What is said to be lost and is not; `faults`: ranks that were killed, or links (n3-n4) that were cut."""
    links = {frozenset(map(int, re.findall(r"\d+", fault))) for fault in faults if isinstance(fault, str)}
    ranks = set(faults) if not links else set().union(*links)
    wrong = []
    for said in re.findall(r"^# (.*?) lost \(", text, re.M):
        for part in said.split(" and "):
            named = part.split(" ", 1)[1].split(", ")
            if part.startswith("link"):
                wrong += [name for name in named if frozenset(map(int, name.split("-"))) not in links]
            else:
                wrong += [name for name in named if int(name) not in ranks]
    wrong += [f"{a}-{b}" for a, b in re.findall(r"over link (\d+)-(\d+)", text)
              if not re.search("^# rank", text, re.M) and frozenset((int(a), int(b))) not in links]
    return wrong


class Local:
    """All ranks on this host; the launcher is where they meet."""
    ranks = 8

    def __init__(self, program, flags):
        self.command = [program, "run", "-t", "torus:4x2", *flags, "-T", str(TIMEOUT)]

    def start(self, number, flags):
        self.tag = f"{os.getpid()}-{number}"
        return Job([*self.command, *flags], dict(os.environ, MULTITREE_CAMPAIGN=self.tag))

    def processes(self):
        return ranks_where("MULTITREE_CAMPAIGN", self.tag)

    def end_processes(self):
        pass  # they end with their launcher

    def close(self):
        pass


class Hosted(Local):
    """The same without a launcher: they meet at one of them."""
    # The worst exit code of those that were not killed.
    SCRIPT = """
size=$1; shift
for ((rank = 0; rank < size; ++rank)); do MULTITREE_RANK=$rank "$@" & ranks[rank]=$!; done
worst=0
for pid in "${ranks[@]}"; do
  wait "$pid" 2>/dev/null; code=$?
  if ((code != 137 && code > worst)); then worst=$code; fi
done
exit "$worst"
"""

    def start(self, number, flags):
        self.tag = f"{os.getpid()}-{number}"
        env = dict(os.environ, MULTITREE_CAMPAIGN=self.tag, MULTITREE_SIZE=str(self.ranks),
                   MULTITREE_RENDEZVOUS=f"127.0.0.1:{free_port()}")
        return Job(["bash", "-c", self.SCRIPT, "ranks", str(self.ranks), *self.command, *flags], env)

    def end_processes(self):
        for pid in self.processes().values():
            os.kill(pid, signal.SIGKILL)


class Lab:
    """A rank on each node of an emulated cluster; they meet at one of them."""
    ranks = 6

    def __init__(self, script, program, sizes):
        self.script, self.name = script, f"campaign-{os.getpid()}"
        self.env = dict(os.environ, MULTITREE=program)
        self.call("up", self.name, NET, "--control")
        listing = self.call("ls", self.name)
        self.links = re.findall(r"^(n\d+-n\d+) ", listing, re.M)
        self.command = [script, "run", self.name, "--deadline", str(2 * PATIENCE), "--grace",
                        str(PATIENCE), "--", "multitree", "run", "-t", NET,
                        "-a", "multitree", *sizes, "-T", str(TIMEOUT), "--link-timeout", str(LINK_TIMEOUT)]

    def call(self, *arguments):
        done = subprocess.run([self.script, *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"netlab {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, _, flags):
        return Job([*self.command, *flags], self.env)

    def processes(self):
        return ranks_where("NETLAB", self.name)

    def end_processes(self):
        for pid in self.processes().values():
            os.kill(pid, signal.SIGKILL)

    def close(self):
        self.call("down", self.name)


def kill(place, dice, most):
    """Kills one to three ranks, or up to `most`; those it killed, and when it killed the first."""
    killed, first = [], None
    for _ in range(min(dice.randint(1, 3), most)):
        if killed and dice.random() < 0.7:
            time.sleep(dice.uniform(0, 0.6))
        alive = {r: pid for r, pid in place.processes().items() if r not in killed}
        if len(alive) < 2:
            break
        # The lowest is where the others meet, unless a launcher is.
        victim = min(alive) if dice.random() < 0.3 else dice.choice(sorted(alive))
        try:
            os.kill(alive[victim], signal.SIGKILL)
        except ProcessLookupError:
            break
        killed.append(victim)
        first = first or time.monotonic()
    return killed, first


def cut(place, dice, how, most):
    """Cuts one link, now and then two, or all of a node; those it cut, and when."""
    kind = dice.random()
    links = [dice.choice(place.links)]
    if kind < 0.15 and most >= 2:
        links = dice.sample(place.links, 2)
    elif kind < 0.25 and most >= 3:
        node = f"n{dice.randrange(place.ranks)}"
        links = [link for link in place.links if node in link.split("-")]
    first = None
    for link in links:
        place.call("set", place.name, link, how)
        first = first or time.monotonic()
    return links, first


def judge(tally, job, code, faults, began, deadline, goes_on, out):
    """What a run came to."""
    text = job.text
    notices = [when - began for when, line in job.lines
               if when >= began and re.match(r"# .* lost \(|multitree: rank \d+: ", line)]
    count = tally.count
    if code is None:
        count["hangs"] += 1
        out.append("HANG")
    if not sums_are_right(text):
        count["wrong"] += 1
        out.append("WRONG SUM")
    if misnamed(text, faults):
        count["misnamed"] += 1
        out.append(f"MISNAMED {misnamed(text, faults)}")
    # 137: netlab says that a rank was killed; 4: so do survivors, and ranks that are left out.
    if code not in (None, 0, 4, 128 + signal.SIGKILL):
        count["crashes"] += 1
        out.append(f"EXIT CODE {code}")
    elif re.search(r"Assertion|==== backtrace|Segmentation", text):
        count["crashes"] += 1
        out.append("EXIT CODE of another rank: a crash")
    if not notices:
        count["in vain"] += 1
        return
    count["noticed"] += 1
    tally.delays.append(notices[0])
    # Who stops has told all that it will: the last survivor's word counts.
    last = notices[0] if goes_on else max(notices)
    if last > deadline + SLACK:
        count["late"] += 1
        out.append("late")
    whole = "Out of bounds values : 0 OK" in text
    count["went on" if goes_on and whole else "stopped"] += 1
    if goes_on and not whole:
        out.append(f"did not go on (exit code {code})")


def one_run(place, number, iterations, goes_on, fault, dice, tally, deadline, log):
    flags = ["-n", str(iterations if goes_on else 1000000), "--on-failure", "go-on" if goes_on else "stop"]
    job, done = place.start(number, flags), []
    try:
        if not job.await_line(r"^#  *\(B\)", PATIENCE):
            tally.count["hangs"] += 1
            log(f"no start:\n{job.text}")
            return done, 0
        started = time.monotonic()
        time.sleep(dice.uniform(0, 0.8))
        done, began = fault()
        code = job.end(PATIENCE)
        tally.count["runs"] += 1
        tally.count["faults"] += len(done)
        out = []
        if done:
            judge(tally, job, code, done, began, deadline, goes_on, out)
        log(f"{number:4} {'go-on' if goes_on else 'stop'} {','.join(map(str, done))} "
            f"{time.monotonic() - started:.2f} s {' '.join(out)}")
        if out:
            log(job.text)
        return done, time.monotonic() - started
    finally:
        job.process.kill()
        job.process.wait()


def campaign(place, faults, inject, heal, dice, deadline, log):
    """Runs until `faults` were made; `inject(most)` makes up to that many, `heal()` undoes what stays after a run."""
    tally, done, number, iterations = Tally(), 0, 0, 100
    while done < faults and number < 10 * faults + 20:
        goes_on = number % 2 == 0
        made, lasted = one_run(place, number, iterations, goes_on, lambda: inject(faults - done), dice, tally, deadline,
                               log)
        heal()
        done += len(made)
        number += 1
        if goes_on:  # long enough for the fault to come before the end
            iterations = min(2 * iterations, 10**6) if lasted < 1 else max(iterations // 2, 50) if lasted > 3 else iterations
    return tally


def kill_ranks(place, faults, dice, log):
    return campaign(place, faults, lambda most: kill(place, dice, most), place.end_processes, dice, KILL_DEADLINE, log)


def cut_links(place, faults, how, dice, log):
    down = []

    def inject(most):
        links, first = cut(place, dice, how, most)
        down.extend(links)
        return links, first

    def heal():
        place.end_processes()
        while down:
            place.call("set", place.name, down.pop(), "--up")

    return campaign(place, faults, inject, heal, dice, LINK_TIMEOUT, log)


def table(tallies):
    head = ["where", "fault", *COLUMNS, "median s", "longest s"]
    rows = [head]
    for (where, what), tally in tallies.items():
        delays = tally.delays or [float("nan")]
        rows.append([where, what, *(str(tally.count[c]) for c in COLUMNS), f"{statistics.median(delays):.2f}",
                     f"{max(delays):.2f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in
                     [rows[0], ["-" * width for width in widths], *rows[1:]])


def shares(total, weights):
    """`total` in parts."""
    parts = [total * weight // sum(weights) for weight in weights]
    parts[0] += total - sum(parts)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("multitree")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--netlab", default=os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "netlab"))
    parser.add_argument("--log", help="a line for each run, and the output of those that went wrong")
    args = parser.parse_args()
    program, dice = os.path.abspath(args.multitree), random.Random(args.seed)
    file = open(args.log, "w", encoding="utf-8") if args.log else None
    bad_lines = []

    def log(line):
        if re.search("HANG|WRONG|MISNAMED|EXIT CODE|no start", line):
            bad_lines.append(line)
        if file:
            print(line, file=file, flush=True)

    print(f"{args.kills} kills, {args.cuts} cuts, seed {args.seed}", flush=True)
    reason = can_emulate() if args.netlab else "no netlab"
    on_host, by_messages, hosted, over_tcp = shares(args.kills, (2, 2, 2, 0 if reason else 1))
    tallies = {}

    def on(where, place, work):
        """`work`: of each fault, what is to be done."""
        try:
            for fault, job in work.items():
                tallies[where, fault] = job(place)
        finally:
            place.close()

    flags = ["-b", "16K", "-e", "256K", "-f", "4"]
    on("shared memory", Local(program, ["-a", "host", *flags]), {"kill": lambda at: kill_ranks(at, on_host, dice, log)})
    on("messages", Local(program, ["-a", "multitree,ring", *flags]),
       {"kill": lambda at: kill_ranks(at, by_messages, dice, log)})
    on("meeting at a rank", Hosted(program, ["-a", "multitree,ring", *flags]),
       {"kill": lambda at: kill_ranks(at, hosted, dice, log)})
    if reason:
        print(f"netlab: skipped: {reason}")
    else:
        down, drop = shares(args.cuts, (1, 1))
        on("netlab", Lab(args.netlab, program, ["-b", "4K", "-e", "64K", "-f", "4"]),
           {"kill": lambda at: kill_ranks(at, over_tcp, dice, log),
            "cable pulled": lambda at: cut_links(at, down, "--down", dice, log),
            "silent loss": lambda at: cut_links(at, drop, "--drop", dice, log)})
    print(table(tallies))
    bad = sum(tally.bad() for tally in tallies.values())
    print("\n".join(bad_lines[:20]) if bad else "no hang, no wrong sum, nothing misnamed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
