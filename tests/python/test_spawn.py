# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that a program starts: results, and every way in which they fail."""
import time

import pytest

import multitree
import rank_programs


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_results_come_in_the_order_of_ranks(method):
    assert multitree.spawn(rank_programs.identity, 3, "x", timeout=60, method=method) == [(0, 3, "x"), (1, 3, "x"),
                                                                                         (2, 3, "x")]


def test_what_a_rank_raises_is_raised_here():
    begin = time.monotonic()
    with pytest.raises(ValueError, match="another opinion") as caught:
        multitree.spawn(rank_programs.failing, 3, "raise", timeout=60)
    assert caught.value.rank == 1 and "rank 1 raised" in str(caught.value.__cause__)
    assert "rank_programs.py" in str(caught.value.__cause__) and time.monotonic() - begin < 30


@pytest.mark.parametrize("kind, words", [("exit", "rank 1 ended with exit code 7"),
                                         ("kill", r"rank 1 was killed by signal 9 \(SIGKILL\)")])
def test_a_rank_dies(kind, words):
    with pytest.raises(multitree.TransportError, match=words) as caught:
        multitree.spawn(rank_programs.failing, 3, kind, timeout=60)
    assert caught.value.rank == 1


def test_results_that_cannot_be_sent():
    with pytest.raises(Exception, match="(?i)pickle") as caught:
        multitree.spawn(rank_programs.failing, 2, "lambda", timeout=60)
    assert caught.value.rank == 1


def test_the_deadline():
    begin = time.monotonic()
    with pytest.raises(multitree.Timeout, match="after 3 s no result of ranks 0, 1"):
        multitree.spawn(rank_programs.failing, 2, "hang", timeout=3)
    assert time.monotonic() - begin < 20


def test_mistakes():
    with pytest.raises(multitree.InvalidArgument, match="ranks: expected 1 or more, got 0"):
        multitree.spawn(rank_programs.identity, 0)
    with pytest.raises(multitree.InvalidArgument, match="can be pickled"):
        multitree.spawn(lambda comm: None, 2)
    with pytest.raises(multitree.InvalidArgument, match="timeout: expected seconds above 0"):
        multitree.spawn(rank_programs.identity, 1, 0, timeout=60, options={"timeout": -1})
