// SPDX-License-Identifier: BSD-3-Clause
#include "injector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace multitree::rtl::test {

std::string describe(const Fault& f) {
  constexpr std::array<const char*, 9> names = {"none",        "drop",         "flip",
                                                "rewrite",     "duplicate",    "delay",
                                                "lose credit", "lose credits", "extra credit"};
  return fmt::format("{} number {}, bits {} to {}, {} cycles",
                     names[static_cast<std::size_t>(f.kind)], f.number, f.bit, f.bit + f.bits - 1,
                     f.cycles);
}

Injector::Injector(Machine& machine, const Fault& fault)
    : machine_(machine), fault_(fault), links_(machine.network().num_links()) {
  machine.network().on_flit = [this](LinkId link, LinkFlit& flit) { on_flit(link, flit); };
  machine.network().on_credit = [this](LinkId link, std::uint8_t& credit) {
    on_credit(link, credit);
  };
}

bool Injector::is_idle() const {
  return std::ranges::all_of(links_, [](const Link& l) { return l.held.empty(); });
}

void Injector::harm(Link& on, LinkFlit& flit) {
  const std::uint64_t now = machine_.network().cycle();
  switch (fault_.kind) {
    case Fault::Kind::Drop:
      // Its place becomes free as if it had arrived.
      flit.valid = false;
      on.extra = static_cast<std::uint8_t>(flit.vc + 1);
      break;
    case Fault::Kind::Flip:
    case Fault::Kind::Rewrite:
      for (unsigned b = fault_.bit; b < fault_.bit + fault_.bits; ++b) {
        put_bits(flit.bits, b, 1, ~get_bits(flit.bits, b, 1));
      }
      if (fault_.kind == Fault::Kind::Rewrite) {
        HardwareFlit changed = HardwareFlit::of(flit.bits);
        changed.parity = changed.right_parity();
        std::ranges::copy(changed.bits(), flit.bits.begin());
      }
      break;
    case Fault::Kind::Duplicate:
      duplicates_ = {hit_->link, flit.vc};
      break;
    case Fault::Kind::Delay:
      on.held.emplace_back(flit, now + fault_.cycles);
      flit.valid = false;
      break;
    default:
      break;
  }
}

void Injector::on_flit(LinkId link, LinkFlit& flit) {
  Link& on = links_[index(link)];
  const std::uint64_t now = machine_.network().cycle();
  if (flit.valid) {
    std::vector<LinkFlit>& worm = on.worm[flit.vc];
    const HardwareFlit now_here = HardwareFlit::of(flit.bits);
    const LinkFlit original = flit;
    worm.push_back(original);
    const bool is_credit = fault_.kind >= Fault::Kind::LoseCredit;
    const bool behind = !on.held.empty();
    if (!is_credit && fault_.kind != Fault::Kind::None && flits_ == fault_.number) {
      const bool after_route =
          worm.size() == 2 && HardwareHeader::of(HardwareFlit::of(worm[0].bits).data).is_route;
      hit_ = Hit{.link = link, .flit = now_here, .is_header = worm.size() == 1 || after_route};
      harm(on, flit);
    }
    ++flits_;
    if (behind && flit.valid) {
      on.held.emplace_back(flit, now);
      flit.valid = false;
    }
    if (now_here.tail) {
      if (duplicates_ && duplicates_->first == link && duplicates_->second == original.vc) {
        duplicates_.reset();
        for (const LinkFlit& copy : worm) on.held.emplace_back(copy, now + 1 + fault_.cycles);
        on.swallow[original.vc] += static_cast<std::uint32_t>(worm.size());
      }
      worm.clear();
    }
    if (flit.valid) return;
  }
  if (!on.held.empty() && on.held.front().second <= now) {
    flit = on.held.front().first;
    on.held.pop_front();
  }
}

void Injector::on_credit(LinkId link, std::uint8_t& credit) {
  Link& on = links_[index(link)];
  if (credit == 0) {
    std::swap(credit, on.extra);
    return;
  }
  const std::uint64_t number = credits_++;
  if (on.swallow[credit - 1U] > 0) {
    --on.swallow[credit - 1U];
    credit = 0;
    return;
  }
  const bool is_credit = fault_.kind >= Fault::Kind::LoseCredit;
  if (is_credit && number == fault_.number) {
    hit_ = Hit{.link = link, .flit = {}, .is_header = false};
    if (fault_.kind == Fault::Kind::ExtraCredit) on.extra = credit;
    if (fault_.kind == Fault::Kind::LoseCredit) credit = 0;
    if (fault_.kind == Fault::Kind::LoseCredits) loses_ = link;
  }
  if (loses_ == link) credit = 0;
}

}  // namespace multitree::rtl::test
