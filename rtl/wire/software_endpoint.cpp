// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tables of an interface, executed message by message: when an entry is sent and a message
/// taken in is in docs/nic-spec.md, "Tables".
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "rtl/sim/data.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/worm.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::rtl {
namespace {

constexpr std::size_t kWordBytes = mt_pkg::kDataW / 8;
/// A port begins no other message as long as so many flits wait to leave by it, nor does a virtual
/// channel of it get other worms of neighbours.
constexpr std::size_t kMostFlits = 4096;
/// Flits of a worm: a long route, a header, and as much payload as that can say.
constexpr std::size_t kLongestWorm = 2 + (std::size_t{1} << mt_pkg::kLenW) - 1;

class SoftwareEndpoint final : public Endpoint {
 public:
  explicit SoftwareEndpoint(const Part& part);

  std::span<std::byte> buffer() override { return buffer_; }
  void start() override { started_ = true; }
  bool work() override;
  [[nodiscard]] bool is_done() const override {
    return entries_left_ == 0 && arrivals_left_ == 0 && started_;
  }
  [[nodiscard]] std::string error() override { return error_; }

 private:
  /// The virtual channels of a link from here.
  struct Output {
    std::array<std::deque<LinkFlit>, mt_pkg::kNumVc> waiting;
    std::array<std::uint32_t, mt_pkg::kNumVc> places{};  ///< at the other end
    std::deque<const nic::Entry*> entries;               ///< of the port, not yet sent
    [[nodiscard]] std::size_t flits() const {
      std::size_t sum = 0;
      for (const auto& flits : waiting) sum += flits.size();
      return sum;
    }
  };
  /// A virtual channel of a link to here.
  struct Input {
    std::deque<LinkFlit> arrived;  ///< without their credits
    Worm worm;                     ///< that is coming, or waits to go on
    std::optional<Hop> hop;        ///< of a worm that is whole
  };
  /// What has come of a message; `flits` is known once its last worm is there.
  struct Message {
    WormHeader header;
    std::vector<std::byte> payload;
    std::uint32_t received = 0;
    std::optional<std::uint32_t> flits;
  };
  struct Piece {
    std::uint32_t arrivals = 0;  ///< messages that are to come
    std::uint32_t longest = 0;   ///< of these, in flits
    std::uint32_t taken = 0, sent = 0;
    std::map<std::uint32_t, Message> messages;  ///< [turn]
  };

  bool receive();
  bool advance(std::uint32_t port, Input& input);
  bool go_on(Input& input);
  std::optional<std::uint8_t> shortest(const Hop& hop);
  void put(const Hop& hop, std::uint8_t channel, const Worm& worm);
  void deliver(const Worm& worm);
  void take_in(Piece& piece);
  void apply(const Message& message);
  bool issue(Output& output);
  void send(const nic::Entry& entry);
  bool transmit(std::uint32_t port);
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }
  [[nodiscard]] std::uint32_t number_of(const nic::Entry& entry) const {
    return entry.flow * pieces_per_flow_ + entry.piece;
  }
  /// Of its payload.
  [[nodiscard]] std::uint32_t flits_of(const nic::Entry& entry) const {
    return static_cast<std::uint32_t>((entry.size + per_flit_ - 1) / per_flit_);
  }

  Cables& cables_;
  const nic::Tables& tables_;
  const Rank rank_;
  const HardwareType type_;
  const std::uint32_t element_, per_flit_;  // bytes; elements
  const std::uint32_t pieces_per_flow_;
  const std::uint32_t channels_;         // virtual channels of a link
  const std::uint32_t interface_ports_;  // outputs from here on are the interface's
  std::uint32_t worm_flits_;             // payload of the longest worm
  std::vector<std::byte> buffer_;
  std::vector<std::uint32_t> routes_;  // words as registers have them, 4 for each
  std::vector<Output> outputs_;
  std::vector<std::array<Input, mt_pkg::kNumVc>> inputs_;  // [port][virtual channel]
  std::map<std::uint32_t, Piece> pieces_;
  std::size_t entries_left_ = 0, arrivals_left_ = 0;
  std::string error_;
  bool started_ = false;
};

SoftwareEndpoint::SoftwareEndpoint(const Part& part)
    : cables_(part.cables),
      tables_(part.collective.tables),
      rank_(part.rank),
      type_(part.collective.type),
      element_(bytes_of(type_)),
      per_flit_(kWordBytes / element_),
      pieces_per_flow_(pieces_per_flow(tables_)),
      channels_(part.collective.parameters.virtual_channels),
      interface_ports_(interface_ports(part.topology, part.rank)),
      worm_flits_((1U << mt_pkg::kLenW) - 1),
      buffer_(tables_.elements * element_),
      outputs_(part.cables.out.size()),
      inputs_(part.cables.in.size()) {
  const nic::Parameters& parameters = part.collective.parameters;
  if (parameters.flow_control == nic::FlowControl::Packet) {
    worm_flits_ =
        static_cast<std::uint32_t>((parameters.packet_bytes + kWordBytes - 1) / kWordBytes);
  }
  for (const auto& [address, value] : writes_of(part)) {
    if (address == reg::kRoute) routes_.push_back(value);
  }
  for (Output& output : outputs_) {
    std::fill_n(output.places.begin(), channels_, parameters.buffer_flits);
  }
  for (const nic::Entry& entry : tables_.of_rank[index(rank_)]) {
    if (entry.op == nic::Opcode::Nop) continue;
    outputs_[entry.port].entries.push_back(&entry);
    ++entries_left_;
  }
  for (const auto& entries : tables_.of_rank) {
    for (const nic::Entry& entry : entries) {
      if (entry.op == nic::Opcode::Nop || entry.peer != rank_) continue;
      Piece& piece = pieces_[number_of(entry)];
      piece.longest = std::max(piece.longest, flits_of(entry));
      ++piece.arrivals;
      ++arrivals_left_;
    }
  }
}

bool SoftwareEndpoint::work() {
  if (!error_.empty()) return false;
  bool moves = receive();
  for (std::uint32_t p = 0; p < outputs_.size(); ++p) {
    while (started_ && issue(outputs_[p])) moves = true;
    moves = transmit(p) || moves;
  }
  return moves;
}

/// Takes whatever has come, as far as there is room for it. A virtual channel whose worm cannot go
/// on keeps the places of what has come behind it, as that of a router does, so its neighbour
/// stops; the others go on, so nobody waits for each other in a circle.
bool SoftwareEndpoint::receive() {
  bool moves = false;
  LinkFlit flit;
  for (std::uint32_t p = 0; p < inputs_.size(); ++p) {
    while (cables_.of_in(p).take_flit(flit)) {
      inputs_[p][flit.vc].arrived.push_back(flit);
      moves = true;
    }
    for (Input& input : inputs_[p]) {
      while (error_.empty() && advance(p, input)) moves = true;
    }
  }
  return moves;
}

/// Moves a worm on, or takes one flit of it. \returns whether it could
bool SoftwareEndpoint::advance(std::uint32_t port, Input& input) {
  if (input.hop) return go_on(input);
  if (input.arrived.empty()) return false;
  const LinkFlit flit = input.arrived.front();
  input.arrived.pop_front();
  cables_.of_in(port).put_credit(flit.vc);
  if (!is_intact(flit)) {
    fail(fmt::format("corrupt flit at port {}", port));
    return false;
  }
  input.worm.push_back(flit);
  if (input.worm.size() > kLongestWorm) fail(fmt::format("a worm without an end at port {}", port));
  if (is_tail(flit)) input.hop = take_hop(input.worm.front());
  return true;
}

/// What a router does with a worm. \returns false if there is no room for it yet
bool SoftwareEndpoint::go_on(Input& input) {
  if (input.hop->port >= interface_ports_) {
    deliver(input.worm);
  } else {
    const auto channel = shortest(*input.hop);
    if (!channel) return false;
    if (outputs_[input.hop->port].waiting[*channel].size() >= kMostFlits) return false;
    put(*input.hop, *channel, input.worm);
  }
  input.worm.clear();
  input.hop.reset();
  return true;
}

/// Of the virtual channels that a worm may take, the one in which the fewest flits wait. None: it
/// has failed.
std::optional<std::uint8_t> SoftwareEndpoint::shortest(const Hop& hop) {
  std::optional<std::uint8_t> best;
  if (hop.port >= outputs_.size()) {
    fail(fmt::format("a route to port {}", hop.port));
    return best;
  }
  if (hop.channels >> channels_ != 0) {
    fail(fmt::format("a route to virtual channel {} of port {}, which has {}",
                     std::bit_width(hop.channels) - 1, hop.port, channels_));
    return best;
  }
  const auto& waiting = outputs_[hop.port].waiting;
  for (std::uint8_t v = 0; v < channels_; ++v) {
    if ((hop.channels >> v & 1) == 0) continue;
    if (!best || waiting[v].size() < waiting[*best].size()) best = v;
  }
  if (!best) fail(fmt::format("a route without a virtual channel at port {}", hop.port));
  return best;
}

void SoftwareEndpoint::put(const Hop& hop, std::uint8_t channel, const Worm& worm) {
  for (LinkFlit flit : worm) {
    flit.vc = channel;
    outputs_[hop.port].waiting[channel].push_back(flit);
  }
}

void SoftwareEndpoint::deliver(const Worm& worm) {
  std::size_t at = is_route(data_of(worm.front())) ? 1 : 0;
  if (at >= worm.size()) return fail("a worm without a header");
  const WormHeader header = decode_header(data_of(worm[at++]));
  if (worm.size() - at != header.flits) {
    return fail(fmt::format("piece {}: a worm of {} flits that says {}", header.piece,
                            worm.size() - at, header.flits));
  }
  const auto place = pieces_.find(header.piece);
  if (place == pieces_.end() || header.turn < place->second.taken ||
      header.turn >= place->second.arrivals) {
    return fail(
        fmt::format("piece {}: message {} is none that it waits for", header.piece, header.turn));
  }
  Piece& piece = place->second;
  if (header.offset + header.flits > piece.longest) {
    return fail(fmt::format("piece {}: elements behind the end of a message of {} flits",
                            header.piece, piece.longest));
  }
  const std::size_t end = (std::size_t{header.offset} + header.flits) * kWordBytes;
  Message& message = piece.messages[header.turn];
  message.header = header;
  message.received += header.flits;
  if (header.last) message.flits = header.offset + header.flits;
  if (message.flits && message.received > *message.flits) {
    return fail(
        fmt::format("piece {}: message {} has more flits than it says", header.piece, header.turn));
  }
  if (message.payload.size() < end) message.payload.resize(end);
  std::byte* to = message.payload.data() + std::size_t{header.offset} * kWordBytes;
  for (; at < worm.size(); ++at, to += kWordBytes) {
    const FlitData data = data_of(worm[at]);
    std::memcpy(to, data.data(), kWordBytes);
  }
  take_in(piece);
}

/// All whose turn it is.
void SoftwareEndpoint::take_in(Piece& piece) {
  for (;;) {
    const auto next = piece.messages.find(piece.taken);
    if (next == piece.messages.end()) return;
    const Message& message = next->second;
    if (message.flits != message.received || piece.sent < message.header.after) return;
    apply(message);
    piece.messages.erase(next);
    ++piece.taken;
    --arrivals_left_;
  }
}

void SoftwareEndpoint::apply(const Message& message) {
  const WormHeader& header = message.header;
  const std::uint64_t count =
      *message.flits == 0 ? 0 : (std::uint64_t{*message.flits} - 1) * per_flit_ + header.lanes + 1;
  if (header.start + count > tables_.elements || count * element_ > message.payload.size()) {
    return fail(fmt::format("piece {}: elements behind the end of the buffer", header.piece));
  }
  std::byte* const to = buffer_.data() + std::size_t{header.start} * element_;
  if (header.gather) {
    std::copy_n(message.payload.begin(), count * element_, to);
  } else {
    runtime::reduce(to, message.payload.data(), count, data_type_of(type_), runtime::ReduceOp::Sum);
  }
}

/// The port's next message, if it may be sent. \returns whether it was
bool SoftwareEndpoint::issue(Output& output) {
  if (output.entries.empty() || output.flits() > kMostFlits) return false;
  const nic::Entry& entry = *output.entries.front();
  Piece& piece = pieces_[number_of(entry)];
  if (piece.taken < entry.wait) return false;
  output.entries.pop_front();
  --entries_left_;
  send(entry);
  ++piece.sent;
  take_in(piece);
  return true;
}

void SoftwareEndpoint::send(const nic::Entry& entry) {
  const std::uint32_t* const route_words = routes_.data() + std::size_t{entry.route} * 4;
  FlitData route_data{};
  std::copy_n(route_words, route_data.size(), route_data.begin());
  constexpr std::uint32_t kLongBit = mt_pkg::kLongRouteW;
  const bool is_long = (route_data[kLongBit / 32] >> (kLongBit % 32) & 1) != 0;
  const std::uint32_t flits = flits_of(entry);
  const std::byte* const from = buffer_.data() + entry.start * element_;
  const std::size_t bytes = entry.size * element_;
  std::uint32_t offset = 0;
  do {
    const std::uint32_t payload = std::min(worm_flits_, flits - offset);
    const WormHeader header{.gather = entry.op == nic::Opcode::Gather,
                            .last = offset + payload == flits,
                            .lanes = static_cast<std::uint32_t>((entry.size - 1) % per_flit_),
                            .src = index(rank_),
                            .turn = entry.turn,
                            .after = entry.after,
                            .piece = number_of(entry),
                            .flits = payload,
                            .offset = offset,
                            .start = static_cast<std::uint32_t>(entry.start)};
    Worm worm;
    if (is_long) {
      FlitData data = route_data;  // the bit above the route says that it is one
      data[kLongBit / 32] ^= 1U << (kLongBit % 32) | 1U << (mt_pkg::kDataW - 1) % 32;
      worm.push_back(make_flit(data, true, false));
    }
    worm.push_back(make_flit(encode(header, is_long ? 0 : route_data[0]), !is_long, payload == 0));
    for (std::uint32_t f = 0; f < payload; ++f) {
      FlitData data{};
      const std::size_t at = std::size_t{offset + f} * kWordBytes;
      std::memcpy(data.data(), from + at, std::min(kWordBytes, bytes - at));
      worm.push_back(make_flit(data, false, f + 1 == payload));
    }
    const Hop hop = take_hop(worm.front());
    const auto channel = shortest(hop);
    if (!channel) return;
    put(hop, *channel, worm);
    offset += payload;
  } while (offset < flits);
}

/// As many flits as there are places for at the other end.
bool SoftwareEndpoint::transmit(std::uint32_t port) {
  Output& output = outputs_[port];
  Cable& cable = cables_.of_out(port);
  bool moves = false;
  std::uint8_t vc = 0;
  while (cable.take_credit(vc)) ++output.places[vc];
  for (std::uint32_t v = 0; v < mt_pkg::kNumVc; ++v) {
    for (auto& waiting = output.waiting[v]; !waiting.empty() && output.places[v] > 0;
         moves = true) {
      cable.put_flit(waiting.front());
      waiting.pop_front();
      --output.places[v];
    }
  }
  return moves;
}

}  // namespace

std::unique_ptr<Endpoint> make_software_endpoint(const Part& part) {
  return std::make_unique<SoftwareEndpoint>(part);
}

}  // namespace multitree::rtl
