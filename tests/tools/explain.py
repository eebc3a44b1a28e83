#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`multitree explain` recognizes whose times it is given, and says by how much they are off: fed with what the
program itself predicts, of each algorithm, as it is and so many times slower. usage: explain.py PROGRAM"""
import json
import subprocess
import sys

PROGRAM = sys.argv[1]
NAMES = ("ring", "double-binary-tree", "multitree", "allreduce-optimal")
SIZES = [1 << bits for bits in range(10, 27, 4)]


def predicted(network, algorithm, size):
    report = subprocess.run([PROGRAM, "schedule", "-t", network, "-a", algorithm, "--size", str(size), "--json"],
                            capture_output=True, check=True, text=True).stdout
    return json.loads(report)["predicted_seconds"]


def explain(network, times):
    log = "bytes,seconds\n" + "".join(f"{size},{seconds!r}\n" for size, seconds in times)
    result = subprocess.run([PROGRAM, "explain", "-", "-t", network, "-c", "allreduce", "--json"], input=log,
                            capture_output=True, text=True)
    assert result.returncode in (0, 1), result.stderr
    return result.returncode, json.loads(result.stdout)[0]


def main():
    for network in ("torus:4x4", "mesh:3x3"):
        times = {name: [(size, predicted(network, name, size)) for size in SIZES] for name in NAMES}
        for name in NAMES:
            code, found = explain(network, times[name])
            assert code == 0 and found["algorithm"] == name, (network, name, found["algorithm"])
            assert abs(found["measured_over_predicted"] - 1) < 1e-6, found
        last = {name: times[name][-1][1] for name in NAMES}
        _, found = explain(network, [(size, 1.05 * seconds) for size, seconds in times["ring"]])
        row = found["results"][-1]
        assert row["limited_by"] == "schedule" and row["fastest"] == "allreduce-optimal", row
        assert abs(row["fastest_seconds"] - last["allreduce-optimal"]) < 1e-12, row
        _, found = explain(network, [(size, 8 * seconds) for size, seconds in times["ring"]])
        assert found["results"][-1]["limited_by"] == "links or hosts", found
        code, found = explain(network, [(1 << 26, found["results"][-1]["bound_seconds"] / 1.1)])
        assert code == 1 and abs(found["results"][-1]["share"] - 1.1) < 1e-3, (code, found)
        assert found["results"][-1]["limited_by"].startswith("nothing"), found


main()
