// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/coupling.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace multitree::rtl {
namespace {

/// Cycles of a turn; without anything on its links for so many it is thought to wait for others.
constexpr std::uint32_t kTurn = 64, kQuiet = 1024;
/// It makes no more as long as so many frames wait in a cable.
constexpr std::size_t kMostFrames = 64;

}  // namespace

Coupling::Coupling(std::unique_ptr<Node> node, Cables& cables, std::uint32_t places)
    : cables_(cables), node_(std::move(node)) {
  node_->set_reset(true);
  for (std::uint32_t c = 0; c < kNodeResetCycles; ++c) node_->tick();
  node_->set_reset(false);
  write({reg::kPlaces, places});
}

bool Coupling::run() {
  const bool is_full = std::ranges::any_of(
      cables_.all, [](const Cable& cable) { return cable.backlog() > kMostFrames; });
  if (is_full) return false;
  for (std::uint32_t c = 0; c < kTurn; ++c) cycle();
  return quiet_ < kQuiet;
}

/// What comes out goes into cables, what they have comes in; then an edge of the clock.
void Coupling::cycle() {
  const Node::Active outputs = node_->outputs();
  Node::Active inputs;
  LinkFlit flit;
  std::uint8_t vc = 0;
  for (std::uint32_t p = 0; p < cables_.out.size(); ++p) {
    if ((outputs.flits >> p & 1) != 0) {
      node_->get_flit(p, flit);
      cables_.of_out(p).put_flit(flit);
    }
    if (!cables_.of_out(p).take_credit(vc)) continue;
    node_->put_credit(p, vc);
    inputs.credits |= 1U << p;
  }
  for (std::uint32_t p = 0; p < cables_.in.size(); ++p) {
    if ((outputs.credits >> p & 1) != 0) cables_.of_in(p).put_credit(node_->get_credit(p));
    if (!cables_.of_in(p).take_flit(flit)) continue;
    node_->put_flit(p, flit);
    inputs.flits |= 1U << p;
  }
  node_->set_inputs(inputs);
  node_->tick();
  const bool moves = (outputs.flits | outputs.credits | inputs.flits | inputs.credits) != 0;
  quiet_ = moves ? 0 : quiet_ + 1;
  is_done_ = is_done_ || node_->trace().done;
}

void Coupling::write(const RegisterWrite& one) {
  node_->put_write(&one);
  cycle();
  node_->put_write(nullptr);
  quiet_ = 0;
}

std::uint32_t Coupling::read(std::uint32_t address) {
  node_->put_read(&address);
  cycle();
  node_->put_read(nullptr);
  cycle();
  std::uint32_t value = 0;
  if (!node_->get_read(value)) throw std::logic_error("hardware model: a register did not answer");
  cycle();
  return value;
}

}  // namespace multitree::rtl
