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
    : words_(parameters.memory_ports),
      send_words_(parameters.send_words),
      add_words_(parameters.add_words),
      latency_(parameters.memory_cycles),
      first_port_(ports.first),
      num_ports_(ports.count),
      read_pointer_(ports.count.size(), 0),
      write_pointer_(ports.count.size(), 0),
      sending_(ports.all),
      taking_(ports.all) {
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
        return s % kWrites == kBeside ? t.offers : result && !result->empty;
      },
      [&](std::uint32_t s) {
        if (s % kWrites == kResult) {
          result_goes_[s / kWrites] = 1;
        } else {
          taking[s / kWrites].is_beside = true;
        }
      });
  for (std::uint32_t p = 0; p < ports; ++p) {
    taking[p].offers = false;
    move(cycle, taking[p], result_goes_[p] != 0);
  }
}

/// One cycle of a port's words between their issue and their write.
void LimitedMemory::move(std::uint64_t cycle, Taking& taking, bool result_goes) {
  taking.written.reset();
  std::optional<WordIn>& last = taking.adders.back();
  if (taking.added + taking.waiting.size() > 0 && (result_goes || !last || last->empty)) {
    if (last) --taking.added;
    taking.written = last;
    taking.adders.pop_back();
    taking.adders.emplace_front();
    if (!taking.waiting.empty()) {
      const WordIn& word = taking.waiting.front();
      const auto is_there = [cycle](const std::deque<std::uint64_t>& due) {
        return !due.empty() && due.front() <= cycle;
      };
      if ((!word.adds || is_there(taking.acc_due)) &&
          (!word.staged || is_there(taking.stage_due))) {
        if (word.adds) taking.acc_due.pop_front();
        if (word.staged) taking.stage_due.pop_front();
        taking.adders.front() = word;
        ++taking.added;
        taking.waiting.pop_front();
      }
    }
  }
  if (!taking.issued) return;
  taking.acc_asks = taking.issued->adds;
  taking.stage_asks = taking.issued->staged;
  taking.waiting.push_back(*taking.issued);
  taking.issued.reset();
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
