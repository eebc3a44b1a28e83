#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Exports many schedules and executes each format by an interpreter of its own; then breaks the files and
expects the interpreters, and the importer, to notice. usage: check_formats.py PROGRAM FORMAT
FORMAT: msccl, msccl-import, chakra, mscclpp, forestcoll"""
import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import load_plans  # noqa: E402
import run_chakra  # noqa: E402
import run_msccl  # noqa: E402
import run_mscclpp  # noqa: E402

COLLECTIVES = ["allreduce", "reduce-scatter", "allgather", "broadcast", "reduce"]
CASES = [("full:1", "multitree", 0), ("full:2", "ring", 1), ("ring:5", "multitree", 3), ("torus:4x4", "multitree", 5),
         ("mesh:2x3", "bidirectional-ring", 4), ("torus:4x4", "swing", 0), ("hypercube:3", "recursive-doubling", 6),
         ("fattree:2x2", "multitree", 2), ("star:5", "double-binary-tree?segments=3", 1),
         ("torus:3x3?bw=20GB/s,50GB/s", "multitree", 8), ("full:8", "halving-doubling", 7), ("dgx2", "multitree", 9)]
# Of several hosts, which ports join.
BOXES = [("dgx-a100:2", "ring", 9), ("mi300x:2", "multitree", 3), ("rail:3x2", "recursive-doubling", 4)]
failures = []


def program(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=60, check=False)


def export(kind, case, collective, path, *flags):
    topology, algorithm, root = case
    ran = program("export", kind, "-t", topology, "-a", algorithm, "-c", collective, "-r", str(root), "-o", path, *flags)
    if ran.returncode != 0:
        failures.append(f"{kind} {case} {collective}: {ran.stderr.strip()}")
    return ran.returncode == 0


def execute(module, *arguments):
    """Whether the interpreter accepts a file."""
    saved, sys.argv = sys.argv, [module.__name__, *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            return module.main() == 0, output.getvalue().strip()
    finally:
        sys.argv = saved


def expect(good, accepted, what, said=""):
    if accepted != good:
        failures.append(f"{what}: expected it to be {'accepted' if good else 'refused'}: {said}")


def each_case(check):
    for case in CASES:
        for collective in COLLECTIVES:
            check(case, collective)


def mutations(text, rng):
    """Texts with one thing wrong each."""
    steps = [m for m in re.finditer(r' *<step [^>]*/>\n', text)]
    for kind in ("s", "rrc", "r"):
        found = [m for m in steps if f'type="{kind}"' in m.group()]
        if not found:
            continue
        hit = rng.choice(found)
        offset = "srcoff" if kind != "r" else "dstoff"
        units = int(re.search(r'nchunksperloop="(\d+)"', text).group(1))
        at = int(re.search(offset + r'="(\d+)"', hit.group()).group(1))
        if units == 1:
            continue  # every offset is the same
        moved = re.sub(offset + r'="\d+"', f'{offset}="{(at + 1) % units}"', hit.group())
        yield f"{offset} of {kind}", text[:hit.start()] + moved + text[hit.end():]
        if kind != "s":
            other = hit.group().replace(f'type="{kind}"', 'type="r"' if kind == "rrc" else 'type="rrc"')
            yield f"{kind} for another", text[:hit.start()] + other + text[hit.end():]
        yield f"{kind} lost", text[:hit.start()] + hit.group().replace(f'type="{kind}"', 'type="nop"') + text[hit.end():]
    waiting = [m for m in steps if 'depid="-1"' not in m.group()]
    for hit in rng.sample(waiting, min(3, len(waiting))):
        free = re.sub(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"', hit.group())
        yield "a lost dependence", text[:hit.start()] + free + text[hit.end():]
    told = [m for m in steps if 'hasdep="1"' in m.group()]
    if told:
        hit = rng.choice(told)
        yield "a lost hasdep", text[:hit.start()] + hit.group().replace('hasdep="1"', 'hasdep="0"') + text[hit.end():]


def check_msccl(folder):
    path = os.path.join(folder, "a.xml")

    def check(case, collective):
        for flags in (["--buffers", "inplace"], ["--buffers", "outofplace", "--channels", "3"], ["--buffers", "either"]):
            if export("msccl", case, collective, path, *flags):
                expect(True, *reversed_pair(execute(run_msccl, path, "--root", str(case[2])), f"{case} {collective} {flags}"))

    each_case(check)
    rng, tried, caught = random.Random(1), 0, 0
    for case in CASES[1:8]:
        export("msccl", case, "allreduce", path, "--buffers", "inplace")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for what, broken in mutations(text, rng):
            with open(path, "w", encoding="utf-8") as file:
                file.write(broken)
            accepted, _ = execute(run_msccl, path, "--root", str(case[2]))
            tried, caught = tried + 1, caught + (not accepted)
            # Other dependences and messages may imply one that is lost.
            if what != "a lost dependence":
                expect(False, accepted, f"{case}, {what}")
    print(f"{caught} of {tried} broken programs refused")
    if caught < tried * 0.8:
        failures.append("too few broken programs are refused")


def reversed_pair(answer, what):
    accepted, said = answer
    return accepted, what, said


def line_of_three(middle):
    """All-reduce of one chunk along 0-1-2 and back, as others write it: fused, or through scratch."""
    def step(number, kind, source="i", target="i", wait="-1,-1", told=0):
        block, before = wait.split(",")
        return (f'<step s="{number}" type="{kind}" srcbuf="{source}" srcoff="0" dstbuf="{target}" dstoff="0" cnt="1" '
                f'depid="{block}" deps="{before}" hasdep="{told}"/>')

    def block(number, send, receive, *steps):
        return f'<tb id="{number}" send="{send}" recv="{receive}" chan="0">{"".join(steps)}</tb>'

    back = block(2, 0, 2, step(0, "rcs", wait="1,0" if middle == "rrs" else "1,1"))
    inner = {"rrs": [block(0, -1, -1), block(1, 2, 0, step(0, "rrs", told=1))],
             "re": [block(0, -1, 0, step(0, "r", target="s", told=1)),
                    block(1, 2, -1, step(0, "re", source="s", wait="0,0"), step(1, "s", told=1))]}[middle]
    gpus = [[block(0, 1, -1, step(0, "s", told=1)), block(1, -1, 1, step(0, "r", wait="0,0"))],
            [*inner, back], [block(0, 1, 1, step(0, "rrcs"))]]
    body = "".join(f'<gpu id="{g}" i_chunks="1" o_chunks="0" s_chunks="1">{"".join(b)}</gpu>' for g, b in enumerate(gpus))
    return ('<algo name="line" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="3" coll="allreduce" inplace="1">'
            + body + "</algo>")


def check_import(folder):
    xml, again, schedule = (os.path.join(folder, n) for n in ("a.xml", "b.xml", "s.json"))

    def check(case, collective):
        for flags in (["--channels", "2"], ["--buffers", "outofplace"]):
            if not export("msccl", case, collective, xml, *flags):
                continue
            back = program("import", "msccl", xml, "-t", case[0], "-o", schedule)
            out = program("export", "msccl", "-s", schedule, "-o", again, *flags)
            said = back.stderr + out.stderr
            same = back.returncode == 0 and out.returncode == 0 and open(xml, "rb").read() == open(again, "rb").read()
            expect(True, same, f"round trip of {case} {collective} {flags}", said)

    each_case(check)
    for middle in ("rrs", "re"):
        with open(xml, "w", encoding="utf-8") as file:
            file.write(line_of_three(middle))
        expect(True, *reversed_pair(execute(run_msccl, xml), f"line with {middle}"))
        back = program("import", "msccl", xml, "-t", "mesh:3")
        expect(True, back.returncode == 0, f"import of a line with {middle}", back.stderr)
    rng = random.Random(2)
    for case in CASES[1:8]:
        export("msccl", case, "allreduce", xml)
        with open(xml, encoding="utf-8") as file:
            text = file.read()
        for what, broken in mutations(text, rng):
            if what == "a lost dependence":
                continue  # a race; the importer follows one order
            with open(xml, "w", encoding="utf-8") as file:
                file.write(broken)
            back = program("import", "msccl", xml, "-t", case[0])
            expect(True, back.returncode == 3 and re.match(r"multitree: [^ ]*a\.xml:\d+: ", back.stderr) is not None,
                   f"import of {case}, {what}", f"{back.returncode} {back.stderr}")


def check_chakra(folder):
    prefix = os.path.join(folder, "trace")

    def check(case, collective):
        ran = program("schedule", "-t", case[0], "-a", case[1], "-c", collective, "-r", str(case[2]))
        schedule = json.loads(ran.stdout)
        owners = ",".join(str(chunk[0]) for chunk in schedule["chunks"])
        ranks = schedule["ranks"]
        size = 5040 * ranks
        if not export("chakra", case, collective, prefix, "--size", str(size)):
            return
        arguments = [prefix, collective, str(ranks), str(size), owners, "--root", str(case[2])]
        expect(True, *reversed_pair(execute(run_chakra, *arguments), f"{case} {collective}"))
        if ranks == 1 or case[0] == "dgx2":
            return
        last = f"{prefix}.{ranks - 1}.et"
        with open(last, "rb") as file:
            data = file.read()
        for broken in (data[:-3], data.replace(b"comm_tag\x38", b"comm_tag\x28"), data[:len(data) // 2]):
            with open(last, "wb") as file:
                file.write(broken)
            if broken != data:
                expect(False, execute(run_chakra, *arguments)[0], f"broken traces of {case} {collective}")

    each_case(check)


def without_an_operation(plan, rng):
    """Plans that lack one, with what it was."""
    places = [(g, b, o) for g, gpu in enumerate(plan["gpus"]) for b, block in enumerate(gpu["threadblocks"])
              for o, op in enumerate(block["ops"]) if op["name"] in ("put", "pws", "wait", "signal", "re") or
              (op["name"] == "nop" and block["ops"][o + 1]["name"] == "signal")]
    for g, b, o in rng.sample(places, min(4, len(places))):
        broken = json.loads(json.dumps(plan))
        yield f"operation {o} of gpu {g}, {broken['gpus'][g]['threadblocks'][b]['ops'].pop(o)}", broken


def check_mscclpp(folder):
    path = os.path.join(folder, "plan.json")
    rng = random.Random(3)

    def check(case, collective):
        root = ["--root", str(case[2])]
        if case[0] == "dgx2" and collective == "allreduce":
            # A root with 15 children has more to do than a thread block has room for.
            ran = program("export", "mscclpp", "-t", case[0], "-a", case[1], "-c", collective)
            expect(True, ran.returncode == 2 and "at most 64 operations" in ran.stderr, f"{case} {collective}", ran.stderr)
            return
        for buffers, calls in (("either", ([], ["--in-place"])), ("inplace", (["--in-place"],)), ("outofplace", ([],))):
            if not export("mscclpp", case, collective, path, "--buffers", buffers):
                continue
            for flags in calls:
                answer = execute(run_mscclpp, path, *root, *flags)
                expect(True, *reversed_pair(answer, f"{case} {collective} for buffers {buffers}, {flags}"))
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        for what, broken in without_an_operation(plan, rng):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(broken, file)
            expect(False, execute(run_mscclpp, path, *root)[0], f"{case} {collective} without {what}")

    for case in CASES + BOXES:
        for collective in COLLECTIVES:
            check(case, collective)
    # A GPU that runs fewer blocks than it takes, and hosts that the network does not tell.
    ran = program("export", "mscclpp", "-t", "dgx-a100:2", "--max-blocks", "4", "-o", path)
    expect(True, ran.returncode == 2 and "at most 4 thread blocks" in ran.stderr, "too many blocks", ran.stderr)
    ran = program("export", "mscclpp", "-t", "ring:4", "--ranks-per-host", "2", "-o", path)
    accepted, said = execute(run_mscclpp, path)
    expect(True, ran.returncode == 0 and accepted and '"port"' in open(path, encoding="utf-8").read(), "hosts of two",
           ran.stderr + said)
    failures.extend(load_plans.problems(folder, program, lambda *arguments: execute(run_mscclpp, *arguments)))


def check_forestcoll(folder):
    """Trees of a ring of four, of unequal weights, each rank's both ways round."""
    xml, schedule = os.path.join(folder, "trees.xml"), os.path.join(folder, "s.json")
    trees = []
    for root in range(4):
        for way, chunks in ((1, 2), (3, 1)):
            sends = "".join(f'<send src="{(root + way * i) % 4}" dst="{(root + way * (i + 1)) % 4}" '
                            f'path="{(root + way * i) % 4},{(root + way * (i + 1)) % 4}"/>' for i in range(3))
            trees.append(f'<tree root="{root}" index="{way}" nchunks="{chunks}" height="3">{sends}</tree>\n')
    with open(xml, "w", encoding="utf-8") as file:
        file.write(f'<Algo nchunkspernode="3">\n{"".join(trees)}</Algo>\n')
    for collective in COLLECTIVES[:3]:
        ran = program("import", "forestcoll", xml, "-t", "ring:4", "-c", collective, "--segments", "2", "-o", schedule)
        checked = program("verify", schedule)
        expect(True, ran.returncode == 0 and checked.returncode == 0, f"trees for {collective}", ran.stderr + checked.stdout)
    ran = program("import", "forestcoll", xml, "-t", "ring:4", "-c", "broadcast")
    expect(True, ran.returncode == 2, "trees for broadcast", ran.stderr)


def main():
    check = {"msccl": check_msccl, "msccl-import": check_import, "chakra": check_chakra, "mscclpp": check_mscclpp,
             "forestcoll": check_forestcoll}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as folder:
        check(folder)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
