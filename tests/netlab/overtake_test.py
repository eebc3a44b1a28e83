#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small all-reduce started behind a large one ends long before it: each waits for its own bytes only.

usage: overtake_test.py NETLAB RANK_PROGRAM MULTITREE     exit code 77: skipped, with the reason
"""
import re
import sys

from lab_test import DEADLINE, SKIPPED, Netlab, can_emulate

LARGE, SMALL = 8 << 20, 256 << 10


def main():
    script, program, multitree = sys.argv[1:]
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    text = Netlab(script, multitree).run("ring:2", "--rate", "100mbit", "--deadline", str(DEADLINE), "--", program, "behind",
                                         str(LARGE), str(SMALL))
    found = re.search(r"small after ([\d.]+) ms, large after ([\d.]+) ms", text)
    if not found or float(found.group(1)) * 4 > float(found.group(2)):
        sys.exit(f"expected {SMALL} bytes to end in less than a quarter of the time of {LARGE}\n{text}")
    print(text.strip())


if __name__ == "__main__":
    main()
