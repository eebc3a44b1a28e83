#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `multitree train compare` says of published measurements: 252 points of seven techniques.

usage: published.py MULTITREE DIRECTORY DOCUMENT [--update]     (--update: fits the constants again, and writes the table)

The measurements are those of Shi et al., "A Quantitative Survey of Communication Optimizations in Distributed Deep
Learning" (2020). Of each network and number of GPUs two constants are fitted, what a collective takes to start and what
for a byte, to the techniques that send all at once (BSP) and tensor by tensor (WFBP), for all-reduce and for parameter
servers apart. The others are predicted with them; but ByteScheduler with all-reduce has no start, as its starts are hidden
behind its other partitions under way, and one constant more, of an iteration. MG-WFBP has one more for all its points:
how many times what they cost its merging takes collectives to cost.
"""
import csv
import json
import math
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import reference  # noqa: E402

DNNS = ("ResNet-50", "BERT-Base", "BERT-Large")
NETWORKS = ("10GbE", "100GbE", "100GbIB")
GPUS = (4, 8, 16, 32)
KINDS = {"A2A": ("BSP-A2A", "WFBP-A2A"), "PS": ("BSP-PS", "WFBP-PS")}
POLICIES = {"BSP-A2A": "bsp", "WFBP-A2A": "wfbp", "MG-WFBP": "mg-wfbp?costs=3", "ByteScheduler-A2A": "bytescheduler",
            "BSP-PS": "bsp-ps", "WFBP-PS": "wfbp-ps", "ByteScheduler-PS": "bytescheduler-ps"}
# Most that the mean of absolute errors may be, in percent.
EXPECTED = {"BSP-A2A": 4, "WFBP-A2A": 5, "MG-WFBP": 4, "ByteScheduler-A2A": 8, "BSP-PS": 4, "WFBP-PS": 4,
            "ByteScheduler-PS": 7}
HEAD = "<!-- published: written by tests/training/published.py -->"
TAIL = "<!-- end of published -->"


def kind_of(method):
    return "PS" if method.endswith("-PS") else "A2A"


def is_wrong(dnn, network, method):
    """These rows are those of 10GbE to 2 percent, at every number of GPUs: they seem to have used that. So constants for
    servers on 100GbE are those of BERT-Base, and for the others say nothing."""
    return network == "100GbE" and kind_of(method) == "PS" and dnn != "BERT-Base"


class Published:
    def __init__(self, directory):
        self.directory = directory
        self.seconds = {}
        for row in csv.DictReader(self.open("throughput.csv")):
            key = row["dnn"], row["network"], row["method"], int(row["gpus"])
            self.seconds[key] = int(row["batch"]) * int(row["gpus"]) / float(row["samples_per_s"])
        self.constants = {}
        for row in csv.DictReader(self.open("constants.csv")) if os.path.exists(self.path("constants.csv")) else []:
            self.constants[row["network"], int(row["gpus"]), row["kind"]] = tuple(
                float(row[name]) for name in ("start", "per_byte", "iteration"))

    def path(self, name):
        return os.path.join(self.directory, name)

    def open(self, name):
        return open(self.path(name), encoding="ascii")

    def layers(self, dnn):
        with self.open(f"{dnn}.csv") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        seconds = {way: [float(row[way][:-2]) * 1e-6 for row in rows] for way in ("forward", "backward")}
        return reference.Layers([row["name"] for row in rows], seconds["forward"], seconds["backward"],
                                [[4 * int(word) for word in row["params"].split("+") if int(word)] for row in rows])


def least(error, ranges, points=11, rounds=7):
    """The two arguments of the least error within these ranges: finer and finer grids, by ratios."""
    for _ in range(rounds):
        axes = [[low * (high / low) ** (i / (points - 1)) for i in range(points)] for low, high in ranges]
        best = min(((x, y) for x in axes[0] for y in axes[1]), key=error)
        ranges = [(centre / (high / low) ** 0.2, centre * (high / low) ** 0.2)
                  for centre, (low, high) in zip(best, ranges)]
    return best


def fit(published):
    """Means of absolute errors, by the models in reference.py."""
    layers = {dnn: published.layers(dnn) for dnn in DNNS}
    with open(published.path("constants.csv"), "w", encoding="ascii") as file:
        file.write("network,gpus,kind,start,per_byte,iteration\n")
        for network in NETWORKS:
            for gpus in GPUS:
                for kind, methods in KINDS.items():
                    cells = [(d, m) for d in DNNS for m in methods if not is_wrong(d, network, m)]

                    def error(constants, cells=tuple(cells), network=network, gpus=gpus):
                        return sum(abs(reference.POLICIES[POLICIES[m]](layers[d], *constants, 0) /
                                       published.seconds[d, network, m, gpus] - 1) for d, m in cells)

                    start, per_byte = least(error, [(2e-5, 4e-3), (1e-10, 4e-9)])
                    iteration = 0.0
                    if kind == "A2A":
                        base = {d: reference.bytescheduler(layers[d], 0, per_byte, 0) for d in DNNS}
                        iteration = min((i * 1e-3 for i in range(300)), key=lambda extra: sum(
                            abs((base[d] + extra) / published.seconds[d, network, "ByteScheduler-A2A", gpus] - 1)
                            for d in DNNS))
                    file.write(f"{network},{gpus},{kind},{start:.4g},{per_byte:.4g},{iteration:.3f}\n")


def times(program, published, dnn, start, per_byte, policies):
    result = subprocess.run([program, "train", "compare", "--json", "--alpha", f"{start * 1e9:.6f}ns", "--beta",
                             f"{per_byte:.6g}", "--model", published.path(f"{dnn}.csv"), "-p", ",".join(policies)],
                            capture_output=True, text=True, check=False, timeout=120)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return {row["policy"]: row["seconds"] for row in json.loads(result.stdout)["policies"]}


def errors(program, published):
    """Predicted over measured, less 1; None where rows are wrong."""
    all_errors = {}
    for (network, gpus, kind), (start, per_byte, iteration) in published.constants.items():
        methods = [m for m in POLICIES if kind_of(m) == kind]
        for dnn in DNNS:
            plain = [m for m in methods if m != "ByteScheduler-A2A"]
            found = times(program, published, dnn, start, per_byte, [POLICIES[m] for m in plain])
            if kind == "A2A":
                found |= times(program, published, dnn, 0, per_byte, ["bytescheduler"])
            for method in methods:
                seconds = found[POLICIES[method]] + (iteration if method == "ByteScheduler-A2A" else 0)
                key = dnn, network, method, gpus
                all_errors[key] = None if is_wrong(dnn, network, method) else seconds / published.seconds[key] - 1
    return all_errors


def mean(values):
    known = [abs(value) for value in values if value is not None]
    return 100 * sum(known) / len(known)


def table(all_errors):
    lines = ["| error in % | GPUs | " + " | ".join(f"{network}<br>{' / '.join(map(str, GPUS))}" for network in NETWORKS) +
             " | mean of technique |", "|---|---|" + "---|" * (len(NETWORKS) + 1)]
    for method in POLICIES:
        for dnn in DNNS:
            cells = []
            for network in NETWORKS:
                values = [all_errors[dnn, network, method, gpus] for gpus in GPUS]
                cells.append("left out" if values[0] is None else " / ".join(f"{100 * v:+.0f}" for v in values))
            whole = mean([v for key, v in all_errors.items() if key[2] == method])
            lines.append(f"| {method} | {dnn} | " + " | ".join(cells) + f" | {f'{whole:.1f}' if dnn == DNNS[0] else ''} |")
    return "\n".join(lines).replace("| error in % | GPUs |", "| | error in % with GPUs: |")


def main():
    program, directory, document = sys.argv[1:4]
    published = Published(directory)
    if "--update" in sys.argv:
        fit(published)
        published = Published(directory)
    all_errors = errors(program, published)
    if len(all_errors) != 252:
        sys.exit(f"expected 252 points, found {len(all_errors)}")
    for method, most in EXPECTED.items():
        found = mean([v for key, v in all_errors.items() if key[2] == method])
        print(f"{method}: mean of absolute errors {found:.2f} %")
        if found > most:
            sys.exit(f"{method}: expected at most {most} %")
    with open(document, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(HEAD)
    written = f"{before}{HEAD}\n{table(all_errors)}\n{TAIL}{rest.split(TAIL)[1]}"
    if "--update" in sys.argv:
        with open(document, "w", encoding="utf-8") as file:
            file.write(written)
    elif written != text:
        sys.exit(f"{document}: another table than what is computed; run {sys.argv[0]} with --update")


if __name__ == "__main__":
    main()
