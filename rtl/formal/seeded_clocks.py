# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of what crosses clocks for selftest: (module, configuration, (file, old, new, property that finds it alone)...)."""

GRAY, GRAY_SYNC = 'prim/mt_gray.sv', 'prim/mt_gray_sync.sv'
SYNC, RESET = 'prim/mt_sync.sv', 'prim/mt_reset_sync.sv'
FIFO, CROSS = 'prim/mt_async_fifo.sv', 'net/mt_credit_cross.sv'
MUTATIONS = [
    ('mt_gray', 'Width=3', [
        (GRAY, 'gray_o <= next ^ (next >> 1)', 'gray_o <= next'),
        (GRAY, 'gray_o <= next ^ (next >> 1)', 'gray_o <= next', 'OldOrNew'),
        (GRAY, 'gray_o <= next ^ (next >> 1)', 'gray_o <= next', 'OneBitAtATime'),
        (GRAY, "value_o + Width'(count_i)", "value_o - Width'(count_i)"),
        (GRAY, "value_o <= '0", "value_o <= '1"),
    ]),
    ('mt_reset_sync', 'Stages=2', [
        (RESET, ' or negedge rst_ni', ''),
        (RESET, "{stage_q[Stages-2:0], 1'b1}", "{1'b1, stage_q[Stages-2:0]}"),
        (RESET, "{stage_q[Stages-2:0], 1'b1}", "'1"),
        (RESET, "{stage_q[Stages-2:0], 1'b1}", "{stage_q[Stages-2:0], stage_q[0]}"),
        (RESET, 'rst_no = stage_q[Stages-1]', 'rst_no = stage_q[Stages-1] && clk_i'),
        (RESET, 'rst_no = stage_q[Stages-1]', 'rst_no = stage_q[Stages-2] && !clk_i', 'WithTheClock'),
    ]),
    ('async_fifo', 'Depth=2', [
        (GRAY, 'gray_o <= next ^ (next >> 1)', 'gray_o <= next', 'InOrder'),
        (GRAY_SYNC, '^gray[Width-1:b]', 'gray[b]'),
        (FIFO, "in_ready_o = in_level_o != LevelW'(Depth)", "in_ready_o = 1'b1", 'NoOverflow'),
        (FIFO, "in_ready_o = in_level_o != LevelW'(Depth)", "in_ready_o = 1'b1", 'LevelInRange'),
        (FIFO, "in_ready_o = in_level_o != LevelW'(Depth)", "in_ready_o = 1'b1", 'InOrder'),
        (FIFO, 'pop = read != write_seen &&', 'pop =', 'NoneIsMade'),
        (FIFO, '&& (!out_valid_o || out_ready_i)', "&& 1'b1", 'InOrder'),
        (FIFO, 'pop || (out_valid_o && !out_ready_i)', 'pop', 'WordsComeOut'),
        (FIFO, '.gray_i(read_gray)', ".gray_i('0)", 'PlacesComeBack'),
        (FIFO, '.gray_i(write_gray)', ".gray_i('0)", 'WordsComeOut'),
        (FIFO, 'in_level_o = write - read_seen', "in_level_o = write - read_seen - LevelW'(1)", 'LevelIsNoLess'),
        (FIFO, '.wr_addr_i(write[PtrW-1:0])', ".wr_addr_i('0)", 'InOrder'),
        (FIFO, '.rd_addr_i(read[PtrW-1:0])', ".rd_addr_i('0)", 'InOrder'),
    ]),
    ('credit_cross', 'NumVc=2', [
        (GRAY, 'gray_o <= next ^ (next >> 1)', 'gray_o <= next', 'NoneIsMade'),
        (CROSS, "in_valid_i && 32'(in_vc_i) == v", 'in_valid_i', 'NoneIsMade'),
        (CROSS, "given_q + CountW'(gives[v])", 'seen', 'AllCome'),
        (CROSS, "owed != '0;", "owed[0];", 'AllCome'),
        (CROSS, '.gray_i(gray)', ".gray_i('0)", 'AllCome'),
    ]),
]
