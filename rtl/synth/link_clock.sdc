# SPDX-License-Identifier: BSD-3-Clause
# Paths between the nodes' clock and the links' (EnLinkClock). To be sourced once both clocks exist:
#
#   create_clock -name core -period 1.0 [get_ports clk_i]
#   create_clock -name link -period 0.8 [get_ports link_clk_i]
#   set mt_core core;  set mt_link link;  set mt_shorter 0.8;  # names, and the shorter of the periods
#   source rtl/synth/link_clock.sdc
#
# Two kinds of paths cross: bits of Gray counters to the first register of an mt_sync, and words to the register at
# the output of an mt_async_fifo, which takes them some cycles later. Both are right if no path takes longer than the
# shorter period: then two changes of a counter never overtake each other. So no setup and hold of one clock against
# the other, but an upper bound. A set_clock_groups -asynchronous of the two would lift that bound: leave it out.
# Vivado: set_max_delay -datapath_only in place of the two commands.
foreach {mt_from mt_to} [list $mt_core $mt_link $mt_link $mt_core] {
  set_max_delay $mt_shorter -ignore_clock_latency -from [get_clocks $mt_from] -to [get_clocks $mt_to]
  set_false_path -hold -from [get_clocks $mt_from] -to [get_clocks $mt_to]
}
# A reset that comes at any time goes to mt_reset_sync alone:
#   set_false_path -from [get_ports rst_ni]
