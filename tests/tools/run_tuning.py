#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`multitree run -a auto` chooses and predicts by a table of measured links, alike every time; or by trying.

usage: run_tuning.py MULTITREE
"""
import json
import subprocess
import sys
import tempfile

SMALL, LARGE = 64, 1 << 20


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def expect(condition, *words):
    if not condition:
        sys.exit(" ".join(str(word) for word in words))


def write_table(path, table, overhead, latency, bandwidth):
    table = dict(table, message_overhead=overhead)
    for key in ("hosts", "message_latency", "together"):
        table.pop(key, None)
    table["links"] = [dict(link, latency=latency, bandwidth=bandwidth) for link in table["links"]]
    with open(path, "w") as file:
        json.dump(table, file)


def rows(multitree, topology, algorithm, *flags):
    text = run(multitree, "run", "-t", topology, "-a", algorithm, "--no-host-path", "-b", str(SMALL), "-e", str(LARGE),
               "-f", str(LARGE // SMALL), "-n", "1", "-w", "0", "--json", *flags)
    result = json.loads(text)
    return result["config"]["link_times"], result["runs"][0]["results"]


def check_trial(multitree, topology, work):
    """What was tried is kept, and gives the same bits again."""
    plan = f"{work}/plan.json"
    sizes = ["-b", "64", "-e", "64K", "-f", "1024", "-n", "2", "-w", "1", "--data", "random", "--digest", "--json"]
    done = subprocess.run([multitree, "run", "-t", topology, "-a", "auto", "--no-host-path", "--try", "2", "--save-plan", plan,
                           *sizes], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, text=True, check=True,
                          stdin=subprocess.DEVNULL)
    tried = json.loads(done.stdout)["runs"][0]["results"]
    words = [line for line in done.stderr.splitlines() if " took " in line]
    expect(len(words) == len(tried) == 2, "a line a size:", done.stderr)
    for row, line in zip(tried, words):
        expect(line.split()[2] == row["algorithm"], "what won runs:", line, row["algorithm"])
        expect("2 rounds" in line, line)
    kept = json.loads(run(multitree, "run", "-s", plan, *sizes))["runs"][0]["results"]
    for a, b in zip(tried, kept):
        expect(a["algorithm"] == b["algorithm"], "the plan has it:", a["algorithm"], b["algorithm"])
        expect(a["out_of_place"]["digest"] == b["out_of_place"]["digest"], "the same bits:", a, b)
    shared = subprocess.run([multitree, "run", "-t", topology, "-a", "auto", "--try", "2", "-n", "1"], timeout=100, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, stdin=subprocess.DEVNULL)
    expect(shared.returncode == 2 and "share a host" in shared.stderr, "nothing to try:", shared.returncode, shared.stderr)


def main():
    multitree, topology = sys.argv[1], "mesh:3x2"
    with tempfile.TemporaryDirectory() as work:
        measured, fake = f"{work}/measured.json", f"{work}/fake.json"
        times, first = rows(multitree, topology, "auto", "--save-tuning", measured)
        expect(times == "measured", "auto measures:", times)
        with open(measured) as file:
            table = json.load(file)
        expect(len(table["links"]) == 14, "links of mesh:3x2 in the table:", len(table["links"]))
        expect([len(host["nodes"]) for host in table["hosts"]] == [6], "six ranks share this host:", table["hosts"])
        # What was measured, given back, gives the same.
        times, again = rows(multitree, topology, "auto", "--tuning", measured)
        expect(times == "file", "the table is used:", times)
        for a, b in zip(first, again):
            expect(a["algorithm"] == b["algorithm"] and a["predicted_time"] == b["predicted_time"], a, b)
        check_trial(multitree, topology, work)
        # Without the flag nothing is measured and nothing sent.
        text = run(multitree, "run", "-t", topology, "-a", "auto", "-b", "64", "-e", "64", "-n", "1", "--json")
        host = json.loads(text)
        expect(host["runs"][0]["algorithm"] == "host" and host["config"]["link_times"] == "declared", text)
        # Messages are dear: few of them for small vectors, the optimal schedule for large ones.
        write_table(fake, table, "20us", "20us", "5MB/s")
        _, (small, large) = rows(multitree, topology, "auto", "--tuning", fake)
        expect(large["algorithm"].startswith("allreduce-optimal"), "for 1 MiB:", large["algorithm"])
        steps = json.loads(run(multitree, "schedule", "-t", topology, "-a", f"{small['algorithm']},{large['algorithm']}",
                               "--json"))
        transfers = [schedule["transfers"] for schedule in steps]
        expect(transfers[0] * 2 < transfers[1], f"messages of {small['algorithm']}, {large['algorithm']}:", transfers)
        # With the rates of the topology and the same cost of a message, the prediction is that of tune and schedule.
        write_table(fake, table, "1us", "150ns", "16GB/s")
        _, (small, large) = rows(multitree, topology, "ring", "--tuning", fake)
        tuned = json.loads(run(multitree, "tune", "-t", topology, "-a", "ring", "-b", str(LARGE), "-e", str(LARGE),
                               "--json"))
        seconds = tuned["candidates"][0]["seconds"][0]
        expect(abs(large["predicted_time"] - seconds * 1e6) < 1e-6 * seconds * 1e6, large["predicted_time"], seconds)
        report = json.loads(run(multitree, "schedule", "-t", topology, "-a", "ring", "--size", str(LARGE), "--json"))
        expect(abs(report["predicted_seconds"] - seconds) < 1e-6 * seconds, report["predicted_seconds"], seconds)
        times, (_, declared) = rows(multitree, topology, "ring")
        expect(times == "declared" and declared["predicted_time"] == large["predicted_time"], declared, large)


main()
