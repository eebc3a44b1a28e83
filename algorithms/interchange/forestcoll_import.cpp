// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// ForestColl's spanning trees.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "algorithms/compose.hpp"
#include "algorithms/interchange/interchange.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/io/xml_internal.hpp"

namespace multitree {
namespace {

class ForestReader {
 public:
  ForestReader(std::string_view text, const std::string& file, const Topology& topology)
      : xml_(text, file), topology_(topology), uses_(topology.num_links(), 0) {
    for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
      nodes_.emplace(topology.node(NodeId{n}).name, NodeId{n});
    }
  }

  TreePacking read() {
    const pugi::xml_node algo = xml_.document().child("Algo");
    if (!algo) {
      const pugi::xml_node other = xml_.document().document_element();
      xml_.fail(other, fmt::format("expected the root element <Algo>, got <{}>", other.name()));
    }
    packing_.collective = Collective::AllGather;
    packing_.ranks = topology_.num_ranks();
    const std::int64_t chunks = xml_.integer(algo, "nchunkspernode", 1, 1 << 24);
    std::vector<std::int64_t> of_root(topology_.num_ranks(), 0);
    for (const pugi::xml_node& element : algo.children("tree")) {
      PackedTree tree = read_tree(element, chunks);
      of_root[index(tree.root)] += static_cast<std::int64_t>(tree.weight);
      packing_.trees.push_back(std::move(tree));
    }
    for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
      if (of_root[r] == chunks) continue;
      xml_.fail(algo, fmt::format("expected trees of {} chunks with the root {}, got {}", chunks,
                                  topology_.node(topology_.node_of(Rank{r})).name, of_root[r]));
    }
    return std::move(packing_);
  }

 private:
  /// A node by its name, or by its rank.
  NodeId node(const pugi::xml_node& element, std::string_view name) const {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    std::uint32_t rank = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
    if (error == std::errc{} && rest == name.data() + name.size() && rank < topology_.num_ranks()) {
      return topology_.node_of(Rank{rank});
    }
    xml_.fail(element, fmt::format("{} has no node '{}'", topology_.name(), name));
  }

  Rank rank(const pugi::xml_node& element, const char* attribute) const {
    const std::string name = xml_.require(element, attribute);
    const auto& found = topology_.node(node(element, name)).rank;
    if (!found) {
      xml_.fail(element, fmt::format("{}: expected a rank, got the switch {}", attribute, name));
    }
    return *found;
  }

  /// "a,b" or "(0, 'GPU', 0),(1, 'GPU', 0)": commas in parentheses are part of a name.
  std::vector<NodeId> path(const pugi::xml_node& element) const {
    const std::string text = xml_.require(element, "path");
    std::vector<NodeId> result;
    int depth = 0;
    for (std::size_t begin = 0, at = 0; at <= text.size(); ++at) {
      const char c = at < text.size() ? text[at] : ',';
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c != ',' || (depth > 0 && at < text.size())) continue;
      result.push_back(node(element, std::string_view(text).substr(begin, at - begin)));
      begin = at + 1;
    }
    return result;
  }

  /// Of parallel links the one with the least load so far for its bandwidth.
  LinkId link(const pugi::xml_node& element, NodeId from, NodeId to, std::uint64_t weight) {
    std::optional<LinkId> best;
    const auto load = [&](LinkId id) {
      return static_cast<unsigned __int128>(uses_[index(id)]) + weight;
    };
    const auto rate = [&](LinkId id) {
      return static_cast<unsigned __int128>(topology_.link(id).bandwidth.bytes_per_second);
    };
    for (const LinkId id : topology_.out_links(from)) {
      if (topology_.link(id).dst != to) continue;
      if (!best || load(id) * rate(*best) < load(*best) * rate(id)) best = id;
    }
    if (!best) {
      xml_.fail(element, fmt::format("path: {} has no link {}->{}", topology_.name(),
                                     topology_.node(from).name, topology_.node(to).name));
    }
    uses_[index(*best)] += weight;
    return *best;
  }

  PackedTree read_tree(const pugi::xml_node& element, std::int64_t chunks) {
    PackedTree tree;
    tree.root = rank(element, "root");
    tree.weight = static_cast<std::uint64_t>(xml_.integer(element, "nchunks", 1, chunks));
    std::vector<bool> reached(topology_.num_ranks(), false);
    reached[index(tree.root)] = true;
    for (const pugi::xml_node& send : element.children("send")) {
      const Rank src = rank(send, "src"), dst = rank(send, "dst");
      if (!reached[index(src)]) {
        xml_.fail(send, "src: expected the root or the dst of a send before it");
      }
      if (reached[index(dst)])
        xml_.fail(send, "dst: expected a node that the tree has not reached");
      reached[index(dst)] = true;
      const std::vector<NodeId> nodes = path(send);
      if (nodes.front() != topology_.node_of(src) || nodes.back() != topology_.node_of(dst)) {
        xml_.fail(send, "path: expected one from src to dst");
      }
      std::vector<LinkId> route;
      for (std::size_t i = 1; i < nodes.size(); ++i) {
        route.push_back(link(send, nodes[i - 1], nodes[i], tree.weight));
      }
      tree.gather.push_back(packing_.make_arc(src, dst, route));
    }
    const auto missing = std::ranges::find(reached, false);
    if (missing != reached.end()) {
      xml_.fail(element, fmt::format("the tree does not reach rank {}", missing - reached.begin()));
    }
    return tree;
  }

  XmlText xml_;
  const Topology& topology_;
  std::map<std::string, NodeId, std::less<>> nodes_;
  std::vector<std::uint64_t> uses_;  // chunks on each link
  TreePacking packing_;
};

}  // namespace

Schedule parse_forestcoll_xml(std::string_view text, const std::string& file,
                              const Topology& topology, const ForestcollOptions& options) {
  const TreePacking packing = ForestReader(text, file, topology).read();
  Schedule schedule = time_trees(packing, topology, {.segments = options.segments});
  schedule.algorithm = "forestcoll";
  if (options.collective != Collective::AllGather) {
    if (options.collective != Collective::ReduceScatter &&
        options.collective != Collective::AllReduce) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("forestcoll: expected allgather, reduce-scatter or allreduce, got {}",
                              to_string(options.collective)));
    }
    if (!topology.is_symmetric()) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("forestcoll: expected a network where every link has one back, to "
                              "reverse the trees, got {}",
                              topology.name()));
    }
    const Schedule scatter = reversed_by_mates(schedule, topology);
    schedule =
        options.collective == Collective::AllReduce ? all_reduce_of(scatter, schedule) : scatter;
  }
  const VerifyReport report = verify(schedule, topology);
  if (!report.ok()) fail_at(file, 1, report.violations.front().message);
  return schedule;
}

}  // namespace multitree
