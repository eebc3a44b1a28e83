// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The network files of ASTRA-sim's analytical backend: a list of dimensions, each a ring, a full
/// mesh or a switch. The rules are in docs/file-formats.md.
#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "topologies/families.hpp"
#include "topologies/io/astra_network_internal.hpp"
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

constexpr std::array<std::string_view, 4> kKeys = {"topology", "npus_count", "bandwidth",
                                                   "latency"};

class AstraReader {
 public:
  AstraReader(std::string_view text, const std::string& file) : file_(file) {
    check_text(text, file);
    try {
      // Not LoadAll(): yaml-cpp 0.7 never returns from it for some malformed texts.
      read_keys(YAML::Load(std::string(text)));
    } catch (const YAML::DeepRecursion& error) {
      fail_at(file, 1, fmt::format("nested deeper than {} levels", error.depth() - 1));
    } catch (const YAML::Exception& error) {
      fail_at(file, static_cast<std::size_t>(std::max(error.mark.line, 0)) + 1, error.msg);
    }
  }

  [[nodiscard]] std::vector<AstraDimension> read() const {
    std::vector<AstraDimension> dims;
    const std::size_t count = list("topology").size();
    if (count == 0) fail(list("topology"), "topology: expected at least one dimension");
    for (const std::string_view key : kKeys) {
      if (const std::size_t got = list(key).size(); got != count) {
        fail(list(key), fmt::format("{}: expected {} values, one a dimension of 'topology', got {}",
                                    key, count, got));
      }
    }
    std::uint64_t ranks = 1;
    for (std::size_t i = 0; i < count; ++i) {
      dims.push_back({read_kind(list("topology")[i]), read_size(list("npus_count")[i]),
                      read_bandwidth(list("bandwidth")[i]), read_latency(list("latency")[i])});
      ranks *= dims.back().size;
      if (ranks > Spec::kMaxRanks) {
        fail(list("npus_count")[i],
             fmt::format("npus_count: a topology has at most {} ranks", Spec::kMaxRanks));
      }
    }
    check_links(dims, ranks);
    return dims;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& at, const std::string& what) const {
    fail_at(file_, static_cast<std::size_t>(std::max(at.Mark().line, 0)) + 1, what);
  }

  void read_keys(const YAML::Node& root) {
    if (!root.IsMap()) fail(root, "expected the keys topology, npus_count, bandwidth and latency");
    for (const auto& entry : root) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::ranges::find(kKeys, key) == kKeys.end()) {
        fail(entry.first,
             fmt::format("unknown key '{}'; known here: {}", key, fmt::join(kKeys, ", ")));
      }
      if (!entry.second.IsSequence()) {
        fail(entry.first, fmt::format("{}: expected a list with a value a dimension", key));
      }
      if (!lists_.emplace(key, entry.second).second) {
        fail(entry.first, fmt::format("the key '{}' is repeated", key));
      }
    }
    for (const std::string_view key : kKeys) {
      if (!lists_.contains(key)) fail(root, fmt::format("the key '{}' is missing", key));
    }
  }

  [[nodiscard]] const YAML::Node& list(std::string_view key) const {
    return lists_.find(key)->second;
  }

  static std::string text_of(const YAML::Node& value) {
    return value.IsScalar() ? value.Scalar() : std::string();
  }

  [[nodiscard]] AstraKind read_kind(const YAML::Node& value) const {
    const auto* found = std::ranges::find(kAstraKindNames, text_of(value));
    if (found == kAstraKindNames.end()) {
      fail(value, fmt::format("topology: expected Ring, FullyConnected or Switch, got '{}'",
                              text_of(value)));
    }
    return static_cast<AstraKind>(found - kAstraKindNames.begin());
  }

  template <class Number>
  static std::optional<Number> number_in(const YAML::Node& value) {
    const std::string text = text_of(value);
    Number number{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end) return std::nullopt;
    return number;
  }

  [[nodiscard]] std::uint32_t read_size(const YAML::Node& value) const {
    const auto size = number_in<std::uint32_t>(value);
    if (!size || *size < 2 || *size > Spec::kMaxRanks) {
      fail(value, fmt::format("npus_count: expected an integer from 2 to {}, got '{}'",
                              Spec::kMaxRanks, text_of(value)));
    }
    return *size;
  }

  [[nodiscard]] Bandwidth read_bandwidth(const YAML::Node& value) const {
    constexpr double kLeast = 1e-9, kMost = 1e9;  // GB/s
    const auto gigabytes = number_in<double>(value);
    if (!gigabytes || !(*gigabytes >= kLeast && *gigabytes <= kMost)) {
      fail(value,
           fmt::format("bandwidth: expected GB/s > 0 and at most 1e9, got '{}'", text_of(value)));
    }
    return {static_cast<std::uint64_t>(std::llround(*gigabytes * 1e9))};
  }

  [[nodiscard]] Time read_latency(const YAML::Node& value) const {
    constexpr double kMost = 1e9;  // ns
    const auto nanoseconds = number_in<double>(value);
    if (!nanoseconds || !(*nanoseconds >= 0 && *nanoseconds <= kMost)) {
      fail(value, fmt::format("latency: expected ns from 0 to 1e9, got '{}'", text_of(value)));
    }
    return {std::llround(*nanoseconds * 1e3)};
  }

  void check_links(const std::vector<AstraDimension>& dims, std::uint64_t ranks) const {
    std::uint64_t links = 0;
    for (const AstraDimension& dim : dims) {
      const std::uint64_t a_rank = dim.kind == AstraKind::FullyConnected ? dim.size - 1 : 2;
      links += ranks * a_rank;
    }
    if (links > kMaxLinks) {
      fail(list("npus_count"),
           fmt::format("npus_count: a topology has at most {} links", kMaxLinks));
    }
  }

  const std::string& file_;
  std::map<std::string, YAML::Node, std::less<>> lists_;
};

}  // namespace

Topology parse_topology_astra(std::string_view text, const std::string& file) {
  return astra_network(AstraReader(text, file).read(), name_of_file(file));
}

}  // namespace multitree
