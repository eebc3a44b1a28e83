#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Replays Chakra execution traces on multisets of contributions.

usage: run_chakra.py PREFIX COLLECTIVE RANKS SIZE OWNER,OWNER,... [--root RANK]

Reads the protobuf by itself. A send carries the value of the node it depends on, or the rank's input; a
computation adds what its dependences made. Exit code 1 and one line if the traces are wrong.
"""
import argparse
import sys
from collections import Counter, defaultdict

SEND, RECV, COMP = 5, 6, 4


class Wrong(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise Wrong("truncated field")
        else:
            raise Wrong(f"wire type {key & 7}")
        yield key >> 3, value


def node(data):
    result = {"deps": [], "type": 0, "id": 0}
    for number, value in fields(data):
        if number == 1:
            result["id"] = value
        elif number == 3:
            result["type"] = value
        elif number == 5:  # packed
            at = 0
            while at < len(value):
                dep, at = varint(value, at)
                result["deps"].append(dep)
        elif number == 10:
            attribute = dict(fields(value))
            name = attribute.pop(1).decode()
            ((kind, content),) = attribute.items()
            if kind != {"comm_size": 9, "comm_type": 9, "is_cpu_op": 27}.get(name, 7):
                raise Wrong(f"{name} is of kind {kind}")
            result[name] = content
    return result


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    messages, at = [], 0
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        at += size
    if at != len(data) or not messages:
        raise Wrong(f"{path}: truncated")
    nodes = [node(message) for message in messages[1:]]
    if [n["id"] for n in nodes] != list(range(len(nodes))):
        raise Wrong(f"{path}: ids are not 0, 1, 2, ...")
    return nodes


def replay(traces, holds, chunks):
    """The value of every node, by rank and id, and the last of each rank and chunk."""
    wire = {}
    for rank, nodes in enumerate(traces):
        for n in nodes:
            if n["type"] == SEND:
                key = (rank, n["comm_dst"], n["comm_tag"], n["comm_size"])
                if key in wire:
                    raise Wrong(f"two sends {key}")
                wire[key] = (rank, n["id"])
    values, final, waiting = {}, {}, [list(nodes) for nodes in traces]
    received = set()
    progress = True
    while progress:
        progress = False
        for rank, nodes in enumerate(waiting):
            left = []
            for n in nodes:
                value = step(rank, n, values, wire, received, holds, chunks, traces)
                if value is None:
                    left.append(n)
                    continue
                values[(rank, n["id"])] = value
                if n["type"] != SEND:
                    final[(rank, value[0])] = value[1]
                progress = True
            waiting[rank] = left
    if any(waiting):
        raise Wrong("the traces do not finish")
    if received != set(wire):
        raise Wrong(f"never received: {sorted(set(wire) - received)[:3]}")
    return final


def step(rank, n, values, wire, received, holds, chunks, traces):
    deps = [values.get((rank, d)) for d in n["deps"]]
    if any(d is None for d in deps):
        return None
    if n["type"] == SEND:
        chunk = n["comm_tag"] % chunks
        if n["comm_type"] != SEND or len(deps) > 1:
            raise Wrong(f"rank {rank}, node {n['id']}: not a send")
        value = deps[0] if deps else (chunk, own(rank, chunk, holds))
        if value[0] != chunk:
            raise Wrong(f"rank {rank}, node {n['id']}: sends chunk {value[0]} as {chunk}")
        return value
    if n["type"] == RECV:
        key = (n["comm_src"], rank, n["comm_tag"], n["comm_size"])
        if key not in wire or n["comm_type"] != RECV:
            raise Wrong(f"rank {rank}, node {n['id']}: nobody sends {key}")
        value = values.get(wire[key])
        if value is not None:
            received.add(key)
        return value
    if n["type"] != COMP or not 1 <= len(deps) <= 2:
        raise Wrong(f"rank {rank}, node {n['id']}: type {n['type']} with {len(deps)} dependences")
    chunk = deps[0][0]
    other = deps[1] if len(deps) == 2 else (chunk, own(rank, chunk, holds))
    if other[0] != chunk:
        raise Wrong(f"rank {rank}, node {n['id']}: adds different chunks")
    return chunk, deps[0][1] + other[1]


def own(rank, chunk, holds):
    if not holds(rank, chunk):
        raise Wrong(f"rank {rank} has no chunk {chunk} to start with")
    return Counter({rank: 1})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix")
    parser.add_argument("collective")
    parser.add_argument("ranks", type=int)
    parser.add_argument("size", type=int)
    parser.add_argument("owners", help="owner of each chunk, separated by commas")
    parser.add_argument("--root", type=int, default=0)
    a = parser.parse_args()
    owners = [int(x) for x in a.owners.split(",")]
    holds = {"allgather": lambda r, c: owners[c] == r,
             "broadcast": lambda r, c: a.root == r}.get(a.collective, lambda r, c: True)
    ends = {"reduce-scatter": lambda r, c: owners[c] == r,
            "reduce": lambda r, c: a.root == r}.get(a.collective, lambda r, c: True)
    try:
        traces = [read(f"{a.prefix}.{r}.et") for r in range(a.ranks)]
        sizes = {}
        for nodes in traces:
            for n in nodes:
                if n["type"] == SEND and sizes.setdefault(n["comm_tag"] % len(owners), n["comm_size"]) != n["comm_size"]:
                    raise Wrong("a chunk has two sizes")
        if a.ranks > 1 and sum(sizes.values()) != a.size:
            raise Wrong(f"the chunks have {sum(sizes.values())} bytes, expected {a.size}")
        final = replay(traces, holds, len(owners))
        for r in range(a.ranks):
            for c, owner in enumerate(owners):
                if not ends(r, c):
                    continue
                found = final.get((r, c)) or (Counter({r: 1}) if holds(r, c) else Counter())
                whole = {"allgather": Counter({owner: 1}), "broadcast": Counter({a.root: 1})}.get(
                    a.collective, Counter({x: 1 for x in range(a.ranks)}))
                if found != whole:
                    raise Wrong(f"rank {r} ends with {dict(found)} of chunk {c}")
    except (Wrong, KeyError, IndexError, OSError) as problem:
        print(f"{a.prefix}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
