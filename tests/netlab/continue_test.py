#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls go on while links of an emulated cluster are cut and mended, one at a time and two at once, by schedules that stay and
by others without the silent links or with less over a slow one, in the open and encrypted; where there is no other way, the
error names the link.

usage: continue_test.py NETLAB PROGRAM MULTITREE [FAULTS [SEED]]     exit code 77: skipped, with the reason
"""
import os
import random
import re
import sys
import time

from cuts import DEADLINE, NETWORK, Lab, cut_and_mend
from lab_test import SKIPPED, can_emulate


def goes_on(script, program, env, faults, seed):
    with Lab(script, env, "--control", "--rate", "1gbit") as lab:
        job = lab.start(program, NETWORK, str(2.5 * faults + 1))
        cut_and_mend(lab, random.Random(seed), faults)
        tell(job, faults, seed, r"going on with rank", "ends went another way")


def goes_on_encrypted(script, program, env, seed):
    faults = 2
    env = dict(env, MULTITREE_ENCRYPT="1", MULTITREE_LOG="info")
    with Lab(script, env, "--control", "--rate", "1gbit") as lab:
        job = lab.start(program, NETWORK, str(2.5 * faults + 1))
        cut_and_mend(lab, random.Random(seed), faults)
        tell(job, faults, seed, r"going on with rank", "ends went another way, encrypted")
        if "messages between processes are encrypted" not in job.text:
            sys.exit(f"expected messages that are encrypted\n{job.text}")


def adapts(script, program, env, faults, seed):
    """Faults last longer, as a schedule without a link is run a while after it has fallen silent."""
    with Lab(script, env, "--control", "--rate", "1gbit") as lab:
        job = lab.start(program, NETWORK, str(4.5 * faults + 1), "adapt")
        cut_and_mend(lab, random.Random(seed), faults, cut=(0.3, 3), mended=(0.1, 2))
        tell(job, faults, seed, r"from call #\d+ on without link", "times other schedules")


def tell(job, faults, seed, pattern, what):
    code = job.end(DEADLINE + 3 * faults)
    count = len(re.findall(pattern, job.text))
    if code != 0 or count == 0:
        sys.exit(f"seed {seed}: exit code {code}, {count} {what}\n{job.text}")
    last = re.search(r"\d+ calls, the longest .*", job.text).group()
    print(f"seed {seed}, {faults} faults: {last}; {count} {what}", flush=True)


def starts_without_a_link(script, program, env):
    """One that is cut before the job begins, and mended later."""
    with Lab(script, env, "--control", "--rate", "1gbit") as lab:
        lab.set("n1-n4", "--drop")
        job = lab.start(program, NETWORK, "12", "adapt")
        without = job.await_line(r"from call #\d+ on without link 1-4", DEADLINE)
        lab.set("n1-n4", "--up")
        back = job.await_line(r"from call #\d+ on as before", DEADLINE)
        code = job.end(DEADLINE)
        if code != 0 or not without or not back:
            sys.exit(f"begun without link 1-4: exit code {code}, left alone: {without}, taken again: {back}\n{job.text}")
        print("begun without link 1-4, which was taken again", flush=True)


def does_less_over_a_slow_link(script, program, env):
    """One that falls to a quarter of its rate while the job runs, and rises again. It would go on for long."""
    with Lab(script, env, "--control", "--rate", "100mbit") as lab:
        job = lab.start(program, NETWORK, str(2 * DEADLINE), "adapt", "large")
        time.sleep(4)  # rates have become usual
        lab.set("n1-n4", "--rate=25mbit")
        less = job.await_line(r"from call #\d+ on .*with less of link 1-4", DEADLINE)
        lab.set("n1-n4", "--rate=100mbit")
        time.sleep(3)
        if job.end(0) is not None or not less:
            sys.exit(f"link 1-4 at a quarter of its rate: noticed: {less}\n{job.text}")
        print("link 1-4 at a quarter of its rate, of which schedules took account", flush=True)


def stops_without_another_way(script, program, env):
    """Ranks of torus:3x2 meet over links that stay; the ends of the one that is cut have no other way."""
    with Lab(script, env) as lab:
        job = lab.start(program, NETWORK, "20")
        lab.set("n1-n4", "--drop")
        code = job.end(DEADLINE)
        if code == 0 or not re.search(r"over link 1-4", job.text):
            sys.exit(f"expected an error that names link 1-4: exit code {code}\n{job.text}")


def main():
    script, program, multitree = sys.argv[1:4]
    faults = int(sys.argv[4]) if len(sys.argv) > 4 else 6
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    env = dict(os.environ, MULTITREE=multitree)
    goes_on(script, program, env, faults, seed)
    goes_on_encrypted(script, program, env, seed)
    adapts(script, program, env, faults, seed)
    starts_without_a_link(script, program, env)
    does_less_over_a_slow_link(script, program, env)
    stops_without_another_way(script, program, env)


if __name__ == "__main__":
    main()
