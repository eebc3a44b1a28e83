# SPDX-License-Identifier: BSD-3-Clause
"""Functions of arrays as operators of collectives."""
from __future__ import annotations

import importlib
from typing import Any, Callable

import numpy as np

from .errors import InvalidArgument

Function = Callable[["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"], Any]


def _dtype(name: str) -> "np.dtype[Any]":
    return np.dtype(importlib.import_module("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def combining(function: Function) -> Callable[[memoryview, memoryview, str], None]:
    """What the library calls: with the bytes of lower ranks, those here, which become the result, and their type.

    The function gets copies, as it may keep what it is given for longer than the memory is there."""

    def combine(lower: memoryview, here: memoryview, type_name: str) -> None:
        dtype = _dtype(type_name)
        count = len(here) // dtype.itemsize
        result = np.asarray(function(np.frombuffer(lower, dtype).copy(), np.frombuffer(here, dtype).copy()))
        if result.shape != (count,):
            raise InvalidArgument(f"operator: function: expected as many elements as it was given, shape {(count,)}, "
                                  f"got {result.shape}")
        if not np.can_cast(result.dtype, dtype, "same_kind"):
            raise InvalidArgument(f"operator: function: expected elements of {dtype}, got {result.dtype}: convert them")
        np.frombuffer(here, dtype)[...] = result

    return combine


def name_of(function: Function) -> str:
    """In words about it."""
    return str(getattr(function, "__name__", None) or repr(function))
