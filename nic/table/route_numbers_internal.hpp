// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers for routes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::nic {

/// Gives equal routes the same number: their place among the distinct ones, which it appends to
/// `routes` in the order of their first use.
class RouteNumbers {
 public:
  RouteNumbers(std::vector<std::vector<LinkId>>& routes, std::uint32_t links)
      : routes_(routes), of_link_(links, kNone) {}

  std::uint32_t operator()(std::span<const LinkId> route) {
    // Most are one link, and there are millions of them.
    if (route.size() == 1) {
      std::uint32_t& number = of_link_[index(route.front())];
      if (number == kNone) number = add(route);
      return number;
    }
    std::vector<LinkId> key(route.begin(), route.end());
    const auto [at, is_new] = numbers_.try_emplace(std::move(key), 0);
    if (is_new) at->second = add(route);
    return at->second;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t add(std::span<const LinkId> route) {
    routes_.emplace_back(route.begin(), route.end());
    return static_cast<std::uint32_t>(routes_.size() - 1);
  }

  std::vector<std::vector<LinkId>>& routes_;
  std::vector<std::uint32_t> of_link_;
  std::map<std::vector<LinkId>, std::uint32_t> numbers_;
};

}  // namespace multitree::nic
