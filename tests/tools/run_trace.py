#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `multitree run` says of messages and links, against the schedule that it ran.

usage: run_trace.py MULTITREE
"""
import collections
import json
import subprocess
import sys
import tempfile

WIDTH = 4  # bytes of a float


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def expect(condition, *words):
    if not condition:
        sys.exit(" ".join(str(word) for word in words))


def chunk_bytes(schedule, size):
    """Bytes of each chunk of an all-reduce: cut at floor(count * weights before / all weights)."""
    weights = [chunk[2] for chunk in schedule["chunks"]]
    count, before, cuts = size // WIDTH, 0, [0]
    for weight in weights:
        before += weight
        cuts.append(count * before // sum(weights))
    return [(b - a) * WIDTH for a, b in zip(cuts, cuts[1:])]


def transfers(schedule):
    """(operation, chunk, source, destination, route) of the file."""
    for step in schedule["steps"]:
        for name in ("reduce", "copy"):
            for chunk, source, destination, *route in step.get(name, []):
                yield name, chunk, source, destination, route


def link_loads(schedule, size):
    loads = [0] * len(schedule["topology"]["links"])
    length = chunk_bytes(schedule, size)
    for _, chunk, _, _, route in transfers(schedule):
        for link in route:
            loads[link] += length[chunk]
    return loads


class Timeline:
    def __init__(self, path):
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        named = lambda kind: {e["pid"] if kind == "process_name" else e["tid"]: e["args"]["name"]
                              for e in events if e["ph"] == "M" and e["name"] == kind}
        groups, rows = named("process_name"), named("thread_name")
        # Rows of what overlaps are numbered: "n0->n1 (2)".
        self.spans = [(groups[e["pid"]], rows[e["tid"]].split(" (")[0], e) for e in events if e["ph"] == "X"]
        self.arrows = sum(e["ph"] == "s" for e in events)

    def rows(self, group):
        return {row for name, row, _ in self.spans if name == group}

    def within(self, group, iteration):
        begin, end = iteration["ts"], iteration["ts"] + iteration["dur"]
        return [(row, e) for name, row, e in self.spans
                if name == group and begin <= e["ts"] and e["ts"] + e.get("dur", 0) <= end + 0.001]


def check_iteration(timeline, iteration, schedule, size, segment):
    length = chunk_bytes(schedule, size)
    pieces = lambda chunk: -(-length[chunk] // segment)
    messages = [(op, chunk, n) for op, chunk, _, _, route in transfers(schedule) if (n := pieces(chunk)) > 0]
    sends = timeline.within("interfaces", iteration)
    expect(len(sends) == sum(n for _, _, n in messages), "sends:", len(sends), "expected:", messages)
    expect(len([r for r, _ in timeline.within("ranks", iteration) if r.endswith(" receives")]) == len(sends),
           "as many messages are received as are sent")
    # What is copied need not be in a row of its own: it is received in its place.
    reduced = [e for _, e in timeline.within("ranks", iteration) if e["name"] == "reduce"]
    expect(len(reduced) == sum(n for op, _, n in messages if op == "reduce"), "reductions:", len(reduced))
    names = [f"{link['src']}->{link['dst']}" for link in schedule["topology"]["links"]]
    carried = collections.Counter()
    for row, event in timeline.within("links", iteration):
        carried[row] += event["args"]["bytes"]
    loads = dict(zip(names, link_loads(schedule, size)))
    expect(all(carried[name] == loads[name] for name in names), "links:", dict(carried), "expected:", loads)


def check_messages(multitree, work, topology, algorithms, extra=()):
    sizes, segment = [1000, 64000], 4096
    trace, output = f"{work}/trace.json", f"{work}/run.json"
    run(multitree, "run", "-t", topology, "-a", ",".join(algorithms), "-b", str(sizes[0]), "-e", str(sizes[1]), "-f",
        "64", "-n", "2", "-w", "1", "--segment", str(segment), "--trace", trace, "-J", output, *extra)
    with open(output) as file:
        runs = json.load(file)["runs"]
    timeline = Timeline(trace)
    iterations = [e for group, _, e in timeline.spans if group == "run"]
    expect(len(iterations) == len(sizes) * len(algorithms), "iterations:", [e["name"] for e in iterations])
    for algorithm, result in zip(algorithms, runs):
        run(multitree, "schedule", "-t", topology, "-a", algorithm, "-o", f"{work}/schedule.json")
        with open(f"{work}/schedule.json") as file:
            schedule = json.load(file)
        for size, row in zip(sizes, result["results"]):
            expected = link_loads(schedule, size)
            found = [link["bytes"] for link in row["links"]]
            expect(found == expected, f"{algorithm}, {size} B: links carried", found, "expected", expected)
            expect(row["busiest_link"]["bytes"] == max(expected), "the busiest link")
            expect(row["predicted_time"] > 0 and row["algorithm"] == schedule["algorithm"], "prediction and algorithm")
            check_iteration(timeline, iterations.pop(0), schedule, size, segment)
    expect(timeline.arrows > 0, "messages wait for each other: expected arrows")
    # The rows of a simulation of the same, so that both can be laid side by side.
    run(multitree, "simulate", "-t", topology, "-a", algorithms[0], "-b", "64000", "-e", "64000", "--trace",
        f"{work}/simulated.json", "--model", "message", "--check", "0")
    simulated = Timeline(f"{work}/simulated.json")
    for group in ("interfaces", "links"):
        missing = simulated.rows(group) - timeline.rows(group)
        expect(simulated.rows(group) and not missing, f"rows of a simulation that are missing: {group}", missing)


def check_host(multitree, work):
    trace = f"{work}/host.json"
    run(multitree, "run", "-t", "ring:3", "-a", "host", "-b", "96", "-e", "600K", "-f", "6400", "-n", "2", "-w", "1",
        "--trace", trace)
    timeline = Timeline(trace)
    names = collections.Counter(e["name"] for group, _, e in timeline.spans if group == "ranks")
    # 96 B go on cards: in, wait, sum; 600 KiB in one piece or more: then others' sums are copied out.
    expect(set(names) == {"copy in", "sum", "copy out", "wait"}, "phases:", names)
    expect(timeline.rows("ranks") == {"n0", "n1", "n2"}, "rows:", timeline.rows("ranks"))
    largest = [e for group, _, e in timeline.spans if group == "run"][1]
    summed = sum(e["args"]["bytes"] for _, e in timeline.within("ranks", largest) if e["name"] == "sum")
    expect(summed == 96 * 6400, "every element is summed once:", summed)


def main():
    multitree = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        check_messages(multitree, work, "torus:2x2", ["multitree", "ring"])
        check_messages(multitree, work, "mesh:3x2", ["allreduce-optimal"], ["--transport", "loopback"])
        check_messages(multitree, work, "star:3", ["ring"])
        check_host(multitree, work)


main()
