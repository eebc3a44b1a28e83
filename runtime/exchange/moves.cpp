// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of exchanges, and what follows from its rows.
#include "runtime/exchange/moves_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Who sends to whom.
enum class Pattern : std::uint8_t { Nobody, ToPeer, FromPeer, Everyone, ToRoot, FromRoot };
/// The count that all ranks name alike: none, each one's, or that of all shares.
enum class Common : std::uint8_t { None, Each, SumReceived, SumSent };

struct ExchangeFacts {
  Exchange exchange{};
  std::string_view name;
  Pattern pattern{};
  bool shares_sent = false, shares_received = false;  ///< one for each rank, or one alone
  bool reduces = false;
  Common common{};
};
constexpr ExchangeFacts kExchanges[] = {
    {Exchange::None, "", Pattern::Nobody},
    {Exchange::Send, "send", Pattern::ToPeer},
    {Exchange::Receive, "receive", Pattern::FromPeer},
    {Exchange::AllToAll, "alltoall", Pattern::Everyone, true, true, false, Common::Each},
    {Exchange::AllToAllv, "alltoallv", Pattern::Everyone, true, true},
    {Exchange::AllGatherv, "allgatherv", Pattern::Everyone, false, true, false,
     Common::SumReceived},
    {Exchange::ReduceScatterv, "reduce-scatterv", Pattern::Everyone, true, false, true,
     Common::SumSent},
    {Exchange::Gatherv, "gatherv", Pattern::ToRoot, false, true},
    {Exchange::Scatterv, "scatterv", Pattern::FromRoot, true, false},
    {Exchange::Probe, "probe", Pattern::FromPeer},
};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < std::size(kExchanges); ++i) {
    if (kExchanges[i].exchange != static_cast<Exchange>(i)) return false;
  }
  return true;
}
static_assert(are_in_order(), "exchange_facts() looks rows up by their number");

const ExchangeFacts& exchange_facts(Exchange exchange) {
  return kExchanges[static_cast<std::size_t>(exchange)];
}

[[noreturn]] void reject_exchange(const ExchangeCall& call, const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, fmt::format("{}: {}", to_string(call.exchange), what));
}

/// One end of an exchange at this rank: where its shares lie.
class Side {
 public:
  /// `counted`: one share for each rank, or one alone. `name`: "send" or "recv".
  Side(const ExchangeCall& call, const Shares& shares, std::uint32_t counted, const char* name)
      : call_(call), shares_(shares), name_(name), width_(size_of(call.type)) {
    const bool displaced = !shares.begins.empty();
    if (shares.size() != counted || (displaced && shares.begins.size() != counted)) {
      reject_exchange(call, fmt::format("{}: expected {} counts and as many displacements, found "
                                        "{} and {}",
                                        name, counted, shares.size(), shares.begins.size()));
    }
    shares.are_equal() ? place_equal() : place();
  }

  [[nodiscard]] std::size_t begin(std::size_t share) const {
    const std::size_t i = share % shares_.size();
    return (shares_.are_equal() ? i * shares_.each : begins_[i]) * width_;
  }
  [[nodiscard]] std::size_t bytes(std::size_t share) const {
    return shares_.count(share % shares_.size()) * width_;
  }
  /// From the first byte of a share to the last.
  [[nodiscard]] std::pair<std::size_t, std::size_t> extent() const { return {first_, last_}; }
  [[nodiscard]] bool empty() const { return first_ == last_; }

  void check_disjoint() const {
    if (shares_.begins.empty()) return;  // side by side
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      if (shares_.counts[i] != 0) order.push_back(i);
    }
    std::ranges::sort(order, {}, [&](std::size_t i) { return begins_[i]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (begins_[order[i - 1]] + shares_.counts[order[i - 1]] <= begins_[order[i]]) continue;
      reject_exchange(
          call_, fmt::format("{}: the shares of rank {} and rank {} overlap", name_,
                             std::min(order[i - 1], order[i]), std::max(order[i - 1], order[i])));
    }
  }

 private:
  /// \returns where a share ends that begins there
  [[nodiscard]] std::size_t end_of(std::size_t at, std::size_t count) const {
    const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / width_;
    if (at <= most && count <= most - at) return at + count;
    reject_exchange(call_, fmt::format("{}: {} elements from {} do not fit the address space",
                                       name_, count, at));
  }
  void place_equal() {
    if (shares_.each == 0) return;
    const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / shares_.number;
    const std::size_t last = std::min(shares_.each, most) * (shares_.number - 1);
    last_ = end_of(last, shares_.each) * width_;
  }
  void place() {
    std::size_t end = 0;
    bool any = false;
    for (std::size_t i = 0; i < shares_.counts.size(); ++i) {
      const std::size_t count = shares_.counts[i];
      const std::size_t at = shares_.begins.empty() ? end : shares_.begins[i];
      end = end_of(at, count);
      begins_.push_back(at);
      if (count == 0) continue;
      first_ = any ? std::min(first_, at * width_) : at * width_;
      last_ = any ? std::max(last_, end * width_) : end * width_;
      any = true;
    }
  }

  const ExchangeCall& call_;
  const Shares& shares_;
  const char* name_;
  std::size_t width_;
  Few<std::size_t> begins_;  ///< of shares that are not equal
  std::size_t first_ = 0, last_ = 0;
};

/// Whether a rank sends anything, and receives anything.
bool sends_any(const ExchangeCall& call, Rank self) {
  const Pattern pattern = exchange_facts(call.exchange).pattern;
  if (pattern == Pattern::FromRoot) return self == call.peer;
  return pattern == Pattern::Everyone || pattern == Pattern::ToRoot || pattern == Pattern::ToPeer;
}
bool receives_any(const ExchangeCall& call, Rank self) {
  const Pattern pattern = exchange_facts(call.exchange).pattern;
  if (pattern == Pattern::ToRoot) return self == call.peer;
  return pattern == Pattern::Everyone || pattern == Pattern::FromRoot ||
         pattern == Pattern::FromPeer;
}

/// Of those who do, whether to or from `other`.
bool sends_to(const ExchangeCall& call, Rank other) {
  const Pattern pattern = exchange_facts(call.exchange).pattern;
  return other == call.peer || (pattern != Pattern::ToRoot && pattern != Pattern::ToPeer);
}
bool receives_from(const ExchangeCall& call, Rank other) {
  const Pattern pattern = exchange_facts(call.exchange).pattern;
  return other == call.peer || (pattern != Pattern::FromRoot && pattern != Pattern::FromPeer);
}

/// Where the share of `peer` is.
template <typename Byte>
Byte* at(Byte* buffer, const Side& side, Seat peer) {
  return side.bytes(index(peer)) == 0 ? buffer : buffer + side.begin(index(peer));
}

void check_peer(const ExchangeCall& call, std::uint32_t ranks) {
  if (index(call.peer) < ranks) return;
  const bool rooted = exchange_facts(call.exchange).pattern >= Pattern::ToRoot;
  reject_exchange(call, fmt::format("{}: expected a rank below {}, found {}",
                                    rooted ? "root" : "peer", ranks, call.peer));
}

/// `own`: what stays here is there already.
void check_overlap(const ExchangeCall& call, const Side& sent, const Side& received, bool own) {
  if (sent.empty() || received.empty() || own) return;
  const auto* const send = static_cast<const std::byte*>(call.send);
  const auto* const recv = static_cast<const std::byte*>(call.recv);
  const std::less<> before;
  if (before(send + sent.extent().first, recv + received.extent().second) &&
      before(recv + received.extent().first, send + sent.extent().second)) {
    reject_exchange(call, "send and recv overlap without being in place");
  }
}

/// To the peer or from it.
Moves moves_of_pair(const ExchangeCall& call, std::size_t bytes) {
  Moves moves;
  const Seat peer = seat_of(call.peer);
  if (call.exchange == Exchange::Send) {
    moves.out.push_back({peer, static_cast<const std::byte*>(call.send), bytes});
  } else {
    moves.in.push_back({peer, static_cast<std::byte*>(call.recv), bytes});
  }
  return moves;
}

/// Whether the smaller buffer is this rank's share of the larger one.
bool is_in_place(const ExchangeCall& call, const Moves& moves) {
  const ExchangeFacts& facts = exchange_facts(call.exchange);
  return facts.shares_sent != facts.shares_received && moves.own_to == moves.own.data;
}

}  // namespace

std::string_view to_string(Exchange exchange) { return exchange_facts(exchange).name; }

bool reduces(Exchange exchange) { return exchange_facts(exchange).reduces; }

bool has_share_for_each(Exchange exchange) { return exchange_facts(exchange).shares_sent; }

bool is_collective(Exchange exchange) {
  return exchange_facts(exchange).pattern >= Pattern::Everyone;
}

CommonCall common_call(const ExchangeCall& call) {
  const ExchangeFacts& facts = exchange_facts(call.exchange);
  const auto sum = [](const Shares& shares) {
    return std::accumulate(shares.counts.begin(), shares.counts.end(),
                           std::uint64_t{shares.number} * shares.each);
  };
  CommonCall common{.type = call.type, .exchange = call.exchange};
  if (facts.pattern >= Pattern::ToRoot) common.root = call.peer;
  if (facts.reduces) common.op = call.op;
  if (facts.common == Common::Each) common.set_count(call.sent.count(0));
  if (facts.common == Common::SumReceived) common.set_count(sum(call.received));
  if (facts.common == Common::SumSent) common.set_count(sum(call.sent));
  return common;
}

std::size_t pair_bytes(const ExchangeCall& call, std::uint32_t ranks) {
  check_peer(call, ranks);
  const bool sends = call.exchange == Exchange::Send;
  const std::size_t width = size_of(call.type);
  if (call.count > std::numeric_limits<std::ptrdiff_t>::max() / width) {
    reject_exchange(call, fmt::format("{}: {} elements do not fit the address space",
                                      sends ? "send" : "recv", call.count));
  }
  if ((sends ? call.send : call.recv) == nullptr && call.count != 0) {
    reject_exchange(call, fmt::format("{} is null", sends ? "send" : "recv"));
  }
  return call.count * width;
}

Moves moves_of(const ExchangeCall& call, Seat self, std::uint32_t ranks) {
  if (!is_collective(call.exchange)) return moves_of_pair(call, pair_bytes(call, ranks));
  const ExchangeFacts& facts = exchange_facts(call.exchange);
  check_peer(call, ranks);
  const Rank me = rank_at(self);
  const bool sends = sends_any(call, me), receives = receives_any(call, me);
  const Shares nothing = Shares::one(0);
  const Side sent(call, sends ? call.sent : nothing, sends && facts.shares_sent ? ranks : 1,
                  "send");
  const Side received(call, receives ? call.received : nothing,
                      receives && facts.shares_received ? ranks : 1, "recv");
  if (call.send == nullptr && !sent.empty()) reject_exchange(call, "send is null");
  if (call.recv == nullptr && !received.empty()) reject_exchange(call, "recv is null");
  received.check_disjoint();
  const auto from = [&](Seat peer) {
    return Move<const std::byte>{peer, at(static_cast<const std::byte*>(call.send), sent, peer),
                                 sent.bytes(index(peer))};
  };
  const auto to = [&](Seat peer) {
    return Move<std::byte>{peer, at(static_cast<std::byte*>(call.recv), received, peer),
                           received.bytes(index(peer))};
  };
  Moves moves;
  if (sends && sends_to(call, me) && receives && receives_from(call, me)) {
    moves.own = from(self);
    const Move<std::byte> own_to = to(self);
    moves.own_to = own_to.data;
    if (moves.own.bytes != own_to.bytes) {
      reject_exchange(call, fmt::format("rank {} has {} elements for itself, and takes {}", self,
                                        moves.own.bytes / size_of(call.type),
                                        own_to.bytes / size_of(call.type)));
    }
  }
  check_overlap(call, sent, received, is_in_place(call, moves));
  for (std::uint32_t step = 1; step < ranks; ++step) {
    const Seat next{(index(self) + step) % ranks}, last{(index(self) + ranks - step) % ranks};
    if (sends && sends_to(call, rank_at(next))) moves.out.push_back(from(next));
    if (receives && receives_from(call, rank_at(last))) moves.in.push_back(to(last));
  }
  return moves;
}

}  // namespace multitree::runtime
