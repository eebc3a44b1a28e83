# SPDX-License-Identifier: BSD-3-Clause
"""Training in rounds: each rank steps for itself, and once in a round all agree on parameters."""
import torch
import torch.distributed as dist

__all__ = ["CoCoD", "DiLoCo"]


class _Rounds:
    """From the parameters that they agreed on last all ranks go by the mean of what each has changed since.

    model: alike on all ranks, not DDP; optimizer: of its parameters; every: steps of a round; beside: the mean is made
    while the next round goes on, and what this one changes is kept; rate, momentum: of the step by the mean (Nesterov).
    """

    def __init__(self, model, optimizer, every, group, beside, rate, momentum):
        if every < 1:
            raise ValueError(f"every: expected 1 step or more in a round, found {every}")
        self.optimizer = optimizer
        self._every, self._beside, self._rate, self._momentum = every, beside, rate, momentum
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._group = dist.new_group(dist.get_process_group_ranks(group or dist.group.WORLD))
        self._agreed = self._flat()
        self._velocity = torch.zeros_like(self._agreed)
        self._left = self._sum = self._work = None
        self._steps = 0

    @torch.no_grad()
    def step(self):
        """The optimizer's step, and at the end of a round what the ranks tell each other."""
        with torch.enable_grad():
            self.optimizer.step()
        self._steps += 1
        if self._steps % self._every:
            return
        self._take()
        self._offer()
        if not self._beside:
            self._take()

    def zero_grad(self, set_to_none=True):
        self.optimizer.zero_grad(set_to_none)

    @torch.no_grad()
    def finish(self):
        """All ranks have the same parameters. Collective, at the end."""
        self._take()
        self._offer()
        self._take()

    def _flat(self):
        return torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])

    def _offer(self):
        self._left = self._flat()
        self._sum = self._agreed - self._left
        self._work = dist.all_reduce(self._sum, group=self._group, async_op=True)

    def _take(self):
        if self._work is None:
            return
        self._work.wait()
        self._work = None
        mean = self._sum.div_(dist.get_world_size(self._group))
        self._velocity.mul_(self._momentum).add_(mean)
        self._agreed.sub_(mean.add_(self._velocity, alpha=self._momentum), alpha=self._rate)
        now = self._agreed + (self._flat() - self._left) if self._beside else self._agreed
        at = 0
        for parameter in self._parameters:
            parameter.copy_(now[at:at + parameter.numel()].view(parameter.shape))
            at += parameter.numel()


class CoCoD(_Rounds):
    """CoCoD-SGD: means of the parameters of all ranks, made beside the next round.

        optimizer = CoCoD(model, torch.optim.SGD(model.parameters(), lr=0.1), every=5)
        ...                                                      # backward(), optimizer.step(), as ever
        optimizer.finish()
    """

    def __init__(self, model, optimizer, every=5, group=None):
        super().__init__(model, optimizer, every, group, beside=True, rate=1.0, momentum=0.0)


class DiLoCo(_Rounds):
    """DiLoCo: an outer step with Nesterov's momentum by the mean of what the ranks have changed in a round.

        optimizer = DiLoCo(model, torch.optim.AdamW(model.parameters()), every=100)
        ...                                                      # backward(), optimizer.step(), as ever
        optimizer.finish()
    """

    def __init__(self, model, optimizer, every=100, group=None, beside=False, rate=0.7, momentum=0.9):
        super().__init__(model, optimizer, every, group, beside, rate, momentum)
