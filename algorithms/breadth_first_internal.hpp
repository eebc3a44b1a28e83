// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The breadth-first search of networks, trees and chains of exchanges. Whoever looks for something
/// nearest first says here what follows on what; only check_certificate.cpp, which shares no code
/// with what it checks, has a search of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace multitree {

/// Takes what is in `queue` one after the other. `expand(vertex)` may put more behind it, and ends
/// the walk by returning false. Whether the walk came to its end.
template <class Vertex, class Expand>
bool walk_breadth_first(std::vector<Vertex>& queue, const Expand& expand) {
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const Vertex vertex = queue[head];
    if constexpr (std::is_void_v<std::invoke_result_t<const Expand&, Vertex>>) {
      expand(vertex);
    } else {
      if (!expand(vertex)) return false;
    }
  }
  return true;
}

/// What hops_from() says of a vertex that cannot be reached.
inline constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

/// Hops from `start` to each of so many vertices. `expand(vertex, meet)` calls meet(next) for every
/// vertex next to it.
template <class Expand>
std::vector<std::uint32_t> hops_from(std::uint32_t vertices, std::uint32_t start,
                                     const Expand& expand) {
  std::vector<std::uint32_t> hops(vertices, kFar), queue;
  queue.reserve(vertices);
  queue.push_back(start);
  hops[start] = 0;
  walk_breadth_first(queue, [&](std::uint32_t vertex) {
    const std::uint32_t next_hops = hops[vertex] + 1;
    expand(vertex, [&](std::uint32_t next) {
      if (hops[next] != kFar) return;
      hops[next] = next_hops;
      queue.push_back(next);
    });
  });
  return hops;
}

/// A search that is started over and over, or that has to know what it has met on the way: it costs
/// what it reaches, however many vertices there are.
class BreadthFirst {
 public:
  explicit BreadthFirst(std::uint32_t vertices) { grow(vertices); }

  /// There are at least so many vertices from now on.
  void grow(std::uint32_t vertices) {
    if (vertices > marks_.size()) marks_.resize(vertices);
  }

  /// Forgets the last search, and walks from `start` on: `expand(vertex)` calls meet() and
  /// meet_beside(), and may end the search by returning false. Whether it came to its end.
  template <class Expand>
  bool run(std::uint32_t start, const Expand& expand) {
    if (++pass_ == 0) {
      marks_.assign(marks_.size(), {});
      pass_ = 1;
    }
    marks_[start] = {pass_, 0};
    order_.assign(1, start);
    return walk_breadth_first(order_, [&](std::uint32_t vertex) {
      here_ = marks_[vertex].hops;
      bool goes_on = call(expand, vertex);
      while (goes_on && !beside_.empty()) {
        const std::uint32_t next = beside_.back();
        beside_.pop_back();
        goes_on = call(expand, next);
      }
      if (!goes_on) beside_.clear();
      return goes_on;
    });
  }

  /// A vertex one hop from the one that is expanded. Whether it is met for the first time.
  bool meet(std::uint32_t vertex) {
    Mark& mark = marks_[vertex];
    if (mark.pass == pass_) return false;
    mark = {pass_, here_ + 1};
    order_.push_back(vertex);
    return true;
  }

  /// A vertex that costs no hop to come to, from wherever: it is expanded along with this one.
  void meet_beside(std::uint32_t vertex) {
    if (has_met(vertex)) return;
    marks_[vertex] = {pass_, here_};
    beside_.push_back(vertex);
  }

  [[nodiscard]] bool has_met(std::uint32_t vertex) const { return marks_[vertex].pass == pass_; }
  /// Of a vertex that was met; kFar for others.
  [[nodiscard]] std::uint32_t hops(std::uint32_t vertex) const {
    return has_met(vertex) ? marks_[vertex].hops : kFar;
  }
  /// Vertices in the order in which they were met, without those beside others.
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  /// The last search that met a vertex, and how far away.
  struct Mark {
    std::uint32_t pass = 0, hops = 0;
  };

  template <class Expand>
  static bool call(const Expand& expand, std::uint32_t vertex) {
    if constexpr (std::is_void_v<std::invoke_result_t<const Expand&, std::uint32_t>>) {
      expand(vertex);
      return true;
    } else {
      return expand(vertex);
    }
  }

  std::vector<Mark> marks_;  // by vertex
  std::vector<std::uint32_t> order_, beside_;
  std::uint32_t pass_ = 0;
  std::uint32_t here_ = 0;  // hops of the vertex that is expanded
};

}  // namespace multitree
