#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`multitree explore` goes on where it was stopped, in parts and on any number of threads with the same bytes, and its points
are those of `multitree simulate`. usage: explore.py PROGRAM SOURCE_DIR
"""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(tempfile.mkdtemp())
DESIGN = ROOT / "tests/data/explore/small.json"
REFUSED = "cycle"


def fail(text):
    sys.exit(f"explore.py: {text}")


def expect(holds, text):
    if not holds:
        fail(text)


def multitree(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=HERE, capture_output=True, text=True, timeout=200, check=False)
    expect(done.returncode == code, f"{words}: expected exit code {code}, got {done.returncode}: {done.stderr}")
    return done


def explore(*words, design=DESIGN, code=0):
    return multitree("explore", "-c", design, *words, code=code)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def same_on_any_threads():
    """One thread, three, and without a file."""
    whole = explore("-o", "whole", "-j", 1, "--csv", "whole.csv").stdout
    for jobs, words in ((3, ["-o", "three"]), (2, [])):
        text = explore(*words, "-j", jobs, "--csv", "other.csv").stdout
        expect(text == whole, f"{jobs} threads: expected the same table")
        expect((HERE / "other.csv").read_bytes() == (HERE / "whole.csv").read_bytes(), "expected the same CSV")
    expect((HERE / "three").read_bytes() == (HERE / "whole").read_bytes(), "expected the same results file")
    return whole


def goes_on(whole):
    """Cut off anywhere: half a line, a line, all lines, no line."""
    results = (HERE / "whole").read_bytes()
    for kept in (0, 10, results.index(b"\n") + 1, len(results) // 2, len(results) - 20, len(results)):
        (HERE / "cut").write_bytes(results[:kept])
        done = explore("-o", "cut", "--csv", "cut.csv")
        expect(done.stdout == whole, f"after {kept} bytes: expected the same table")
        expect((HERE / "cut").read_bytes() == results, f"after {kept} bytes: expected the same results file")
        expect((HERE / "cut.csv").read_bytes() == (HERE / "whole.csv").read_bytes(), "expected the same CSV")
        is_half = not results[:kept].endswith(b"\n") and kept > 0
        expect(("which an interrupted run left unfinished" in done.stderr) == is_half, f"after {kept} bytes: {done.stderr!r}")


def parts_are_the_whole(whole):
    for number in (3, 1, 2):
        done = explore("-o", "joined", "--part", f"{number}/3")
        expect(done.stdout.startswith(f"part {number} of 3: "), f"expected a line on the part, got {done.stdout!r}")
    for number in (1, 2, 3):
        expect("\n" not in (HERE / f"joined.{number}-of-3").read_text()[-1:].strip(), "expected whole lines")
    expect("0 simulated now" in explore("-o", "joined", "--part", "2/3").stdout, "expected nothing to be left of a part")
    expect(explore("-o", "joined").stdout == whole, "joined parts: expected the table of the whole")
    expect((HERE / "joined").read_bytes() == (HERE / "whole").read_bytes(), "joined parts: expected the results file of the whole")


def points_of_others_are_used():
    """A design with one value less has all its points in the file, and those of the other stay."""
    small = json.loads(DESIGN.read_text())
    small["algorithm"] = small["algorithm"][:1]
    (HERE / "less.json").write_text(json.dumps(small))
    (HERE / "less").write_bytes((HERE / "whole").read_bytes())
    alone = explore("--csv", "alone.csv", design="less.json").stdout
    expect(explore("-o", "less", design="less.json").stdout == alone, "expected the same from what was known")
    lines = sorted((HERE / "whole").read_text().splitlines())
    expect(sorted((HERE / "less").read_text().splitlines()) == lines, "expected that points of another design stay")


def is_what_simulate_says():
    """Every point, by the flit model and the same parameters."""
    rows = rows_of((HERE / "whole.csv").read_text())
    results = [json.loads(line) for line in (HERE / "whole").read_text().splitlines()[1:]]
    by_id = {result["id"]: result for result in results}
    simulated = 0
    for row in rows:
        point = by_id[row["id"]]["point"]
        if row["refused"]:
            continue
        parameters = dict(point["parameters"])
        if point["header_flits"] == "of routes":
            parameters["header_flits"] = by_id[row["id"]]["result"]["header_flits"]
        (HERE / "point.json").write_text(json.dumps(parameters))
        words = ["simulate", "-t", row["topology"], "-a", row["algorithm"], "-c", row["collective"], "-b", row["bytes"],
                 "-e", row["bytes"], "--config", "point.json", "--model", "flit", "--json"]
        if row["stragglers"] != "none":
            rank, late = row["stragglers"].split(":")
            expect(late.endswith("ns") and int(row["clock_hz"]) == 10**9, "expected nanoseconds and cycles of one")
            words += ["--fault", f"late:{rank}:{late[:-2]}"]
        found = json.loads(multitree(*words).stdout)["results"][0]
        for name in ("cycles", "messages", "link_flits", "busiest_link_flits"):
            expect(found[name] == by_id[row["id"]]["result"][name],
                   f"{row['id']}: {name}: simulate says {found[name]}: {words}")
        simulated += 1
        # As it is with flags instead of a file.
        if row["machine"] == "hardware" and row["virtual_channels"] == "4" and row["stragglers"] == "none":
            plain = json.loads(multitree(*words[:words.index("--config")], "--machine", "hardware", "--json").stdout)
            if row["park_slots"] == "32":
                expect(plain["results"][0]["cycles"] == int(row["cycles"]), f"{row['id']}: expected --machine hardware")
    expect(simulated > 20, f"expected more than 20 points, got {simulated}")
    expect({row["model"] for row in rows if not row["refused"]} == {"message", "flit"}, "expected points of both models")


def front_is_by_definition():
    """None of the front is beaten, everybody else is."""
    done = json.loads(explore("-o", "whole", "--json").stdout)
    fronts = 0
    for front in done["fronts"]:
        if front["by_time_alone"]:
            continue
        fronts += 1
        chosen = {entry["point"] for entry in front["entries"]}
        known = {p: point for p, point in enumerate(done["points"]) if "cells" in point}

        def figures(p):
            return [done["points"][p][name] for name in ("time_us", *done["costs"])]

        work = [next(v["value"] for v in done["points"][min(chosen)]["values"] if v["name"] == name)
                for name in ("collective", "bytes", "stragglers")]
        for p, point in known.items():
            if [next(v["value"] for v in point["values"] if v["name"] == name)
                    for name in ("collective", "bytes", "stragglers")] != work:
                continue
            beaten = any(all(a <= b for a, b in zip(figures(q), figures(p))) for q in chosen if q != p)
            expect(beaten != (p in chosen), f"point {p}: expected on the front or beaten by it")
    expect(fronts > 1, "expected fronts by area")


def interrupted_is_usable():
    design = json.loads(DESIGN.read_text())
    design.update(topology="torus:4x4", bytes=["1MiB", "2MiB"], algorithm=["ring", "multitree"], stragglers="none")
    (HERE / "long.json").write_text(json.dumps(design))
    run = subprocess.Popen([PROGRAM, "explore", "-c", "long.json", "-o", "long", "-j", "2"], cwd=HERE, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not (HERE / "long").exists() or (HERE / "long").read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, error = run.communicate(timeout=60)
    known = (HERE / "long").read_bytes()
    if run.returncode != 0:  # it was not over yet
        expect(run.returncode == -signal.SIGINT, f"expected an end by SIGINT, got {run.returncode}: {error}")
        expect("points are in long; the same command goes on from there" in error, f"expected words, got {error!r}")
    expect(known.endswith(b"\n"), "expected whole lines after an interruption")
    again = explore("-o", "long", design="long.json").stdout
    expect(again == explore(design="long.json").stdout, "expected the same after an interruption")
    expect(set(known.splitlines()) <= set((HERE / "long").read_bytes().splitlines()), "expected that points stay")


def others_are_refused():
    (HERE / "other").write_text("not a results file\n")
    done = explore("-o", "other", code=3)
    expect(done.stderr.startswith("multitree: other:1: expected results of this version"), done.stderr)
    expect((HERE / "other").read_text() == "not a results file\n", "expected the file to be left alone")
    lines = (HERE / "whole").read_text().splitlines(keepends=True)
    (HERE / "other").write_text("".join([*lines[:2], lines[2].replace('"cycles":', '"cycles":-'), *lines[3:]]))
    done = explore("-o", "other", code=3)
    expect(done.stderr.startswith("multitree: other:3: expected a result as this program wrote it"), done.stderr)
    done = subprocess.run(["flock", "whole", PROGRAM, "explore", "-c", DESIGN, "-o", "whole"], cwd=HERE, capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 3 and "cannot lock, is another run using it" in done.stderr, f"two runs: {done.stderr}")


def design_files_follow_their_schema():
    try:
        import jsonschema
    except ImportError:
        print("not checked: expected python3-jsonschema, got none")
        return
    validator = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schemas/input/explore.json").read_text()))
    for file in [*sorted((ROOT / "tests/data/explore").glob("*.json")), *sorted((ROOT / "docs/tutorials").glob("*.json"))]:
        wrong = [error.message for error in validator.iter_errors(json.loads(file.read_text()))]
        expect(not wrong, f"{file.name}: {wrong}")
    refused = 0
    for file in sorted((ROOT / "tests/data/bad/explore").glob("*.json")):
        try:
            refused += not validator.is_valid(json.loads(file.read_text()))
        except json.JSONDecodeError:
            pass
    expect(refused >= 10, f"expected the schema to refuse most bad designs, got {refused}")


def main():
    os.chdir(HERE)
    whole = same_on_any_threads()
    goes_on(whole)
    parts_are_the_whole(whole)
    points_of_others_are_used()
    is_what_simulate_says()
    front_is_by_definition()
    interrupted_is_usable()
    others_are_refused()
    design_files_follow_their_schema()


main()
