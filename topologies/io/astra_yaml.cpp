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
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

enum class Kind { Ring, FullyConnected, Switch };
constexpr std::array<std::string_view, 3> kKindNames = {"Ring", "FullyConnected", "Switch"};
constexpr std::array<std::string_view, 4> kKeys = {"topology", "npus_count", "bandwidth",
                                                   "latency"};

struct Dimension {
  Kind kind{};
  std::uint32_t size = 0;
  Bandwidth bandwidth;
  Time latency;
};

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

  [[nodiscard]] std::vector<Dimension> read() const {
    std::vector<Dimension> dims;
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

  [[nodiscard]] Kind read_kind(const YAML::Node& value) const {
    const auto* found = std::ranges::find(kKindNames, text_of(value));
    if (found == kKindNames.end()) {
      fail(value, fmt::format("topology: expected Ring, FullyConnected or Switch, got '{}'",
                              text_of(value)));
    }
    return static_cast<Kind>(found - kKindNames.begin());
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

  void check_links(const std::vector<Dimension>& dims, std::uint64_t ranks) const {
    std::uint64_t links = 0;
    for (const Dimension& dim : dims) {
      const std::uint64_t a_rank = dim.kind == Kind::FullyConnected ? dim.size - 1 : 2;
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

// Rank r has the coordinate r / stride % size in a dimension; its peers there differ in it only.
class Generator {
 public:
  Generator(const std::vector<Dimension>& dims, const std::string& name)
      : dims_(dims), builder_(name) {}

  Topology build() {
    std::uint32_t ranks = 1;
    for (const Dimension& dim : dims_) ranks *= dim.size;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) builder_.add_endpoint();
    std::uint32_t next = ranks;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      first_switch_.push_back(next);
      if (dims_[d].kind != Kind::Switch) continue;
      for (std::uint32_t i = 0; i < ranks / dims_[d].size; ++i, ++next) {
        builder_.add_switch(fmt::format("dim{}sw{}", d, i));
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::uint32_t stride = 1;
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        join(rank, d, stride);
        stride *= dims_[d].size;
      }
    }
    if (std::ranges::all_of(dims_, [](const Dimension& dim) { return dim.kind == Kind::Ring; })) {
      Shape shape{dims_.size() == 1 ? "ring" : "torus", {}};
      for (const Dimension& dim : dims_) shape.dims.push_back(dim.size);
      builder_.set_shape(std::move(shape));
    }
    return std::move(builder_).build();
  }

 private:
  // The links of a rank in a dimension that its lower peers have not made.
  void join(std::uint32_t rank, std::size_t d, std::uint32_t stride) {
    const Dimension& dim = dims_[d];
    const std::uint32_t coordinate = rank / stride % dim.size;
    const std::uint32_t origin = rank - coordinate * stride;  // the peer with coordinate 0
    const auto add = [&](std::uint32_t peer) {
      builder_.add_duplex(NodeId{rank}, NodeId{peer}, dim.bandwidth, dim.latency);
    };
    switch (dim.kind) {
      case Kind::Ring:
        if (coordinate + 1 < dim.size) {
          add(rank + stride);
        } else if (dim.size > 2) {
          add(origin);
        }
        break;
      case Kind::FullyConnected:
        for (std::uint32_t peer = coordinate + 1; peer < dim.size; ++peer) {
          add(origin + peer * stride);
        }
        break;
      case Kind::Switch:
        add(first_switch_[d] + rank % stride + origin / (stride * dim.size) * stride);
        break;
    }
  }

  const std::vector<Dimension>& dims_;
  TopologyBuilder builder_;
  std::vector<std::uint32_t> first_switch_;
};

}  // namespace

Topology parse_topology_astra(std::string_view text, const std::string& file) {
  const std::vector<Dimension> dims = AstraReader(text, file).read();
  return Generator(dims, name_of_file(file)).build();
}

}  // namespace multitree
