#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torch's own tests of process groups, of DDP and of what builds on them: what passes with Gloo passes with multitree.

usage: MULTITREE_TORCH_PYTHON=PYTHON torch_suite.py BUILD_DIR [PATTERN]
The interpreter has torch and expecttest; the extension is that of the test torch.build. PATTERN: names of tests (all).
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Names, or what they begin with, of tests that ask for more than the backend has, and why it has not.
OTHERWISE = {
    "test_ddp_logging_data": "torch's logger calls every backend \"custom\" that is none of its own",
}


def outcomes(python, library, backend, pattern):
    """By test: (passed, skipped or failed; why). Ends the script where the suite cannot run."""
    environment = {**os.environ, "PYTHONPATH": library, "OMP_NUM_THREADS": "1"}
    command = [python, os.path.join(HERE, "torch_module.py"), backend, pattern]
    found, began = {}, None
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            words = line.rstrip("\n").split("\t")
            if words[0] == "begins":
                began = words[1]
            elif words[0] == "result":
                found[words[1]] = (words[2], words[3])
    if process.returncode != 0:
        sys.exit(f"torch's suite with {backend} ended with {process.returncode} in {began}")
    return found


def main():
    python = os.environ.get("MULTITREE_TORCH_PYTHON")
    library = os.path.join(sys.argv[1], "torch/lib")
    pattern = sys.argv[2] if len(sys.argv) > 2 else "test_"
    needed = ("import torch.distributed, expecttest", "MULTITREE_TORCH_PYTHON names no Python with torch and expecttest")
    if not python or subprocess.run([python, "-c", needed[0]], capture_output=True, check=False).returncode != 0:
        print(f"skipped: {needed[1]}")
        return 0
    gloo, ours = (outcomes(python, library, backend, pattern) for backend in ("gloo", "multitree"))
    wrong = 0
    for name, (outcome, why) in sorted(ours.items()):
        reason = next((words for start, words in OTHERWISE.items() if name.startswith(start)), None)
        if outcome == "passed" or gloo[name][0] != "passed":
            continue
        print(f"{name}: passed with Gloo, {outcome} with multitree: {reason or why}")
        wrong += reason is None
    for backend, found in (("Gloo", gloo), ("multitree", ours)):
        counts = {outcome: sum(one[0] == outcome for one in found.values()) for outcome in ("passed", "failed", "skipped")}
        print(f"torch's suite with {backend}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if wrong or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
