#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Desks that are not there, for `multitree cluster discover --ssh`: answers as the program does on a host.

usage: desks.py COUNT WHAT HOST ...    COUNT desks in a ring, and at a switch, of which WHAT is told:
  ring   all is well: 40 Gb/s a cable, which is port tb0 of each to tb1 of the next
  slow   what the second sends to the third is a tenth
  cut    the first and the last have no cable
  star   no cables, the switch only
  deaf   the second hears, and is not heard
  twin   the last is the first by another name
  old    the last has another version
  broken the cable between the first two carries no connection
  full   the last has no room for a file
"""
import json
import subprocess
import sys

COUNT, WHAT, NAME = int(sys.argv[1]), sys.argv[2], sys.argv[3]
RATE, LATENCY = 5_000_000_000, 12_500_000


def ports(me):
    return [{"port": name, "state": "up", "address": f"fe80::{me + 1}:{i}", "mbits": mbits, "over": None}
            for i, (name, mbits) in enumerate((("tb0", None), ("tb1", None), ("lan", 1000)))]


def hello(question):
    version = subprocess.run(["multitree", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    me = question["host"]
    return {"hostname": NAME, "identity": "desk 0" if WHAT == "twin" and me == COUNT - 1 else f"desk {me}",
            "version": "0.0.1" if WHAT == "old" and me == COUNT - 1 else version, "ports": ports(me)}


def heard(me):
    """[own port, host, its port]"""
    rows = [[2, other, 2] for other in range(COUNT) if other != me]
    if WHAT != "star":
        rows += [[0, (me + 1) % COUNT, 1], [1, (me - 1) % COUNT, 0]]
    if WHAT == "cut":
        rows = [row for row in rows if row[0] == 2 or {me, row[1]} != {0, COUNT - 1}]
    if WHAT == "deaf":
        rows = [row for row in rows if row[1] != 1]
    return rows


def measure(me, question):
    rate = 125_000_000 if question["port"] == 2 else RATE
    forward = rate // 10 if WHAT == "slow" and me == 1 and question["port"] == 0 else rate
    if WHAT == "broken" and me == 0 and question["port"] == 0:
        return {"error": "connect: No route to host"}
    return {"forward": forward, "backward": rate, "latency": LATENCY}


def prepare():
    if WHAT == "full" and NAME == "d":
        return {"error": "cannot create /home/me/.config/multitree/cluster.json: No space left on device"}
    return {"file": "/home/me/.config/multitree/cluster.json"}


def main():
    me = 0
    for line in sys.stdin:
        question = json.loads(line)
        me = question.get("host", me)
        answer = {"hello": lambda: hello(question), "listen": lambda: {"left_out": []}, "speak": lambda: {"done": True},
                  "heard": lambda: {"heard": heard(me)}, "open": lambda: {"door": 1000}, "serve": lambda: {"done": True},
                  "measure": lambda: measure(me, question), "keep": lambda: {"done": True}, "prepare": prepare,
                  "install": lambda: {"done": True}}[question["ask"]]()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
