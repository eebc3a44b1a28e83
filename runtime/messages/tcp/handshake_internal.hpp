// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How two ranks come to share a connection: one goes to the other's door and says who it is, the
/// other opens. Nothing else is sent before that, so a connection can be given up until then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/messages/tcp/pact_internal.hpp"
#include "runtime/messages/tcp/words_internal.hpp"

namespace multitree::runtime::tcp {

/// False if not all of it went out: whoever is there then comes again.
bool welcome(const Socket& socket, const Welcome& words);

/// Somebody who has come and has not said yet who it is.
class Guest {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Guest(Socket socket) : socket_(std::move(socket)) {}

  enum class Step : std::uint8_t { Waiting, Known, Stranger };
  /// Reads what has come. Known: it says that it is from(), and knows `knock`.
  Step go_on(Seat self, const Secret& knock, std::uint32_t ranks);
  [[nodiscard]] Seat from() const { return Seat{hello_.from}; }
  [[nodiscard]] const Hello& hello() const { return hello_; }
  [[nodiscard]] Clock::time_point came() const { return came_; }
  /// Its connection: what has come is read.
  Socket take() { return std::move(socket_); }

 private:
  Socket socket_;
  Hello hello_;
  std::size_t got_ = 0;
  Clock::time_point came_ = Clock::now();
};

/// The way to another rank's door.
class Dial {
 public:
  using Clock = std::chrono::steady_clock;
  struct Buffers {
    std::uint32_t send = 0, receive = 0;  ///< in bytes; 0: as the system has them
  };

  /// How long a way may take until it is connected: the last of them, and each before.
  struct Patience {
    std::chrono::milliseconds last, others{3000};
    std::chrono::milliseconds silence{0};  ///< of a way that is connected; 0: any
  };

  /// `hello`: each way is an attempt more. `pact`: with whom it is the way to.
  Dial(std::vector<Route> routes, const Hello& hello, const Secret& answer, Buffers buffers,
       Patience patience, const Pact& pact = {});

  enum class Step : std::uint8_t {
    Waiting,
    Moved,   ///< the same over another socket
    Met,     ///< take() has the connection
    Failed,  ///< nobody is there, by any of the ways: why()
  };
  /// To be called at first, when the socket has something to tell, and now and then.
  Step go_on();
  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] const std::string& why() const { return why_; }
  /// The other end may have heard who comes, and have opened.
  [[nodiscard]] bool has_spoken() const { return phase_ == Phase::Greeted; }
  /// Of the way that it is on.
  [[nodiscard]] std::uint32_t attempt() const { return hello_.standing.attempt; }
  /// Of the other end; \pre it was met
  [[nodiscard]] const Standing& standing() const { return heard_.standing; }
  /// The same.
  [[nodiscard]] Sealing sealing() const {
    return pact_.sealing(Pact::Side::Caller, hello_, heard_);
  }
  Socket take() { return std::move(socket_); }

 private:
  enum class Phase : std::uint8_t { Next, Connecting, Greeted, Away };
  bool start_next();
  Step check_connected();
  Step check_answer();
  /// This way leads nowhere: on to the next.
  Step give_up(const std::string& why);
  /// The door is there and has not been opened: perhaps the other end is on its way to here.
  Step turned_away();

  std::vector<Route> routes_;
  Hello hello_;
  Secret answer_;
  Welcome heard_;
  Buffers buffers_;
  Patience patience_;
  Pact pact_;
  Phase phase_ = Phase::Next;
  std::size_t next_ = 0, got_ = 0;
  Clock::time_point until_;
  Socket socket_;
  std::string why_ = "it has no address that this host could reach";
};

}  // namespace multitree::runtime::tcp
