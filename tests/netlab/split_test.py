#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A ring that is cut twice: the larger part goes on, also where the ranks have met in the smaller one; the others say
why they stop.

usage: split_test.py NETLAB MULTITREE     exit code 77: skipped, with the reason
"""
import os
import re
import subprocess
import sys
import time

from lab_test import SKIPPED, can_emulate

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
sys.dont_write_bytecode = True
from watched import Job  # noqa: E402

DEADLINE = 120
NAME = f"split-{os.getpid()}"
RUN = ["multitree", "run", "-t", "ring:5", "-a", "multitree", "-b", "4K", "-e", "16K", "-f", "4", "-n", "400", "-T", "30",
       "--link-timeout", "1", "--on-failure", "go-on"]


def main():
    script, multitree = sys.argv[1:]
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    env = dict(os.environ, MULTITREE=multitree)

    def call(*arguments):
        done = subprocess.run([script, *arguments], env=env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
        if done.returncode != 0:
            sys.exit(f"netlab {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}")

    call("up", NAME, "ring:5", "--control")
    try:
        job = Job([script, "run", NAME, "--deadline", str(DEADLINE), "--grace", "60", "--", *RUN], env)
        if not job.await_line(r"\(B\)", DEADLINE):
            sys.exit(f"no start\n{job.text}")
        time.sleep(0.3)
        call("set", NAME, "n0-n1", "--drop")
        call("set", NAME, "n3-n4", "--drop")
        code, text = job.end(DEADLINE), job.text
        stopped = set(re.findall(r"rank (\d): cut off by dead links", text))
        whole = "Out of bounds values : 0 OK" in text
        if stopped != {"0", "4"} or "going on with 3 of 5 ranks" not in text or not whole:
            sys.exit(f"expected ranks 1, 2 and 3 to go on, and 0 and 4 to be cut off (exit code {code})\n{text}")
        print(*re.findall("^#.*lost.*|^.*cut off.*", text, re.M), sep="\n")
    finally:
        call("down", NAME)


if __name__ == "__main__":
    main()
