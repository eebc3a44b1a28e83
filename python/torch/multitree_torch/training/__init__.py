# SPDX-License-Identifier: BSD-3-Clause
"""What `multitree train` plans, for PyTorch programs: profile a model, plan, and train by the plan."""
from multitree_torch.training.planned import PlannedOptimizer, PlanState, plan_hook
from multitree_torch.training.plans import Plan, PlanError
from multitree_torch.training.profile import Profile
from multitree_torch.training.rounds import CoCoD, DiLoCo

__all__ = ["CoCoD", "DiLoCo", "Plan", "PlanError", "PlanState", "PlannedOptimizer", "Profile", "plan_hook"]
