# SPDX-License-Identifier: BSD-3-Clause
"""What torch and DDP say about a group of multitree. DDP's log calls every backend "custom" that is none of torch's own, as its
group is torch's; the group's backend and dist.get_backend() have the name."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import ranks


def names(rank, size, given):
    del rank
    assert dist.get_backend() == given, dist.get_backend()
    assert set(dist.get_backend_config().replace("cpu:", "").replace("cuda:", "").split(",")) == {"multitree"}
    assert dist.group.WORLD._get_backend(torch.device("cpu")).name() == "multitree"
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    for _ in range(2):  # what a bucket takes is measured from the second iteration on
        model(torch.ones(2, 8)).sum().backward()
    data = model._get_ddp_logging_data()
    assert data["backend_name"] in ("custom", "multitree"), data["backend_name"]
    assert data["world_size"] == size and data["module_name"] == "Linear", data
    assert data["bucket_sizes"] == str(4 * (8 * 4 + 4)) and data["num_parameter_tensors"] == 2, data
    assert "has_error" not in data or not data["has_error"], data


def main():
    for given in ("multitree", "cpu:multitree,cuda:multitree"):
        ranks.run(names, 2, given, backend=given)
        print(f"{given}: named as expected", flush=True)


if __name__ == "__main__":
    main()
