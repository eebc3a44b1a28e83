# SPDX-License-Identifier: BSD-3-Clause
"""Runs a function as several ranks, each a process of its own."""
import datetime
import os
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import multitree_torch  # noqa: F401 (makes the backend known where the package is not installed)

TIMEOUT = datetime.timedelta(seconds=60)


def _rank(rank, function, size, path, backend, arguments, errors):
    try:
        torch.set_num_threads(1)
        dist.init_process_group(backend, store=dist.FileStore(path, size), rank=rank, world_size=size, timeout=TIMEOUT)
        function(rank, size, *arguments)
        if dist.is_initialized():
            dist.destroy_process_group()
        errors.put((rank, None))
    except BaseException:
        errors.put((rank, traceback.format_exc()))
    sys.stdout.flush()


def run(function, size, *arguments, backend="cpu:multitree,cuda:multitree", expected=None):
    """function(rank, size, *arguments) in `size` processes. Raises with the traces of those that failed; ranks that
    are not in `expected` (default: all) may end in any way."""
    context = mp.get_context("spawn")
    errors = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "store")
        processes = [context.Process(target=_rank, args=(rank, function, size, path, backend, arguments, errors))
                     for rank in range(size)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(200)
        late = [rank for rank, process in enumerate(processes) if process.is_alive()]
        for rank in late:
            processes[rank].kill()
        wrong = [f"rank {rank} did not end" for rank in late]
        ended = set()
        while not errors.empty():
            rank, trace = errors.get()
            ended.add(rank)
            if trace and (expected is None or rank in expected):
                wrong.append(f"rank {rank}: {trace}")
        wrong += [f"rank {rank} died: exit code {processes[rank].exitcode}" for rank in (expected or range(size))
                  if rank not in ended and rank not in late]
        if wrong:
            raise AssertionError("\n".join(wrong))
