// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tables of an interface, executed message by message: when an entry is sent and a message
/// taken in is in docs/nic-spec.md, "Tables".
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "rtl/sim/data.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/software_router.hpp"
#include "rtl/wire/worm.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::rtl {
namespace {

class SoftwareEndpoint final : public Endpoint {
 public:
  explicit SoftwareEndpoint(const Part& part);

  std::span<std::byte> buffer() override { return buffer_; }
  void start() override { started_ = true; }
  bool work() override;
  [[nodiscard]] bool is_done() const override {
    return entries_left_ == 0 && arrivals_left_ == 0 && started_;
  }
  [[nodiscard]] std::string error() override { return router_.error(); }

 private:
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

  void deliver(const Worm& worm);
  void take_in(Piece& piece);
  void apply(const Message& message);
  bool issue(std::uint32_t port);
  void send(const nic::Entry& entry);
  void fail(std::string what) { router_.fail(std::move(what)); }
  [[nodiscard]] std::uint32_t number_of(const nic::Entry& entry) const {
    return entry.flow * pieces_per_flow_ + entry.piece;
  }
  /// Of its payload.
  [[nodiscard]] std::uint32_t flits_of(const nic::Entry& entry) const {
    return static_cast<std::uint32_t>((entry.size + per_flit_ - 1) / per_flit_);
  }

  const nic::Tables& tables_;
  const Rank rank_;
  const HardwareType type_;
  const FlitShape shape_;
  const std::size_t word_;                  // bytes of a flit's payload
  const std::uint32_t element_, per_flit_;  // bytes; elements of a flit
  const std::uint32_t pieces_per_flow_;
  std::uint32_t worm_flits_;  // payload of the longest worm
  std::vector<std::byte> buffer_;
  std::vector<std::uint32_t> routes_;  // words as registers have them, 4 for each
  SoftwareRouter router_;
  std::vector<std::deque<const nic::Entry*>> entries_;  // [port]: not yet sent
  std::map<std::uint32_t, Piece> pieces_;
  std::size_t entries_left_ = 0, arrivals_left_ = 0;
  bool started_ = false;
};

SoftwareEndpoint::SoftwareEndpoint(const Part& part)
    : tables_(part.collective.tables),
      rank_(part.rank),
      type_(part.collective.type),
      shape_(part.collective.parameters.flit_bytes),
      word_(shape_.bytes()),
      element_(bytes_of(type_)),
      per_flit_(shape_.bytes() / element_),
      pieces_per_flow_(pieces_per_flow(tables_)),
      worm_flits_((1U << mt_pkg::kLenW) - 1),
      buffer_(tables_.elements * element_),
      router_(part.cables, part.collective.parameters, interface_ports(part.topology, part.rank),
              [this](const Worm& worm) { deliver(worm); }),
      entries_(part.cables.out.size()) {
  const nic::Parameters& parameters = part.collective.parameters;
  if (parameters.flow_control == nic::FlowControl::Packet) {
    worm_flits_ = static_cast<std::uint32_t>((parameters.packet_bytes + word_ - 1) / word_);
  }
  for (const auto& [address, value] : writes_of(part)) {
    if (address == reg::kRoute) routes_.push_back(value);
  }
  for (const nic::Entry& entry : tables_.of_rank[index(rank_)]) {
    if (entry.op == nic::Opcode::Nop) continue;
    entries_[entry.port].push_back(&entry);
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
  if (!error().empty()) return false;
  bool moves = router_.receive();
  for (std::uint32_t p = 0; p < entries_.size(); ++p) {
    while (started_ && issue(p)) moves = true;
  }
  return router_.transmit() || moves;
}

void SoftwareEndpoint::deliver(const Worm& worm) {
  std::size_t at = is_route(data_of(worm.front(), shape_), shape_) ? 1 : 0;
  if (at >= worm.size()) return fail("a worm without a header");
  const WormHeader header = decode_header(data_of(worm[at++], shape_), shape_);
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
  const std::size_t end = (std::size_t{header.offset} + header.flits) * word_;
  Message& message = piece.messages[header.turn];
  message.header = header;
  message.received += header.flits;
  if (header.last) message.flits = header.offset + header.flits;
  if (message.flits && message.received > *message.flits) {
    return fail(
        fmt::format("piece {}: message {} has more flits than it says", header.piece, header.turn));
  }
  if (message.payload.size() < end) message.payload.resize(end);
  std::byte* to = message.payload.data() + std::size_t{header.offset} * word_;
  for (; at < worm.size(); ++at, to += word_) {
    const FlitData data = data_of(worm[at], shape_);
    std::memcpy(to, data.data(), word_);
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
bool SoftwareEndpoint::issue(std::uint32_t port) {
  auto& entries = entries_[port];
  if (entries.empty() || router_.is_crowded(port)) return false;
  const nic::Entry& entry = *entries.front();
  Piece& piece = pieces_[number_of(entry)];
  if (piece.taken < entry.wait) return false;
  entries.pop_front();
  --entries_left_;
  send(entry);
  ++piece.sent;
  take_in(piece);
  return true;
}

void SoftwareEndpoint::send(const nic::Entry& entry) {
  const std::uint32_t* const route = routes_.data() + std::size_t{entry.route} * 4;
  constexpr std::uint32_t kLongBit = mt_pkg::kLongRouteW;
  const bool is_long = (route[kLongBit / 32] >> (kLongBit % 32) & 1) != 0;
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
    if (is_long) worm.push_back(make_flit(route_flit(route, shape_), true, false, shape_));
    worm.push_back(
        make_flit(encode(header, is_long ? 0 : route[0], shape_), !is_long, payload == 0, shape_));
    for (std::uint32_t f = 0; f < payload; ++f) {
      FlitData data{};
      const std::size_t at = std::size_t{offset + f} * word_;
      std::memcpy(data.data(), from + at, std::min(word_, bytes - at));
      worm.push_back(make_flit(data, false, f + 1 == payload, shape_));
    }
    router_.send(std::move(worm));
    offset += payload;
  } while (offset < flits);
}

}  // namespace

std::unique_ptr<Endpoint> make_software_endpoint(const Part& part) {
  return std::make_unique<SoftwareEndpoint>(part);
}

}  // namespace multitree::rtl
