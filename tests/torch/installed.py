# SPDX-License-Identifier: BSD-3-Clause
"""torchrun on emulated desks without a switch, whose cluster file is installed where the library looks by itself: a program
that names nothing but the backend trains over all cables. A file that MULTITREE_CLUSTER names does the same.

With RANK it is a rank of such a job, and imports nothing of this project: torch finds the backend by its entry point. Else it
starts torchrun on each desk.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

TESTS = pathlib.Path(__file__).resolve().parents[1]
PORT = 29500
STEPS = 3
DEADLINE = 300  # seconds for a job: six interpreters import torch, maybe on two busy processors
LEAST = STEPS * (64 << 10)  # bytes over each cable and direction: the gradients alone are 512 KiB a step


def train():
    torch.set_num_threads(1)
    dist.init_process_group(backend="multitree")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(256, 512))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(8, 256, generator=generator)).square().mean().backward()
        optimizer.step()
    mine = model.module.weight.detach()
    of_all = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(of_all, mine)
    assert all(torch.equal(mine, other) for other in of_all), "parameters differ"
    total = torch.tensor([float(rank)])
    dist.all_reduce(total)
    assert total.item() == size * (size - 1) / 2, total
    if rank == 0:
        print(f"trained on {size} ranks", flush=True)
    dist.destroy_process_group()


def launch(lab, name, words, **settings):
    """Runs torchrun on each desk. Checks that the library says in these words where its cables are from, and what they carry."""
    from discover_test import links_of
    from lab_test import expect
    before = links_of(lab, name)
    torchrun = (f"exec {sys.executable} -m torch.distributed.run --nnodes $WORLD_SIZE --node-rank $RANK --nproc-per-node 1 "
                f"--master-addr $MASTER_ADDR --master-port {PORT} {os.path.abspath(__file__)}")
    environment = dict(lab.environment, MULTITREE_LOG="info", OMP_NUM_THREADS="1", **settings)
    done = subprocess.run([lab.script, "run", name, "--style", "torchrun", "--deadline", str(DEADLINE), "--", "sh", "-c", torchrun],
                          env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=DEADLINE + 30, check=False)
    expect(done.returncode == 0 and "trained on 3 ranks" in done.stdout, f"exit code {done.returncode}\n{done.stdout}")
    expect(words in done.stdout, done.stdout)
    carried = {pair: after - before[pair] for pair, after in links_of(lab, name).items()}
    expect(len(carried) == 6 and all(count > LEAST for count in carried.values()), f"{carried}\n{done.stdout}")


def main():
    sys.path[:0] = [str(TESTS / "netlab")]
    from discover_test import BARE, Desks, without_ipv6
    from lab_test import SKIPPED, Netlab, Up, can_emulate
    reason = can_emulate() or without_ipv6()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    os.environ.pop("MULTITREE_CLUSTER", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        netlab = Netlab(str(TESTS.parent / "scripts" / "netlab"), os.environ["MULTITREE_PROGRAM"])
        with Up(netlab, "ring:3", *BARE) as name:
            file = os.path.join(folder, "multitree", "cluster.json")
            Desks(netlab, name, ["n0", "n1", "n2"]).discover("--install")
            launch(netlab, name, f"the network is that of {file}")
            print("torchrun with an installed cluster file: trained over all cables", flush=True)
            named = os.path.join(folder, "desks.json")
            os.rename(file, named)
            launch(netlab, name, "transport tcp: MULTITREE_CLUSTER names cables between hosts", MULTITREE_CLUSTER=named)
            print("torchrun with MULTITREE_CLUSTER: trained over all cables", flush=True)


if __name__ == "__main__":
    train() if "RANK" in os.environ else main()
