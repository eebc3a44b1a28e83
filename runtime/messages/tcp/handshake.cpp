// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Both ends of it.
#include "runtime/messages/tcp/handshake_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace multitree::runtime::tcp {
namespace {

/// The number is the protocol's version.
constexpr std::string_view kHello = "mt tcp 4";
constexpr std::uint32_t kOrder = 0x01020304;
/// Until the door is tried again that was not opened.
constexpr std::chrono::milliseconds kAgain{20};

/// Whether it is connected to itself, as happens at a port of the range that the kernel hands out.
bool leads_back(const Socket& socket) {
  sockaddr_storage here{}, there{};
  socklen_t length = sizeof here, other = sizeof there;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&here), &length) != 0) return false;
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&there), &other) != 0) return false;
  return length == other && std::memcmp(&here, &there, length) == 0;
}

/// Reads exactly what is missing of `value`; -1: nobody is there any more, 0: not all is there yet.
template <typename Value>
int read_rest(const Socket& socket, Value& value, std::size_t& got) {
  while (got < sizeof value) {
    const ssize_t n = ::recv(socket.fd(), reinterpret_cast<char*>(&value) + got, sizeof value - got,
                             MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (n <= 0) return -1;
    got += static_cast<std::size_t>(n);
  }
  return 1;
}

}  // namespace

Hello make_hello(Seat from, Seat to, const Secret& knock, std::uint16_t cable,
                 std::uint16_t cables) {
  Hello hello;
  std::ranges::copy(kHello, hello.magic.begin());
  hello.order = kOrder;
  hello.from = index(from);
  hello.to = index(to);
  hello.cable = cable;
  hello.cables = cables;
  hello.knock = knock;
  return hello;
}

Guest::Step Guest::go_on(Seat self, const Secret& knock, std::uint32_t ranks) {
  const int step = read_rest(socket_, hello_, got_);
  if (step == 0) return Step::Waiting;
  if (step < 0 || hello_.from >= ranks || hello_.from == index(self)) return Step::Stranger;
  Hello expected = make_hello(from(), self, knock, hello_.cable, hello_.cables);
  expected.standing = hello_.standing;
  expected.nonce = hello_.nonce;
  expected.code = hello_.code;
  return std::memcmp(&expected, &hello_, sizeof expected) == 0 ? Step::Known : Step::Stranger;
}

bool welcome(const Socket& socket, const Welcome& words) {
  std::size_t sent = 0;
  while (sent < sizeof words) {
    const ssize_t n = ::send(socket.fd(), reinterpret_cast<const char*>(&words) + sent,
                             sizeof words - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

Dial::Dial(std::vector<Route> routes, const Hello& hello, const Secret& answer, Buffers buffers,
           Patience patience, const Pact& pact)
    : routes_(std::move(routes)),
      hello_(hello),
      answer_(answer),
      buffers_(buffers),
      patience_(patience),
      pact_(pact) {}

Dial::Step Dial::go_on() {
  if (phase_ == Phase::Away && Clock::now() < until_) return Step::Waiting;
  if (phase_ == Phase::Connecting) return check_connected();
  if (phase_ == Phase::Greeted) return check_answer();
  return start_next() ? Step::Moved : Step::Failed;
}

/// Starts to connect by the next way that does not fail at once.
bool Dial::start_next() {
  for (; next_ < routes_.size(); ++next_) {
    const Route& route = routes_[next_];
    const int family = route.to.storage.ss_family;
    socket_ = Socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto fails = [&] {
      why_ = fmt::format("{}: {}", words_of(route.to), std::generic_category().message(errno));
    };
    if (!socket_.open()) {
      fails();
      continue;
    }
    prepare(socket_, buffers_.send, buffers_.receive);
    if (patience_.silence.count() > 0) give_up_after(socket_, patience_.silence);
    const bool bound =
        !route.from || ::bind(socket_.fd(), route.from->get(), route.from->length) == 0;
    if (!bound || (::connect(socket_.fd(), route.to.get(), route.to.length) != 0 &&
                   errno != EINPROGRESS && errno != EINTR)) {
      fails();
      continue;
    }
    const bool last = next_ + 1 == routes_.size();
    until_ = Clock::now() + (last ? patience_.last : std::min(patience_.last, patience_.others));
    ++hello_.standing.attempt;
    phase_ = Phase::Connecting;
    return true;
  }
  return false;
}

Dial::Step Dial::check_connected() {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return give_up(std::generic_category().message(error));
  sockaddr_storage there{};
  length = sizeof there;
  if (::getpeername(socket_.fd(), reinterpret_cast<sockaddr*>(&there), &length) != 0) {
    return Clock::now() < until_ ? Step::Waiting : give_up("no answer");
  }
  if (leads_back(socket_)) return give_up("nobody listens there");
  pact_.sign(hello_);
  if (::send(socket_.fd(), &hello_, sizeof hello_, MSG_NOSIGNAL) != ssize_t{sizeof hello_}) {
    return turned_away();
  }
  phase_ = Phase::Greeted;
  got_ = 0;
  return check_answer();
}

Dial::Step Dial::check_answer() {
  const int step = read_rest(socket_, heard_, got_);
  if (step == 0) return Step::Waiting;  // whoever waits for messages has a deadline of its own
  if (step < 0) return turned_away();
  const bool is_peer = heard_.answer == answer_ && pact_.knows(hello_, heard_);
  return is_peer ? Step::Met : give_up("somebody else listens there");
}

Dial::Step Dial::give_up(const std::string& why) {
  why_ = fmt::format("{}: {}", words_of(routes_[next_].to), why);
  ++next_;
  return start_next() ? Step::Moved : Step::Failed;
}

Dial::Step Dial::turned_away() {
  socket_.close();
  phase_ = Phase::Away;
  until_ = Clock::now() + kAgain;
  return Step::Waiting;
}

}  // namespace multitree::runtime::tcp
