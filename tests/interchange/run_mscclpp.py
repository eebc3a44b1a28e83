#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Executes an MSCCL++ plan on multisets of contributions, as its executor would.

usage: run_mscclpp.py FILE [--root RANK]

Puts and signals are not ordered between ranks but by waits; data and signals of a thread block need a nop
(a barrier of its threads) between them. Memory accesses that nothing orders are races. Exit code 1 and one
line on standard output if the plan is wrong.
"""
import argparse
import json
import random
import sys
from collections import Counter


class Wrong(Exception):
    pass


class Machine:
    def __init__(self, plan, root, seed):
        self.plan, self.coll, self.gpus = plan, plan["collective"], plan["gpus"]
        self.n, self.root, self.random = len(self.gpus), root, random.Random(seed)
        self.units = max(self.gpus[0]["input_chunks"], self.gpus[0]["output_chunks"])
        self.shard = self.units // self.n
        self.memory, self.accesses, self.signals = {}, {}, {}
        self.blocks = {(g["id"], b["id"]): b for g in self.gpus for b in g["threadblocks"]}
        self.clock = {key: Counter() for key in self.blocks}
        self.next = {key: 0 for key in self.blocks}
        self.pending = {key: set() for key in self.blocks}  # data operations since the last nop
        self.channels = self.connect()
        self.limits()
        for g in range(self.n):
            for u in range(self.gpus[g]["input_chunks"]):
                if self.coll != "broadcast" or g == root:
                    unit = u + g * self.shard if self.coll == "allgather" else u
                    self.memory[(g, "i", u)] = Counter({(g, unit): 1})

    def connect(self):
        """The k-th channel of a to b and the k-th of b to a are two ends of one."""
        ends, count = {}, {}
        for g in self.gpus:
            flat = [p for c in g["channels"] for p in c["connected_to"]]
            for position, peer in enumerate(flat):
                k = count[(g["id"], peer)] = count.get((g["id"], peer), -1) + 1
                ends[(g["id"], position)] = (peer, k)
        back = {(g, p, k): position for (g, position), (p, k) in ends.items()}
        return {(g, position): (p, back[(p, g, k)]) for (g, position), (p, k) in ends.items()}

    def limits(self):
        for key, block in self.blocks.items():
            ids = [i for c in block["channels"] for i in c["channel_ids"]]
            refs = [i for r in block["remote_buffer_refs"] for i in r["remote_buffer_ids"]]
            if len(block["ops"]) > 64 or len(ids) > 16 or len(refs) > 16:
                raise Wrong(f"{key}: {len(block['ops'])} operations, {len(ids)} channels, {len(refs)} buffers")
            for op in block["ops"]:
                if len(op.get("channel_ids", [])) > 8:
                    raise Wrong(f"{key}: more than 8 channels in an operation")

    def size(self, g, buffer):
        return self.gpus[g][{"i": "input_chunks", "o": "output_chunks", "s": "scratch_chunks"}[buffer]]

    def access(self, key, where, write):
        g, buffer, offset = where
        if not 0 <= offset < self.size(g, buffer):
            raise Wrong(f"{key}: {where} is out of range")
        for other, time, wrote in self.accesses.setdefault(where, []):
            if (write or wrote) and other != key and self.clock[key][other] < time:
                raise Wrong(f"race on {where} between {other} and {key}")
        if (where, True) in self.pending[key] or (write and (where, False) in self.pending[key]):
            raise Wrong(f"{key}: no nop between two uses of {where}")
        self.accesses[where].append((key, self.next[key] + 1, write))
        self.pending[key].add((where, write))

    def places(self, key, buffers):
        g = key[0]
        block = self.blocks[key]
        for buffer in buffers:
            if "buffer_id" in buffer:
                refs = [i for r in block["remote_buffer_refs"] for i in r["remote_buffer_ids"]]
                remote = self.gpus[g]["remote_buffers"][refs[buffer["buffer_id"]]]
                yield [(remote["rank"], remote["type"], buffer["index"] + k) for k in range(buffer["size"])]
            else:
                yield [(g, buffer["type"], buffer["index"] + k) for k in range(buffer["size"])]

    def load(self, key, where):
        self.access(key, where, False)
        if where not in self.memory:
            raise Wrong(f"{key} reads {where}, which was never written")
        return self.memory[where]

    def ends(self, key, op):
        ids = [i for c in self.blocks[key]["channels"] for i in c["channel_ids"]]
        return [(key[0], ids[i]) for i in op["channel_ids"]]

    def step(self, key):
        """False if it has to wait."""
        op = self.blocks[key]["ops"][self.next[key]]
        name = op["name"]
        data = name in ("put", "re", "copy")
        if data and "wait" in self.pending[key]:
            raise Wrong(f"{key}: no nop between a wait and data")
        if name in ("wait", "rlxwait"):
            queues = [self.signals.setdefault(end, []) for end in self.ends(key, op)]
            if not all(queues):
                return False
            for queue in queues:
                clock = queue.pop(0)
                if name == "wait":
                    self.clock[key] |= clock
            self.pending[key].add("wait")
        elif name in ("signal", "rlxsignal"):
            if any(p != "wait" for p in self.pending[key]):
                raise Wrong(f"{key}: no nop between data and a signal")
            self.clock[key][key] = self.next[key] + 1
            for end in self.ends(key, op):
                self.signals.setdefault(self.channels[end], []).append(Counter(self.clock[key]))
        elif name == "nop":
            self.pending[key] = set()
        elif data:
            sources = list(self.places(key, op["src_buff"]))
            (target,) = self.places(key, op["dst_buff"])
            if (len(sources) != 1) != (name == "re") or any(len(s) != len(target) for s in sources):
                raise Wrong(f"{key}: {name} with {len(sources)} sources")
            if name == "put" and self.channels[self.ends(key, op)[0]][0] != target[0][0]:
                raise Wrong(f"{key}: puts to another rank than its channel's")
            for k, where in enumerate(target):
                value = sum((self.load(key, source[k]) for source in sources), Counter())
                self.pending[key] -= {(s[k], False) for s in sources if s[k] == where}
                self.access(key, where, True)
                self.memory[where] = value
        else:
            raise Wrong(f"{key}: unknown operation {name}")
        self.next[key] += 1
        self.clock[key][key] = self.next[key]
        return True

    def run(self):
        keys = sorted(self.blocks)
        progress = True
        while progress:
            progress = False
            self.random.shuffle(keys)
            for key in keys:
                for _ in range(self.random.randint(1, 4)):
                    if self.next[key] < len(self.blocks[key]["ops"]) and self.step(key):
                        progress = True
        for key in keys:
            if self.next[key] != len(self.blocks[key]["ops"]):
                raise Wrong(f"deadlock: {key} stops at operation {self.next[key]}")
        if any(self.signals.values()):
            raise Wrong("a signal is never waited for")

    def check(self):
        for g in range(self.n):
            for u in range(self.gpus[g]["output_chunks"]):
                unit = u + g * self.shard if self.coll == "reducescatter" else u
                whole = Counter({(r, unit): 1 for r in range(self.n)})
                if self.coll in ("allgather", "broadcast"):
                    whole = Counter({(self.root if self.coll == "broadcast" else u // self.shard, unit): 1})
                elif self.coll == "reduce" and g != self.root:
                    continue
                if self.memory.get((g, "o", u)) != whole:
                    raise Wrong(f"gpu {g} ends with {dict(self.memory.get((g, 'o', u)) or {})} at {u}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--root", type=int, default=0)
    arguments = parser.parse_args()
    try:
        with open(arguments.file, encoding="utf-8") as file:
            plan = json.load(file)
        for seed in range(3):
            machine = Machine(plan, arguments.root, seed)
            machine.run()
            machine.check()
    except (Wrong, KeyError, IndexError, ValueError) as problem:
        print(f"{arguments.file}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
