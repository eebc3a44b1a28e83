// SPDX-License-Identifier: BSD-3-Clause
#include "nic/message/exact.hpp"

#include "nic/message/channels.hpp"
#include "nic/program/program.hpp"

namespace multitree::nic {

std::string message_model_differs(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t bytes, const Parameters& parameters) {
  if (parameters.reduction == Reduction::Pipelined) {
    return "sums are made word by word as in hardware";
  }
  if (parameters.port_queue_packets > 0) return "ports share their messages";
  if (parameters.shared_inputs) return "inputs of routers move one flit a cycle";
  // Which of several that come in one cycle is before the others decides what follows.
  if (parameters.reduction == Reduction::Store) return "one unit of a rank makes all sums";
  if (parameters.issue_jitter > 0 || parameters.issue_cycles > 0) {
    return "messages are issued later than they could be";
  }
  if (parameters.cut_through) return "headers wait for room for a packet (cut_through)";
  if (parameters.ejection_channels > 0) return "ejection ports have channels of their own";
  const Program program = compile_program(
      schedule, topology, padded_elements(bytes, parameters.element_bytes, schedule.ranks));
  return Channels(program, topology, parameters).hindrance();
}

}  // namespace multitree::nic
