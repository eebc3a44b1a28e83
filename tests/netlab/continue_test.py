#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls go on while links of an emulated cluster are cut and mended, one at a time and two at once; where there is no other
way, the error names the link.

usage: continue_test.py NETLAB PROGRAM MULTITREE [FAULTS [SEED]]     exit code 77: skipped, with the reason
"""
import os
import random
import re
import subprocess
import sys
import time

from lab_test import SKIPPED, can_emulate

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
sys.dont_write_bytecode = True
from watched import Job  # noqa: E402

DEADLINE = 120
NETWORK = "torus:3x2"
LINKS = ["n0-n1", "n1-n2", "n0-n2", "n3-n4", "n4-n5", "n3-n5", "n0-n3", "n1-n4", "n2-n5"]


class Lab:
    def __init__(self, script, env, *options):
        self.script, self.env, self.name, self.options = script, env, f"continue-{os.getpid()}", options

    def call(self, *arguments):
        done = subprocess.run([self.script, *arguments], env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
        if done.returncode != 0:
            sys.exit(f"netlab {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}")

    def set(self, link, what):
        self.call("set", self.name, link, what)

    def start(self, *command):
        job = Job([self.script, "run", self.name, "--deadline", str(DEADLINE + 3600), "--", *command], self.env)
        if not job.await_line("ready", DEADLINE):
            sys.exit(f"no start\n{job.text}")
        return job

    def __enter__(self):
        self.call("up", self.name, NETWORK, *self.options)
        return self

    def __exit__(self, *_):
        self.call("down", self.name)


def cut_and_mend(lab, rng, faults):
    for fault in range(faults):
        links = rng.sample(LINKS, 2 if fault % 3 == 2 else 1)
        for link in links:
            lab.set(link, "--drop")
        time.sleep(rng.uniform(0.2, 1.2))
        for link in links:
            lab.set(link, "--up")
        time.sleep(rng.uniform(0.1, 0.9))


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
