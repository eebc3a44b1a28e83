# SPDX-License-Identifier: BSD-3-Clause
"""Joining, parting, waiting, and what ends a communicator."""
import os
import re
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import multitree
import rank_programs

# Jobs that are started by hand without a secret say so at the start.
SECRET = {"MULTITREE_TOKEN": "of these tests"}

SUM = ("import numpy as np, multitree\n"
       "with multitree.Communicator() as comm:\n"
       "    print(comm.rank, comm.size, comm.all_reduce(np.array([comm.rank + 1]))[0])\n")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def own(rank, port):
    return {"MULTITREE_RANK": str(rank), "MULTITREE_SIZE": "2", "MULTITREE_RENDEZVOUS": f"127.0.0.1:{port}"}


def torchrun(rank, port):
    return {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


@pytest.mark.parametrize("variables", [own, torchrun])
def test_joins_from_the_environment(variables):
    port = free_port()
    ranks = [subprocess.Popen([sys.executable, "-c", SUM], env={**os.environ, **SECRET, **variables(rank, port)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)]
    assert [rank.communicate(timeout=60)[0].split() for rank in ranks] == [["0", "2", "3"], ["1", "2", "3"]]


def test_alone():
    done = subprocess.run([sys.executable, "-c", SUM], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0", "1", "1"], done.stderr


def in_threads(size, body):
    results = [None] * size

    def run(rank):
        try:
            results[rank] = body(rank)
        except Exception as error:
            results[rank] = error
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    return results


def test_joins_by_address_and_by_id():
    port, id = free_port(), multitree.unique_id()
    assert len(id) == 128

    def sum_of(rank, **how):
        with multitree.Communicator(rank, 3, **how) as comm:
            return int(comm.all_reduce(np.array([rank]))[0])
    assert in_threads(3, lambda rank: sum_of(rank, address=f"127.0.0.1:{port}", token="x")) == [3, 3, 3]
    assert in_threads(3, lambda rank: sum_of(rank, id=id)) == [3, 3, 3]


def test_says_who_did_not_come():
    with pytest.raises(multitree.Timeout, match="no word from ranks 1, 2"):
        multitree.Communicator(0, 3, address=f"127.0.0.1:{free_port()}", join_timeout=0.3)
    with pytest.raises(multitree.Timeout, match="did not reach rank 0"):
        multitree.Communicator(1, 3, address=f"127.0.0.1:{free_port()}", join_timeout=0.3)
    with pytest.raises(multitree.Timeout, match="rank"):
        multitree.Communicator(0, 2, id=multitree.unique_id(), join_timeout=0.3)


def test_strangers_do_not_get_in():
    address = f"127.0.0.1:{free_port()}"

    def join(rank):
        return multitree.Communicator(rank, 2, address=address, token="yes" if rank == 0 else "no", join_timeout=1.5)
    first, second = in_threads(2, join)
    assert isinstance(first, multitree.Timeout) and "rank 1" in str(first)
    assert isinstance(second, multitree.TransportError) and "token" in str(second)

    def resize(rank):
        return multitree.Communicator(rank, 2 + rank, address=address, join_timeout=1.5)
    assert "expected size 2" in str(in_threads(2, resize)[1])


def test_settings_reach_the_library():
    schedule = multitree.schedule("ring:2", "ring")

    def join(**settings):
        id = multitree.unique_id()

        def sum_of(rank):
            with multitree.Communicator(rank, 2, id=id, **settings) as comm:
                return int(comm.all_reduce(np.array([rank + 1]))[0])
        return in_threads(2, sum_of)
    assert join(topology="ring:2", algorithm="ring", segment="4KiB", progress=False, refine=False) == [3, 3]
    assert join(topology=multitree.topology("ring:2"), algorithm="ring", tuning="declared", progress=True) == [3, 3]
    assert join(plan=schedule) == [3, 3]
    wrong = join(topology="ring:3", algorithm="ring")
    assert all(isinstance(error, multitree.InvalidArgument) and "2 ranks" in str(error) for error in wrong), wrong
    wrong = join(plan="missing.json")
    assert all("missing.json" in str(error) for error in wrong), wrong


def test_encrypts():
    def join(*wishes, transport="tcp"):
        id = multitree.unique_id()

        def sum_of(rank):
            with multitree.Communicator(rank, 2, id=id, topology="ring:2", algorithm="ring", transport=transport,
                                        join_timeout=20, encrypt=wishes[rank]) as comm:
                return comm.all_reduce(np.arange(1000) + rank).sum()
        return in_threads(2, sum_of)
    assert join(True, True) == join(False, False) == [2 * 499500 + 1000] * 2
    wrong = join(True, False)
    assert all("encryption at rank 0 and none at rank 1" in str(error) for error in wrong), wrong
    wrong = join(True, True, transport="ucx")
    assert all(isinstance(error, multitree.Unsupported) and "ucx does not encrypt" in str(error) for error in wrong), wrong


def test_parts():
    multitree.spawn(rank_programs.parts, 4, timeout=60)


@pytest.mark.parametrize("options", [{}, {"algorithm": "ring"}], ids=["auto", "messages"])
def test_ranks_go_and_come(options, tmp_path):
    results = multitree.spawn(rank_programs.shrunk_and_grown, 3, tmp_path, options, timeout=60, options=options)
    assert sorted(results) == [(0, 3), (1, 3), (2, 3)] and results[1] == (0, 3)
    words, *sizes = multitree.spawn(rank_programs.left_out, 3, tmp_path, timeout=60, options=options)
    assert "left out" in words and sizes == [2, 2]


def test_threads_run_on():
    counted = multitree.spawn(rank_programs.threads, 2, timeout=60)[0]
    assert counted > 20


def test_children_have_to_join_anew():
    multitree.spawn(rank_programs.forked, 2, timeout=60)


@pytest.mark.parametrize("options", [{}, {"algorithm": "ring"}], ids=["auto", "messages"])
def test_interrupts(options):
    first, second = multitree.spawn(rank_programs.interrupted, 2, "call", timeout=60, options=options)
    assert first == "interrupted" and "rank 0" in second and "interrupted" in second
    assert multitree.spawn(rank_programs.interrupted, 2, "wait", timeout=60, options=options) == ["interrupted", "went on"]
    assert multitree.spawn(rank_programs.handled, 2, timeout=60, options=options) == [2, 2]


@pytest.mark.parametrize("call", ["blocking", "started"])
def test_a_rank_is_killed(call, tmp_path, monkeypatch):
    monkeypatch.setattr("multitree.spawning.ECHOES", 20)  # the others are stopped once all of them have told
    with pytest.raises(multitree.TransportError, match="rank 1 was killed by signal 9"):
        multitree.spawn(rank_programs.killed, 3, tmp_path, call, timeout=60)
    for rank in (0, 2):
        words, failure = (tmp_path / f"rank-{rank}").read_text().splitlines()
        assert "rank 1" in words and "rank 1" in failure


def test_a_rank_is_late():
    words = multitree.spawn(rank_programs.late, 2, timeout=60, options={"timeout": 0.5})[0]
    assert "no progress for 500 ms" in words and "all" in words
    assert re.search(r"rank 1 does not answer: .* at rank_programs\.py:\d+", words)
    assert multitree.spawn(rank_programs.awaited_twice, 2, timeout=60)[0] == ("too early", 2)


def test_abort():
    first, second = multitree.spawn(rank_programs.aborted, 2, timeout=60)
    assert "abort" in first and "rank 0" in second


@pytest.mark.parametrize("what, words", [("sizes", "10.*11|11.*10"), ("types", "float.*double|double.*float"),
                                         ("operators", "sum.*max|max.*sum")])
def test_ranks_that_call_different_things(what, words):
    with pytest.raises(multitree.InvalidArgument, match=words) as caught:
        multitree.spawn(rank_programs.differing, 2, what, timeout=60)
    assert caught.value.rank in (0, 1)


LEFT = ("import numpy as np, multitree\n"
        "def work(comm):\n"
        "    part = comm.split(0)\n"
        "    part.all_reduce(np.ones(4))\n"
        "    part.iall_reduce(np.ones(100000))\n"
        "comm = multitree.Communicator()\n"
        "work(comm)\n"
        "{end}\n"
        "print('end')\n")


def run_left(end):
    port = free_port()
    ranks = [subprocess.Popen([sys.executable, "-c", LEFT.format(end=end)],
                              env={**os.environ, **SECRET, **own(rank, port)},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(2)]
    return [(*rank.communicate(timeout=60), rank.returncode) for rank in ranks]


def test_what_is_left_open_is_closed_at_the_end():
    assert run_left("") == [("end\n", "", 0)] * 2
    first, second = run_left("if comm.rank == 0: raise SystemError('mine')\ncomm.barrier()")
    assert first[2] == 1 and "mine" in first[1]
    assert second[2] == 1 and "TransportError" in second[1] and "rank 0" in second[1]
