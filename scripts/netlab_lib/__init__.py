# SPDX-License-Identifier: BSD-3-Clause
"""An emulated cluster: see docs/runtime.md."""


class LabError(Exception):
    """What a user can be told in one line."""
