# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of networks' registers for selftest: (module, configuration, (file, old, new)...)."""

AXIL = 'net/mt_net_axil.sv'
PROOF = 'formal/mt_net_axil.svh'
MUTATIONS = [
    ('mt_net_axil', 'NumRanks=3 CreditW=3', [
        (AXIL, 's_axil_wready_o = write', "s_axil_wready_o = 1'b1"),
        (AXIL, '12 +: RankW] == RankW\'(r);\n    assign read_from', '12 +: RankW] >= RankW\'(r);\n    assign read_from'),
        (AXIL, 'm_wvalid_o <= write ? write_to', 'm_wvalid_o <= s_axil_wvalid_i ? write_to'),
        (AXIL, 'm_wstrb_o <= s_axil_wstrb_i', "m_wstrb_o <= '1"),
        (AXIL, "open_q != 3'(Most)", "open_q <= 3'(Most)"),
        (AXIL, "open_q != 3'(Most)", "open_q < 3'(Most - 1)"),
        (AXIL, "open_q + 3'(write) - 3'(answers)", "open_q + 3'(write && s_axil_awaddr_i[0]) - 3'(answers)"),
        (AXIL, '.in_valid_i(answered_w_q)', '.in_valid_i(wrote_q)'),
        (AXIL, '.in_valid_i(answered_w_q)', ".in_valid_i(answered_w_q && response != DecErr)"),
        (AXIL, 'response = response | m_bresp_i', 'response = m_bresp_i'),
        (AXIL, "response = nobody_w_q ? DecErr : '0", "response = '0"),
        (AXIL, 'nobody_w_q <= nobody_q', "nobody_w_q <= write_to == '0"),
        (AXIL, "write && s_axil_wstrb_i == '1 && s_axil", 'write && s_axil'),
        (AXIL, 'places_o <= s_axil_wdata_i[CreditW-1:0]', 'places_o <= m_wdata_o[CreditW-1:0]'),
        (AXIL, 'm_arvalid_o <= read ? read_from', 'm_arvalid_o <= asked_q ? read_from'),
        (AXIL, '!asked_q && !answered_q &&', '!asked_q &&'),
        (AXIL, 'answer = answer | m_rdata_i', 'answer = m_rdata_i'),
        (AXIL, "answered_q || (s_axil_rvalid_o && !s_axil_rready_i)", 'answered_q || s_axil_rvalid_o'),
        (AXIL, "answered_q || (s_axil_rvalid_o && !s_axil_rready_i)", 'answered_q'),
        (AXIL, '(!s_axil_rvalid_o || s_axil_rready_i);', '!s_axil_rvalid_o && s_axil_rready_i;'),
        (AXIL, '.out_ready_i(s_axil_bready_i)', ".out_ready_i(1'b1)"),
        (PROOF, "m_wready_i == '1 && m_arready_i == '1", "1'b1"),
        (PROOF, 'm_bvalid_i == due_w_q && m_rvalid_i == due_r_q', "1'b1"),
    ]),
]
