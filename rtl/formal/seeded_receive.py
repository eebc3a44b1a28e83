# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of receive ports for selftest: (proof, configuration, (file, old, new)...)."""

MUTATIONS = [
    ('rx_port_words', 'Mine=2 Lengths=6', [
        ('ni/mt_rx_port.sv', "addr_q <= addr_q + AddrW'(mt_pkg::KeepW)", "addr_q <= addr_q + AddrW'(32)"),
        ('ni/mt_rx_port.sv', 'may_add = order_ok && read_ok', "may_add = 1'b1"),
        ('ni/mt_rx_port.sv', "claim_o = starts && seen.offset == '0", "claim_o = 1'b0"),
        ('ni/mt_rx_port.sv', '(cur_empty_q || next_pos == end_q)', "(cur_empty_q || next_pos == LenW'(1))"),
        ('ni/mt_rx_port.sv', '.ends_i(ends && cur_last_q)', '.ends_i(issues)'),
        ('ni/mt_rx_port.sv', '      pos_q <= next_pos;', '      pos_q <= pos_q;'),
        ('ni/mt_rx_port.sv', 'direct = cur_valid_q && !behind && is_payload', 'direct = cur_valid_q && !behind'),
        ('ni/mt_rx_port.sv', '|| live_word != addr_q[ByteW +: LenW]', '|| live_word == addr_q[ByteW +: LenW]'),
        ('ni/mt_rx_port.sv', 'cur_live_q <= is_header || (for_slot && !cuts)', "cur_live_q <= 1'b0"),
        ('ni/mt_rx_port.sv', 'assign in_turn = taken_i == turn', "assign in_turn = 1'b1"),
        ('ni/mt_rx_slots.sv', "slot_q[slot_idx] <= 1'b0", "slot_q[slot_idx] <= 1'b1"),
        ('ni/mt_rx_slots.sv', '.wr_addr_i(parks_i ? park_idx : slot_idx)', ".wr_addr_i(~park_idx)"),
        ('ni/mt_rx_words.sv', '(!adds || acc_tvalid_i)', "1'b1"),
        ('ni/mt_rx_words.sv', 'unit_b_o = staged ? stage_tdata_i : way_data', 'unit_b_o = way_data'),
        ('ni/mt_rx_words.sv', 'wrote_turn_o <= done.turn', "wrote_turn_o <= '0"),
        ('ni/mt_rx_beside.sv', "addr_q <= addr_q + AddrW'(mt_pkg::KeepW)", "addr_q <= addr_q + AddrW'(32)"),
        ('ni/mt_rx_beside.sv', 'taken_o = !waits && (!stage_wr_tvalid_o || stage_wr_tready_i)', 'taken_o = !waits'),
        ('ni/mt_rx_beside.sv', 'else if (payload_i && taken_o)', 'else if (payload_i)'),
        ('ni/mt_rx_flits.sv', '(payload_o && flit.tail != (left_q == LenW\'(1)))', '(payload_o && flit.tail)'),
    ]),
    ('rx_port_words', 'Mine=53 Lengths=6', [
        ('ni/mt_rx_words.sv', '.in_data_i(addr_i),', ".in_data_i(addr_i + AddrW'(16)),"),
    ]),
]
