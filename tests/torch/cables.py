# SPDX-License-Identifier: BSD-3-Clause
"""DDP on an emulated torus while cables go out and in: the losses are those of an undisturbed run, bit for bit. First
with the schedule that stays; then with exact sums and schedules that change, against another algorithm's.

With RANK it is a rank of such a job: a program of PyTorch that knows nothing of cables. Else it starts two of them.
usage: cables.py [STEPS [SEED]]
"""
import os
import pathlib
import random
import re
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import multitree_torch  # noqa: F401 (makes the backend known where the package is not installed)

NETLAB = pathlib.Path(__file__).resolve().parents[1] / "netlab"
OTHER_WAY, OTHER_SCHEDULE = "going on with rank", r"from call #\d+ on without link"
PAUSE = 0.02  # seconds of computing a step, so that cables are cut at any moment of one


def train(steps):
    torch.set_num_threads(1)
    dist.init_process_group("multitree")
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 256), nn.Tanh(), nn.Linear(256, 8))
    network = DistributedDataParallel(network, bucket_cap_mb=0.2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(dist.get_rank())
    if dist.get_rank() == 0:
        print("ready", flush=True)
    for _ in range(steps):
        data = torch.randn(16, 64, generator=generator)
        loss = ((network(data) - data[:, :8]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(PAUSE)
        total = loss.detach().clone()
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"loss {total.item().hex()}", flush=True)
    dist.destroy_process_group()


def losses(lab, steps, faults, seed, sign, **settings):
    """What rank 0 prints, and how often `sign` is among the words of the job. settings: of the environment."""
    from cuts import DEADLINE, cut_and_mend
    lab.env.update(settings)
    job = lab.start(sys.executable, os.path.abspath(__file__), str(steps), style="torchrun")
    cut_and_mend(lab, random.Random(seed), faults, **({} if sign == OTHER_WAY else dict(cut=(0.8, 2), mended=(0.5, 2))))
    code = job.end(DEADLINE)
    found = [float.fromhex(text) for text in re.findall(r"loss (\S+)", job.text)]
    if code != 0 or len(found) != steps:
        sys.exit(f"seed {seed}, {faults} faults: exit code {code}, {len(found)} of {steps} losses\n{job.text}")
    return found, len(re.findall(sign, job.text))


def compare(calm, disturbed, changes, what):
    if changes == 0 or calm != disturbed or not calm[-1] < calm[0]:
        first = next((i for i, (a, b) in enumerate(zip(calm, disturbed)) if a != b), None)
        sys.exit(f"{changes} {what}; losses from {calm[0]} to {calm[-1]}, first difference at {first}")
    print(f"{len(calm)} steps, {changes} {what}: the losses are bit-equal", flush=True)


def main(steps=300, seed=1):
    sys.path.insert(0, str(NETLAB))
    from cuts import NETWORK, Lab
    from lab_test import SKIPPED, can_emulate
    reason = can_emulate()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    env = dict(os.environ, MULTITREE=os.environ["MULTITREE_PROGRAM"], MULTITREE_TORCH_TOPOLOGY=NETWORK,
               MULTITREE_TORCH_ALGORITHM="multitree", MULTITREE_ON_LINK_FAILURE="continue", MULTITREE_LINK_TIMEOUT="0.5",
               MULTITREE_TOKEN="of this test")
    script = str(NETLAB.parents[1] / "scripts" / "netlab")
    with Lab(script, env, "--control", "--rate", "1gbit") as lab:
        calm, _ = losses(lab, steps, 0, seed, OTHER_WAY)
        compare(calm, *losses(lab, steps, max(steps // 60, 1), seed, OTHER_WAY), "ends went another way")
        calm, _ = losses(lab, steps, 0, seed, OTHER_SCHEDULE, MULTITREE_TORCH_SUMS="exact", MULTITREE_TORCH_ALGORITHM="ring")
        disturbed = losses(lab, steps, max(steps // 100, 1), seed, OTHER_SCHEDULE, MULTITREE_ON_LINK_FAILURE="adapt",
                           MULTITREE_TORCH_ALGORITHM="multitree")
        compare(calm, *disturbed, "times other schedules")


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(sys.argv[1]))
    else:
        main(*[int(argument) for argument in sys.argv[1:]])
