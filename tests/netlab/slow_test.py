#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A link of an emulated cluster falls to half its rate while all-reduces go on: how long it takes until they run schedules with
less of it, and how fast they are then, beside those of a job that knew of it from the beginning. On a machine all of whose
processors are taken, and no link of which is slow, none is told of.

usage: slow_test.py NETLAB PROGRAM MULTITREE [RUNS [SECONDS]]     SECONDS: of the busy machine; exit code 77: skipped
"""
import os
import re
import statistics
import subprocess
import sys
import time

from cuts import DEADLINE, NETWORK, Lab
from lab_test import SKIPPED, can_emulate

RATE, HALF = "100mbit", "50mbit"
LONGEST = 3  # seconds, on a machine that does other things as well; alone it is less than one
LEAST = 0.8  # of the speed of a job that knew
OTHERS = r"from call #(\d+) on .*with less of link"


class Calls:
    """Those of a job, by number: when each ended, in seconds."""

    def __init__(self, job):
        found = (re.match(r"call (\d+): [\d.]+ s", line) and (moment, int(line.split()[1].rstrip(":"))) for moment, line in job.lines)
        self.ends = {number: moment for moment, number in filter(None, found)}

    def length(self, first, last):
        return (self.ends[last] - self.ends[first]) / (last - first)

    @property
    def last(self):
        return max(self.ends)


def half_a_rate(script, program, env):
    """Seconds from the change to the first call by other schedules, and the lengths of calls before it and after that."""
    with Lab(script, env, "--control", "--rate", RATE) as lab:
        job = lab.start(program, NETWORK, str(2 * DEADLINE), "adapt", "large", "each")
        time.sleep(4)  # rates have become usual
        lab.set("n1-n4", f"--rate={HALF}")
        changed = time.monotonic()
        if not job.await_line(OTHERS, DEADLINE):
            sys.exit(f"link 1-4 at half its rate: not noticed\n{job.text}")
        time.sleep(3)
        job.end(0)
        calls = Calls(job)
        # Each is followed by one of 8 bytes, with a number of its own.
        first = (int(re.search(OTHERS, job.text).group(1)) + 1) // 2
        before = max(number for number, end in calls.ends.items() if end < changed) - 1
        return calls.ends[first - 1] - changed, calls.length(before - 10, before), calls.length(first, calls.last)


def known_from_the_beginning(script, program, env):
    with Lab(script, env, "--control", "--rate", RATE) as lab:
        lab.set("n1-n4", f"--rate={HALF}")
        job = lab.start(program, f"{NETWORK}?slow=1-4:0.5", "5", "adapt", "large", "each")
        if job.end(DEADLINE) != 0:
            sys.exit(f"a job that knows of the slow link: expected exit code 0\n{job.text}")
        calls = Calls(job)
        return calls.length(calls.last // 3, calls.last)


def on_a_busy_machine(script, program, env, seconds):
    with Lab(script, env, "--control", "--rate", RATE) as lab:
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            job = lab.start(program, NETWORK, str(seconds), "adapt", "large")
            code = job.end(DEADLINE + seconds)
        finally:
            for other in others:
                other.kill()
        told = re.findall(r"from call .*", job.text)
        if code != 0 or told:
            sys.exit(f"no link is slow: expected exit code 0 and no other schedules, found {code} and {told}\n{job.text}")
    print(f"{seconds} s on a busy machine: no link told of", flush=True)


def main():
    script, program, multitree = sys.argv[1:4]
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 10
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    env = dict(os.environ, MULTITREE=multitree)
    known = known_from_the_beginning(script, program, env)
    times, shares = [], []
    for run in range(runs):
        took, before, after = half_a_rate(script, program, env)
        times.append(took)
        shares.append(known / after)
        print(f"run {run}: {took:.2f} s; calls of {before:.4f} s before, {after:.4f} s with other schedules, "
              f"{known:.4f} s where it is known", flush=True)
    print(f"{runs} runs: other schedules after {statistics.median(times):.2f} s, {max(times):.2f} s at most; "
          f"then {100 * statistics.median(shares):.0f} % of what is reached where it is known, {100 * min(shares):.0f} % at least",
          flush=True)
    if max(times) > LONGEST or min(shares) < LEAST:
        sys.exit(f"expected other schedules within {LONGEST} s, and {100 * LEAST:.0f} % of what is reached where it is known")
    on_a_busy_machine(script, program, env, seconds)


if __name__ == "__main__":
    main()
