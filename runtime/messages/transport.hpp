// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the executor needs of a network: tagged point-to-point messages between ranks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// Where a posted operation reports. Lives at a fixed address until done.
struct Completion {
  enum class State : std::uint8_t { Idle, Pending, Done, Failed };
  State state = State::Idle;
  std::uint32_t id = 0;  ///< the poster's name for it
  /// Where the transport appends this completion once Done or Failed, so that the poster need not
  /// look through all that is outstanding; may be null.
  std::vector<Completion*>* finished = nullptr;
  std::string error;     ///< set when Failed
  std::size_t came = 0;  ///< bytes of the message, set when it has Failed for its length
  bool or_less = false;  ///< a shorter message will do as well, and `came` says how long it was

  /// A message of so many bytes will do where one of `expected` was awaited.
  [[nodiscard]] bool takes(std::size_t bytes, std::size_t expected) const {
    return bytes == expected || (or_less && bytes < expected);
  }
  void complete(std::size_t bytes) {
    came = bytes;
    finish(State::Done);
  }
  /// A message came that is not as long as the one that was awaited.
  void fail_length(std::size_t bytes, std::string reason) {
    came = bytes;
    fail(std::move(reason));
  }

  void complete() { finish(State::Done); }
  void fail(std::string reason) {
    error = std::move(reason);
    finish(State::Failed);
  }

 private:
  void finish(State outcome) {
    state = outcome;
    if (finished != nullptr) finished->push_back(this);
  }
};

/// Messages carry this many bits of tag; transports use the others for the sender.
inline constexpr unsigned kTagBits = 48;
/// What is left of 64 bits for the sender.
inline constexpr std::uint32_t kMaxRanks = 1U << 16;

/// How messages should be cut for a transport. The same at all ranks.
struct TransportLimits {
  std::size_t segment_bytes = std::numeric_limits<std::size_t>::max();  ///< of one message
  /// On their way to one peer; what is more waits at the sender, where it can be overtaken.
  std::size_t window_bytes = std::size_t{2} << 20;
  std::size_t window_messages = 4;  ///< that may be on their way, however long they are
  /// Messages leave whether or not their receiver has asked for them.
  bool buffered = false;
  /// Messages to all peers leave by one port of the network: its window is theirs together, and
  /// they go in the schedule's order, which lets no two senders meet at a port behind it.
  bool one_port = false;
  /// Chunks that travel together are merged up to this, as smaller messages cost more than they
  /// carry; 0: never.
  std::size_t merge_bytes = 0;
  /// What nobody awaits yet stays in its sender's memory, if it is large.
  bool keeps_at_sender = false;
  /// Longest message that a Note goes with; 0: none does.
  std::size_t noted_bytes = 0;
};

/// What a transport may carry beside a message, apart from its data.
struct Note {
  std::uint64_t words[2] = {};
  bool operator==(const Note&) const = default;
};

/// Links over which nothing comes any more.
struct SilentLinks {
  std::vector<Seat> peers;  ///< the ranks at the other ends
  std::vector<Seat> left;   ///< ranks to which this one has links that may be in order
  Deadline deadline{};      ///< that they were silent for; 0: could not be connected
  std::uint32_t cable = 0;  ///< of several to the first of the peers, the one that is silent
  std::string where = {};   ///< this end of that: "cable desk1 tb0 - desk2 tb1"; empty: not known
};

/// "nothing from rank 7 over link 3-7 for 2000 ms (nor from rank 4), interface eth1".
std::string words_of(const SilentLinks& silent, Seat self);

/// Point-to-point messages, matched by (sender, tag) in posting order. Calls come from one thread
/// at a time.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// `data` must stay valid and unchanged until the completion is Done. `tag` < 2^kTagBits.
  virtual void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    Completion& completion) = 0;
  /// The message must have exactly `bytes` bytes, or at most so many where the completion says so,
  /// else that fails; where it is shorter, it is in `data` all the same.
  virtual void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                       Completion& completion) = 0;
  /// send() and receive() with a note, of up to limits().noted_bytes, which are not 0. `note` is
  /// the one that is awaited; of a message with another nothing is taken, the completion fails, and
  /// `note` is the one that came. It tells lengths apart.
  virtual void send_noted(Seat peer, std::uint64_t tag, const Note& note, const void* data,
                          std::size_t bytes, Completion& completion);
  virtual void receive_noted(Seat peer, std::uint64_t tag, Note& note, void* data,
                             std::size_t bytes, Completion& completion);
  /// send_noted() of what has left as soon as this returns, with nothing to wait for; false: it was
  /// not sent.
  virtual bool send_at_once(Seat /*peer*/, std::uint64_t /*tag*/, const Note& /*note*/,
                            const void* /*data*/, std::size_t /*bytes*/) {
    return false;
  }
  /// receive_noted() of a message that is there, or comes so soon that it is worth waiting for
  /// here; false: it was not received, and is still to come, or is another than the one that is
  /// awaited.
  virtual bool receive_shortly(Seat /*peer*/, std::uint64_t /*tag*/, const Note& /*note*/,
                               void* /*data*/, std::size_t /*bytes*/) {
    return false;
  }
  /// Whether a message of that tag has come, or was announced, that receive() has not been called
  /// for; as of the last progress(). The message may be a part of its way here still.
  [[nodiscard]] virtual bool has_come(Seat /*peer*/, std::uint64_t /*tag*/) const { return false; }
  /// Whether send_device() and receive_device() work: the same with device memory at this end.
  [[nodiscard]] virtual bool takes_device_memory() const { return false; }
  virtual void send_device(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                           Completion& completion);
  virtual void receive_device(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                              Completion& completion);
  /// The links of this rank that have fallen silent, if it watches them. Cheap; from any thread.
  [[nodiscard]] virtual std::optional<SilentLinks> silent_links() const { return std::nullopt; }
  /// The links of this rank that are silent or slow now, where calls go on (OnLinkFailure);
  /// ascending, one of each peer. Cheap.
  [[nodiscard]] virtual std::vector<ImpairedLink> impaired_links() { return {}; }
  /// Links carry other messages than before: that says nothing of how fast they are.
  virtual void relearn_rates() {}
  /// Rates have been others for reasons of this process until now: they tell nothing of links.
  virtual void overlook_rates() {}
  /// Peers for which something was handed over that has not come to them, as far as that is known.
  [[nodiscard]] virtual std::vector<Seat> unsent() const { return {}; }
  /// Moves data and updates completions; true if anything happened. Never blocks.
  virtual bool progress() = 0;
  /// Done once all that was sent to `peer` before has left this process, whatever is sent later: a
  /// transport may have copied it, and still need progress() to pass it on. Never fails: a peer
  /// that is lost is told of where something is awaited from it.
  virtual void flush(Seat peer, Completion& completion);
  /// Progresses until all that was sent has left this rank, or nothing more of it can, at most for
  /// `deadline`. Before a rank stops calling progress() for good. False: the deadline has passed.
  virtual bool drain(Deadline deadline) = 0;
  /// Cancels everything outstanding and drops the peers without waiting for them: no completion is
  /// touched after it returns. After an error.
  virtual void abort() = 0;
  /// Waits for something to progress, at most for `time`, without using the processor. False, at
  /// once, where only polling finds out.
  virtual bool sleep(std::chrono::milliseconds /*time*/) { return false; }
  /// The same for a thread that waits by itself, while others may call everything else.
  enum class Arrivals : std::uint8_t {
    Unknown,  ///< only polling finds out
    Here,     ///< there may be something to progress already
    Awaited,  ///< one of the descriptors is readable as soon as there is
  };
  virtual Arrivals await_arrivals(std::vector<int>& /*descriptors*/) { return Arrivals::Unknown; }
  /// A sleep, called with its longest time under no lock, that ends when something arrives, or has
  /// since arm(): between the two goes a last look. Null where there is none.
  using Nap = std::function<void(std::chrono::microseconds)>;
  virtual Nap arm() { return nullptr; }
  [[nodiscard]] virtual TransportLimits limits() const { return {}; }
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// "stop", "continue" or "adapt".
std::optional<OnLinkFailure> link_failure_named(std::string_view name);

/// `choice`, or what the environment variable MULTITREE_ON_LINK_FAILURE names, else Stop. \throws
/// Error(InvalidArgument): it names none
OnLinkFailure on_link_failure(const std::optional<OnLinkFailure>& choice);

/// `choice`, or what the environment variable MULTITREE_LINK_TIMEOUT says, in seconds, else 5 s.
/// \throws Error(InvalidArgument): it is no time
Deadline link_timeout(const std::optional<Deadline>& choice);

/// `choice`, or what the environment variable MULTITREE_ENCRYPT says, 1 or 0, else no. \throws
/// Error(InvalidArgument): it is neither
bool encrypts(const std::optional<bool>& choice);

struct TransportOptions {
  std::vector<Seat> peers;    ///< the ranks this one exchanges messages with, ascending
  Deadline deadline{30'000};  ///< for the exchange of addresses and the first contact
  /// Longest silence of a link between hosts that is in order; 0: links are not watched.
  Deadline link_deadline{0};
  OnLinkFailure on_link_failure = OnLinkFailure::Stop;
  bool encrypt = false;  ///< what leaves the process; as at all ranks
};

/// One kind of transport. `make` is collective over the bootstrap.
struct TransportKind {
  std::string_view name;
  std::string_view summary;  ///< one line
  bool encrypts;             ///< TransportOptions::encrypt; or nothing leaves the process
  std::unique_ptr<Transport> (*make)(Bootstrap& bootstrap, const TransportOptions& options);
};

/// All of this build, sorted by name.
std::span<const TransportKind> transports();

/// \throws Error(InvalidArgument) listing the names if there is no such transport.
const TransportKind& find_transport(std::string_view name);

/// Collective. \throws as find_transport(), Error(Transport), Error(Timeout), Error(Unsupported):
/// it does not encrypt, or a rank cannot
std::unique_ptr<Transport> make_transport(std::string_view name, Bootstrap& bootstrap,
                                          const TransportOptions& options);

}  // namespace multitree::runtime
