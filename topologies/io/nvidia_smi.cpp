// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The matrix that `nvidia-smi topo -m` prints: how every two GPUs of a host are connected. It says
/// no rates. The rules are in docs/file-formats.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "topologies/error.hpp"
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/listing_internal.hpp"
#include "topologies/io/nccl_rates_internal.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

/// A GPU has no more NVLinks: what every two of many GPUs have of them, they have to a switch.
constexpr std::uint32_t kMostNvlinks = 18;
constexpr std::uint64_t kNvlink = 25'000'000'000;  // NVLink 2 to 4, a direction
constexpr Time kSmiLatency{150'000};               // that of the MULTITREE study
constexpr std::uint32_t kPciLanes = 16;

/// Ways over PCI, the nearest first.
enum class Way : std::uint8_t { Switch, Node, Host };
struct WayRow {
  std::string_view text;
  Way way;
};
constexpr std::array kWays{WayRow{"PIX", Way::Switch}, WayRow{"PXB", Way::Switch},
                           WayRow{"PHB", Way::Node}, WayRow{"NODE", Way::Node},
                           WayRow{"SYS", Way::Host}};

/// What is between two GPUs: NVLinks, or a way over PCI.
struct Cell {
  std::uint32_t nvlinks = 0;
  Way way = Way::Host;
};

/// Without the sequences that underline words on a terminal.
std::string plain(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else {
      result += text[i];
    }
  }
  return result;
}

/// Numbers of groups, by who is together with whom.
class Groups {
 public:
  explicit Groups(std::size_t size) : of_(size) { std::iota(of_.begin(), of_.end(), 0U); }
  void join(std::size_t a, std::size_t b) {
    const std::size_t from = of_[a], to = of_[b];
    std::ranges::replace(of_, from, to);
  }
  [[nodiscard]] std::size_t of(std::size_t member) const { return of_[member]; }
  [[nodiscard]] bool has_others(std::size_t member) const {
    return std::ranges::count(of_, of_[member]) > 1;
  }

 private:
  std::vector<std::size_t> of_;
};

class SmiReader {
 public:
  SmiReader(std::string_view text, const std::string& file) : text_(plain(text)), file_(file) {}

  Topology read() {
    check_text(text_, file_);
    for (const TextLine& line : lines_of(text_)) {
      const auto words = words_of(line.text);
      if (words.empty() || !words[0].starts_with("GPU")) continue;
      if (gpus_ == 0) {
        read_head(line, words);
      } else if (cells_.size() < gpus_) {
        read_row(line, words);
      }
    }
    if (gpus_ == 0) {
      fail_at(file_, 1,
              "expected the matrix of `nvidia-smi topo -m`, whose first line is GPU0 GPU1 ...: "
              "there is none");
    }
    if (cells_.size() < gpus_)
      fail_at(file_, head_, fmt::format("expected {} rows of GPUs, got {}", gpus_, cells_.size()));
    check_symmetric();
    return build();
  }

 private:
  void read_head(const TextLine& line, const std::vector<std::string_view>& words) {
    head_ = line.number;
    while (gpus_ < words.size() && words[gpus_] == fmt::format("GPU{}", gpus_)) ++gpus_;
    if (gpus_ == 0) fail_at(file_, line.number, "expected GPU0 as the first column");
  }

  void read_row(const TextLine& line, const std::vector<std::string_view>& words) {
    const std::size_t row = cells_.size();
    if (words[0] != fmt::format("GPU{}", row) || words.size() < gpus_ + 1) {
      fail_at(file_, line.number,
              fmt::format("expected GPU{} with {} columns of GPUs, got '{}'", row, gpus_,
                          line.text.substr(0, 40)));
    }
    rows_.push_back(line.number);
    cells_.emplace_back();
    for (std::size_t column = 0; column < gpus_; ++column) {
      const std::string_view word = words[column + 1];
      if ((word == "X") != (row == column)) {
        fail_at(file_, line.number,
                fmt::format("GPU{}: expected X in the column of itself only, got '{}' in that of "
                            "GPU{}",
                            row, word, column));
      }
      cells_.back().push_back(row == column ? Cell{} : read_cell(line, word));
    }
  }

  Cell read_cell(const TextLine& line, std::string_view word) const {
    if (word.starts_with("NV")) {
      const std::uint32_t links = number_at(file_, line.number, word.substr(2), "NVLinks");
      if (links >= 1 && links <= kMostNvlinks) return {links, Way::Host};
      fail_at(file_, line.number, fmt::format("expected NV1 to NV{}, got {}", kMostNvlinks, word));
    }
    const auto found = std::ranges::find(kWays, word, &WayRow::text);
    if (found != kWays.end()) return {0, found->way};
    fail_at(file_, line.number,
            fmt::format("expected NV#, PIX, PXB, PHB, NODE or SYS, got '{}'", word));
  }

  void check_symmetric() const {
    for (std::size_t a = 0; a < gpus_; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Cell &here = cells_[a][b], &there = cells_[b][a];
        if (here.nvlinks == there.nvlinks && here.way == there.way) continue;
        fail_at(file_, rows_[a],
                fmt::format("GPU{} and GPU{} say different things of each other", a, b));
      }
    }
  }

  /// Every two of several GPUs have as many, and one has not so many for all others.
  [[nodiscard]] bool has_nvswitch() const {
    if (gpus_ < 2 || cells_[0][1].nvlinks == 0) return false;
    const std::uint32_t links = cells_[0][1].nvlinks;
    for (std::size_t a = 0; a < gpus_; ++a) {
      for (std::size_t b = 0; b < gpus_; ++b) {
        if (a != b && cells_[a][b].nvlinks != links) return false;
      }
    }
    return links * (gpus_ - 1) > kMostNvlinks;
  }

  Topology build() {
    TopologyBuilder builder(name_of_file(file_));
    for (std::size_t i = 0; i < gpus_; ++i) builder.add_endpoint(fmt::format("gpu{}", i));
    if (has_nvswitch()) {
      const NodeId center = builder.add_switch("nvswitch0");
      for (std::uint32_t i = 0; i < gpus_; ++i)
        builder.add_duplex(NodeId{i}, center, {cells_[0][1].nvlinks * kNvlink}, kSmiLatency);
      return build_listed(std::move(builder), file_);
    }
    for (std::uint32_t a = 0; a < gpus_; ++a) {
      for (std::uint32_t b = a + 1; b < gpus_; ++b) {
        const std::uint32_t links = cells_[a][b].nvlinks;
        if (links != 0) builder.add_duplex(NodeId{a}, NodeId{b}, {links * kNvlink}, kSmiLatency);
      }
    }
    if (needs_pci()) add_pci(builder);
    return build_listed(std::move(builder), file_);
  }

  /// Whether NVLinks alone do not lead from everyone to everyone.
  [[nodiscard]] bool needs_pci() const {
    Groups joined(gpus_);
    for (std::size_t a = 0; a < gpus_; ++a) {
      for (std::size_t b = 0; b < gpus_; ++b) {
        if (cells_[a][b].nvlinks != 0) joined.join(a, b);
      }
    }
    for (std::size_t a = 1; a < gpus_; ++a) {
      if (joined.of(a) != joined.of(0)) return true;
    }
    return false;
  }

  /// PCI switches of those that share one, processors of those that share one, and what joins them.
  void add_pci(TopologyBuilder& builder) const {
    Groups near(gpus_), node(gpus_);
    for (std::size_t a = 0; a < gpus_; ++a) {
      for (std::size_t b = 0; b < gpus_; ++b) {
        if (a == b || cells_[a][b].nvlinks != 0) continue;
        if (cells_[a][b].way == Way::Switch) near.join(a, b);
        if (cells_[a][b].way != Way::Host) node.join(a, b);
      }
    }
    const Bandwidth pci = pci_bandwidth(kPciLanes, "");
    std::vector<std::optional<NodeId>> switches(gpus_), cpus(gpus_);
    std::vector<NodeId> all;
    for (std::size_t i = 0; i < gpus_; ++i) {
      auto& cpu = cpus[node.of(i)];
      if (!cpu) all.push_back(cpu.emplace(builder.add_switch(fmt::format("cpu{}", all.size()))));
      NodeId up = *cpu;
      if (near.has_others(i)) {
        auto& bridge = switches[near.of(i)];
        if (!bridge) {
          bridge = builder.add_switch(fmt::format("pci{}", near.of(i)));
          builder.add_duplex(*bridge, *cpu, pci, kSmiLatency);
        }
        up = *bridge;
      }
      builder.add_duplex(NodeId{static_cast<std::uint32_t>(i)}, up, pci, kSmiLatency);
    }
    const Bandwidth between = cpu_bandwidth({.arch = "x86_64", .vendor = "GenuineIntel"});
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = a + 1; b < all.size(); ++b)
        builder.add_duplex(all[a], all[b], between, kSmiLatency);
    }
  }

  std::string text_;
  const std::string& file_;
  std::size_t gpus_ = 0, head_ = 0;
  std::vector<std::size_t> rows_;
  std::vector<std::vector<Cell>> cells_;
};

}  // namespace

Topology parse_topology_nvidia_smi(std::string_view text, const std::string& file) {
  return SmiReader(text, file).read();
}

}  // namespace multitree
