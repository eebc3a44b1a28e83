// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The indices a Topology answers from: links of a node, slots, mates.
#include "topologies/topology.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace multitree {
namespace {

constexpr std::uint32_t kNoMate = std::numeric_limits<std::uint32_t>::max();
// More than any schedule can use, and small enough to be summed in 32 bits.
constexpr std::uint64_t kMaxSlots = 1U << 20;

// Counting sort of links by one end: rows[begin[v]] .. rows[begin[v+1]-1], ascending ids.
void fill_rows(std::span<const Link> links, std::size_t num_nodes, NodeId Link::*end,
               std::vector<std::uint32_t>& begin, std::vector<LinkId>& rows) {
  begin.assign(num_nodes + 1, 0);
  for (const Link& link : links) ++begin[index(link.*end) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  rows.resize(links.size());
  for (std::uint32_t id = 0; id < links.size(); ++id) {
    rows[next[index(links[id].*end)]++] = LinkId{id};
  }
}

// Links that may be each other's mates, whatever their direction.
auto mate_group(const Link& link) {
  return std::tuple(std::min(link.src, link.dst), std::max(link.src, link.dst), link.bandwidth,
                    link.latency);
}

// Pairs the k-th u->v link of a group with its k-th v->u link.
std::vector<std::uint32_t> find_mates(std::span<const Link> links) {
  std::vector<std::uint32_t> ids(links.size());
  std::iota(ids.begin(), ids.end(), 0U);
  const auto order = [&](std::uint32_t id) {
    const Link& link = links[id];
    return std::tuple(mate_group(link), link.src > link.dst, id);
  };
  std::sort(ids.begin(), ids.end(),
            [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); });

  std::vector<std::uint32_t> mates(links.size(), kNoMate);
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t backward = first, last = first;
    while (last < ids.size() && mate_group(links[ids[last]]) == mate_group(links[ids[first]])) {
      if (links[ids[last]].src < links[ids[last]].dst) ++backward;
      ++last;
    }
    for (std::size_t k = 0; first + k < backward && backward + k < last; ++k) {
      mates[ids[first + k]] = ids[backward + k];
      mates[ids[backward + k]] = ids[first + k];
    }
    first = last;
  }
  return mates;
}

}  // namespace

std::span<const LinkId> Topology::out_links(NodeId id) const {
  return std::span(out_).subspan(out_begin_[index(id)],
                                 out_begin_[index(id) + 1] - out_begin_[index(id)]);
}

std::span<const LinkId> Topology::in_links(NodeId id) const {
  return std::span(in_).subspan(in_begin_[index(id)],
                                in_begin_[index(id) + 1] - in_begin_[index(id)]);
}

std::optional<LinkId> Topology::mate(LinkId id) const {
  const std::uint32_t mate = mates_[index(id)];
  if (mate == kNoMate) return std::nullopt;
  return LinkId{mate};
}

Topology Topology::transposed() const {
  Topology result = *this;
  for (Link& link : result.links_) std::swap(link.src, link.dst);
  for (Node& node : result.nodes_) std::swap(node.abilities.adds, node.abilities.copies);
  result.index_links();
  return result;
}

bool Topology::operator==(const Topology& other) const {
  // The other members follow from these.
  return name_ == other.name_ && shape_ == other.shape_ && nodes_ == other.nodes_ &&
         links_ == other.links_;
}

void Topology::index_links() {
  fill_rows(links_, nodes_.size(), &Link::src, out_begin_, out_);
  fill_rows(links_, nodes_.size(), &Link::dst, in_begin_, in_);

  unit_bandwidth_ = {};
  if (!links_.empty()) {
    unit_bandwidth_ = std::ranges::min(links_, {}, &Link::bandwidth).bandwidth;
  }
  slots_.clear();
  slots_.reserve(links_.size());
  for (const Link& link : links_) {
    const std::uint64_t ratio = link.bandwidth.bytes_per_second / unit_bandwidth_.bytes_per_second;
    slots_.push_back(static_cast<std::uint32_t>(std::min(ratio, kMaxSlots)));
  }
  mates_ = find_mates(links_);
  symmetric_ = std::ranges::find(mates_, kNoMate) == mates_.end();
  has_abilities_ =
      std::ranges::any_of(nodes_, [](const Node& node) { return node.abilities.any(); });
}

}  // namespace multitree
