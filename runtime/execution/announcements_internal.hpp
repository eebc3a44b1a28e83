// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether all ranks make the same calls.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// A call by its number in the communicator.
struct NumberedCall {
  std::uint64_t sequence = 0;
  SharedCall call;
};

/// Tags begin with a digest of their call (tag_of()), so a message of another call is never taken
/// for one that is awaited: ranks that call different things wait. Who has waited for a moment
/// therefore tells its peers what it has called, and whoever has called something else under that
/// number says so. Calls that all make alike cost no message, unless they wait that long.
///
/// A rank that only sends (the root of a broadcast) waits for nobody. It tells of such calls before
/// it goes where no messages are read, to a barrier.
class Announcements {
 public:
  Announcements(Transport& transport, Seat self, const std::vector<Seat>& peers);

  /// Notes what this rank calls, before its messages are posted. `waits`: for messages of others.
  void note(const NumberedCall& called, bool waits);
  /// Whether find_difference() has something to look at.
  [[nodiscard]] bool heard() const { return doubtful_ || !arrived_.empty(); }
  /// The first call under whose number a peer has announced another: its number, and both in words.
  std::optional<std::pair<std::uint64_t, std::string>> find_difference();
  /// Tells all peers of a call that this rank waits in; once a call.
  void announce(std::uint64_t sequence);
  /// Tells them of the latest calls in which this rank has only sent.
  void announce_unawaited();

  [[nodiscard]] bool has_unawaited() const { return !unawaited_.empty(); }

  /// What peers have been sent since this was last asked, for the others to wait for: a Told for
  /// each, as bytes.
  std::string take_told();
  /// How many of the messages that all ranks' take_told() tells of are for this rank.
  [[nodiscard]] std::uint64_t count_told(const Gathered& told) const;
  /// Whether `messages` have come that take_told() has not been asked about yet; then they are
  /// forgotten. Messages that nobody takes would be complained of at the end.
  bool have_come(std::uint64_t messages);

 private:
  /// Runs of calls that one message tells of.
  static constexpr std::size_t kTold = 8;
  /// Runs of equal calls that are remembered: a rank may be ahead of others by sends that nobody
  /// has taken, of any number.
  static constexpr std::size_t kRemembered = 256;
  /// Of a peer that is ahead; more tell nothing new.
  static constexpr std::size_t kKept = 16;

  /// Calls that were all alike.
  struct Run {
    std::uint64_t first = 0, last = 0;  ///< their numbers
    SharedCall call;
  };
  struct Message {
    std::uint64_t count = 0;
    Run calls[kTold];
  };
  struct Told {
    Seat to{};
    std::uint32_t messages = 0;
  };
  struct Peer {
    Seat seat{};
    Message incoming;
    Completion received;
    std::deque<Run> ahead;  ///< announced, and not called here yet
  };
  /// On its way out.
  struct Outgoing {
    Message message;
    std::deque<Completion> sent;  ///< by peer
  };

  void receive_from(Peer& peer);
  void tell(const Message& message);
  void hear(Peer& peer, const Run& its);
  static void extend(std::deque<Run>& runs, const NumberedCall& called, std::size_t most);
  [[nodiscard]] const SharedCall* find(std::uint64_t sequence) const;

  Transport& transport_;
  Seat self_;
  std::deque<Peer> peers_;
  std::deque<Run> calls_;  ///< the latest, ascending
  std::deque<Run> unawaited_;
  std::vector<Completion*> arrived_;
  std::deque<Outgoing> outgoing_;
  std::optional<std::pair<std::uint64_t, std::string>> difference_;
  std::optional<std::uint64_t> last_announced_;
  std::map<Seat, std::uint32_t> told_;  ///< messages to each, since that was asked
  std::uint64_t come_ = 0;
  bool doubtful_ = false;  ///< a peer has announced what has now been called here
};

/// Of announcements; no call has it (tag_of()).
inline constexpr std::uint64_t kAnnouncementTag = std::uint64_t{0x3fff} << 32;

}  // namespace multitree::runtime
