// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Channel dependency graphs, grown route by route.
#include "nic/network/channel_classes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// Which link is asked for while which is held, in one class; never with a cycle.
class Dependences {
 public:
  explicit Dependences(std::uint32_t links) : next_(links), stamp_(links, 0) {}

  /// Adds held -> wanted unless that closes a cycle.
  bool try_add(std::uint32_t held, std::uint32_t wanted) {
    std::vector<std::uint32_t>& next = next_[held];
    if (std::ranges::find(next, wanted) != next.end()) return true;
    if (reaches(wanted, held)) return false;
    next.push_back(wanted);
    return true;
  }

 private:
  bool reaches(std::uint32_t from, std::uint32_t to) {
    ++now_;
    stack_.assign(1, from);
    stamp_[from] = now_;
    while (!stack_.empty()) {
      const std::uint32_t at = stack_.back();
      stack_.pop_back();
      if (at == to) return true;
      for (const std::uint32_t link : next_[at]) {
        if (stamp_[link] == now_) continue;
        stamp_[link] = now_;
        stack_.push_back(link);
      }
    }
    return false;
  }

  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> stamp_, stack_;
  std::uint32_t now_ = 0;
};

}  // namespace

ChannelClasses assign_classes(std::span<const std::vector<LinkId>> routes, std::uint32_t links,
                              std::uint32_t most, const std::string& what) {
  ChannelClasses result;
  std::vector<Dependences> classes(1, Dependences(links));
  for (const std::vector<LinkId>& route : routes) {
    RouteClasses& of = result.of_route.emplace_back(route.size(), std::uint8_t{0});
    std::uint32_t current = 0;
    for (std::size_t i = 1; i < route.size(); ++i) {
      // From a lower class to a higher one: no cycle can come back.
      if (!classes[current].try_add(index(route[i - 1]), index(route[i]))) ++current;
      if (current == most) {
        throw Error(ErrorCode::Unsupported,
                    fmt::format("{}: expected routes that are free of deadlock with {} virtual "
                                "channels, got some that need more",
                                what, most));
      }
      if (current == classes.size()) classes.emplace_back(links);
      of[i] = static_cast<std::uint8_t>(current);
    }
  }
  result.classes = static_cast<std::uint32_t>(classes.size());
  return result;
}

}  // namespace multitree::nic
