// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether links still carry anything. A cable that is pulled or a switch that swallows packets
/// says nothing, and TCP goes on trying for minutes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/key_pair_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// Where a rank hears heartbeats of one link: what its peer is told.
struct HeartbeatAddress {
  std::uint32_t ip = 0;    ///< IPv4, in the order of this host
  std::uint32_t port = 0;  ///< UDP
  PublicKey key{};         ///< of the process that listens there
  std::string link = {};   ///< IPv6, of the link alone; then `ip` is none
  bool operator==(const HeartbeatAddress&) const = default;
};
std::string pack(const HeartbeatAddress& address);
/// Empty if `text` is none.
std::optional<HeartbeatAddress> unpack_heartbeat(const std::string& text);

/// Asks over each link, by a datagram that leaves on the link's own interface, whether the other
/// end is there, whenever nothing was heard over it for an eighth of the deadline; answers those
/// who ask. Datagrams carry a code by a key that the two ends have agreed on, and a number: those
/// of others, and those that come again, are not heard. In a thread of its own, so that a rank that
/// computes is not taken for one behind a dead link. A link over which no answer has ever come (a
/// firewall lets no datagrams pass, say) is given up only as long as nothing else was heard over
/// it.
class Heartbeats {
 public:
  /// `deadline`: longest silence of a link that is in order.
  explicit Heartbeats(std::chrono::milliseconds deadline);
  ~Heartbeats();
  Heartbeats(const Heartbeats&) = delete;
  Heartbeats& operator=(const Heartbeats&) = delete;

  /// Opens the end of a link at the interface with address `ip`. Empty if that cannot be: then the
  /// link is not watched. \pre before answer()
  std::optional<HeartbeatAddress> open(Seat peer, std::uint32_t ip);
  /// The same at a cable, of several the one of that number: `address` is of the link alone, that
  /// of `interface`.
  std::optional<HeartbeatAddress> open(Seat peer, const std::string& address,
                                       const std::string& interface, std::uint32_t cable = 0);
  /// Where the other end is. A link without is not watched. \pre before answer()
  void connect(Seat peer, const HeartbeatAddress& there, std::uint32_t cable = 0);
  /// From here on peers are asked and answered, and silence does not count yet: a rank that is
  /// still making its connections, for however long, answers its peers. Does nothing without links.
  void answer();
  /// From here on links are watched; implies answer().
  void start();

  /// From here on silent() tells of nothing: links may speak again. \pre before answer(), which
  /// starts the thread that asks for this
  void follow() { following_ = true; }
  /// How often a link has fallen silent or spoken again, for as long as the deadline; from any
  /// thread, at the cost of one load.
  [[nodiscard]] std::uint32_t changes() const { return changes_.load(std::memory_order_acquire); }
  /// That link is known to let nothing through: from here on its silence is not told of. From any
  /// thread.
  void leave_out(Seat peer, std::uint32_t cable);
  /// Whether its link is silent, as followed.
  [[nodiscard]] bool is_away(Seat peer, std::uint32_t cable = 0) const;

  /// To be set, by any thread, when a message came from `peer`; null if its link is not watched.
  [[nodiscard]] std::atomic<bool>* heard(Seat peer, std::uint32_t cable = 0);
  /// Links that are silent; from any thread, at the cost of one load while there are none. Those
  /// that fell silent at about the same time are told together.
  [[nodiscard]] std::optional<SilentLinks> silent() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Link {
    Seat peer{};
    std::uint32_t cable = 0;
    Socket socket;
    HeartbeatAddress here{}, there{};
    std::string interface;                               ///< of a cable
    Endpoint to;                                         ///< where the other end hears
    Key key{};                                           ///< of both ends; where it is watched
    std::uint64_t asked = 0;                             ///< questions of this end
    std::uint64_t heard_question = 0, heard_answer = 0;  ///< the highest numbers that came
    bool watched = false;
    bool answered = false;             ///< heartbeats pass
    bool spoken = false;               ///< something else does
    std::chrono::nanoseconds quiet{};  ///< time since anything was heard
    std::atomic<bool> heard{false};
    std::atomic<bool> left_out{false};
    std::atomic<bool> away{false};    ///< it is silent, and followed
    std::chrono::nanoseconds back{};  ///< time for which that has spoken again
  };

  std::optional<HeartbeatAddress> open_at(Seat peer, std::uint32_t cable, const Endpoint& here,
                                          HeartbeatAddress address, const std::string& interface);
  void run();
  void tick(std::chrono::nanoseconds gap);
  void read_all(Link& link);
  static void hear(Link& link, std::uint32_t kind, std::uint64_t number, std::string_view code);
  static void send(const Link& link, std::uint32_t kind, std::uint64_t number);
  [[nodiscard]] bool is_silent(const Link& link, std::chrono::nanoseconds limit) const;
  void tell();
  void follow(Link& link, std::chrono::nanoseconds gap);

  std::chrono::milliseconds deadline_, interval_;
  KeyPair keys_;
  std::deque<Link> links_;  ///< fixed once started
  Socket stop_;
  std::thread thread_;
  std::atomic<bool> watching_{false};
  std::atomic<bool> told_{false};
  bool following_ = false;
  std::atomic<std::uint32_t> changes_{0};
  mutable std::mutex mutex_;  ///< of what follows
  SilentLinks silent_;
};

}  // namespace multitree::runtime
