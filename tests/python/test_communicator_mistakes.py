# SPDX-License-Identifier: BSD-3-Clause
"""Natural mistakes with communicators, each with its message: what was expected, what was found, what to do."""
import ctypes

import numpy as np
import pytest

import multitree
from multitree import InvalidArgument, InvalidUsage
from rank_programs import OnlyDlpack

ONES = np.ones(4, "f4")


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class OnAnotherDevice:
    """Four floats of which DLPack says that they are on a device of type 10, ROCm."""

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
                    ("deleter", ctypes.c_void_p)]

    def __init__(self):
        self.shape = (ctypes.c_int64 * 1)(4)
        self.tensor = self.Tensor(64, 10, 0, 1, 2, 32, 1, self.shape, None, 0, None, None)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return 10, 0


ARRAYS = [
    (lambda c: c.all_reduce(np.ones((4, 4))[:, ::2]), r"contiguous in C's order, got shape \(4, 2\) with strides \(32, 16\)"
     r": pass np.ascontiguousarray\(array\)"),
    (lambda c: c.all_reduce(ONES, np.ones((2, 4), "f4")[:, 1]), "recv: .*use one that is, and copy the result back"),
    (lambda c: c.all_reduce(ONES.astype(">f4")), r"this machine's order of bytes, got dtype dtype\('>f4'\).*newbyteorder"),
    (lambda c: c.all_reduce(read_only(ONES), read_only(ONES)), "recv: expected an array that can be written, got a read-only"),
    (lambda c: c.all_reduce(np.frombuffer(b"1" * 17, "u1")[1:].view("f4")), "aligned to its elements, got float32"),
    (lambda c: c.all_reduce([1.0, 2.0]), r"send: expected an array of NumPy.*got list: pass np.asarray\(\) of it"),
    (lambda c: c.all_reduce(3.5), "got float: pass np.asarray"),
    (lambda c: c.all_reduce(None), "send: expected an array, got None"),
    (lambda c: c.all_reduce(ONES.astype("c8")), r"got complex64: pass array.view\(\) as floats of half the size"),
    (lambda c: c.all_reduce(np.array(["a"])), "got <U1: convert it"),
    (lambda c: c.all_reduce(ONES, np.ones(5, "f4")), "recv: expected 4 elements, as 4 are sent, got 5"),
    (lambda c: c.all_reduce(ONES, np.ones(4)), "recv: expected the type of send, float32, got float64: convert one"),
    (lambda c: c.all_reduce(ONES, op="add"), "op: expected one of sum, prod, max, min, avg, .*, got 'add'"),
    (lambda c: c.all_reduce(ONES, op=np.add), "op: expected one of sum, .*, got <ufunc 'add'>"),
    (lambda c: c.operator("sum"), r"operator: expected one of exact, wire, factor and function; without them op=.sum. does it"),
    (lambda c: c.operator(exact=True, wire="int8"), "operator: expected one of exact, wire, factor and function"),
    (lambda c: c.operator("max", exact=True), "operator: base: expected sum or avg for exact ones, got max"),
    (lambda c: c.operator("bit-or", wire="int8"), "base: expected sum, prod, max, min or avg for floats on the wire, got bit-or"),
    (lambda c: c.operator(exact="bits"), "operator: exact: expected one of elements, blocks, got 'bits'"),
    (lambda c: c.operator(wire="float8"), "operator: wire: expected one of float16, bfloat16, int8, got 'float8'"),
    (lambda c: c.operator(factor=0.5), "operator: factor: expected an array of NumPy.*got float"),
    (lambda c: c.operator(factor=ONES), r"factor: expected one number in an array .*got 4 of float32"),
    (lambda c: c.operator("max", factor=np.float32(1)), "operator: base: expected sum with a factor, got max"),
    (lambda c: c.operator(function=3), "operator: function: expected one of two arrays, as np.logaddexp, got 3"),
    (lambda c: c.operator("max", function=np.maximum), "operator: function: expected nothing else but commutative"),
    (lambda c: c.operator(function=np.maximum, exact=True), "operator: function: expected nothing else but commutative"),
    (lambda c: c.all_reduce(ONES.astype("f8"), op=c.operator(factor=np.float32(1))), "was made for float, the call is of double"),
    (lambda c: c.all_reduce(ONES, op=c.split(0).operator(exact=True)), "op: expected an operator of this communicator, got one of"),
    (lambda c: c.all_reduce(ONES > 0, op=c.operator(exact=True)), r"one of names for an array of bool, got Operator\(sum, exact"),
    (lambda c: c.all_reduce(ONES > 0), "gives truth values for an array of bool, as logical-or"),
    (lambda c: c.all_reduce(ONES, op="bit-and"), "(?i)integer"),
    (lambda c: c.all_reduce(OnAnotherDevice(), ONES), "host or of a CUDA device, got DLPack's device 10: copy it to the host"),
    (lambda c: c.all_reduce(OnlyDlpack(ONES)), "recv: expected an array for the result beside one of type .*OnlyDlpack"),
    (lambda c: c.all_reduce(OnlyDlpack(np.ones(8, "f4")[::2]), ONES), r"contiguous in C's order, got shape \(4\) with strides \(2\)"),
    (lambda c: c.all_reduce(ONES, OnlyDlpack(read_only(ONES))), "recv: .*(can be written|DLPack can hand over)"),
    (lambda c: c.broadcast(ONES, root=1), "broadcast: root: expected a rank, 0 to 0, got 1"),
    (lambda c: c.all_gatherv(ONES, [3]), "send: expected 3 elements, as the counts say of this rank, got 4"),
    (lambda c: c.all_gatherv(ONES, [4, 4]), "counts: expected 1 whole numbers of 0 or more, one for each rank, got .4, 4."),
    (lambda c: c.all_gatherv(ONES, [4.0]), "counts: expected 1 whole numbers"),
    (lambda c: c.all_gatherv(ONES, [4], np.ones(6, "f4"), displs=[3]), "recv: expected 7 elements or more, where the last share"),
    (lambda c: c.iall_reduce(ONES).wait(-1), "timeout: expected seconds, 0 or more, or None, got -1.0"),
    (lambda c: c.split(-3), "color: expected 0 or more, or None for no part, got -3"),
    (lambda c: c.shrink([-1]), "without: expected ranks, got -1"),
    (lambda c: c.shrink(["0"]), "without: expected ranks, got '0'"),
    (lambda c: c.shrink([1]), "expected other ranks than 0, below 1, found 1"),
    (lambda c: c.grow(2), "expected an id at one rank of the job that grows or more, found none"),
    (lambda c: c.grow(0, id=multitree.unique_id()), "nranks: expected the 1 of comm or more, found 0"),
    (lambda c: c.grow(2, id=multitree.unique_id(), rank=2), "rank: expected one below nranks, 2, .*, found 2"),
    (lambda c: c.grow(2, id=multitree.unique_id(), rank=-1), "grow: rank: expected a whole number, 0 or more, got -1"),
    (lambda c: c.grow(2.0), "grow: size: expected a whole number, 0 or more, got 2.0"),
    (lambda c: c.grow(2, id=b"short"), r"128 bytes of multitree.unique_id\(\), got 5"),
]


@pytest.fixture(scope="module")
def alone():
    with multitree.Communicator(0, 1) as comm:
        yield comm


@pytest.mark.parametrize("mistake, words", ARRAYS, ids=[row[1][:40] for row in ARRAYS])
def test_of_calls(alone, mistake, words):
    with pytest.raises(InvalidArgument, match=words):
        mistake(alone)
    assert alone.all_reduce(ONES).tolist() == [1, 1, 1, 1]


JOINING = [
    (dict(rank=0), "a size of 1 or more and a rank below it, got rank 0 of None"),
    (dict(rank=2, size=2), "got rank 2 of 2"),
    (dict(rank=0, size=2), "expected address or id with rank and size, got neither"),
    (dict(address="127.0.0.1:4000"), "expected rank and size with address or id"),
    (dict(rank=0, size=2, address="10.0.0.1:4000"), "could take a rank's place: pass token="),
    (dict(rank=0, size=2, address="localhost"), "expected 'host:port' as '127.0.0.1:29500', got 'localhost'"),
    (dict(rank=0, size=2, id=b"short"), r"128 bytes of multitree.unique_id\(\), got 5"),
    (dict(rank=0, size=1, timeout="1s"), "timeout: expected seconds, got '1s'"),
    (dict(rank=0, size=1, join_timeout=0), "join_timeout: expected seconds above 0"),
    (dict(rank=0, size=1, algorithm="rings", topology="ring:1"), "did you mean"),
    (dict(rank=0, size=1, segment="1 big"), "1 big"),
    (dict(rank=0, size=1, topology="ring:1", plan="plan.json"), "expected topology or planFile"),
]


@pytest.mark.parametrize("arguments, words", JOINING, ids=[row[1][:40] for row in JOINING])
def test_of_joining(arguments, words):
    with pytest.raises(InvalidArgument, match=words):
        multitree.Communicator(**arguments)


def test_topologies_that_no_spec_names():
    networkx = pytest.importorskip("networkx")
    network = multitree.topology(networkx.cycle_graph(4))
    with pytest.raises(InvalidArgument, match="a Topology made from one.*pass a plan for it"):
        multitree.Communicator(0, 1, topology=network)


def test_of_multiples():
    with pytest.raises(InvalidArgument, match=r"first dimension that is a multiple of the 2 ranks, got shape \(3,\): pad it") as one:
        multitree.spawn(scattered, 2, 3, timeout=60)
    with pytest.raises(InvalidArgument, match="recv: expected an array for the result at ranks other than the root, got None"):
        multitree.spawn(scattered, 2, 4, timeout=60)
    assert one.value.rank == 0


def scattered(comm, count):
    if comm.rank == 0:
        comm.scatter(np.ones(count))
    else:
        comm.scatter(None, None if count == 4 else np.ones(2))


def test_after_the_end():
    comm = multitree.Communicator(0, 1)
    request = comm.iall_reduce(ONES)
    comm.close()
    assert request.wait().tolist() == ONES.tolist()
    for call in (lambda: comm.all_reduce(ONES), comm.barrier, lambda: comm.split(0), comm.shrink, lambda: comm.grow(2),
                 comm.failure):
        with pytest.raises(InvalidUsage, match="the communicator is closed"):
            call()
    comm.close()
    comm.abort()
    with pytest.raises(ZeroDivisionError):
        with multitree.Communicator(0, 1) as comm:
            1 / 0
    assert comm.closed


def test_everything_has_words():
    for name in dir(multitree.Communicator):
        if not name.startswith("_"):
            assert getattr(multitree.Communicator, name).__doc__, name
    assert "Returns recv" in multitree.Communicator.all_reduce.__doc__
