# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of links that lose for selftest: (module, configuration, (file, old, new, property that finds it alone)...)."""

TX, RX = 'net/mt_retry_tx.sv', 'net/mt_retry_rx.sv'
CRC, CRC_PROOF = 'prim/mt_crc32c.sv', 'formal/mt_crc32c.svh'
LINK = 'formal/retry_link.sv'
MUTATIONS = [
    ('mt_crc32c', 'Width=9', [
        (CRC, "Poly = 32'h1edc6f41", "Poly = 32'h1edc6f43"),
        (CRC, '~^(data_i & Bits)', '^(data_i & Bits)'),
        (CRC, 'bits_of[i] = rest[which]', 'bits_of[Width-1-i] = rest[which]'),
        (CRC_PROOF, "difference[i-1] ? 32'h1edc6f41", "difference[i-1] ? 32'h00000000"),
    ]),
    ('retry_link', 'Latency=1 Depth=4', [
        (TX, 'good = word_valid_i && word_i[WordW-1 -: 32] == word_crc', 'good = word_valid_i', 'PlacesConserved'),
        (TX, "!valid_i && out_q != '0", "!valid_i && 1'b0", 'EverythingComes'),
        (TX, '.rd_addr_i(send_q[PtrW-1:0])', '.rd_addr_i(head_q[PtrW-1:0])', 'InOrder'),
        (TX, 'if (gives[v]) given_q', "if (1'b0) given_q", 'PlacesConserved'),
        (TX, "seen = good && 32'(vc) == v ? count", "seen = 32'(vc) == v ? count", 'PlacesConserved'),
        (RX, 'good = frame_valid_i && frame_i[FrameW-1 -: 32] == frame_crc', 'good = frame_valid_i', 'NoneIsMade'),
        (RX, 'counts && follows && !is_empty', 'counts && !is_empty', 'InOrder'),
        (RX, 'counts && follows && !is_empty', 'counts && follows', 'NoneIsMade'),
        (RX, 'nack = counts ? !follows', "nack = counts ? 1'b0", 'EverythingComes'),
        (RX, "next_q + SeqW'(valid_o)", "next_q + SeqW'(good)", 'InOrder'),
        (LINK, '.DeadCycles(1024)', '.DeadCycles(2)', 'AliveWhileItComes'),
    ]),
]
