#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The runtime on emulated clusters: right results, traffic on the links of the schedule, and an end to everything.

usage: cluster_test.py NETLAB MULTITREE [CASE...]     exit code 77: skipped, with the reason
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from lab_test import DEADLINE, SKIPPED, Failed, Netlab, Up, can_emulate, expect, processes_of  # noqa: E402


def digests(text):
    runs = json.loads(text)["runs"]
    rows = [row[mode] for run in runs for row in run["results"] for mode in ("out_of_place", "in_place")]
    expect(all(row["nwrong"] == 0 for row in rows), f"wrong elements: {[row['nwrong'] for row in rows]}")
    return [row["digest"] for row in rows]


def case_results(netlab):
    """The same bits as on one host, with and without switches and neighbours."""
    for spec in ("torus:3x2", "mesh:3x2", "star:4", "torus:3x3?without=0-1"):
        command = ["run", "-t", spec, "-a", "multitree,ring,allreduce-optimal", "-b", "40", "-e", "400K", "-f", "100",
                   "-n", "1", "-w", "0", "--data", "random", "--json"]
        here = subprocess.run([netlab.environment["MULTITREE"], *command], stdout=subprocess.PIPE, text=True,
                              check=True, timeout=DEADLINE)
        there = netlab.output(spec, "--deadline", str(DEADLINE), "--", "multitree", *command)
        expect(digests(here.stdout) == digests(there), f"{spec}: other results than on one host")


def case_default_transport(netlab):
    """Between hosts that have nothing but TCP, sockets of our own; UCX for who asks for it."""
    for told, expected in (({}, "transport tcp: each rank is on a host of its own"),
                           ({"UCX_TLS": "tcp"}, "transport ucx: rank 0 has RDMA, or UCX_TLS"),
                           ({"MULTITREE_TRANSPORT": "ucx"}, "transport ucx: MULTITREE_TRANSPORT=ucx")):
        words = netlab.run("star:4", "--deadline", str(DEADLINE), "--", "env", "MULTITREE_LOG=info",
                           *(f"{name}={value}" for name, value in told.items()), "multitree", "run", "-t", "star:4",
                           "-b", "4K", "-e", "4K", "-n", "2")
        expect(expected in words, f"{told}: expected {expected}, got\n{words}")


def case_neighbours(netlab):
    """Messages between neighbours cross the link between them and no other."""
    spec, size, ranks, runs = "torus:3x3", 1 << 20, 9, 4  # in and out of place, each timed once and checked once
    with Up(netlab, spec) as name:
        netlab.run("run", name, "--deadline", str(DEADLINE), "--", "multitree", "run", "-t", spec, "-a", "symmetric",
                   "-b", str(size), "-e", str(size), "-n", "1", "-w", "0")
        crossed = [row["bytes"] for row in json.loads(netlab.output("stats", name, "--json"))]
    payload = runs * 2 * (ranks - 1) * size
    expect(payload < sum(crossed) < 1.2 * payload, f"expected {payload} bytes and headers on all links, found "
           f"{sum(crossed)}: {sum(crossed) / payload:.2f} times")
    expect(max(crossed) < 1.2 * payload / len(crossed) * 1.34, f"expected the load of the schedule on each link: {crossed}")


def case_mpirun(netlab):
    """Open MPI's mpirun on node 0 starts its daemons on the others."""
    mpirun = shutil.which("mpirun.openmpi")
    if not mpirun:
        print("mpirun: Open MPI is not installed")
        return
    with Up(netlab, "torus:2x2") as name:
        words = netlab.run("exec", name, "n0", "--", mpirun, "--allow-run-as-root", "-n", "4", "--host", "n2,n0,n3,n1",
                           "--mca", "plm_rsh_agent", f"{netlab.script} rsh", "--mca", "plm_rsh_no_tree_spawn", "1",
                           "--mca", "oob_tcp_if_include", "10.200.0.0/16",
                           "multitree", "run", "-t", "torus:2x2", "-b", "64K", "-e", "64K", "-n", "2", "--map", "by-host")
    expect("Out of bounds values : 0 OK" in words, words)
    expect("# map: ranks 0 on n0, 1 on n1, 2 on n2, 3 on n3\n" in words, words)


def start_endless(netlab, name, timeout):
    return netlab.start("run", name, "--deadline", str(DEADLINE), "--", "multitree", "run", "-t", "torus:3x2", "-a",
                        "multitree", "-b", "64K", "-e", "4M", "-f", "2", "-n", "100000", "-T", str(timeout))


def leave(process):
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    expect(process.returncode in (4, 137), f"expected exit code 4, got {process.returncode}\n{errors}")
    return errors


def case_death(netlab):
    """A rank is killed: all others say so and leave."""
    with Up(netlab, "torus:3x2") as name:
        process = start_endless(netlab, name, 60)
        time.sleep(4)
        ranks = {}
        for pid in processes_of(name):
            with open(f"/proc/{pid}/environ", "rb") as environ:
                found = re.search(rb"MULTITREE_RANK=(\d+)", environ.read())
            ranks[int(found.group(1))] = pid
        expect(sorted(ranks) == list(range(6)), f"expected 6 ranks, found {ranks}")
        os.kill(ranks[3], signal.SIGKILL)
        errors = leave(process)
        survivors = {int(rank) for rank in re.findall(r"rank (\d+): ", errors)} - {3}
        expect(len(survivors) == 5 and "rank 3 died" in errors, f"expected 5 survivors to name rank 3, got\n{errors}")


def case_lost_link(netlab):
    """A link loses everything without a word: the deadline ends the job and names the two ends."""
    for how in ("--drop", "--down"):
        with Up(netlab, "torus:3x2") as name:
            process = start_endless(netlab, name, 3)
            time.sleep(4)
            netlab.run("set", name, "n1-n4", how)
            errors = leave(process)
            named = re.findall(r"no progress for 3000 ms while waiting to \w+ chunk \d+ segment \d+ (?:to|from) rank",
                               errors)
            expect(named, f"{how}: expected a rank to say what it waited for, got\n{errors}")


def lose_links(netlab, links):
    """Output and exit code of a job that is to go on while links swallow all packets."""
    with Up(netlab, "torus:3x2", "--control") as name:
        job = netlab.start("run", name, "--deadline", str(DEADLINE), "--", "multitree", "run", "-t", "torus:3x2", "-b", "64K",
                           "-e", "64K", "-n", "400", "-T", "30", "--link-timeout", "1", "--on-failure", "go-on")
        try:
            for line in job.stdout:
                if "(B)" in line:  # the ranks have met
                    break
            time.sleep(0.5)
            cuts = [netlab.start("set", name, link, "--drop") for link in links]
            expect(all(cut.wait(timeout=DEADLINE) == 0 for cut in cuts), f"cannot cut {links}")
            output, errors = job.communicate(timeout=DEADLINE)
        finally:
            job.kill()
    expect("Out of bounds values : 0 OK" in output, f"expected right sums, got\n{output}{errors}")
    return output, job.returncode


def case_around_links(netlab):
    output, code = lose_links(netlab, ["n1-n4"])
    expect(code == 0, f"expected exit code 0, got {code}\n{output}")
    expect(re.search(r"# link 1-4 lost \(rank (1: nothing from rank 4|4: nothing from rank 1) over link 1-4 for 1000 ms, interface \S+\): "
                     r"going on with 6 of 6 ranks on torus:3x2\?without=1-4\n", output), output)


def case_cut_off(netlab):
    """A rank that has lost all of its links counts as dead."""
    output, code = lose_links(netlab, ["n5-n3", "n5-n4", "n5-n2"])
    expect(code == 4, f"expected the exit code of rank 5, 4, got {code}\n{output}")
    last = re.findall(r"# (.*) lost \(", output)[-1]
    expect(last == "rank 5", f"expected rank 5 to be lost at last, got {last}\n{output}")


def case_map(netlab):
    """Processes in the wrong places, put right by the hosts' names: messages then cross one link and not two."""
    size, ranks, runs = 1 << 20, 5, 4
    # Process i is told that it is rank 2i mod 5: no two neighbours of the ring are where they should be.
    shuffled = "MULTITREE_RANK=$((MULTITREE_RANK * 2 % 5)) exec multitree run -t ring:5 -a ring -b 1M -e 1M -n 1 -w 0 --json "
    with Up(netlab, "ring:5") as name, tempfile.TemporaryDirectory() as folder:
        places = os.path.join(folder, "map")
        with open(places, "w", encoding="ascii") as file:
            file.write("".join(f"n{rank} n{rank}\n" for rank in range(ranks)))
        crossed = [0]
        for option, most, least in (("", 9, 1.5), ("--map by-host", 1.2, 1), (f"--map {places}", 1.2, 1)):
            words = netlab.output("run", name, "--deadline", str(DEADLINE), "--", "sh", "-c", shuffled + option)
            digests(words)
            hosts = json.loads(words)["config"].get("hosts")
            expect(hosts == ([f"n{rank}" for rank in range(ranks)] if option else None), f"{option}: {hosts}")
            crossed.append(sum(row["bytes"] for row in json.loads(netlab.output("stats", name, "--json"))))
            load = (crossed[-1] - crossed[-2]) / (runs * 2 * (ranks - 1) * size)
            expect(least < load < most, f"'{option}': links carried {load:.2f} times the messages")
        with open(places, "w", encoding="ascii") as file:
            file.write("0-3 n0\n4 n9\n")
        words = netlab.run("run", name, "--deadline", str(DEADLINE), "--", "sh", "-c", shuffled + f"--map {places}", code=3)
        expect(f"{places}:1: rank 1: the job has 1 process on n0" in words, words)


def case_check_links(netlab):
    """A link that swallows everything and a slow one are named, the others are as declared."""
    with Up(netlab, "torus:3x2", "--control") as name:
        netlab.run("set", name, "n1-n4", "--drop")
        netlab.run("set", name, "n0-n3", "--rate", "10mbit")
        job = netlab.start("run", name, "--deadline", str(DEADLINE), "--", "multitree", "run", "-t",
                           "torus:3x2?bw=12.5MB/s&lat=50us", "--check-links", "4.5", "--link-timeout", "3")
        try:
            output, errors = job.communicate(timeout=DEADLINE)
        finally:
            job.kill()
    named = sorted(re.findall(r"# link (\S+) (does not work|is [\d.]+ times slower)", output))
    expect([link for link, _ in named] == ["0>3", "1>4", "3>0", "4>1"], f"{output}{errors}")
    expect([what[0] for _, what in named] == ["i", "d", "i", "d"] and job.returncode == 1, f"{output}{errors}")


def main():
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    netlab = Netlab(sys.argv[1], sys.argv[2])
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
    for name in sys.argv[3:] or cases:
        start = time.monotonic()
        try:
            cases[name](netlab)
        except (Failed, subprocess.TimeoutExpired) as error:
            sys.exit(f"{name}: {error}")
        print(f"{name}: ok, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
