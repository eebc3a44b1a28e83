// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Wires of a link that loses.
#include "rtl/sim/retry_wire.hpp"

#include <verilated.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "Vsim_link.h"
#include "Vsim_link_256.h"
#include "Vsim_link_512.h"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kCrcW = 32, kVcW = 2;
constexpr std::uint32_t kSeqW = std::bit_width(mt_pkg::kReplayDepth - 1U) + 1;
/// Of a frame and of an answer, without the checksum: two flags, a number, a virtual channel.
constexpr std::uint32_t kHeadW = 2 + kSeqW + kVcW;
constexpr std::uint32_t kAnswerBits = kHeadW + mt_pkg::kCreditW;
/// Cycles with nothing in, out or between after which nothing changes.
constexpr std::uint32_t kSettled = 8;

/// The most wrong bits that the checksum of so many bits is sure to find: mt_crc32c.sv.
constexpr std::uint32_t most_wrong(std::uint32_t bits) { return bits <= 177 ? 7 : 5; }

template <typename Model>
class VerilatedWire final : public RetryWire {
 public:
  VerilatedWire(std::uint32_t number, std::uint32_t latency, const nic::LinkErrors& errors,
                FlitShape shape)
      : RetryWire(number, errors),
        shape_(shape),
        context_(std::make_unique<VerilatedContext>()),
        model_(std::make_unique<Model>(context_.get(), "link")),
        places_(latency - 1) {
    constexpr int kResetCycles = 4;
    model_->valid_i = model_->credit_valid_i = model_->frame_valid_i = model_->word_valid_i = 0;
    for (int c = 0; c < 2 * kResetCycles; ++c) {
      model_->rst_ni = c >= kResetCycles;
      model_->clk_i = 0;
      model_->eval();
      model_->clk_i = 1;
      model_->eval();
    }
  }
  ~VerilatedWire() override {
    // The model unregisters from the thread's context, which may be one that is gone.
    Verilated::threadContextp(model_->contextp());
    model_->final();
  }

  void settle(const LinkFlit& sent, Credit given, LinkFlit& arrives, Credit& returns) override {
    Model& m = *model_;
    Place next{.frame_valid = m.frame_valid_o != 0, .word_valid = m.word_valid_o != 0};
    const bool is_idle = !sent.valid && given == 0 && !next.frame_valid && !next.word_valid &&
                         flying_ == 0 && m.ready_o != 0;
    idle_ = is_idle ? idle_ + 1 : 0;
    arrives.valid = false;
    returns = 0;
    if (idle_ > kSettled) return;
    carry(next);
    m.valid_i = sent.valid;
    m.vc_i = sent.vc;
    if (sent.valid) std::memcpy(m.flit_i.data(), sent.bits.data(), sizeof(m.flit_i));
    m.credit_valid_i = given != 0;
    m.credit_vc_i = given != 0 ? static_cast<CData>(given - 1) : 0;
    m.clk_i = 0;
    m.eval();
    arrives.valid = m.valid_o != 0;
    if (arrives.valid) {
      arrives.vc = m.vc_o;
      std::memcpy(arrives.bits.data(), m.flit_o.data(), sizeof(m.flit_o));
    }
    returns = m.credit_valid_o != 0 ? static_cast<Credit>(1 + m.credit_vc_o) : 0;
  }
  void tick() override {
    if (idle_ > kSettled) return;
    model_->clk_i = 1;
    model_->eval();
  }
  [[nodiscard]] bool is_ready() const override { return model_->ready_o != 0; }
  [[nodiscard]] bool is_dead() const override { return model_->dead_o != 0; }

 private:
  static constexpr std::size_t kFrameWords =
      sizeof(std::declval<Model&>().frame_o) / sizeof(std::uint32_t);
  struct Place {
    bool frame_valid = false, word_valid = false;
    std::array<std::uint32_t, kFrameWords> frame{};
    std::uint64_t word = 0;
  };

  /// Puts what the ends have sent on the wires, and what comes out of these at the other ends.
  void carry(Place& next) {
    Model& m = *model_;
    if (next.frame_valid) {
      const std::uint32_t bits = kHeadW + shape_.bits();
      std::memcpy(next.frame.data(), m.frame_o.data(), sizeof(next.frame));
      next.frame_valid =
          pass(nic::LinkWay::Forth, next.frame.data(), kCrcW + bits, most_wrong(bits));
    }
    if (next.word_valid) {
      std::array<std::uint32_t, 2> words{static_cast<std::uint32_t>(m.word_o),
                                         static_cast<std::uint32_t>(m.word_o >> 32)};
      next.word_valid =
          pass(nic::LinkWay::Back, words.data(), kCrcW + kAnswerBits, most_wrong(kAnswerBits));
      next.word = words[0] | std::uint64_t{words[1]} << 32;
    }
    flying_ += (next.frame_valid ? 1 : 0) + (next.word_valid ? 1 : 0);
    std::swap(next, places_[at_]);
    flying_ -= (next.frame_valid ? 1 : 0) + (next.word_valid ? 1 : 0);
    if (++at_ == places_.size()) at_ = 0;
    m.frame_valid_i = next.frame_valid;
    if (next.frame_valid) std::memcpy(m.frame_i.data(), next.frame.data(), sizeof(next.frame));
    m.word_valid_i = next.word_valid;
    m.word_i = next.word;
  }

  FlitShape shape_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Model> model_;
  std::vector<Place> places_;  // wires
  std::size_t at_ = 0;
  std::uint32_t flying_ = 0, idle_ = 0;
};

}  // namespace

bool RetryWire::pass(nic::LinkWay way, std::uint32_t* words, std::uint32_t bits,
                     std::uint32_t most) {
  const bool forth = way == nic::LinkWay::Forth;
  std::uint64_t& all = forth ? counts_.frames : counts_.answers;
  nic::LinkFate fate = fate_of(errors_, number_, way, all++);
  if (is_cut_) fate.kind = nic::LinkFate::Kind::Lost;
  if (fate.kind == nic::LinkFate::Kind::Arrives) return true;
  ++(forth ? counts_.bad : counts_.bad_answers);
  if (fate.kind == nic::LinkFate::Kind::Lost) return false;
  // Some bits anywhere, each once: the first is one of them in any case.
  std::uint64_t done = 0;
  const std::uint64_t count = 1 + fate.noise % most;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bit = (fate.noise >> (8 * i)) % bits;
    bool is_new = true;
    for (std::uint64_t j = 0; j < i; ++j) is_new = is_new && (fate.noise >> (8 * j)) % bits != bit;
    if (is_new) words[bit / 32] ^= 1U << (bit % 32);
    done += is_new ? 1 : 0;
  }
  return done > 0;
}

std::unique_ptr<RetryWire> make_retry_wire(std::uint32_t number, std::uint32_t latency,
                                           const nic::LinkErrors& errors,
                                           std::uint32_t flit_bytes) {
  const FlitShape shape(flit_bytes);
  if (flit_bytes == 32) {
    return std::make_unique<VerilatedWire<Vsim_link_256>>(number, latency, errors, shape);
  }
  if (flit_bytes == 64) {
    return std::make_unique<VerilatedWire<Vsim_link_512>>(number, latency, errors, shape);
  }
  return std::make_unique<VerilatedWire<Vsim_link>>(number, latency, errors, shape);
}

}  // namespace multitree::rtl
