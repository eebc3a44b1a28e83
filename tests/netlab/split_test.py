#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Networks that fall apart: the larger part goes on, also where the ranks have met in the smaller one; the others say why
they stop.

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


def run_and_cut(script, env, transport, spec, algorithm, iterations, cuts, options):
    """What a job printed whose links were cut while it ran. `options`: of the lab."""
    name = f"split-{os.getpid()}-{spec.split(':')[0]}"

    def call(*arguments):
        done = subprocess.run([script, *arguments], env=env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
        if done.returncode != 0:
            sys.exit(f"netlab {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}")

    call("up", name, spec, *options)
    try:
        job = Job([script, "run", name, "--deadline", str(DEADLINE), "--grace", "60", "--", "multitree", "run", "-t",
                   spec, "-a", algorithm, "--transport", transport, "-b", "4K", "-e", "16K", "-f", "4", "-n",
                   str(iterations), "-T", "30", "--link-timeout", "1", "--on-failure", "go-on"], env)
        if not job.await_line(r"\(B\)", DEADLINE):
            sys.exit(f"no start\n{job.text}")
        time.sleep(0.3)
        for link in cuts:
            call("set", name, link, "--drop")
        code = job.end(DEADLINE)
        return f"{job.text}(exit code {code})"
    finally:
        call("down", name)


def expect(condition, what, text):
    if not condition:
        sys.exit(f"{what}\n{text}")


def ring(script, env, transport):
    """Hosts see each other over a network for control, and agree who is in which part."""
    text = run_and_cut(script, env, transport, "ring:5", "multitree", 400, ["n0-n1", "n3-n4"], ["--control"])
    stopped = set(re.findall(r"rank (\d): cut off by dead links", text))
    expect(stopped == {"0", "4"}, "expected ranks 0 and 4 to be cut off", text)
    expect("going on with 3 of 5 ranks" in text, "expected ranks 1, 2 and 3 to go on", text)
    expect("Out of bounds values : 0 OK" in text, "expected right sums", text)


def star(script, env, transport):
    """The host where all have met loses its only cable: it must not go on by itself, the others may."""
    text = run_and_cut(script, env, transport, "star:4", "ring", 3000, ["n0-sw0"], [])
    expect("rank 0: cannot go on: only 1 of 4 ranks have met again" in text, "expected rank 0 to stop", text)
    expect("# rank 0 lost" in text and "going on with 3 of 4 ranks" in text, "expected the others to go on", text)
    expect("Out of bounds values : 0 OK" in text, "expected right sums", text)


def main():
    script, multitree = sys.argv[1:]
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    for transport in ("ucx", "tcp"):
        for case in (ring, star):
            start = time.monotonic()
            case(script, dict(os.environ, MULTITREE=multitree), transport)
            print(f"{transport}, {case.__name__}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
