// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Questions and answers by UDP.
#include "runtime/messages/network/heartbeat_internal.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/job/log_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/thread.hpp"

namespace multitree::runtime {
namespace {

/// Questions in a row that may be lost: on a busy network datagrams are.
constexpr int kQuestions = 8;
constexpr std::chrono::milliseconds kShortestInterval{5};

/// What a datagram holds, in the order of the network.
struct Beat {
  std::uint32_t kind = 0;
  std::uint32_t high = 0, low = 0;  ///< number of the question
  std::array<char, 16> code{};
};
constexpr std::uint32_t kQuestion = 0x6d746871, kAnswer = 0x6d746861;  // "mthq", "mtha"

std::uint64_t number_in(const Beat& beat) {
  return std::uint64_t{ntohl(beat.high)} << 32 | ntohl(beat.low);
}

/// As the process with the key `sender` says it.
Beat make_beat(std::uint32_t kind, std::uint64_t number, const PublicKey& sender, const Key& key) {
  Beat beat{htonl(kind),
            htonl(static_cast<std::uint32_t>(number >> 32)),
            htonl(static_cast<std::uint32_t>(number)),
            {}};
  Writer words;
  words.text(view_of(sender)).number(kind).number(ntohl(beat.high)).number(ntohl(beat.low));
  const Key whole = code_of(key, words.bytes());
  std::copy_n(whole.begin(), beat.code.size(), beat.code.begin());
  return beat;
}

Endpoint address_of(std::uint32_t ip, std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(ip);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
}

/// Null if there is none.
template <typename Links>
auto* find(Links& links, Seat peer, std::uint32_t cable) {
  const auto it = std::ranges::find_if(
      links, [&](const auto& link) { return link.peer == peer && link.cable == cable; });
  return it == links.end() ? nullptr : &*it;
}

/// Signals are for the program's own threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::string pack(const HeartbeatAddress& address) {
  Writer writer;
  writer.number(address.ip).number(address.port).text(view_of(address.key)).text(address.link);
  return writer.bytes();
}

std::optional<HeartbeatAddress> unpack_heartbeat(const std::string& text) {
  Reader reader(text);
  const auto ip = reader.number(), port = reader.number();
  const auto key = reader.text(), link = reader.text();
  HeartbeatAddress address;
  if (!ip || !port || *port == 0 || *port > 65535) return std::nullopt;
  if (!key || key->size() != address.key.size() || !link) return std::nullopt;
  address.link = *link;
  address.ip = *ip;
  address.port = *port;
  std::ranges::copy(*key, address.key.begin());
  return address;
}

Heartbeats::Heartbeats(std::chrono::milliseconds deadline)
    : deadline_(deadline), interval_(std::max(deadline / kQuestions, kShortestInterval)) {}

Heartbeats::~Heartbeats() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  static_cast<void>(::write(stop_.fd(), &one, sizeof one) == sizeof one);
  thread_.join();
}

std::optional<HeartbeatAddress> Heartbeats::open(Seat peer, std::uint32_t ip) {
  return open_at(peer, 0, address_of(ip, 0), {ip, 0, keys_.told()}, {});
}

std::optional<HeartbeatAddress> Heartbeats::open(Seat peer, const std::string& address,
                                                 const std::string& interface,
                                                 std::uint32_t cable) {
  const auto here = Endpoint::of(address + "%" + interface, 0);
  if (!here) return std::nullopt;
  return open_at(peer, cable, *here, {0, 0, keys_.told(), address}, interface);
}

std::optional<HeartbeatAddress> Heartbeats::open_at(Seat peer, std::uint32_t cable,
                                                    const Endpoint& here, HeartbeatAddress address,
                                                    const std::string& interface) {
  Socket socket(::socket(here.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open() || ::bind(socket.fd(), here.get(), here.length()) != 0) return std::nullopt;
  const auto bound = Endpoint::here(socket.fd());
  if (!bound) return std::nullopt;
  address.port = bound->port();
  Link& link = links_.emplace_back();
  link.peer = peer;
  link.cable = cable;
  link.socket = std::move(socket);
  link.here = std::move(address);
  link.interface = interface;
  return link.here;
}

void Heartbeats::connect(Seat peer, const HeartbeatAddress& there, std::uint32_t cable) {
  for (Link& link : links_) {
    if (link.peer != peer || link.cable != cable) continue;
    const auto key = keys_.shared_with(there.key);
    const auto port = static_cast<std::uint16_t>(there.port);
    const auto to = there.link.empty() ? std::optional(address_of(there.ip, port))
                                       : Endpoint::of(there.link + "%" + link.interface, port);
    if (!key || !to) continue;
    link.there = there;
    link.to = *to;
    link.key = *key;
    link.watched = true;
  }
}

void Heartbeats::start() {
  watching_.store(true, std::memory_order_release);
  answer();
}

void Heartbeats::answer() {
  if (links_.empty() || thread_.joinable()) return;
  stop_ = Socket(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.open()) {
    throw Error(ErrorCode::Io, fmt::format("heartbeats: eventfd: {}", std::strerror(errno)));
  }
  const NoSignals none;
  thread_ = start_thread("heartbeats", [this] { run(); });
}

std::atomic<bool>* Heartbeats::heard(Seat peer, std::uint32_t cable) {
  auto* const link = find(links_, peer, cable);
  return link == nullptr || !link->watched ? nullptr : &link->heard;
}

std::optional<SilentLinks> Heartbeats::silent() const {
  if (!told_.load(std::memory_order_acquire)) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  return silent_;
}

void Heartbeats::run() {
  std::vector<pollfd> events{{stop_.fd(), POLLIN, 0}};
  for (const Link& link : links_) events.push_back({link.socket.fd(), POLLIN, 0});
  auto last = Clock::now();
  auto next = last;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    ::poll(events.data(), events.size(),
           static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, interval_.count())));
    if (events[0].revents != 0) return;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (events[i + 1].revents != 0) read_all(links_[i]);
    }
    const auto now = Clock::now();
    if (now < next) continue;
    tick(now - last);
    last = now;
    next = now + interval_;
  }
}

/// `gap`: time since the last one. If it is long this process was stopped or starved, and so were
/// its questions: a link is silent only after as many questions as fit the deadline.
void Heartbeats::tick(std::chrono::nanoseconds gap) {
  gap = std::min<std::chrono::nanoseconds>(gap, interval_);
  const bool watching = watching_.load(std::memory_order_acquire);
  bool lost = false;
  for (Link& link : links_) {
    if (!link.watched) continue;
    if (watching) link.quiet += gap;
    if (link.heard.exchange(false, std::memory_order_relaxed)) {
      link.quiet = {};
      link.spoken = true;
    }
    if (link.quiet >= interval_ || !link.answered) send(link, kQuestion, ++link.asked);
    if (following_) {
      follow(link, gap);
    } else {
      // What was heard last may have come an interval before it was noticed.
      lost |= is_silent(link, deadline_ - interval_);
    }
  }
  if (lost && !told_) tell();
}

/// A link that has been silent is taken for whole when it has spoken for as long as silence may be.
void Heartbeats::follow(Link& link, std::chrono::nanoseconds gap) {
  const bool away = link.away.load(std::memory_order_relaxed);
  link.back = away && link.quiet <= 2 * interval_ ? link.back + gap : std::chrono::nanoseconds{};
  if (away ? link.back < deadline_ : !is_silent(link, deadline_ - interval_)) return;
  link.away.store(!away, std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_release);
}

void Heartbeats::leave_out(Seat peer, std::uint32_t cable) {
  if (auto* const link = find(links_, peer, cable)) {
    link->left_out.store(true, std::memory_order_relaxed);
  }
}

bool Heartbeats::is_away(Seat peer, std::uint32_t cable) const {
  const auto* const link = find(links_, peer, cable);
  return link != nullptr && link->away.load(std::memory_order_relaxed);
}

bool Heartbeats::is_silent(const Link& link, std::chrono::nanoseconds limit) const {
  const bool left_out = link.left_out.load(std::memory_order_relaxed);
  if (!link.watched || left_out || (!link.answered && link.spoken)) return false;
  // Of a peer that was never heard it is not known how long it takes to start.
  return link.quiet >= (link.answered ? limit : 2 * limit);
}

void Heartbeats::tell() {
  const std::scoped_lock lock(mutex_);
  for (const Link& link : links_) {
    const bool told = std::ranges::find(silent_.peers, link.peer) != silent_.peers.end();
    if (!is_silent(link, deadline_ / 2) || told) continue;
    if (silent_.peers.empty()) silent_.cable = link.cable;
    silent_.peers.push_back(link.peer);
  }
  silent_.deadline = deadline_;
  told_.store(true, std::memory_order_release);
}

void Heartbeats::read_all(Link& link) {
  // A byte of room, to see those that are too long.
  std::array<char, sizeof(Beat) + 1> bytes{};
  while (true) {
    const ssize_t n = ::recv(link.socket.fd(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n == static_cast<ssize_t>(sizeof(Beat)) && link.watched) {
      Beat beat;
      std::memcpy(&beat, bytes.data(), sizeof beat);
      hear(link, ntohl(beat.kind), number_in(beat), view_of(beat.code));
    }
  }
}

void Heartbeats::hear(Link& link, std::uint32_t kind, std::uint64_t number, std::string_view code) {
  const Beat expected = make_beat(kind, number, link.there.key, link.key);
  if (!same_secret(view_of(expected.code), code)) return;
  if (kind == kQuestion && number > link.heard_question) {
    link.heard_question = number;
    send(link, kAnswer, number);
  } else if (kind == kAnswer && number > link.heard_answer && number <= link.asked) {
    // Only an answer shows that both directions work.
    if (!link.answered) logger().debug("heartbeats of rank {} pass", link.peer);
    link.heard_answer = number;
    link.answered = true;
    link.quiet = {};
  }
}

/// Never waits; what the network does not take is as good as lost.
void Heartbeats::send(const Link& link, std::uint32_t kind, std::uint64_t number) {
  const Beat beat = make_beat(kind, number, link.here.key, link.key);
  ::sendto(link.socket.fd(), &beat, sizeof beat, MSG_NOSIGNAL, link.to.get(), link.to.length());
}

}  // namespace multitree::runtime
