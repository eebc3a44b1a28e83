#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces in hardware and in software whose links are Ethernet: on the cables of an emulated torus with frames lost, with
switches that are processes or in those of ranks, behind TAP devices on a bridge, and without a way to each other.

usage: nic_job_test.py NETLAB MULTITREE     exit code 77: skipped, with the reason
"""
import json
import os
import subprocess
import sys

from lab_test import DEADLINE, SKIPPED, Failed, Netlab, can_emulate

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
from ports import free_port  # noqa: E402

TRANSPORT = 4  # exit code
RANKS = 2
TAPS = "ip link add br0 type bridge && for r in 0 1; do ip tuntap add mt$r mode tap && ip link set mt$r {master} up || exit 1; done"


def fail(what, *outputs):
    sys.exit("\n".join([what, *outputs]))


def expect_right(what, output, hardware, switches=()):
    """`switches`: kinds of their routers."""
    said = json.loads(output)
    ranks = said["ranks"]
    found = [rank["interface"] for rank in ranks]
    if any(rank["wrong"] for rank in ranks) or found.count("hardware") != hardware:
        fail(f"{what}: expected right sums of {hardware} interfaces in hardware", output)
    if tuple(one["router"] for one in said["switches"]) != tuple(switches) or any(one["flits"] == 0 for one in said["switches"]):
        fail(f"{what}: expected flits to go through switches in {switches}", output)
    return ranks


def on_a_torus(script, multitree):
    for hardware, flags in ((4, ["--hardware", "0-3"]), (0, ["--hardware", "none", "-d", "bfloat16"]),
                            (8, ["--hardware", "all", "--fast", "--flow-control", "packet"])):
        output = Netlab(script, multitree).run(
            "torus:2x4", "--rate", "100mbit", "--deadline", str(DEADLINE), "--", "multitree", "nic", "job", "-t", "torus:2x4",
            "--size", "80000", "--drop", "0.02", "--json", *flags)
        ranks = expect_right("torus:2x4", output, hardware)
        if sum(rank["sent_again"] for rank in ranks) == 0:
            fail("torus:2x4: expected frames that are lost to be sent again", output)
        print(f"torus:2x4, {hardware} interfaces in hardware, 2 % of the frames lost: right", flush=True)


def through_switches(script, multitree):
    """Each in a process of its own, with its own cables; and in that of rank 0, on the cables of a bridge."""
    for spec, hardware, switches, lab, interfaces in (
            ("star:4", "0,2,sw0", ("hardware",), ["--switches"], []),
            ("fattree:2x2", "1,2,leaf0", ("hardware", "software", "software", "software"), ["--switches"], []),
            ("star:4", "1-2", ("software",), ["--bare", "--control"], ["--interfaces", "l0"])):
        output = Netlab(script, multitree).run(
            spec, "--rate", "100mbit", "--deadline", str(DEADLINE), *lab, "--", "multitree", "nic", "job", "-t", spec,
            "--hardware", hardware, "--size", "20000", "--drop", "0.02", "--fast", "--json", *interfaces)
        expect_right(spec, output, 2, switches)
        print(f"{spec}, switches in {', '.join(switches)} ({lab[0]}): right", flush=True)


def two_ranks(multitree, prepare, *flags):
    """In a network of their own, each behind a TAP device. Exit codes and outputs."""
    job = {"MULTITREE_SIZE": str(RANKS), "MULTITREE_RENDEZVOUS": f"127.0.0.1:{free_port()}", "MULTITREE_TOKEN": "of this job"}
    ranks = " ".join(f"MULTITREE_RANK={rank} {multitree} nic job -t ring:{RANKS} --interfaces tap:mt{rank} --hardware 1 "
                     f"{' '.join(flags)} > $OUT/{rank} 2>&1; echo $? > $OUT/{rank}.code {'&' if rank == 0 else ''}"
                     for rank in range(RANKS)).replace("MULTITREE_RANK=0", "(MULTITREE_RANK=0", 1).replace(" &", ") &", 1)
    script = (f'OUT=$(mktemp -d); ip link set lo up && {prepare} && ip link set br0 up; {ranks}; wait; '
              'for r in 0 1; do cat $OUT/$r.code; cat $OUT/$r; echo ----; done; rm -r $OUT')
    done = subprocess.run(["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=DEADLINE, check=False, env=dict(os.environ, **job))
    parts = [part.lstrip("\n").partition("\n") for part in done.stdout.split("----")[:RANKS]]
    if len(parts) != RANKS or not all(code.isdigit() for code, _, _ in parts):
        fail("ranks behind TAP devices", done.stdout)
    return [(int(code), output) for code, _, output in parts]


def behind_taps(multitree):
    (code, output), (other, _) = two_ranks(multitree, TAPS.format(master="master br0"), "--size", "20000", "--json")
    if code != 0 or other != 0:
        fail(f"behind TAP devices: expected exit codes 0, got {code}, {other}", output)
    expect_right("behind TAP devices", output, 1)
    print("two ranks behind TAP devices on a bridge: right", flush=True)


def without_a_way(multitree):
    ranks = two_ranks(multitree, TAPS.format(master=""), "-T", "3")
    if any(code != TRANSPORT for code, _ in ranks) or not any("nothing came from rank" in output for _, output in ranks):
        fail(f"without a bridge: expected exit code {TRANSPORT} and who was not heard", *map(str, ranks))
    print("two ranks without a way to each other: said", flush=True)


def main():
    script, multitree = sys.argv[1], os.path.abspath(sys.argv[2])
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    refused = subprocess.run([multitree, "nic", "job", "-t", "ring:2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=DEADLINE, check=False)
    if "built with Verilator" in refused.stdout:
        print("skipped: needs a program that was built with Verilator")
        sys.exit(SKIPPED)
    try:
        on_a_torus(script, multitree)
        through_switches(script, multitree)
    except Failed as failure:
        fail(str(failure))
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        print("TAP devices: skipped: needs /dev/net/tun")
        return
    behind_taps(multitree)
    without_a_way(multitree)


if __name__ == "__main__":
    main()
