#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A rank that was started from outside, and sums up by the C library with settings that name nothing.

usage: library_rank.py LIBRARY
"""
import ctypes
import sys

COUNT, INT32, SUM = 200_000, 2, 0


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.mtGetLastError.restype = ctypes.c_char_p
    comm, ranks, rank = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()

    def check(result):
        if result != 0:
            sys.exit(f"result {result}: {library.mtGetLastError(None).decode()}")

    check(library.mtCommInitFromEnvironment(ctypes.byref(comm), None))
    check(library.mtCommCount(comm, ctypes.byref(ranks)))
    check(library.mtCommUserRank(comm, ctypes.byref(rank)))
    data = (ctypes.c_int32 * COUNT)(*([rank.value + 1] * COUNT))
    check(library.mtAllReduce(data, data, ctypes.c_size_t(COUNT), INT32, SUM, comm, None))
    want = ranks.value * (ranks.value + 1) // 2
    if any(found != want for found in data):
        sys.exit(f"rank {rank.value}: expected {want} everywhere")
    check(library.mtCommDestroy(comm))


if __name__ == "__main__":
    main()
