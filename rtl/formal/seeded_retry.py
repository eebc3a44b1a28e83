# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of links that lose for selftest: (module, configuration, (file, old, new)...)."""

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
        (TX, 'good = word_valid_i && word_i[WordW-1 -: 32] == word_crc', 'good = word_valid_i'),
        (TX, 'rewind = good && nack && nack_round == round_q', 'rewind = good && nack'),
        (TX, 'rewind ? ack : send_q', 'rewind ? ack_q : send_q'),
        (TX, "SeqW'(Depth - 3)", "SeqW'(Depth - 1)"),
        (TX, 'if (good) ack_q <= ack', 'if (good) ack_q <= send_q'),
        (TX, 'round_q <= round_q ^ rewind', 'round_q <= round_q'),
        (TX, "!valid_i && out_q != '0", "!valid_i && 1'b0"),
        (TX, 'again ? mem[send_q[PtrW-1:0]]', 'again ? mem[head_q[PtrW-1:0]]'),
        (TX, 'if (gives[v]) given_q', "if (1'b0) given_q"),
        (TX, "seen = good && 32'(vc) == v ? count", "seen = 32'(vc) == v ? count"),
        (TX, "out_q + OutW'(valid_i) - OutW'(credit_valid_o)", "out_q - OutW'(credit_valid_o)"),
        (RX, 'good = frame_valid_i && frame_i[FrameW-1 -: 32] == frame_crc', 'good = frame_valid_i'),
        (RX, 'counts && follows && !is_empty', 'counts && !is_empty'),
        (RX, 'counts && follows && !is_empty', 'counts && follows'),
        (RX, 'frame_round != round_q || !nack_q', "1'b1"),
        (RX, 'nack = counts ? !follows', "nack = counts ? 1'b0"),
        (RX, 'nack_q || (frame_valid_i && !good)', 'nack_q'),
        (RX, "next_q + SeqW'(valid_o)", "next_q + SeqW'(good)"),
        (RX, "+: CountW] + CountW'(credit_valid_i)", '+: CountW]'),
        (RX, 'else if (answer) turn_q', "else if (1'b0) turn_q"),
        (RX, 'answer = frame_valid_i || credit_valid_i', 'answer = credit_valid_i'),
        (LINK, '.DeadCycles(1024)', '.DeadCycles(2)'),
        (LINK, "`MT_ASSUME(FrameNoiseSeen, frame_noise_i == '0 ||", "`MT_ASSUME(FrameNoiseSeen, 1'b1 ||"),
        (LINK, "`MT_ASSUME(WordNoiseSeen, word_noise_i == '0 ||", "`MT_ASSUME(WordNoiseSeen, 1'b1 ||"),
    ]),
]
