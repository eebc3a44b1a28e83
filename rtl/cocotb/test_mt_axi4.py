# SPDX-License-Identifier: BSD-3-Clause
"""Memory behind AXI4 with the RAM of cocotbext-axi: words that a port writes are in it, and are read as they were
written, on whole words of memory and beside them. rtl/cocotb/run runs it."""
import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiRam

BUFFER, BESIDE, WORD = 0x1FC0, 0x8000, 16
CLEARING = 16  # cycles after reset, with the HashW of rtl/cocotb/run
# Channels of AXI4, as the module has them: what the master says, what the memory does.
SAYS = ("awvalid awid awaddr awlen awsize awburst awlock awcache awprot wvalid wdata wstrb wlast bready arvalid arid "
        "araddr arlen arsize arburst arlock arcache arprot rready")
HEARS = "awready wready bvalid bid bresp arready rvalid rid rdata rresp rlast"


class Alias:
    """The module's AXI4 port by the names that cocotbext-axi expects: without _i and _o."""

    def __init__(self, dut):
        self._name = "m_axi"
        self._log = dut._log
        for names, end in ((SAYS, "o"), (HEARS, "i")):
            for name in names.split():
                setattr(self, f"m_axi_{name}", getattr(dut, f"m_axi_{name}_{end}"))


async def begin(dut):
    cocotb.start_soon(Clock(dut.clk_i, 2, "ns").start())
    for port in ("tx_req_tvalid_i", "tx_tready_i", "acc_req_tvalid_i", "acc_tready_i", "stage_req_tvalid_i",
                 "stage_tready_i", "stage_wr_tvalid_i", "res_tvalid_i"):
        getattr(dut, port).value = 0
    dut.buffer_i.value = BUFFER
    dut.beside_i.value = BESIDE
    dut.rst_ni.value = 0
    ram = AxiRam(AxiBus.from_prefix(Alias(dut), "m_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False,
                 size=2**17)
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for _ in range(CLEARING):
        await RisingEdge(dut.clk_i)
    return ram


def pause(rng):
    """Cycles in which a channel stands still."""
    return (rng.random() < 0.3 for _ in itertools.count())


async def accepted(dut, valid, ready):
    """Offers until it is accepted."""
    valid.value = 1
    while True:
        await ReadOnly()
        done = ready.value == 1
        await RisingEdge(dut.clk_i)
        if done:
            break
    valid.value = 0


async def write(dut, first, words):
    for number, word in enumerate(words):
        dut.res_taddr_i.value = first + WORD * number
        dut.res_tkeep_i.value = 0xFFFF
        dut.res_tdata_i.value = int.from_bytes(word, "little")
        await accepted(dut, dut.res_tvalid_i, dut.res_tready_o)


async def ask(dut, first, count):
    for number in range(count):
        dut.tx_req_tdata_i.value = first + WORD * number
        await accepted(dut, dut.tx_req_tvalid_i, dut.tx_req_tready_o)


async def read(dut, first, count):
    cocotb.start_soon(ask(dut, first, count))
    words = []
    dut.tx_tready_i.value = 1
    while len(words) < count:
        await ReadOnly()
        if dut.tx_tvalid_o.value == 1:
            words.append(int(dut.tx_tdata_o.value).to_bytes(WORD, "little"))
        await RisingEdge(dut.clk_i)
    dut.tx_tready_i.value = 0
    return words


@cocotb.test(timeout_time=200, timeout_unit="us")
async def words_are_read_as_they_were_written(dut):
    rng = random.Random(1)
    ram = await begin(dut)
    for channel in (ram.read_if.ar_channel, ram.read_if.r_channel, ram.write_if.aw_channel, ram.write_if.w_channel,
                    ram.write_if.b_channel):
        channel.set_pause_generator(pause(rng))
    # Across a page of 4 KiB, on whole words and beside them.
    for first in (0, 4, 10):
        words = [rng.randbytes(WORD) for _ in range(40)]
        await write(dut, first, words)
        # At once: reads wait for what is being written.
        assert await read(dut, first, len(words)) == words
        while dut.mem_idle_o.value == 0:
            await RisingEdge(dut.clk_i)
        assert ram.read(BUFFER + first, WORD * len(words)) == b"".join(words)
    assert dut.mem_error_o.value == 0
