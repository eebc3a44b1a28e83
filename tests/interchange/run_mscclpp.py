#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Executes an MSCCL++ plan on multisets of contributions, as its executor would.

usage: run_mscclpp.py FILE [--root RANK] [--in-place]

Puts and signals are not ordered between ranks but by waits; data and signals of a thread block need a nop
(a barrier of its threads) between them. Memory accesses that nothing orders are races. Puts through ports are
carried out by somebody else, at any time before their signal: what they read may not be written before a flush, and
all have to be flushed in the end. Ports lead to other hosts, memory channels do not. Exit code 1 and one line on
standard output if the plan is wrong.
"""
import argparse
import json
import random
import sys
from collections import Counter


class Wrong(Exception):
    pass


class Machine:
    def __init__(self, plan, root, seed, in_place=False):
        self.plan, self.coll, self.gpus = plan, plan["collective"], plan["gpus"]
        self.in_place, self.hosts = in_place, plan["multitree"]["ranks_per_host"]
        self.last_put = {}
        self.flushed = {(g["id"], b["id"]): Counter() for g in plan["gpus"] for b in g["threadblocks"]}
        self.ports = {}  # of an end that is a port: who carries its puts out, and those since the last flush
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
                    self.memory[self.physical((g, "i", u))] = Counter({(g, unit): 1})

    def physical(self, where):
        """One name for memory that has two where the caller's buffers are the same."""
        g, buffer, unit = where
        if not self.in_place or buffer == "s":
            return where
        if self.coll == "allgather":
            return (g, "o", unit + g * self.shard) if buffer == "i" else where
        if self.coll == "reducescatter":
            return (g, "i", unit + g * self.shard) if buffer == "o" else where
        return (g, "i", unit)

    def connect(self):
        """The k-th channel of a to b and the k-th of b to a, of one type, are two ends of one."""
        ends, count = {}, {}
        for g in self.gpus:
            for channels in g["channels"]:
                kind = channels["channel_type"]
                for position, peer in enumerate(channels["connected_to"]):
                    if (g["id"] // self.hosts != peer // self.hosts) != (kind == "port"):
                        raise Wrong(f"gpu {g['id']} reaches gpu {peer} by a channel of type {kind}")
                    k = count[(g["id"], peer)] = count.get((g["id"], peer), -1) + 1
                    ends[(g["id"], kind, position)] = (peer, k)
        back = {(g, p, k): (kind, position) for (g, kind, position), (p, k) in ends.items()}
        return {end: (p, *back[(p, end[0], k)]) for end, (p, k) in ends.items()}

    def limits(self):
        for key, block in self.blocks.items():
            most = max([0] + [len(c["channel_ids"]) for c in block["channels"]]
                       + [len(r["remote_buffer_ids"]) for r in block["remote_buffer_refs"]])
            if len(block["ops"]) > 64 or most > 16:
                raise Wrong(f"{key}: {len(block['ops'])} operations, {most} channels or buffers of a type")
            for op in block["ops"]:
                if len(op.get("channel_ids", [])) > 8:
                    raise Wrong(f"{key}: more than 8 channels in an operation")

    def size(self, g, buffer):
        return self.gpus[g][{"i": "input_chunks", "o": "output_chunks", "s": "scratch_chunks"}[buffer]]

    def check_range(self, where):
        g, buffer, offset = where
        if not 0 <= offset < self.size(g, buffer):
            raise Wrong(f"{where} is out of range")

    def check_order(self, key, clock, where, write):
        for other, time, wrote in self.accesses.setdefault(where, []):
            if (write or wrote) and other != key and clock[other] < time:
                raise Wrong(f"race on {where} between {other} and {key}")

    def access(self, key, where, write):
        self.check_order(key, self.clock[key], where, write)
        if (where, True) in self.pending[key] or (write and (where, False) in self.pending[key]):
            raise Wrong(f"{key}: no nop between two uses of {where}")
        self.accesses[where].append((key, self.next[key] + 1, write))
        self.pending[key].add((where, write))

    def places(self, key, op, buffers):
        g = key[0]
        for buffer in buffers:
            kind = buffer.get("type")
            if "buffer_id" in buffer:
                refs = [i for r in self.blocks[key]["remote_buffer_refs"] for i in r["remote_buffer_ids"]
                        if r["access_channel_type"] == op["channel_type"]]
                remote = self.gpus[key[0]]["remote_buffers"][refs[buffer["buffer_id"]]]
                if remote["access_channel_types"] != [op["channel_type"]]:
                    raise Wrong(f"{key}: {op} to a buffer for {remote['access_channel_types']}")
                g, kind = remote["rank"], remote["type"]
            units = [(g, kind, buffer["index"] + k) for k in range(buffer["size"])]
            for unit in units:
                self.check_range(unit)
            yield [self.physical(unit) for unit in units]

    def load(self, key, where):
        self.access(key, where, False)
        if where not in self.memory:
            raise Wrong(f"{key} reads {where}, which was never written")
        return self.memory[where]

    def ends(self, key, op):
        kind = op["channel_type"]
        ids = [i for c in self.blocks[key]["channels"] for i in c["channel_ids"] if c["channel_type"] == kind]
        return [(key[0], kind, ids[i]) for i in op["channel_ids"]]

    def put_by_port(self, key, op, sources, target):
        """Somebody else reads the sources and writes the target, after what the block knows by now."""
        (end,) = self.ends(key, op)
        who, open_puts = self.ports.setdefault(end, (("port", *end), []))
        self.clock[key][key] = self.next[key] + 1
        clock = Counter(self.clock[key])
        clock[who] = self.last_put[who] = self.last_put.get(who, 0) + 1
        for source, where in zip(sources, target):
            for place, write in ((source, False), (where, True)):
                self.check_order(who, clock, place, write)
                self.accesses[place].append((who, clock[who], write))
            if source not in self.memory:
                raise Wrong(f"{key} reads {source}, which was never written")
            self.memory[where] = self.memory[source]
        self.signals.setdefault(self.channels[end], []).append(clock)
        open_puts.append(clock[who])
        if op["name"] == "pwsf":
            self.flushed[key][who] = clock[who]  # one thread knows it; the others with the next nop
            open_puts.clear()

    def step(self, key):
        """False if it has to wait."""
        op = self.blocks[key]["ops"][self.next[key]]
        name = op["name"]
        data = name in ("put", "pws", "pwsf", "re", "copy")
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
            self.clock[key] |= self.flushed[key]
        elif data:
            sources = list(self.places(key, op, op["src_buff"]))
            (target,) = self.places(key, op, op["dst_buff"])
            if (len(sources) != 1) != (name == "re") or any(len(s) != len(target) for s in sources):
                raise Wrong(f"{key}: {name} with {len(sources)} sources")
            if name[0] == "p" and self.channels[self.ends(key, op)[0]][0] != target[0][0]:
                raise Wrong(f"{key}: puts to another rank than its channel's")
            if (name in ("pws", "pwsf")) != (op.get("channel_type") == "port"):
                raise Wrong(f"{key}: {name} by a channel of type {op.get('channel_type')}")
            if name in ("pws", "pwsf"):
                if any((where, True) in self.pending[key] for where in sources[0]):
                    raise Wrong(f"{key}: no nop between data and a put that reads it")
                self.put_by_port(key, op, sources[0], target)
                target = []
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
        if any(open_puts for _, open_puts in self.ports.values()):
            raise Wrong("the kernel ends before all that its ports send is read")

    def check(self):
        for g in range(self.n):
            for u in range(self.gpus[g]["output_chunks"]):
                unit = u + g * self.shard if self.coll == "reducescatter" else u
                whole = Counter({(r, unit): 1 for r in range(self.n)})
                if self.coll in ("allgather", "broadcast"):
                    whole = Counter({(self.root if self.coll == "broadcast" else u // self.shard, unit): 1})
                elif self.coll == "reduce" and g != self.root:
                    continue
                found = self.memory.get(self.physical((g, "o", u)))
                if found != whole:
                    raise Wrong(f"gpu {g} ends with {dict(found or {})} at {u}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--root", type=int, default=0)
    parser.add_argument("--in-place", action="store_true")
    arguments = parser.parse_args()
    try:
        with open(arguments.file, encoding="utf-8") as file:
            plan = json.load(file)
        if arguments.in_place != plan["inplace"] and plan["multitree"]["buffers"] != "either":
            raise Wrong(f"the plan is for buffers of another kind: {plan['multitree']['buffers']}")
        for seed in range(3):
            machine = Machine(plan, arguments.root, seed, arguments.in_place)
            machine.run()
            machine.check()
    except (Wrong, KeyError, IndexError, ValueError) as problem:
        print(f"{arguments.file}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
