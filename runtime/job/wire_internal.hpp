// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sockets of the control connections, and the messages that they carry.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace multitree::runtime {

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

/// "host:port", "[fd00::1]:port". \throws Error(InvalidArgument) naming `what`.
Address parse_address(std::string_view text, std::string_view what);
/// The other way round.
std::string words_of(const Address& address);

/// Where a door listens that only this host can come to, and one that everybody can.
inline constexpr const char* kLoopback = "127.0.0.1";
inline constexpr const char* kAnyAddress = "0.0.0.0";
/// Whether only this host is meant: an address of 127.0.0.0/8, ::1, or "localhost". Other names
/// that lead there (of this very host, by Debian's /etc/hosts) lead elsewhere from elsewhere.
bool is_loopback(const std::string& host);
/// The first address of a name or number, of IPv4 if it has one; empty if there is none.
std::string resolve(const std::string& host);

/// Listens at one address of this host, or at all of IPv4 and IPv6; port 0 takes a free one.
/// \throws Error(Transport).
Socket listen_at(std::uint16_t port, const std::string& address);
/// A connection that was waiting; not open if there was none.
Socket accept_from(const Socket& listener);
std::uint16_t port_of(const Socket& socket);

/// A connection, or why there is none.
struct Connected {
  Socket socket;
  std::string error;
};
Connected connect_to(const Address& address, std::chrono::milliseconds deadline);
/// One that nobody waits for; `error`: 0, EINPROGRESS, or why there is none.
struct Started {
  Socket socket;
  int error = 0;
};
class Endpoint;
Started start_to_connect(const Endpoint& endpoint);
/// Whether it is connected to itself, as happens at a port of the range that the kernel hands out.
bool ends_at_itself(const Socket& socket);
/// The address of this host that a connection leaves from, or that is listened at.
std::string local_address(const Socket& socket);

enum class FrameType : std::uint8_t {
  Hello = 1,     ///< rank -> coordinator: rank, size, Build
  Welcome,       ///< <-
  Refused,       ///< <- why; has no place in this job
  Gather,        ///< -> blob
  Gathered,      ///< <- all blobs
  WhoIsMissing,  ///< -> ranks that keep the gathering waiting?
  Missing,       ///< <- "2, 5"
  Failure,       ///< both ways: why
  Bye,           ///< both ways: leaves in order
  Shrink,        ///< -> go on with those who ask for it too within this many milliseconds
  Shrunk,        ///< <- how many do, their numbers so far; ends of dead links, by their new numbers
  DeadLinks,   ///< -> why, how many; ranks at the other ends of those that died, and of those left
  LinkDied,    ///< <- its ends, then as Failure
  RankFailed,  ///< <- which, then as Failure
  Rejoin,      ///< -> the meeting point is lost: magic, token, Standing
  Elsewhere,   ///< <- this is no place to meet again
  LeftOut,     ///< <- why; the others have gone on without this rank
  HangUp,      ///< both ways: this job's share of the connection is closed
  WhoIsStuck,  ///< -> who keeps this rank waiting, which is here (Whereabouts; none: at a barrier)?
  Stuck,       ///< <- a sentence
  Where,       ///< <- where are you?
  Here,        ///< -> Whereabouts
  Crossed,     ///< <- a sentence: ranks wait for each other in two communicators
  Say,         ///< -> words for all
  Said,        ///< <- by which rank; its words
  // Of an address book, whose number is not that of a job:
  OpenBook,  ///< -> how many ranks; which one writes; its entry; whose it wants
  Book,      ///< <- the entries that it wanted, once all have written
  LookUp,    ///< -> a rank
  Entry,     ///< <- which, its entry
  // Of a gathering:
  Withdraw,   ///< -> this rank waits no more
  Withdrawn,  ///< <- and its blob is in no answer; nothing where the answer is on its way
  // Once the job has failed:
  WhoDied,  ///< -> of all ranks?
  Died,     ///< <- these, by the numbers that the asker knows
};

/// Of a job; whoever says that there are more is not believed.
inline constexpr std::uint32_t kMostRanks = 1U << 20;

/// Tells the jobs that share a connection apart.
enum class JobNumber : std::uint64_t {};
/// The one that a meeting point was opened for.
inline constexpr JobNumber kFirstJob{0};

struct Frame {
  FrameType type{};
  std::string payload;
  JobNumber job = kFirstJob;
};

/// Values in network byte order, one after the other.
class Writer {
 public:
  Writer& number(std::uint32_t value);
  Writer& text(std::string_view value);  ///< its length, then its bytes
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what Writer wrote; empty results past the end or on nonsense.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::uint32_t> number();
  std::optional<std::string> text();

 private:
  std::string_view rest_;
};

}  // namespace multitree::runtime
