#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/one_host takes UCC for a peer where there is a ucc_perftest, here one that prints what the real one would.

usage: ucc_test.py SOURCE_DIR
"""
import os
import subprocess
import sys
import tempfile

MPIRUN = """#!/bin/sh
[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit
while [ "$1" != -n ]; do shift; done
RANKS=$2 && export RANKS && shift 2 && exec "$@"
"""
PERFTEST = """#!/bin/sh
echo "$RANKS ranks: $*" >> calls
echo "$RANKS $LD_PRELOAD" >> loaded
while [ "$1" != -b ]; do shift; done
[ "$2" = 13 ] && exit 1
cat <<ROWS
Collective:             Allreduce
Memory type:            host
Datatype:               float32
Iterations:
  small                 1000

       Count        Size                Time, us
                                 avg         min         max
ROWS
printf '%12d%12d%12s%12s%12s\\n' $2 $(($2 * 4)) 12.34 11.00 13.50
"""


def expect(condition, *words):
    if not condition:
        sys.exit(" ".join(str(word) for word in words))


def write_program(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)


def main():
    bench = os.path.join(sys.argv[1], "bench")
    sys.path.insert(0, bench)
    sys.dont_write_bytecode = True
    from peers import peers_of
    with tempfile.TemporaryDirectory() as work:
        write_program(f"{work}/mpirun", MPIRUN)
        write_program(f"{work}/perftest", PERFTEST)
        os.environ["PATH"] = work + os.pathsep + os.environ["PATH"]
        os.environ.pop("UCC_PERFTEST", None)

        def run(*sizes):
            return subprocess.run([f"{bench}/ucc_collective", "4", "allreduce", *sizes], cwd=work, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)

        os.environ["UCC_PERFTEST"] = f"{work}/perftest"
        command = peers_of("no-build", 4).get("UCC")
        expect(command == [f"{os.path.abspath(bench)}/ucc_collective", "4", "allreduce"], "the peer:", command)
        done = run("4096", "67108864")
        expect(done.stdout == "4096 0.000012340\n67108864 0.000012340\n", done)
        with open(f"{work}/calls") as file:
            calls = file.read().splitlines()
        expect(len(calls) == 2 and "4 ranks: -c allreduce" in calls[0] and "-b 1024 -e 1024" in calls[0], calls)
        # Sizes are those of a whole vector, also where it has shards.
        expect(peers_of("no-build", 4, "broadcast")["UCC"][-1] == "broadcast", "another collective")
        subprocess.run([f"{bench}/ucc_collective", "4", "allgather", "4096"], cwd=work, check=True, stdout=subprocess.PIPE)
        with open(f"{work}/calls") as file:
            last = file.read().splitlines()[-1]
        expect("-c allgather" in last and "-b 256 -e 256" in last, last)
        # With more ranks than processors they let each other run, and else are left alone.
        os.environ["UCC_YIELD"] = ""
        run("4096")
        os.environ["UCC_YIELD"] = "/absent/yield.so"
        subprocess.run([f"{bench}/ucc_collective", "4096", "allreduce", "4096"], cwd=work, check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        subprocess.run([f"{bench}/ucc_collective", "1", "allreduce", "4096"], cwd=work, check=True, stdout=subprocess.PIPE)
        with open(f"{work}/loaded") as file:
            loaded = file.read().splitlines()[-3:]
        expect(loaded == ["4 ", "4096 /absent/yield.so", "1 "], loaded)
        # What fails, or answers something else, is not taken for a time.
        done = run("8", "52")
        expect(done.returncode == 1 and done.stdout == "8 0.000012340\n", done)
        expect("ucc_collective: 52 bytes: exit code 1" in done.stderr, done.stderr)
        expect(run("6").returncode == 1, "6 bytes are no floats")
    del os.environ["UCC_PERFTEST"]
    os.environ["PATH"] = "/nonexistent"
    expect("UCC" not in peers_of("no-build", 4), "no program, no peer")


main()
