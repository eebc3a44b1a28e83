#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Executes an MSCCL program on multisets of contributions, as its runtimes would.

usage: run_msccl.py FILE [--root RANK]

Shares nothing with the exporter or the importer. A connection holds one message, thread blocks run in
several random orders, and memory accesses that no dependence, program order or message puts in order
are races. Exit code 1 and one line on standard output if the program is wrong.
"""
import argparse
import random
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, deque

CAPACITY = 1


class Wrong(Exception):
    pass


def read(path):
    algo = ElementTree.parse(path).getroot()
    gpus = {}
    for gpu in algo.findall("gpu"):
        blocks = {}
        for tb in gpu.findall("tb"):
            steps = [{k: v if k in ("type", "srcbuf", "dstbuf") else int(v) for k, v in s.attrib.items()}
                     for s in tb.findall("step")]
            if [s["s"] for s in steps] != list(range(len(steps))):
                raise Wrong("steps are not numbered")
            blocks[int(tb.get("id"))] = {"send": int(tb.get("send")), "recv": int(tb.get("recv")),
                                         "chan": int(tb.get("chan")), "steps": steps}
        gpus[int(gpu.get("id"))] = {"blocks": blocks, "s_chunks": int(gpu.get("s_chunks")),
                                    "i_chunks": int(gpu.get("i_chunks")), "o_chunks": int(gpu.get("o_chunks"))}
    if sorted(gpus) != list(range(int(algo.get("ngpus")))):
        raise Wrong("gpus are not numbered")
    return algo, gpus


class Machine:
    def __init__(self, algo, gpus, in_place, root, seed):
        self.coll, self.units, self.gpus = algo.get("coll"), int(algo.get("nchunksperloop")), gpus
        self.in_place, self.root, self.random = in_place, root, random.Random(seed)
        self.n, self.shard = len(gpus), self.units // len(gpus)
        self.memory, self.accesses, self.channels = {}, {}, {}
        self.clocks = {(g, b): Counter() for g in gpus for b in gpus[g]["blocks"]}
        self.done = {key: 0 for key in self.clocks}
        self.finished = {}  # (gpu, block, step): clock when it had finished
        for g in gpus:
            for u in range(self.units):
                for buffer, offset, value in self.inputs(g, u):
                    self.memory[self.address(g, buffer, offset)] = value

    def inputs(self, g, u):
        own = Counter({(g, u): 1})
        if self.coll == "allgather":
            return [("i", u - g * self.shard, own)] if u // self.shard == g else []
        if self.coll == "broadcast" and g != self.root:
            return []
        return [("i", u, own)]

    def address(self, g, buffer, offset):
        """One name for memory that in-place calls give two."""
        if self.in_place and buffer != "s":
            if self.coll == "allgather" and buffer == "i":
                return g, "o", offset + g * self.shard
            if self.coll in ("reduce_scatter", "reducescatter") and buffer == "o":
                return g, "i", offset + g * self.shard
            if buffer == "o" and (self.coll == "allreduce" or (self.coll in ("broadcast", "reduce") and g == self.root)):
                return g, "i", offset
        return g, buffer, offset

    def limit(self, g, buffer):
        if buffer == "s":
            return self.gpus[g]["s_chunks"]
        shard = (self.coll == "allgather" and buffer == "i") or (self.coll.startswith("reduce") and "scatter" in self.coll and buffer == "o")
        size = self.shard if shard else self.units
        said = self.gpus[g]["i_chunks" if buffer == "i" else "o_chunks"]
        if said not in (0, size) or (said == 0 and not self.in_place):
            raise Wrong(f"gpu {g}: buffer {buffer} has {said} chunks, expected {size}")
        return size

    def access(self, key, where, write):
        """A race unless every conflicting access happened before this one."""
        clock = self.clocks[key]
        for other, time, wrote in self.accesses.setdefault(where, []):
            if (write or wrote) and other != key and clock[other] < time:
                raise Wrong(f"race on {where} between thread blocks {other} and {key}")
        self.accesses[where].append((key, self.done[key] + 1, write))

    def load(self, key, buffer, offset):
        if not 0 <= offset < self.limit(key[0], buffer):
            raise Wrong(f"{key}: {buffer}[{offset}] is out of range")
        where = self.address(key[0], buffer, offset)
        self.access(key, where, False)
        if where not in self.memory:
            raise Wrong(f"{key} reads {where}, which was never written")
        return self.memory[where]

    def store(self, key, buffer, offset, value):
        if not 0 <= offset < self.limit(key[0], buffer):
            raise Wrong(f"{key}: {buffer}[{offset}] is out of range")
        where = self.address(key[0], buffer, offset)
        self.access(key, where, True)
        self.memory[where] = value

    def ready(self, key):
        g, b = key
        block = self.gpus[g]["blocks"][b]
        if self.done[key] == len(block["steps"]):
            return False
        step = block["steps"][self.done[key]]
        kind = step["type"]
        if step["depid"] >= 0:
            target = self.gpus[g]["blocks"][step["depid"]]["steps"][step["deps"]]
            if target["hasdep"] != 1:
                raise Wrong(f"{key} waits for a step that tells nobody")
            if self.done[(g, step["depid"])] <= step["deps"]:
                return False
        if kind in ("r", "rrc", "rcs", "rrs", "rrcs") and not self.queue(block["recv"], g, block["chan"]):
            return False
        if kind in ("s", "rcs", "rrs", "rrcs") and len(self.queue(g, block["send"], block["chan"])) >= CAPACITY:
            return False
        return True

    def queue(self, src, dst, chan):
        return self.channels.setdefault((src, dst, chan), deque())

    def run_step(self, key):
        g, b = key
        block = self.gpus[g]["blocks"][b]
        step = block["steps"][self.done[key]]
        kind, count = step["type"], step["cnt"]
        if step["depid"] >= 0:
            self.clocks[key] |= self.finished[(g, step["depid"], step["deps"])]
        got = None
        if kind in ("r", "rrc", "rcs", "rrs", "rrcs"):
            got, clock = self.queue(block["recv"], g, block["chan"]).popleft()
            if len(got) != count:
                raise Wrong(f"{key} receives {count} chunks, {len(got)} were sent")
            self.clocks[key] |= clock
        out = []
        for k in range(count if kind != "nop" else 0):
            src, dst = (step["srcbuf"], step["srcoff"] + k), (step["dstbuf"], step["dstoff"] + k)
            if kind in ("s", "cpy"):
                value = self.load(key, *src)
            elif kind in ("r", "rcs"):
                value = got[k]
            elif kind in ("rrc", "rrs", "rrcs"):
                value = got[k] + self.load(key, *src)
            elif kind == "re":
                value = self.load(key, *src) + self.load(key, *dst)
            else:
                raise Wrong(f"{key}: unknown type {kind}")
            if kind in ("r", "rcs", "rrc", "rrcs", "cpy", "re"):
                self.store(key, *dst, value)
            out.append(value)
        self.done[key] += 1
        self.clocks[key][key] = self.done[key]
        self.finished[(g, b, self.done[key] - 1)] = Counter(self.clocks[key])
        if kind in ("s", "rcs", "rrs", "rrcs"):
            self.queue(g, block["send"], block["chan"]).append((out, Counter(self.clocks[key])))

    def run(self):
        keys = sorted(self.clocks)
        while True:
            ready = [key for key in keys if self.ready(key)]
            if not ready:
                break
            self.random.shuffle(ready)
            for key in ready[: max(1, len(ready) // 2)]:
                if self.ready(key):
                    self.run_step(key)
        for g, b in keys:
            if self.done[(g, b)] != len(self.gpus[g]["blocks"][b]["steps"]):
                raise Wrong(f"deadlock: gpu {g}, thread block {b} stops at step {self.done[(g, b)]}")
        if any(self.channels.values()):
            raise Wrong("a message is never received")

    def check(self):
        for g in range(self.n):
            for u in range(self.units):
                whole = Counter({(r, u): 1 for r in range(self.n)})
                offset = u
                if self.coll in ("allgather", "broadcast"):
                    whole = Counter({(u // self.shard if self.coll == "allgather" else self.root, u): 1})
                elif self.coll in ("reduce_scatter", "reducescatter"):
                    if u // self.shard != g:
                        continue
                    offset = u - g * self.shard
                elif self.coll == "reduce" and g != self.root:
                    continue
                found = self.memory.get(self.address(g, "o", offset))
                if found != whole:
                    raise Wrong(f"gpu {g} ends with {dict(found or {})} of chunk {u}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--root", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    try:
        algo, gpus = read(arguments.file)
        modes = [m for m, name in ((True, "inplace"), (False, "outofplace")) if algo.get(name) == "1"]
        if not modes:
            raise Wrong("neither in place nor out of place")
        for in_place in modes:
            for seed in range(arguments.runs):
                machine = Machine(algo, gpus, in_place, arguments.root, seed)
                machine.run()
                machine.check()
    except (Wrong, KeyError, IndexError) as problem:
        print(f"{arguments.file}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
