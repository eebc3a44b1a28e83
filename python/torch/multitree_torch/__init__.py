# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over multitree: torch.distributed.init_process_group("cpu:multitree,cuda:multitree")."""
import atexit

import torch
import torch.distributed as dist

from multitree_torch import _c

__all__ = ["Options", "device", "empty", "register"]

Options = _c.Options

# How long a process that ends waits for the other ranks of groups that it has left, in milliseconds.
_LAST_WAIT = 5000


def _create(given, options):
    milliseconds = given.timeout
    return _c.create(given.store, given.group_rank, given.group_size, milliseconds, options)


def register():
    """Makes the backend "multitree" known to torch; importing this module does it as well."""
    if not hasattr(dist.Backend, "MULTITREE"):
        dist.Backend.register_backend("multitree", _create, extended_api=True, devices=["cpu", "cuda"])


def empty(*shape, dtype=None, group=None):
    """A tensor of zeros in memory that the ranks of this host share, which collectives on it read and write in
    place. Collective: all ranks of `group` call it alike.

    shape: lengths, or one sequence of them; dtype: as torch.empty(); group: the default one if None.
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    group = group or dist.group.WORLD
    if group is None:
        raise ValueError("empty: expected a process group, found none; call init_process_group() first")
    backend = group._get_backend(torch.device("cpu"))
    return _c.empty(backend, list(shape), dtype or torch.get_default_dtype())


def device(group=None):
    """The GPU whose memory the library reads and writes itself in this group (default: the default one): known after
    the first collective on its tensors. None before, and where not all ranks' libraries have found their CUDA part:
    then tensors of CUDA go through host memory."""
    group = group or dist.group.WORLD
    if group is None:
        raise ValueError("device: expected a process group, found none; call init_process_group() first")
    return _c.device(group._get_backend(torch.device("cuda")))


atexit.register(_c.wait_for_closed, _LAST_WAIT)
register()
