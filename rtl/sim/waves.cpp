// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Waves by Verilator's writer.
#include "rtl/sim/waves.hpp"

#include <fmt/format.h>
#include <verilated.h>
#include <verilated_fst_c.h>

#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kCycle = 1000, kHalf = kCycle / 2;  // picoseconds

}  // namespace

Waves::Waves()
    : context_(std::make_unique<VerilatedContext>()), file_(std::make_unique<VerilatedFstC>()) {
  context_->traceEverOn(true);
  file_->set_time_resolution("1ps");
}

Waves::~Waves() { close(); }

void Waves::open(const std::string& path) {
  file_->open(path.c_str());
  if (!file_->isOpen()) {
    throw Error(ErrorCode::Io, fmt::format("{}: cannot write waves", path));
  }
  is_open_ = true;
  write_cycle();
}

void Waves::write_cycle() {
  file_->dump(cycle_ * kCycle);
  // Nothing but the clock changes at its falling edge.
  for (Node* node : nodes_) node->set_clock(false);
  file_->dump(cycle_ * kCycle + kHalf);
  ++cycle_;
}

void Waves::close() {
  if (is_open_) file_->close();
  is_open_ = false;
}

}  // namespace multitree::rtl
