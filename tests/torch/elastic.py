# SPDX-License-Identifier: BSD-3-Clause
"""torchrun starts all ranks again after one was killed: they meet anew, though the store is the old one.

Without RANK this starts torchrun; with it, it is a rank of the job.
"""
import os
import signal
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist

import multitree_torch  # noqa: F401 (makes the backend known where the package is not installed)

RANKS, RESTARTS = 3, 2


def one_rank(folder):
    start = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    # What a launcher that keeps the store does: what was said in an earlier start is in it.
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("multitree", store=dist.PrefixStore("job", store), rank=rank, world_size=size)
    total = torch.full((100000,), float(rank + start))
    dist.all_reduce(total)
    assert total[0] == size * (size - 1) / 2 + size * start, total[0]
    if start < RESTARTS and rank == start:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(total)
    except Exception as error:
        assert str(start) in str(error), error  # the others hear who died
        sys.exit(1)
    with open(os.path.join(folder, f"{rank}"), "w", encoding="utf-8") as file:
        file.write(f"{start} {total[0].item()}")
    dist.destroy_process_group()


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS), "--max-restarts",
                   str(RESTARTS), "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", __file__, folder]
        done = subprocess.run(command, check=False, timeout=240, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        assert done.returncode == 0, done.stdout
        expected = f"{RESTARTS} {RANKS * (RANKS * (RANKS - 1) / 2 + RANKS * RESTARTS)}"
        for rank in range(RANKS):
            with open(os.path.join(folder, str(rank)), encoding="utf-8") as file:
                found = file.read()
            assert found == expected, f"rank {rank}: expected {expected!r}, found {found!r}"
        print(f"{RANKS} ranks, {RESTARTS} killed and started again: as expected")


if __name__ == "__main__":
    one_rank(sys.argv[1]) if "RANK" in os.environ else main()
