// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What an observer was told, to be compared with what should have been.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/observer.hpp"

namespace multitree::test {

class Recorder : public nic::Observer {
 public:
  struct Begun {
    std::uint64_t cycle;
    std::uint32_t rank, port, entry;
  };
  struct Flit {
    std::uint64_t cycle;
    std::uint32_t place, port, vc, src, entry;  // place: rank or link
    std::uint64_t number;
    bool head = false, tail = false;
  };
  struct Issued {
    std::uint64_t cycle;
    std::uint32_t rank, port, piece, turn, pos;
  };
  struct Count {
    std::uint64_t cycle;
    std::uint32_t rank, piece, count;  // of a step: number, 0
  };
  std::vector<Begun> begins;
  std::vector<Flit> injections, passages, arrivals;
  std::vector<Issued> issues;
  std::vector<Count> takes, steps;

  void begun(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
             std::uint32_t entry) override {
    begins.push_back({cycle, rank, port, entry});
  }
  void injected(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port, std::uint32_t vc,
                std::uint32_t entry, std::uint64_t number, bool head, bool tail) override {
    injections.push_back({cycle, rank, port, vc, rank, entry, number, head, tail});
  }
  void passed(std::uint64_t cycle, std::uint32_t link, std::uint32_t vc, std::uint32_t src,
              std::uint32_t entry, std::uint64_t number) override {
    passages.push_back({cycle, link, 0, vc, src, entry, number});
  }
  void arrived(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port, std::uint32_t src,
               std::uint32_t entry, std::uint64_t number) override {
    arrivals.push_back({cycle, rank, port, 0, src, entry, number});
  }
  void issued(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port, std::uint32_t piece,
              std::uint32_t turn, std::uint32_t pos) override {
    issues.push_back({cycle, rank, port, piece, turn, pos});
  }
  void taken(std::uint64_t cycle, std::uint32_t rank, std::uint32_t piece,
             std::uint32_t count) override {
    takes.push_back({cycle, rank, piece, count});
  }
  void step(std::uint64_t cycle, std::uint32_t rank, std::uint32_t step) override {
    steps.push_back({cycle, rank, step, 0});
  }

  /// Cycles in which the words of a message to a rank were issued, in their order.
  [[nodiscard]] std::vector<std::uint64_t> issues_of(std::uint32_t rank, std::uint32_t piece,
                                                     std::uint32_t turn) const {
    std::vector<std::uint64_t> cycles;
    for (const Issued& i : issues) {
      if (i.rank == rank && i.piece == piece && i.turn == turn) cycles.push_back(i.cycle);
    }
    return cycles;
  }
  /// When a rank had taken in that many messages of a piece.
  [[nodiscard]] std::uint64_t taken_at(std::uint32_t rank, std::uint32_t piece,
                                       std::uint32_t count) const {
    for (const Count& c : takes) {
      if (c.rank == rank && c.piece == piece && c.count == count) return c.cycle;
    }
    return 0;
  }
};

}  // namespace multitree::test
