// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Slurm's topology.conf of the plugin topology/tree: switches, and the nodes or switches below
/// each. It says nothing of rates. The rules are in docs/file-formats.md.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "topologies/error.hpp"
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/listing_internal.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct SlurmSwitch {
  std::size_t line;
  std::string name, nodes, switches;
  std::vector<std::string> below = {};  ///< the one or the other list, expanded
};

/// A line of a few ranges could name more nodes than memory has room for. Slurm itself knows 65536
/// nodes, of which each is in few lists.
constexpr std::size_t kMostNames = std::size_t{1} << 18;
constexpr std::size_t kLongestName = 255;  ///< DNS has no longer ones

class SlurmReader {
 public:
  SlurmReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Topology read() {
    check_text(text_, file_);
    for (const TextLine& line : lines_of(text_)) read_line(line);
    if (switches_.empty()) fail_at(file_, 1, "expected a line with SwitchName=: there is none");
    return build();
  }

 private:
  void read_line(const TextLine& line) {
    const std::string_view text = line.text.substr(0, line.text.find('#'));
    SlurmSwitch found{line.number, {}, {}, {}, {}};
    const auto words = words_of(text);
    if (words.empty()) return;
    for (const std::string_view word : words) {
      const std::size_t equals = word.find('=');
      const std::string key = lower(word.substr(0, equals));
      const std::string value(equals == std::string_view::npos ? "" : word.substr(equals + 1));
      std::string* const place = key == "switchname" ? &found.name
                                 : key == "nodes"    ? &found.nodes
                                 : key == "switches" ? &found.switches
                                                     : nullptr;
      if (place == nullptr && key != "linkspeed") {
        fail_at(file_, line.number,
                fmt::format("expected SwitchName=, Nodes=, Switches= or LinkSpeed= of a tree, got "
                            "'{}'",
                            word));
      }
      if (value.empty()) fail_at(file_, line.number, fmt::format("{}: expected a value", word));
      if (place != nullptr) *place = value;
    }
    if (found.name.empty() || found.nodes.empty() == found.switches.empty()) {
      fail_at(file_, line.number,
              fmt::format("expected SwitchName= with Nodes= or Switches=, got '{}'", line.text));
    }
    switches_.push_back(std::move(found));
  }

  [[noreturn]] void fail_list(std::size_t line, std::string_view list) const {
    fail_at(file_, line,
            fmt::format("expected names as in 'node[01-16,20],login', got '{}'", list));
  }

  /// "a[1-2,5]b,c" -> a1b, a2b, a5b, c
  std::vector<std::string> names_of(std::string_view list, std::size_t line) {
    std::vector<std::string> names;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
      const char c = i < list.size() ? list[i] : ',';
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (depth < 0 || depth > 1) fail_list(line, list);
      if (c != ',' || depth != 0) continue;
      if (i == begin) fail_list(line, list);
      expand(list.substr(begin, i - begin), line, names);
      begin = i + 1;
    }
    if (depth != 0) fail_list(line, list);
    return names;
  }

  void expand(std::string_view name, std::size_t line, std::vector<std::string>& names) {
    const std::size_t open = name.find('[');
    if (open == std::string_view::npos) {
      if (name.size() > kLongestName)
        fail_at(file_, line,
                fmt::format("expected names of at most {} characters, got '{}...'", kLongestName,
                            name.substr(0, 32)));
      if (++names_ > kMostNames)
        fail_at(file_, line, fmt::format("at most {} names in all lists, got more", kMostNames));
      names.emplace_back(name);
      return;
    }
    const std::size_t close = name.find(']', open);
    const std::string before(name.substr(0, open)), after(name.substr(close + 1));
    std::string_view ranges = name.substr(open + 1, close - open - 1);
    while (true) {
      const std::size_t end = std::min(ranges.find(','), ranges.size());
      const std::string_view range = ranges.substr(0, end);
      const std::size_t dash = std::min(range.find('-'), range.size());
      const std::string_view first = range.substr(0, dash);
      const std::string_view last = dash < range.size() ? range.substr(dash + 1) : first;
      const std::uint32_t from = number_at(file_, line, first, "range");
      const std::uint32_t to = number_at(file_, line, last, "range");
      if (to < from || to - from >= kMostNames || first.size() > kLongestName)
        fail_list(line, name);
      for (std::uint32_t i = from; i <= to; ++i)
        expand(fmt::format("{}{:0{}}{}", before, i, first.size(), after), line, names);
      if (end == ranges.size()) return;
      ranges.remove_prefix(end + 1);
    }
  }

  Topology build() {
    for (SlurmSwitch& one : switches_) {
      one.below = names_of(one.switches.empty() ? one.nodes : one.switches, one.line);
    }
    TopologyBuilder builder(name_of_file(file_));
    std::map<std::string, NodeId> hosts, switches;
    for (const SlurmSwitch& one : switches_) {
      if (one.nodes.empty() || !one.switches.empty()) continue;
      for (const std::string& name : one.below) {
        if (hosts.contains(name)) continue;  // below several switches
        hosts.emplace(name, builder.add_endpoint(name));
      }
    }
    for (const SlurmSwitch& one : switches_) {
      if (switches.contains(one.name) || hosts.contains(one.name))
        fail_at(file_, one.line, fmt::format("the name {} is repeated", one.name));
      switches.emplace(one.name, builder.add_switch(one.name));
    }
    const LinkDefaults link;
    for (const SlurmSwitch& one : switches_) {
      const bool leaf = one.switches.empty();
      for (const std::string& name : one.below) {
        const auto& below = leaf ? hosts : switches;
        const auto found = below.find(name);
        if (found == below.end() || name == one.name) {
          fail_at(file_, one.line,
                  fmt::format("Switches={}: expected another switch of this file", name));
        }
        builder.add_duplex(found->second, switches.at(one.name), link.bandwidth, link.latency);
      }
    }
    return build_listed(std::move(builder), file_);
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<SlurmSwitch> switches_;
  std::size_t names_ = 0;  ///< in all lists so far
};

}  // namespace

Topology parse_topology_slurm(std::string_view text, const std::string& file) {
  return SlurmReader(text, file).read();
}

}  // namespace multitree
