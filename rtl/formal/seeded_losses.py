# SPDX-License-Identifier: BSD-3-Clause
"""Bugs for the proof of mt_losses, as selftest seeds them."""

MUTATIONS = [
    ('mt_losses', 'NumPorts=2 PieceW=1 GroupW=1 DeadlineW=3', [
        ('ni/mt_losses.sv', 'goes = found >= least_i', "goes = 1'b1"),
        ('ni/mt_losses.sv', 'goes = found >= least_i', 'goes = found > least_i'),
        ('ni/mt_losses.sv', "left_q == '0 && !passed_q", "left_q <= DeadlineW'(1) && !passed_q"),
        ('ni/mt_losses.sv', "left_q == '0 && !passed_q", "left_q == '0"),
        ('ni/mt_losses.sv', 'if (expires && !rung_i && !held_q', 'if (expires && !held_q'),
        ('ni/mt_losses.sv', '&& !held_q && !hold_i', '&& !held_q'),
        ('ni/mt_losses.sv', 'if (expires) passed_q', 'if (expires && !rung_i) passed_q'),
        ('ni/mt_losses.sv', 'if (undecided_o && goes)', 'if (goes)'),
        ('ni/mt_losses.sv', "if (known) known_q <= 1'b1", "known_q <= 1'b0"),
        ('ni/mt_losses.sv', "        undecided_o <= 1'b0;\n        if", '        if'),
        ('ni/mt_losses.sv', 'end else if (known) begin', 'end else begin'),
        ('ni/mt_losses.sv', 'settled_o = !losses_i || rung_i || late_o', 'settled_o = !losses_i || rung_i'),
        ('ni/mt_losses.sv', 'q = 0; q <= p; q++', 'q = p; q <= p; q++'),
        ('ni/mt_losses.sv', 'if (came_gather_i[p]) next_sum', "if (1'b0) next_sum"),
        ('ni/mt_losses.sv', '== Call ? late_o : absent_o)', '== Call ? absent_o : late_o)'),
        ('ni/mt_losses.sv', 'own[p] = !result_q[piece] && ', 'own[p] = '),
        ('ni/mt_losses.sv', "      late_o <= 1'b0;\n", ''),
        ('ni/mt_losses.sv', "        late_o <= 1'b1;\n", ''),
    ]),
]
