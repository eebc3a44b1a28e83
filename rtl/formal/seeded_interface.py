# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of the interface as a whole for selftest: (proof, configuration, (file, old, new)...)."""

SMALL = ('NumPorts=2 NumVc=1 CreditW=2 StepW=2 FlowW=1 PieceOfFlowW=1 PieceW=1 RouteW=1 CntW=2 StartW=4 '
         'SizeW=4 TableDepth=2 StepDepth=2 NumRoutes=2 ParkSlots=2 NumGroups=1 EnPackets=0 EnExchange=0 '
         'LongRoutes=0 EnCounters=0 EnFp32=0 EnBf16=0 EnFp16=0 Latency=2 SendWords=2 AddWords=2')
MUTATIONS = [
    ('mt_ni', SMALL, [
        ('ni/mt_ni.sv', '.places_i(places_o), .running_i(running_q && !halt)', '.places_i(places_o), .running_i(running_q)'),
        ('ni/mt_ni.sv', '.places_i(places_o), .running_i(running_q && !halt)', '.places_i(places_o), .running_i(!halt)'),
        ('ni/mt_ni.sv', '.wide_i(wide), .halt_i(halt)', ".wide_i(wide), .halt_i(1'b0)"),
        ('ni/mt_ni.sv', '.places_i(places_o), .running_i(running_q && !halt)', '.places_i(places_o), .running_i(running_q)',
         'HaltBeginsNothing'),
        ('ni/mt_ni.sv', '.places_i(places_o), .running_i(running_q && !halt)', '.places_i(places_o), .running_i(running_q)',
         'HaltAsksNothing'),
        ('ni/mt_ni.sv', '.wide_i(wide), .halt_i(halt)', ".wide_i(wide), .halt_i(1'b0)", 'HaltTakesNothingIn'),
        ('ni/mt_ni.sv', 'done = running_q && !halt', 'done = running_q'),
        ('ni/mt_ni.sv', ' && taken_count == arrivals && mem_idle_i', ' && taken_count == arrivals'),
        ('ni/mt_ni.sv', "(entry_left | sending) == '0", "sending == '0"),
        ('ni/mt_ni.sv', 'halt = failed || broken_q', 'halt = broken_q'),
        ('ni/mt_ni.sv', 'failed && (armed_q || running_q)', 'failed && armed_q && !running_q'),
        ('ni/mt_ni.sv', '!rst_ni || arm) broken_q', '!rst_ni || arm || !failed) broken_q'),
        ('ni/mt_run_state.sv', "else if (done_i) running_o <= 1'b0", "else running_o <= 1'b0"),
        ('ni/mt_run_state.sv', "else if (done_i) finished_o <= 1'b1", "else if (armed_o) finished_o <= 1'b1"),
        ('ni/mt_run_state.sv', "if (starting_o) running_o", "if (starting_o || armed_o) running_o"),
        ('ni/mt_errors.sv', "error_o[mt_pkg::ErrCorrupt] = corrupt_i != '0", "error_o[mt_pkg::ErrCorrupt] = 1'b0"),
    ]),
    ('mt_node', SMALL + ' Depth=2 DirectPorts=1', [
        ('net/mt_node.sv', '.ready_i(out_ready)', ".ready_i('1)"),
        ('net/mt_node.sv', ".credit_over_i((credit_over | from_over) != '0)", ".credit_over_i(1'b0)", 'WrongIsTold'),
        ('net/mt_node.sv', '.mem_idle_i, .mem_error_i,', ".mem_idle_i, .mem_error_i(1'b0),", 'WrongSendsNothing'),
        ('net/mt_link_clocks.sv', '{link_valid_o, link_vc_o, link_flit_o} = {valid_i, vc_i, flit_i}',
         '{link_valid_o, link_vc_o, link_flit_o} = {valid_i, vc_i, ~flit_i}'),
        ('net/mt_link_clocks.sv', '{valid_o, vc_o, flit_o} = {link_valid_i, link_vc_i, link_flit_i}',
         '{valid_o, vc_o, flit_o} = {link_valid_i & link_ready_i, link_vc_i, link_flit_i}'),
        ('net/mt_link_clocks.sv', '{credit_valid_o, credit_vc_o} = {link_credit_valid_i, link_credit_vc_i}',
         '{credit_valid_o, credit_vc_o} = {credit_valid_i, link_credit_vc_i}'),
    ]),
]
