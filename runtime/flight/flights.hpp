// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flight records as others read them: of jobs that run, and of jobs that have ended badly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/whereabouts.hpp"

namespace multitree::runtime::flight {

/// A call that a rank has made.
struct LoggedCall {
  std::uint64_t number = 0;
  std::string words;          ///< "allreduce of 1024 float, sum"
  std::int64_t begun_ns = 0;  ///< since 1970, to a few milliseconds
  bool ended = false;
};

/// A wait that has lasted a tenth of a second at least.
struct LoggedWait {
  Whereabouts where;
  std::int64_t since_ns = 0;  ///< since 1970
};

/// For how long a rank has waited for another so far.
struct Waited {
  std::uint32_t rank = 0;
  std::uint64_t received_ns = 0;  ///< for what that one was to send
  std::uint64_t sent_ns = 0;      ///< for anybody, while something was on its way to that one
};

enum class Life : std::uint8_t {
  Runs,
  Dead,     ///< there is no such process any more
  Unknown,  ///< of another host
};

/// What a rank of a communicator has left, or writes now.
struct Flight {
  std::string path;
  std::uint64_t job = 0;  ///< tells communicators apart
  std::uint32_t rank = 0, ranks = 0;
  std::string host;
  std::uint64_t process = 0;
  std::int64_t made_ns = 0;
  Life life = Life::Unknown;
  std::uint64_t begun = 0;         ///< calls so far
  std::vector<LoggedCall> calls;   ///< the latest, ascending
  std::optional<LoggedWait> wait;  ///< now, or when it died
  std::uint64_t waited_ns = 0;     ///< for others, all of it
  std::vector<Waited> waited;      ///< for whom; the longest, in any order
  std::string failure;             ///< why its communicator failed; empty: it has not
  std::int64_t failed_ns = 0;      ///< when; since 1970
};

/// One communicator.
struct FlightJob {
  std::uint64_t job = 0;
  std::uint32_t ranks = 0;
  std::vector<Flight> flights;  ///< by rank, at most one each: the newest
  /// Who keeps it waiting, or did when it ended; empty if nobody waits.
  std::string blame;
  std::string slow;          ///< who slows it down; see find_slow()
  std::int64_t read_ns = 0;  ///< since 1970
};

/// \throws Error(InvalidInput) naming the file if it is no flight record
Flight parse_flight(const std::string& bytes, const std::string& path);
/// \throws as parse_flight(), Error(Io)
Flight read_flight(const std::string& path);

/// Of all "*.flight" in these folders, the newest communicator first. \throws as read_flight()
std::vector<FlightJob> read_flights(const std::vector<std::string>& folders);

}  // namespace multitree::runtime::flight
