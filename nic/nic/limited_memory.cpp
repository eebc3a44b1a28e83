// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cycles of a memory whose words are shared, and of what waits for it.
#include "nic/nic/limited_memory.hpp"

#include <algorithm>

namespace multitree::nic {
namespace {

// Streams of a port, in the order of their turns.
enum Read : std::uint32_t { kSend, kAcc, kStage, kReads };
enum Write : std::uint32_t { kResult, kBeside, kWrites };

}  // namespace

LimitedMemory::LimitedMemory(const Parameters& parameters, const Ports& ports)
    : words_(parameters.memory_ports == 0 ? ~std::uint32_t{0} : parameters.memory_ports),
      send_words_(parameters.send_words),
      add_words_(parameters.add_words),
      ports_per_unit_(parameters.ports_per_unit),
      latency_(parameters.memory_cycles),
      first_port_(ports.first),
      num_ports_(ports.count),
      read_pointer_(ports.count.size(), 0),
      write_pointer_(ports.count.size(), 0),
      sending_(ports.all),
      taking_(ports.all),
      upper_enters_first_(ports.all, 0) {
  for (Taking& taking : taking_) taking.adders.resize(parameters.reduction_cycles);
  result_goes_.resize(*std::ranges::max_element(ports.count));
}

void LimitedMemory::begins(std::uint32_t port, std::uint64_t payload) {
  Sending& sending = sending_[port];
  sending.payload = payload;
  sending.asked = sending.sent = 0;
}

bool LimitedMemory::is_there(std::uint64_t cycle, std::uint32_t port) const {
  const Sending& sending = sending_[port];
  return !sending.due.empty() && sending.due.front() <= cycle;
}

bool LimitedMemory::may_issue(std::uint32_t port) const {
  const Taking& taking = taking_[port];
  return !taking.acc_asks && !taking.stage_asks && taking.waiting.size() < add_words_;
}

bool LimitedMemory::wants_word(const Sending& sending) const {
  return sending.asked < sending.payload && sending.asked - sending.sent < send_words_;
}

/// Accepts of the streams that ask the first ones at or after the pointer, going round, which then
/// stands behind the last of them.
template <typename Asks, typename Accept>
void LimitedMemory::share(std::uint32_t streams, std::uint32_t& pointer, const Asks& asks,
                          const Accept& accept) {
  std::uint32_t left = words_;
  for (std::uint32_t i = 0, s = pointer; i < streams && left > 0; ++i) {
    const std::uint32_t next = s + 1 == streams ? 0 : s + 1;
    if (asks(s)) {
      accept(s);
      pointer = next;
      --left;
    }
    s = next;
  }
  progress_ = progress_ || left < words_;
}

void LimitedMemory::step(std::uint64_t cycle) {
  progress_ = false;
  for (std::uint32_t r = 0; r < first_port_.size(); ++r) {
    step_writes(cycle, r);
    step_reads(cycle, r);
  }
  if (progress_) last_progress_ = cycle;
}

/// Results and flits beside the buffer; and what the adders do, which stand while a result waits.
void LimitedMemory::step_writes(std::uint64_t cycle, std::uint32_t rank) {
  const std::uint32_t ports = num_ports_[rank];
  Taking* const taking = &taking_[first_port_[rank]];
  std::fill_n(result_goes_.begin(), ports, 0);
  for (std::uint32_t p = 0; p < ports; ++p) taking[p].is_beside = false;
  share(
      kWrites * ports, write_pointer_[rank],
      [&](std::uint32_t s) {
        const Taking& t = taking[s / kWrites];
        const std::optional<WordIn>& result = t.adders.back();
        return s % kWrites == kBeside ? t.offers : result && !result->empty && !t.has_sent;
      },
      [&](std::uint32_t s) {
        if (s % kWrites == kResult) {
          result_goes_[s / kWrites] = 1;
        } else {
          taking[s / kWrites].is_beside = true;
        }
      });
  for (std::uint32_t p = 0; p < ports; p += ports_per_unit_) {
    const std::uint32_t count = std::min(ports_per_unit_, ports - p);
    move(cycle, {taking + p, count}, {result_goes_.data() + p, count});
  }
}

/// One cycle of the words of a unit's ports between their issue and their write. All stages stand
/// while a result of one of them waits; one that was written meanwhile is not offered again.
void LimitedMemory::move(std::uint64_t cycle, std::span<Taking> ports,
                         std::span<const std::uint8_t> goes) {
  bool moves = true, has_words = false;
  for (std::size_t p = 0; p < ports.size(); ++p) {
    Taking& port = ports[p];
    const std::optional<WordIn>& last = port.adders.back();
    const bool is_there = last && !port.has_sent, is_taken = is_there && (last->empty || goes[p]);
    port.written = is_taken ? last : std::nullopt;
    port.has_sent = !is_there || is_taken;  // or has nothing to send
    moves = moves && port.has_sent;
    has_words = has_words || port.added + port.waiting.size() > 0;
  }
  if (moves) {
    for (Taking& port : ports) {
      port.has_sent = false;
      if (!has_words) continue;
      if (port.adders.back()) --port.added;
      port.adders.pop_back();
      port.adders.emplace_front();
    }
    if (has_words) enter(cycle, ports);
  }
  for (Taking& port : ports) {
    port.offers = false;
    if (!port.issued) continue;
    port.acc_asks = port.issued->adds;
    port.stage_asks = port.issued->staged;
    port.waiting.push_back(*port.issued);
    port.issued.reset();
  }
}

/// The first words that wait go into the unit, or beside it, if memory has answered: of two that
/// are added the one of the port whose word did not go in last.
void LimitedMemory::enter(std::uint64_t cycle, std::span<Taking> ports) {
  const auto is_there = [cycle](const std::deque<std::uint64_t>& due) {
    return !due.empty() && due.front() <= cycle;
  };
  const auto may_enter = [&](const Taking& port) {
    if (port.waiting.empty()) return false;
    const WordIn& word = port.waiting.front();
    return (!word.adds || is_there(port.acc_due)) && (!word.staged || is_there(port.stage_due));
  };
  std::uint8_t& upper_first =
      upper_enters_first_[static_cast<std::size_t>(&ports[0] - &taking_[0])];
  const auto adds = [&](const Taking& port) {
    return may_enter(port) && port.waiting.front().adds;
  };
  const bool both_add = ports.size() > 1 && adds(ports[0]) && adds(ports[1]);
  const std::size_t stays = both_add ? (upper_first != 0 ? 0 : 1) : ports.size();
  for (std::size_t p = 0; p < ports.size(); ++p) {
    Taking& port = ports[p];
    if (p == stays || !may_enter(port)) continue;
    const WordIn& word = port.waiting.front();
    if (word.adds) {
      port.acc_due.pop_front();
      upper_first = p == 0 ? 1 : 0;
    }
    if (word.staged) port.stage_due.pop_front();
    port.adders.front() = word;
    ++port.added;
    port.waiting.pop_front();
  }
}

/// Words to be sent, to be added to, and from beside the buffer.
void LimitedMemory::step_reads(std::uint64_t cycle, std::uint32_t rank) {
  const std::uint32_t ports = num_ports_[rank], first = first_port_[rank];
  share(
      kReads * ports, read_pointer_[rank],
      [&](std::uint32_t s) {
        const Taking& t = taking_[first + s / kReads];
        return s % kReads == kSend  ? wants_word(sending_[first + s / kReads])
               : s % kReads == kAcc ? t.acc_asks
                                    : t.stage_asks;
      },
      [&](std::uint32_t s) {
        Sending& sending = sending_[first + s / kReads];
        Taking& t = taking_[first + s / kReads];
        if (s % kReads == kSend) {
          ++sending.asked;
          sending.due.push_back(cycle + latency_);
        } else if (s % kReads == kAcc) {
          t.acc_asks = false;
          t.acc_due.push_back(cycle + latency_);
        } else {
          t.stage_asks = false;
          t.stage_due.push_back(cycle + latency_);
        }
      });
  for (std::uint32_t p = first; p < first + ports; ++p) {
    if (!sending_[p].sends) continue;
    sending_[p].sends = false;
    ++sending_[p].sent;
    sending_[p].due.pop_front();
  }
}

}  // namespace multitree::nic
