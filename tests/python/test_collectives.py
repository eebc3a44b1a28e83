# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of arrays between processes: their numbers, shapes, and kinds of arrays."""
import faulthandler
import json
import os
import re
import subprocess
import time

import numpy as np
import pytest

import multitree
import operator_programs
import rank_programs

#: Without messages, and by them.
PATHS = {"auto": {}, "messages": {"algorithm": "ring"}}
PROGRAMS = [rank_programs.reductions, operator_programs.operators, operator_programs.functions, rank_programs.shapes,
            rank_programs.kinds, rank_programs.uneven, rank_programs.messages, rank_programs.started]
#: Seconds: ranks that get one hundredth of a processor beside other work take minutes to start.
PATIENCE = 400


def all_programs(comm):
    # Who waits for what, where ranks have not returned in time.
    faulthandler.dump_traceback_later(PATIENCE - 20)
    for program in PROGRAMS:
        program(comm)
        # Told only in a failure: whether ranks stand still or are slow.
        print(f"rank {comm.rank}: {program.__name__} done, {time.process_time():.1f} s of a processor", flush=True)
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("path", PATHS)
def test_numbers(ranks, path):
    multitree.spawn(all_programs, ranks, timeout=PATIENCE, options=PATHS[path])


def test_functions_called_by_the_thread_that_moves_messages():
    multitree.spawn(operator_programs.functions, 3, timeout=PATIENCE, options={"algorithm": "ring", "progress": True})


def test_functions_in_the_order_of_ranks():
    multitree.spawn(operator_programs.ordered_functions, 4, timeout=PATIENCE)
    with pytest.raises(multitree.Unsupported):
        multitree.spawn(operator_programs.ordered_functions, 2, timeout=PATIENCE, options=PATHS["messages"])


@pytest.mark.parametrize("what, words", [("raises", "KeyError: 'mine'"),
                                         ("shape", "InvalidArgument: operator: function: expected as many elements"),
                                         ("type", "InvalidArgument: .*expected elements of float64, got complex128")])
def test_functions_that_go_wrong(what, words):
    told = multitree.spawn(operator_programs.combine_wrongly, 2, what, timeout=PATIENCE)
    assert any(re.match(words, one) for one in told), told


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    multitree.spawn(rank_programs.brain_floats, 2, timeout=60)


@pytest.mark.parametrize("path", PATHS)
def test_goes_on_by_itself(path):
    assert multitree.spawn(rank_programs.overlapped, 2, timeout=60, options=PATHS[path]) == [True, True]


def mixed(x):
    """splitmix64's finaliser, as the program's inputs have it."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return x ^ (x >> np.uint64(31))


def random_inputs(rank, count, seed=1):
    """`multitree run --data random`: between -1 and 1."""
    start = mixed(np.array([(seed + 0x51ed270b7a4f39c5 * (rank + 1)) % 2**64], np.uint64))
    hashes = mixed(np.arange(count, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15) + start)
    return (2 * ((hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53) - 1).astype(np.float32)


def digest(chain, data):
    for byte in data:
        chain = (chain ^ byte) * 0x100000001b3 % 2**64
    return chain


START = 0xcbf29ce484222325


@pytest.mark.parametrize("algorithm", ["ring", "multitree"])
def test_bits_are_those_of_the_program(algorithm):
    program = os.environ.get("MULTITREE_PROGRAM", "")
    if not os.access(program, os.X_OK):
        pytest.skip("no program multitree beside the package (MULTITREE_PROGRAM)")
    count = 1024
    done = subprocess.run([program, "run", "-t", "torus:2x2", "-a", algorithm, "-b", "4K", "-e", "4K", "-n", "1", "--data",
                           "random", "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads(done.stdout)["runs"][0]["results"][0]
    results = multitree.spawn(rank_programs.bits, 4, [random_inputs(rank, count) for rank in range(4)], timeout=60,
                              options={"topology": "torus:2x2", "algorithm": algorithm})
    chain = START
    for result in results:
        chain = digest(chain, digest(START, result).to_bytes(8, "little"))
    assert f"{chain:016x}" == row["out_of_place"]["digest"]
