// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What `ibnetdiscover` of infiniband-diags prints of a fabric: its switches and channel adapters,
/// each with a line for every port that a cable is in. The rules are in docs/file-formats.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "topologies/error.hpp"
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/listing_internal.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

/// What a lane carries after its encoding, in Mbit/s (InfiniBand architecture specification; XDR:
/// IBTA roadmap).
struct LaneSpeed {
  std::string_view name;
  std::uint64_t megabits;
};
constexpr std::array kLaneSpeeds{
    LaneSpeed{"SDR", 2'000},    LaneSpeed{"DDR", 4'000},   LaneSpeed{"QDR", 8'000},
    LaneSpeed{"FDR10", 10'000}, LaneSpeed{"FDR", 13'636},  LaneSpeed{"EDR", 25'000},
    LaneSpeed{"HDR", 50'000},   LaneSpeed{"NDR", 100'000}, LaneSpeed{"XDR", 200'000}};
constexpr Time kCableLatency{150'000};  // between switches: that of the MULTITREE study
/// Of SHARP, in a switch: it is no host's.
constexpr std::string_view kInSwitch = "Aggregation Node";

struct IbPort {
  std::size_t line;
  std::uint32_t number, peer_number;
  std::string peer;  ///< its identifier
  Bandwidth bandwidth;
};
struct IbDevice {
  std::size_t line;
  bool is_switch;
  std::string id, description;
  std::vector<IbPort> ports;
  [[nodiscard]] bool in_switch() const { return description.find(kInSwitch) != std::string::npos; }
};

class IbReader {
 public:
  IbReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Topology read() {
    check_text(text_, file_);
    for (const TextLine& line : lines_of(text_)) read_line(line);
    std::erase_if(devices_, [](const IbDevice& device) { return device.in_switch(); });
    return build();
  }

 private:
  void read_line(const TextLine& line) {
    const std::string_view text = line.text;
    if (text.empty() || text.starts_with('#')) return;
    if (text.starts_with('[')) return read_port(line);
    for (const std::string_view kind : {"Switch", "Ca", "Rt"}) {
      if (text.starts_with(kind) && text.size() > kind.size() && text[kind.size()] == '\t')
        return read_device(line, kind);
      if (text.starts_with(kind) && text.size() > kind.size() && text[kind.size()] == ' ')
        return read_device(line, kind);
    }
    if (text.find('=') == std::string_view::npos) {
      fail_at(file_, line.number,
              fmt::format("expected 'Switch', 'Ca', a port as '[1] \"S-...\"[2]' or a line with "
                          "'=', got '{}'",
                          text.substr(0, 40)));
    }
  }

  /// The next text between quotes; what follows it stays.
  std::optional<std::string> take_quoted(std::string_view& rest) const {
    const std::size_t begin = rest.find('"');
    if (begin == std::string_view::npos) return std::nullopt;
    const std::size_t end = rest.find('"', begin + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest.substr(begin + 1, end - begin - 1));
    rest.remove_prefix(end + 1);
    return text;
  }

  void read_device(const TextLine& line, std::string_view kind) {
    std::string_view rest = line.text;
    const auto id = take_quoted(rest);
    if (!id || id->empty()) {
      fail_at(
          file_, line.number,
          fmt::format("expected the identifier of the {} in quotes, got '{}'", kind, line.text));
    }
    if (!place_.emplace(*id, devices_.size()).second)
      fail_at(file_, line.number, fmt::format("{} is listed a second time", *id));
    devices_.push_back({line.number, kind != "Ca", *id, take_quoted(rest).value_or(*id), {}});
  }

  /// [1](guid)  "S-0002c9"[13](guid)   # "words" lid 4 4xHDR
  void read_port(const TextLine& line) {
    if (devices_.empty()) fail_at(file_, line.number, "a port before the first Switch or Ca");
    std::string_view rest = line.text;
    IbPort port{line.number, take_number(line, rest), 0, {}, {}};
    const auto peer = take_quoted(rest);
    if (!peer)
      fail_at(file_, line.number, fmt::format("expected the peer in quotes, got '{}'", line.text));
    port.peer = *peer;
    port.peer_number = take_number(line, rest);
    port.bandwidth = rate_of(line);
    devices_.back().ports.push_back(std::move(port));
  }

  /// "[13]..." -> 13
  std::uint32_t take_number(const TextLine& line, std::string_view& rest) const {
    const std::size_t end = rest.find(']');
    if (!rest.starts_with('[') || end == std::string_view::npos) {
      fail_at(file_, line.number,
              fmt::format("expected a port in brackets as '[1]', got '{}'", line.text));
    }
    const std::uint32_t number = number_at(file_, line.number, rest.substr(1, end - 1), "port");
    rest.remove_prefix(end + 1);
    return number;
  }

  /// The last word, as "4xHDR".
  Bandwidth rate_of(const TextLine& line) const {
    const std::string_view word = words_of(line.text).back();
    const std::size_t x = word.find('x');
    if (x != std::string_view::npos && x > 0) {
      const auto speed = std::ranges::find(kLaneSpeeds, word.substr(x + 1), &LaneSpeed::name);
      if (speed != kLaneSpeeds.end()) {
        const std::uint32_t lanes = number_at(file_, line.number, word.substr(0, x), "lanes");
        return {lanes * speed->megabits * 1'000'000 / 8};
      }
    }
    fail_at(file_, line.number,
            fmt::format("expected lanes and speed at the end, as 4xHDR, got '{}'", word));
  }

  /// Descriptions where they tell devices apart, else with the identifier.
  std::string name_of(const IbDevice& device) const {
    const auto same = std::ranges::count(devices_, device.description, &IbDevice::description);
    return same == 1 ? device.description : fmt::format("{} {}", device.description, device.id);
  }

  Topology build() {
    TopologyBuilder builder(name_of_file(file_));
    std::map<std::string, NodeId> nodes;
    for (const IbDevice& device : devices_) {
      const std::string name = name_of(device);
      nodes.emplace(device.id,
                    device.is_switch ? builder.add_switch(name) : builder.add_endpoint(name));
    }
    if (std::ranges::all_of(devices_, &IbDevice::is_switch))
      fail_at(file_, 1, "expected a Ca, the adapter of a host: there is none in the file");
    for (const IbDevice& device : devices_) {
      for (const IbPort& port : device.ports) add_link(builder, nodes, device, port);
    }
    return build_listed(std::move(builder), file_);
  }

  /// One direction of a cable; its other end lists the other.
  void add_link(TopologyBuilder& builder, const std::map<std::string, NodeId>& nodes,
                const IbDevice& device, const IbPort& port) const {
    const auto known = place_.find(port.peer);
    if (known == place_.end())
      fail_at(file_, port.line, fmt::format("the peer {} is not listed", port.peer));
    const auto peer = nodes.find(port.peer);
    if (peer == nodes.end()) return;  // of a switch's own
    const auto at = std::ranges::find(devices_, port.peer, &IbDevice::id);
    const bool listed = std::ranges::any_of(at->ports, [&](const IbPort& other) {
      return other.number == port.peer_number && other.peer == device.id;
    });
    if (!listed) {
      fail_at(file_, port.line,
              fmt::format("the other end of this cable, port {} of {}, does not list it",
                          port.peer_number, port.peer));
    }
    const bool host = !device.is_switch || !at->is_switch;
    builder.add_link(nodes.at(device.id), peer->second, port.bandwidth,
                     host ? kAdapterCableLatency : kCableLatency);
  }

  static constexpr Time kAdapterCableLatency{500'000};  // as in the DGX families

  std::string_view text_;
  const std::string& file_;
  std::vector<IbDevice> devices_;
  std::map<std::string, std::size_t> place_;
};

}  // namespace

Topology parse_topology_ibnetdiscover(std::string_view text, const std::string& file) {
  return IbReader(text, file).read();
}

}  // namespace multitree
