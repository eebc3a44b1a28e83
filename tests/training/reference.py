#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `multitree train compare` with models of the same policies written apart from it, on random models.

usage: reference.py MULTITREE [ROWS.csv TIMES.csv MODELS_DIR]

With the last three, published rows (model,batch,network,a_s,b_s_per_byte,per_op_s,method,parameter,iteration_ms) are compared
as well, to 1e-4 ms.
"""
import csv
import heapq
import json
import math
import os
import random
import subprocess
import sys
import tempfile

MIB = 1 << 20


class Layers:
    """forward, backward: seconds by layer; tensors: bytes by layer."""

    def __init__(self, names, forward, backward, tensors):
        self.names, self.forward, self.backward, self.tensors = names, forward, backward, tensors
        self.count = len(names)
        self.ready, now = [0.0] * self.count, 0.0
        for layer in reversed(range(self.count)):
            now += backward[layer]
            self.ready[layer] = now
        self.end = now

    def backwards(self):
        return [(self.ready[layer], size, layer) for layer in reversed(range(self.count))
                for size in reversed(self.tensors[layer])]

    def sizes(self):
        return [sum(sizes) for sizes in self.tensors]

    def run(self, done):
        now = self.end
        for layer in range(self.count):
            now = max(now, done[layer]) + self.forward[layer]
        return now

    def run_after(self, time):
        return self.run([time] * self.count)


def in_order(groups, cost):
    now = 0.0
    for ready, size in groups:
        now = max(now, ready) + cost(size)
    return now


def bsp(layers, alpha, beta, call):
    total = sum(layers.sizes())
    return layers.run_after(layers.end + call + alpha + beta * total if total else 0)


def wfbp(layers, alpha, beta, call):
    return layers.run_after(in_order([(r, m) for r, m, _ in layers.backwards()], lambda m: call + alpha + beta * m))


def ddp(layers, alpha, beta, call, bucket=25 * MIB, first=MIB):
    groups, current, last = [], 0, 0.0
    for ready, size, _ in layers.backwards():
        if current and current + size > (bucket if groups else first):
            groups.append((last, current))
            current = 0
        current, last = current + size, ready
    if current:
        groups.append((last, current))
    return layers.run_after(in_order(groups, lambda m: call + alpha + beta * m))


def horovod(layers, alpha, beta, call, threshold=64 * MIB, cycle=1e-3):
    tensors, now, i = layers.backwards(), 0.0, 0
    while i < len(tensors):
        now = math.ceil(max(now, tensors[i][0]) / cycle) * cycle
        fused = 0
        while i < len(tensors) and tensors[i][0] <= now and (fused == 0 or fused + tensors[i][1] <= threshold):
            fused += tensors[i][1]
            i += 1
        now += call + alpha + beta * fused
    return layers.run_after(now)


def mg_wfbp(layers, alpha, beta, call, small=32768, times=1):
    """As published: all starts again after every merge. `times`: merging takes costs to be so many times what they are."""
    tensors = layers.backwards()
    if not tensors:
        return layers.run_after(0)
    ready = [r for r, _, _ in tensors]
    size = [m for _, m, _ in tensors]

    def cost(bytes_):
        return times * (call + alpha + beta * bytes_)

    time = [cost(m) for m in size]

    def starts():
        begin = [ready[0]]
        for i in range(1, len(size)):
            begin.append(max(begin[-1] + time[i - 1], ready[i]))
        return begin

    groups, begin = [], starts()
    for i in range(len(size) - 1):
        merge = ready[i + 1] < begin[i] + time[i] and (ready[i + 1] < begin[i] or ready[i + 1] - begin[i] < cost(0))
        if merge or size[i] < small:
            size[i + 1] += size[i]
            time[i], time[i + 1] = 0, cost(size[i + 1])
            begin = starts()
        else:
            groups.append((ready[i], size[i]))
    groups.append((ready[-1], size[-1]))
    return layers.run_after(in_order(groups, lambda m: call + alpha + beta * m))


def bytescheduler(layers, alpha, beta, call, partition=4_000_000, credit=16_000_000):
    """Event by event."""
    made = []
    for layer in reversed(range(layers.count)):
        for size in layers.tensors[layer]:
            parts = -(-size // partition)
            made += [(layers.ready[layer], layer, size / parts)] * parts
    done, waiting, admitted, under_way, busy, now, i = [0.0] * layers.count, [], [], 0.0, None, 0.0, 0
    while i < len(made) or waiting or admitted or busy:
        while i < len(made) and made[i][0] <= now:
            heapq.heappush(waiting, (made[i][1], i, made[i][2]))
            i += 1
        if busy and busy[0] <= now:
            done[busy[1]] = max(done[busy[1]], busy[0])
            under_way -= busy[2]
            busy = None
        while waiting and (under_way < 0.5 or under_way + waiting[0][2] <= credit):
            layer, _, size = heapq.heappop(waiting)
            admitted.append((layer, size))
            under_way += size
        if busy is None and admitted:
            layer, size = admitted.pop(0)
            busy = (now + call + alpha + beta * size, layer, size)
        following = [t for t in (busy[0] if busy else None, made[i][0] if i < len(made) else None) if t is not None]
        if following:
            now = max(now, min(following))
    return layers.run(done)


def groups_of(layers, most):
    groups = []
    for layer, size in enumerate(layers.sizes()):
        if size == 0:
            continue
        if groups and most and groups[-1][1] + size <= most:
            groups[-1] = (groups[-1][0] + [layer], groups[-1][1] + size)
        else:
            groups.append(([layer], size))
    return groups


def dear(layers, alpha, beta, call, fusion=25 * MIB, ahead=None):
    groups = groups_of(layers, fusion)
    half = lambda m: call + (alpha + beta * m) / 2
    start = max(layers.end, in_order([(layers.ready[g[0]], m) for g, m in reversed(groups)], half))
    done, end, now = [0.0] * layers.count, start, start
    position = 0
    for members, size in groups:
        end = max(end, now if ahead else start) + half(size)
        for layer in members:
            done[layer] = end
        if ahead:
            while position < members[0]:
                now = max(now, done[position]) + layers.forward[position]
                position += 1
            now = max(now, end)
    return layers.run(done)


def dear_without_barrier(layers, alpha, beta, call, fusion=8 * MIB):
    groups = groups_of(layers, fusion)
    half = lambda m: call + (alpha + beta * m) / 2
    scattered, left, now, done = set(), list(range(len(groups))), 0.0, [0.0] * layers.count
    while left or scattered:
        following = layers.ready[groups[left[-1]][0][0]] if left else math.inf
        fitting = [g for g in sorted(scattered) if now + half(groups[g][1]) <= following]
        if fitting:
            now += half(groups[fitting[0]][1])
            scattered.discard(fitting[0])
            for layer in groups[fitting[0]][0]:
                done[layer] = now
        else:
            now = max(now, following) + half(groups[left[-1]][1])
            scattered.add(left.pop())
    return layers.run(done)


def fsdp(layers, alpha, beta, call, unit=25 * MIB):
    """Every pass and transfer as a task with what it waits for."""
    groups = groups_of(layers, unit)
    cost = [call + (alpha + beta * size) / 2 if size else 0 for _, size in groups] or [0]
    firsts = [members[0] for members, _ in groups] or [0]
    firsts[0] = 0
    spans = list(zip(firsts, firsts[1:] + [layers.count]))
    forward = [sum(layers.forward[a:b]) for a, b in spans]
    backward = [sum(layers.backward[a:b]) for a, b in spans]
    free, end, ready, count = 0.0, 0.0, [0.0] * len(spans), len(spans)

    def transfer(unit, issued):
        nonlocal free
        if cost[unit]:
            issued = free = max(free, issued) + cost[unit]
        return issued

    for unit in reversed(range(count)):
        begin = max(end, ready[unit])
        if unit:
            ready[unit - 1] = transfer(unit - 1, begin)
        end = begin + backward[unit]
        transfer(unit, end)
    end = max(end, free)
    gathered = transfer(0, end)
    for unit in range(count):
        begin = max(end, gathered)
        if unit + 1 < count:
            gathered = transfer(unit + 1, begin)
        end = begin + forward[unit]
    return end


def whole(layers, alpha, beta, call):
    total = sum(layers.sizes())
    return call + alpha + beta * total if total else 0


def computing(layers):
    return sum(layers.forward) + sum(layers.backward)


POLICIES = {
    "fsdp": fsdp, "fsdp?unit=3MiB": lambda *a: fsdp(*a, 3 * MIB), "fsdp?unit=all": lambda *a: fsdp(*a, 1 << 62),
    "bsp-ps": bsp, "wfbp-ps": wfbp, "bytescheduler-ps": bytescheduler,
    "pipe-sgd": lambda *a: max(computing(a[0]), whole(*a)),
    "local-sgd?every=3": lambda *a: computing(a[0]) + whole(*a) / 3,
    "cocod?every=3": lambda *a: max(computing(a[0]), whole(*a) / 3),
    "diloco?every=10": lambda *a: computing(a[0]) + whole(*a) / 10,
    "bsp": bsp, "wfbp": wfbp, "ddp": ddp, "horovod": horovod, "mg-wfbp": mg_wfbp, "bytescheduler": bytescheduler,
    "dear": dear, "dear?fusion=none": lambda *a: dear(*a, fusion=None), "dear?ahead=1": lambda *a: dear(*a, ahead=1),
    "dear?fusion=8MiB&barrier=no": dear_without_barrier,
    "ddp?bucket=3MiB&first=100KB": lambda *a: ddp(*a, 3 * MIB, 100_000),
    "horovod?threshold=2MiB&cycle=5ms": lambda *a: horovod(*a, 2 * MIB, 5e-3),
    "mg-wfbp?small=1": lambda *a: mg_wfbp(*a, 1), "mg-wfbp?costs=3": lambda *a: mg_wfbp(*a, times=3),
    "bytescheduler?partition=1MB&credit=2500KB": lambda *a: bytescheduler(*a, 1_000_000, 2_500_000),
}


def measured(program, folder, layers, alpha, beta, call, policies):
    path = os.path.join(folder, "model.csv")
    with open(path, "w") as table:
        table.write("name,params,forward,backward\n")
        for i in range(layers.count):
            table.write(f"{layers.names[i]},{'+'.join(str(m // 4) for m in layers.tensors[i]) or 0},"
                        f"{layers.forward[i] * 1e6:.6f}us,{layers.backward[i] * 1e6:.6f}us\n")
    done = subprocess.run([program, "train", "compare", "--alpha", f"{alpha * 1e6:.3f}us", "--beta", repr(beta), "--call",
                           f"{call * 1e6:.3f}us", "-m", path, "-p", ",".join(policies), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {done.stderr}")
    return {row["policy"]: row["seconds"] for row in json.loads(done.stdout)["policies"]}


def random_layers(source):
    count = source.randint(1, 40)
    micro = lambda most: source.randrange(most) * 1e-6
    return Layers([f"l{i}" for i in range(count)], [micro(3000) for _ in range(count)], [micro(6000) for _ in range(count)],
                  [[4 * source.choice([1, 100, 10_000, 1_000_000, 5_000_000]) * source.randint(1, 3)
                    for _ in range(source.randrange(4))] for _ in range(count)])


def check_random(program, folder):
    source, worst = random.Random(16), 0.0
    for _ in range(40):
        layers, alpha, call = random_layers(source), source.choice([0, 20e-6, 1e-3]), source.choice([0, 300e-6])
        beta = source.choice([1e-11, 4e-10, 1.7e-9])
        times = measured(program, folder, layers, alpha, beta, call, list(POLICIES))
        for policy, model in POLICIES.items():
            expected = model(layers, alpha, beta, call)
            worst = max(worst, abs(times[policy] - expected))
            # Byte counts are whole there.
            if abs(times[policy] - expected) > 1e-7:
                sys.exit(f"{policy}: {times[policy]:.9f} s, expected {expected:.9f} s")
    print(f"40 random models, {len(POLICIES)} policies: greatest difference {worst:.2g} s")


def published_policy(row):
    if row["method"] == "dear":
        return {"no fusion": "dear?fusion=none", "25MiB": "dear", "25MiB,lookahead 1": "dear?ahead=1"}[row["parameter"]]
    return {"dear_nobarrier": "dear?fusion=8MiB&barrier=no", "mgwfbp": "mg-wfbp"}.get(row["method"], row["method"])


def check_published(program, folder, rows, times, models):
    layers = {}
    for row in csv.DictReader(open(times)):
        layers.setdefault((row["model"], row["batch"]), []).append(row)
    worst = 0.0
    for row in csv.DictReader(open(rows)):
        table = layers[row["model"], row["batch"]]
        tensors = {r["name"]: [4 * int(x) for x in r["tensor_elems"].split("+") if int(x or 0)]
                   for r in csv.DictReader(open(os.path.join(models, row["model"] + ".csv")))}
        model = Layers([r["layer"] for r in table], [float(r["fwd_us"]) * 1e-6 for r in table],
                       [float(r["bwd_us"]) * 1e-6 for r in table], [tensors[r["layer"]] for r in table])
        policy = published_policy(row)
        ours = measured(program, folder, model, float(row["a_s"]), float(row["b_s_per_byte"]), float(row["per_op_s"]), [policy])
        difference = abs(ours[policy] * 1e3 - float(row["iteration_ms"]))
        worst = max(worst, difference)
        if difference > 1e-4:
            sys.exit(f"{row}: {ours[policy] * 1e3:.4f} ms")
    print(f"published rows: greatest difference {worst:.2g} ms")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_random(sys.argv[1], folder)
        if len(sys.argv) == 5:
            check_published(sys.argv[1], folder, *sys.argv[2:])


if __name__ == "__main__":
    main()
