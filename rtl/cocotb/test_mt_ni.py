# SPDX-License-Identifier: BSD-3-Clause
"""The interface by itself, for who wants to try it: its registers by AXI4-Lite, and a message that it
sends. rtl/cocotb/run runs it."""
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

ID, SHAPE, CONTROL, STATUS, ERROR = 0x00, 0x04, 0x08, 0x0C, 0x10
MODE, RANK, PLACES, SIZE, ARRIVALS, TABLE, ROUTE = 0x18, 0x1C, 0x24, 0x28, 0x30, 0x38, 0x40
GO, CLEAR, ARM = 1, 2, 4
UNIFORM, CHANNEL_0 = 1 << 2, 1 << 8
WORDS = 4  # of the message
# Widths of an entry, as rtl/cocotb/run sets them.
STEP, FLOW, ROUTE_BITS, COUNT = 2, 1, 1, 1


class Alias:
    """The module's register bus by the names that cocotbext-axi expects: without _i and _o."""

    INPUTS = "awvalid awaddr awprot wvalid wdata wstrb bready arvalid araddr arprot rready"
    OUTPUTS = "awready wready bvalid bresp arready rvalid rdata rresp"

    def __init__(self, dut):
        self._name = "s_axil"
        self._log = dut._log
        for names, end in ((self.INPUTS, "i"), (self.OUTPUTS, "o")):
            for name in names.split():
                setattr(self, f"s_axil_{name}", getattr(dut, f"s_axil_{name}_{end}"))


class Registers:
    """Reads and writes one after the other."""

    def __init__(self, dut):
        alias = Alias(dut)
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(alias, "s_axil"), dut.clk_i, dut.rst_ni,
                                    reset_active_level=False)

    async def read(self, address):
        answer = await self.master.read(address, 4)
        return answer.resp, int.from_bytes(answer.data, "little")

    async def write(self, address, value):
        return (await self.master.write(address, value.to_bytes(4, "little"))).resp


async def begin(dut):
    cocotb.start_soon(Clock(dut.clk_i, 2, "ns").start())
    for port in ("valid_i", "flit_i", "credit_valid_i", "credit_vc_i", "credit_over_i",
                 "tx_req_tready_i", "tx_tvalid_i", "tx_tdata_i", "acc_req_tready_i", "acc_tvalid_i",
                 "acc_tdata_i", "stage_req_tready_i", "stage_tvalid_i", "stage_tdata_i",
                 "stage_wr_tready_i", "res_tready_i"):
        getattr(dut, port).value = 0
    dut.rst_ni.value = 0
    registers = Registers(dut)
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)
    return registers


@cocotb.test()
async def registers_answer(dut):
    registers = await begin(dut)
    assert await registers.read(ID) == (AxiResp.OKAY, 0x4D544E31)  # "MTN1"
    assert (await registers.read(SHAPE))[1] & 0xFF == 1  # ports
    assert await registers.write(SIZE, 1234) == AxiResp.OKAY
    assert await registers.read(SIZE) == (AxiResp.OKAY, 1234)
    assert (await registers.read(0xFFC))[0] == AxiResp.SLVERR
    assert await registers.write(ID, 1) == AxiResp.SLVERR


async def memory(dut, asked):
    """Answers each read in the cycle after it was asked, with its address in every byte of a word."""
    due = None
    dut.tx_req_tready_i.value = 1
    dut.mem_idle_i.value = 1
    dut.mem_error_i.value = 0
    while True:
        await RisingEdge(dut.clk_i)
        if dut.tx_req_tvalid_o.value and dut.tx_req_tready_i.value:
            asked.append(int(dut.tx_req_tdata_o.value))
            due = asked[-1]
        if due is not None:
            dut.tx_tvalid_i.value = 1
            dut.tx_tdata_i.value = int.from_bytes(bytes([due & 0xFF] * 16), "little")
            due = None
        elif dut.tx_tready_o.value:
            dut.tx_tvalid_i.value = 0


async def link(dut, flits):
    while True:
        await RisingEdge(dut.clk_i)
        if dut.valid_o.value:
            flits.append(int(dut.flit_o.value))


@cocotb.test()
async def sends_its_table(dut):
    registers = await begin(dut)
    asked, flits = [], []
    cocotb.start_soon(memory(dut, asked))
    cocotb.start_soon(link(dut, flits))
    # One entry: a Reduce of flow 1 that waits for nothing; the parity makes the ones even.
    reduce, flow = 1, 1 << (2 + STEP)
    entry = reduce | flow
    assert bin(entry).count("1") % 2 == 0
    for address, value in ((CONTROL, CLEAR), (MODE, UNIFORM | CHANNEL_0), (RANK, 3), (PLACES, 8),
                           (SIZE, 4 * WORDS), (ARRIVALS, 0), *[(ROUTE, 0)] * 4, (TABLE, entry),
                           (CONTROL, ARM)):
        assert await registers.write(address, value) == AxiResp.OKAY, hex(address)
    await Timer(100, "ns")
    assert await registers.write(CONTROL, GO) == AxiResp.OKAY
    await Timer(200, "ns")
    assert (await registers.read(ERROR))[1] == 0
    assert (await registers.read(STATUS))[1] & 2, "not done"
    # A header that says so many flits, and these; the last one is the tail.
    assert len(flits) == 1 + WORDS, [hex(flit) for flit in flits]
    assert flits[0] >> 137 & 1 and (flits[0] >> 67) & 0xFFFF == WORDS
    assert (flits[0] >> 109) & 0xFF == 3  # from rank 3
    assert [flit >> 136 & 1 for flit in flits] == [0] * WORDS + [1]
    first = 4 * WORDS * 4  # bytes of the chunks before flow 1's
    assert asked == [first + 16 * k for k in range(WORDS)]
    assert [flit & 0xFF for flit in flits[1:]] == [address & 0xFF for address in asked]
