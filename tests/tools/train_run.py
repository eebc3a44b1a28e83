#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`multitree train run`: the same parameters under every policy, plans carried out, wrong plans refused, deaths told and survived.

usage: train_run.py MULTITREE
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

DEADLINE = 240
ALL_REDUCES = ["bsp", "wfbp", "ddp?bucket=16KiB&first=1KiB", "horovod?cycle=100us", "mg-wfbp",
               "bytescheduler?partition=4KB&credit=16KB", "priority"]
# Transfers under way at once, each on a schedule for its own size.
OVERLAPPING = ["priority?order=overlapping&chunk=16KiB"]
HALVES = ["dear?fusion=none", "dear?fusion=16KiB", "dear?fusion=16KiB&barrier=no"]
MODEL = """name,params,forward,backward
front,20000+200,3ms,4ms
middle,0,1ms,1ms
wide,60001,2ms,5ms
back,3000+30,2ms,3ms
"""


def run(program, *arguments):
    return subprocess.run([program, "train", *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"expected {what}\nexit code {result.returncode}\n{result.stdout[-1500:]}{result.stderr[-1500:]}")


def rows(program, *arguments):
    result = run(program, "run", "--json", *arguments)
    expect(result.returncode == 0, "success", result)
    return json.loads(result.stdout)["policies"], result


def same_parameters(program):
    """Where sums of an element do not depend on what it travels with, neither do parameters."""
    def agree(what, policies, *arguments):
        found, result = rows(program, "--learner", "mlp?hidden=40", "-p", ",".join(policies), "--batch", "4", "--rate",
                             "0.005", *arguments)
        digests = {row["parameters"] for row in found}
        expect(len(found) == len(policies) and len(digests) == 1, f"one digest with {what}, got {digests}", result)
        expect(found[0]["loss"][-1] < 0.7 * found[0]["loss"][0], f"loss to fall with {what}", result)
        return digests

    of_two = agree("2 ranks", ALL_REDUCES + HALVES, "-t", "ring:2", "--host", "-n", "1000")
    of_four = agree("4 ranks", ALL_REDUCES + HALVES, "-t", "mesh:2x2", "--host", "-n", "150")
    expect(of_two != of_four, "other numbers of ranks to have other parameters", run(program, "--help"))
    agree("8 ranks", ALL_REDUCES + HALVES, "-t", "torus:4x2", "--host", "-n", "60")
    tree = "allreduce-optimal?trees=1&segments=1"
    agree("messages", ALL_REDUCES, "-t", "mesh:2x2", "-a", tree, "-n", "60")
    agree("one rank", ALL_REDUCES, "--np", "1", "-n", "60")
    # Several trees: the tree of a gradient follows from its place in the model if it is to, else from its message.
    arguments = ["-t", "torus:2x2", "-a", "multitree", "-n", "60"]
    agree("several trees", ALL_REDUCES + OVERLAPPING + HALVES, *arguments, "--same-bits")
    agree("an optimal packing", ALL_REDUCES, "-t", "mesh:2x2", "-n", "60", "--same-bits")
    found, result = rows(program, "--learner", "mlp?hidden=40", "-p", "bsp,wfbp", *arguments)
    expect(len({row["parameters"] for row in found}) == 2, "buckets to differ where they may", result)


def rounds(program):
    """Policies that average now and then learn as well, do the same again, and end with the same parameters on all ranks
    (or the program says that they differ)."""
    policies = ["pipe-sgd", "local-sgd?every=4", "cocod", "diloco?every=10", "diloco?every=10&fragments=3"]
    arguments = ["--learner", "mlp?hidden=40", "-p", ",".join(policies), "-t", "ring:3", "--host", "-n", "60", "--batch",
                 "8", "--rate", "0.005"]
    found, result = rows(program, *arguments)
    again, _ = rows(program, *arguments)
    for row, same in zip(found, again):
        expect(row["loss"][-1] < 0.8 * row["loss"][0], f"the loss of {row['policy']} to fall", result)
        expect(row["parameters"] == same["parameters"], f"{row['policy']} to do the same again", result)
    paced, result = rows(program, "--learner", "logistic", "-p", "bsp,cocod", "--np", "1", "-n", "10", "--pace", "4ms")
    for row in paced:
        expect(row["median_seconds"] >= 0.9 * 0.004, "passes that last as long as they are to", result)


def compressed(program):
    """All ranks have the same parameters, whatever travels (or the program says that they differ), and learn."""
    for compressor in ("bfloat16", "int8?form=hop", "int8", "sign", "top-k?share=0.1", "random-k?share=0.2", "powersgd"):
        found, result = rows(program, "--learner", "mlp?hidden=40", "-p", "bsp,priority", "-t", "torus:2x2", "-a",
                             "multitree", "-n", "30", "--batch", "8", "--rate", "0.02", "--momentum", "0", "--compress",
                             compressor)
        for row in found:
            expect(row["loss"][-1] < 0.95 * row["loss"][0], f"the loss to fall with {compressor}", result)


def learners(program, directory):
    for learner in ("logistic", "lenet5", "transformer?width=16&blocks=1"):
        found, result = rows(program, "--learner", learner, "-p", "priority,dear", "-t", "ring:3", "-n", "40", "--batch",
                             "8", "--rate", "0.02")
        for row in found:
            expect(row["loss"][-1] < 0.97 * row["loss"][0], f"{learner}'s loss to fall", result)
    table = os.path.join(directory, "samples.csv")
    with open(table, "w", encoding="ascii") as file:
        file.writelines(f"{i % 16},{(3 * i) % 16},{i % 2}\n" for i in range(64))
    found, result = rows(program, "--learner", "logistic", "--data", table, "--sorted", "--np", "2", "-n", "5")
    expect(len(found[0]["loss"]) == 8, "a loss for each forward pass", result)


def plans(program, directory):
    model = os.path.join(directory, "model.csv")
    with open(model, "w", encoding="ascii") as file:
        file.write(MODEL)
    files = []
    policies = ALL_REDUCES + OVERLAPPING + HALVES
    for number, policy in enumerate(policies):
        files.append(os.path.join(directory, f"{number}.json"))
        algorithm = "allreduce-optimal?piece=4KiB" if policy in OVERLAPPING else "allreduce-optimal"
        made = run(program, "plan", "-t", "mesh:2x2", "-m", model, "-p", policy, "-a", algorithm, "-o", files[-1])
        expect(made.returncode == 0, "a plan", made)
    for where in ([], ["--host"], ["-a", "multitree"]):
        found, result = rows(program, *files, "-n", "4", *where)
        expect([row["policy"] for row in found] == policies, "all plans", result)
        for row in found:
            expect(row["median_seconds"] >= 0.999 * 0.021, "no iteration shorter than its passes", result)
    trace = os.path.join(directory, "trace.json")
    result = run(program, "run", files[-1], "-n", "2", "--trace", trace)
    expect(result.returncode == 0, "a trace", result)
    with open(trace, encoding="utf-8") as file:
        text = file.read()
    for words in ("rank 0: computing", "expected: network", "reduce-scatter", "backward wide"):
        expect(words in text, f"'{words}' in the trace", result)
    wrong_plans(program, directory, files[1])
    wrong_orders(program, directory, files[-1])


def wrong_orders(program, directory, file):
    """An order that is none, or does not say that a reduce-scatter is over before its all-gather."""
    with open(file, encoding="utf-8") as one:
        plan = json.load(one)
    changed = os.path.join(directory, "changed.json")
    for order, words in (("random", "expected serial, preemptive or overlapping, found 'random'"),
                         ("overlapping", "expected allreduce in a plan with the order overlapping, found reduce-scatter")):
        with open(changed, "w", encoding="utf-8") as one:
            json.dump({**plan, "order": order}, one)
        result = run(program, "run", changed)
        expect(result.returncode == 3 and words in result.stderr, f"the order {order} to be refused with '{words}'", result)


def wrong_plans(program, directory, file):
    """A plan that loses gradients, or sends some twice, is refused before any process starts."""
    with open(file, encoding="utf-8") as one:
        plan = json.load(one)
    changed = os.path.join(directory, "changed.json")

    def refused(what, words, change):
        copy = json.loads(json.dumps(plan))
        change(copy)
        with open(changed, "w", encoding="utf-8") as one:
            json.dump(copy, one)
        result = run(program, "run", changed)
        expect(result.returncode == 3 and words in result.stderr, f"{what} to be refused with '{words}'", result)

    refused("a missing transfer", "expected transfers of", lambda p: p["transfers"].pop())
    refused("a smaller one", "expected transfers of", lambda p: p["transfers"][0].update(bytes=4))
    # As many bytes in all, but not of the layers that they are said to be of.
    refused("a transfer of other layers", "fewer",
            lambda p: p["transfers"][0].update(layers=p["transfers"][-1]["layers"]))


def losses(program):
    """Sums that may lack late ranks: without a budget the bits of all others, with one a loss that falls, and the same
    parameters on all ranks (or the program says that they differ)."""
    arguments = ["--learner", "mlp?hidden=40", "-t", "mesh:2x2", "-a", "multitree", "--batch", "4", "--rate", "0.005", "-p",
                 "bsp,priority", "-n", "40"]
    reliable, _ = rows(program, *arguments)
    none, result = rows(program, *arguments, "--loss-budget", "0", "--straggler", "2:20ms:30")
    for row, same in zip(none[:1], reliable[:1]):
        expect(row["parameters"] == same["parameters"] and row["lost"] == 0, "the reliable bits", result)
    some, result = rows(program, *arguments, "--loss-budget", "0.3", "--deadline", "5ms", "--straggler", "2:100ms:20")
    for row in some:
        expect(row["least_count"] == 3 and 0 < row["lost"] <= 0.25, "one of four missing at times", result)
        expect(row["loss"][-1] < 0.8 * row["loss"][0], "the loss to fall", result)


def started(program, ranks, *arguments):
    """A job, and its ranks' processes."""
    job = subprocess.Popen([program, "train", "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = []
    end = time.monotonic() + DEADLINE
    while len(children) < ranks and time.monotonic() < end:
        time.sleep(0.1)
        with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
    return job, sorted(children)


def ended(job, what):
    try:
        return job.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        job.kill()
        sys.exit(f"{what} did not end")


def death(program):
    """All others end within the deadline, and each says who has died."""
    job, children = started(program, 4, "--learner", "mlp", "-t", "ring:4", "-n", "1000000", "-T", "10")
    time.sleep(2)
    os.kill(children[3], signal.SIGKILL)
    out, err = ended(job, "a job with a dead rank")
    if job.returncode != 4 or not all(re.search(f"rank {rank}: .*rank 3 died", err) for rank in range(3)):
        sys.exit(f"expected exit code 4 and who died, got {job.returncode}\n{out}{err}")


def shrinking(program):
    """Whoever dies whenever: the others say so and train on, with equal parameters (or the program says that they differ)."""
    chance = random.Random(16)
    for network, ranks, deaths, policy in (("mesh:2x2", 4, 1, "priority"), ("ring:5", 5, 1, "cocod"),
                                           ("torus:3x2", 6, 2, "dear?fusion=16KiB"), ("torus:4x2", 8, 2, "wfbp")):
        lead = 0.7
        for _ in range(8):
            job, children = started(program, ranks, "--learner", "mlp?hidden=40", "-t", network, "-p", policy, "-n", "200",
                                    "--batch", "4", "--rate", "0.005", "--pace", "8ms", "-T", "10", "--json",
                                    "--on-failure", "shrink")
            time.sleep(lead + chance.random())
            victims = chance.sample(range(ranks), deaths)
            for victim in victims:
                try:
                    os.kill(children[victim], signal.SIGKILL)
                except ProcessLookupError:
                    pass
            out, err = ended(job, f"{policy} on {network} without ranks {victims}")
            lost = json.loads(out)["lost"] if job.returncode == 0 else None
            if lost == sorted(victims):
                break
            # It had not begun, or was over.
            lead = lead / 2 if lost is not None else lead + 1.5
        row = json.loads(out)["policies"][0] if job.returncode == 0 else {}
        if lost != sorted(victims) or "lost (" not in err or not row["loss"][-1] < 0.7 * row["loss"][0]:
            sys.exit(f"{policy} on {network}: expected it to go on without ranks {victims}, got {job.returncode}\n{out}{err}")


def study(program, directory):
    """Small studies: the same again, from a file that was cut off as well; bad files are told by line."""
    out = os.path.join(directory, "study")
    arguments = ["study", "-t", "ring:4", "--learners", "logistic", "-p", "bsp,wfbp,cocod", "--compress", "bfloat16",
                 "--seeds", "2", "-n", "40", "--points", "4", "--json", "-o", out]
    first = run(program, *arguments)
    expect(first.returncode == 0, "a study", first)
    results = json.loads(first.stdout)["results"]
    expect([row["shards"] for row in results] == ["mixed"] * 4 + ["sorted"] * 4, "all shards", first)
    expect(results[1]["curves"] == results[0]["curves"], "one curve of all synchronous policies", first)
    expect(results[2]["bytes_over"] == 0.2 and results[3]["bytes_over"] == 0.5, "what travels", first)
    expect(0.98 < results[3]["loss_over"] < 1.02, "bfloat16 to lose nothing", first)
    for name in ("report.md", "curves.csv", "logistic-4-mixed-policies.svg", "logistic-4-mixed-compressors.svg"):
        expect(os.path.exists(os.path.join(out, name)), name, first)
    trials = os.path.join(out, "trials.jsonl")
    with open(trials, encoding="utf-8") as file:
        text = file.read()
    expect(text.count("\n") == 12, "each trial once", first)
    with open(trials, "w", encoding="utf-8") as file:
        file.write(text[:-20])
    again = run(program, *arguments)
    expect(again.stdout == first.stdout, "the same after it was cut off", again)
    with open(trials, "a", encoding="utf-8") as file:
        file.write("{}\n")
    bad = run(program, *arguments)
    expect(bad.returncode == 3 and "trials.jsonl:13: expected a trial" in bad.stderr, "a bad line to be told", bad)


def main():
    program, = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        same_parameters(program)
        learners(program, directory)
        rounds(program)
        compressed(program)
        study(program, directory)
        plans(program, directory)
    losses(program)
    death(program)
    shrinking(program)


if __name__ == "__main__":
    main()
