#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls go on while links of an emulated cluster are cut and mended, one at a time and two at once; where there is no other
way, the error names the link.

usage: continue_test.py NETLAB PROGRAM MULTITREE [FAULTS [SEED]]     exit code 77: skipped, with the reason
"""
import os
import random
import re
import sys

from cuts import DEADLINE, NETWORK, Lab, cut_and_mend
from lab_test import SKIPPED, can_emulate


def goes_on(script, program, env, faults, seed):
    with Lab(script, env, "--control", "--rate", "1gbit") as lab:
        job = lab.start(program, NETWORK, str(2.5 * faults + 1))
        cut_and_mend(lab, random.Random(seed), faults)
        code = job.end(DEADLINE + 3 * faults)
        ways = len(re.findall(r"going on with rank", job.text))
        if code != 0 or ways == 0:
            sys.exit(f"seed {seed}: exit code {code}, {ways} ends went another way\n{job.text}")
        last = re.search(r"\d+ calls, the longest .*", job.text).group()
        print(f"seed {seed}, {faults} faults: {last}; {ways} ends went another way", flush=True)


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
    stops_without_another_way(script, program, env)


if __name__ == "__main__":
    main()
