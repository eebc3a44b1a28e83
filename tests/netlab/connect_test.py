#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose ranks all connect at once start, run after run: algorithms that swap make both ends of a link connect to each
other at the same time.

usage: connect_test.py NETLAB MULTITREE RUNS     so many by each transport; exit code 77: skipped, with the reason
"""
import sys
import time

from lab_test import DEADLINE, SKIPPED, Failed, Netlab, can_emulate

ALGORITHMS = ("recursive-doubling", "swing", "bine", "multitree")
TRANSPORTS = ("ucx", "tcp")


def main():
    script, multitree, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    netlab, failed = Netlab(script, multitree), 0
    for run in range(runs * len(TRANSPORTS)):
        transport = TRANSPORTS[run % len(TRANSPORTS)]
        algorithm = ALGORITHMS[run // len(TRANSPORTS) % len(ALGORITHMS)]
        begin = time.monotonic()
        try:
            netlab.run("torus:4x4", "--rate", "100mbit", "--deadline", str(DEADLINE), "--", "multitree", "run", "-t",
                       "torus:4x4?bw=100Mb/s", "--transport", transport, "-a", algorithm, "-b", "4K", "-e", "64K",
                       "-f", "16", "-n", "10", "-w", "2")
        except Failed as failure:
            failed += 1
            print(f"run {run}, {transport}, {algorithm}: {failure}", flush=True)
        else:
            print(f"run {run}, {transport}, {algorithm}: {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{failed} of {runs * len(TRANSPORTS)} runs have failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
