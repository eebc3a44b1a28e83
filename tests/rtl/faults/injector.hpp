// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One fault on the links of a network of verilated nodes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../ni/flit.hpp"
#include "../ni/machine.hpp"

namespace multitree::rtl::test {

struct Fault {
  enum class Kind : std::uint8_t {
    None,
    Drop,         ///< a flit
    Flip,         ///< bits of a flit
    Rewrite,      ///< a field of a header, with the parity that goes with it
    Duplicate,    ///< the worm of a flit comes a second time
    Delay,        ///< the link stands still
    LoseCredit,   ///< one
    LoseCredits,  ///< all of a link from then on
    ExtraCredit
  };
  Kind kind = Kind::None;
  /// Which flit, or for credits which credit, of all that enter links, in the order in which they
  /// do.
  std::uint64_t number = 0;
  unsigned bit = 0, bits = 1;  ///< Flip: of the flit, neighbouring ones. Rewrite: of the payload
  std::uint64_t cycles = 0;    ///< Delay: how long. Duplicate: how much later
};
std::string describe(const Fault& fault);

/// Sits on all links of a machine, for as long as that lives.
class Injector {
 public:
  Injector(Machine& machine, const Fault& fault);

  /// What was hit, once it was.
  struct Hit {
    LinkId link{};
    HardwareFlit flit;       ///< as it was
    bool is_header = false;  ///< of a worm, or its route
  };
  [[nodiscard]] const std::optional<Hit>& hit() const { return hit_; }
  [[nodiscard]] std::uint64_t flits() const { return flits_; }
  [[nodiscard]] std::uint64_t credits() const { return credits_; }
  /// Nothing is held back.
  [[nodiscard]] bool is_idle() const;

 private:
  struct Link {
    std::deque<std::pair<LinkFlit, std::uint64_t>> held;  // not before that cycle
    std::array<std::vector<LinkFlit>, 4> worm;            // [vc]: so far
    std::array<std::uint32_t, 4> swallow{};               // [vc]: credits for flits put in
    std::uint8_t extra = 0;
  };

  void on_flit(LinkId link, LinkFlit& flit);
  void on_credit(LinkId link, std::uint8_t& credit);
  void harm(Link& on, LinkFlit& flit);

  Machine& machine_;
  Fault fault_;
  std::vector<Link> links_;
  std::optional<Hit> hit_;
  std::optional<std::pair<LinkId, std::uint8_t>> duplicates_;  // the worm on this link and channel
  std::optional<LinkId> loses_;
  std::uint64_t flits_ = 0, credits_ = 0;
};

}  // namespace multitree::rtl::test
