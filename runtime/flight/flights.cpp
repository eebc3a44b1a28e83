// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading what recorders write, while they do.
#include "runtime/flight/flights.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>

#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/flight/layout_internal.hpp"
#include "runtime/job/blame_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::flight {
namespace {

/// Of what a page says of itself while it is being written.
constexpr int kLooks = 100;
/// By which clocks of hosts may differ.
constexpr std::int64_t kSlack = 50'000'000;

template <std::size_t kSize>
std::string text_of(const Text<kSize>& text) {
  return {text.data(), ::strnlen(text.data(), kSize)};
}

[[noreturn]] void reject(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::InvalidInput, fmt::format("{}: {}", path, what));
}

std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::Io, fmt::format("{}: {}", path, std::strerror(errno)));
  std::string bytes(sizeof(Page) + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

/// Fields are read as they were written: a record is of one machine type and one version of the
/// library.
std::unique_ptr<Page> page_of(const std::string& bytes, const std::string& path) {
  auto page = std::make_unique<Page>();
  if (bytes.size() == sizeof *page) {
    std::memcpy(static_cast<void*>(page.get()), bytes.data(), bytes.size());
  }
  if (page->magic != kMagic) {
    reject(path, "expected a flight record of this version of multitree, found something else");
  }
  if (page->ranks == 0 || page->ranks > kMostRanks || page->rank >= page->ranks) {
    reject(path,
           fmt::format("expected a rank of a job, found rank {} of {}", page->rank, page->ranks));
  }
  return page;
}

template <typename E>
bool is_at_most(std::uint8_t value, E last) {
  return value <= static_cast<std::uint8_t>(last);
}

bool is_call(const CallEntry& entry) {
  return is_at_most(entry.collective, Collective::AllToAll) &&
         is_at_most(entry.exchange, Exchange::Scatterv) &&
         is_at_most(entry.type, DataType::Uint64) && is_at_most(entry.op, ReduceOp::Custom) &&
         is_at_most(entry.wire, WireType::Lossless);
}

LoggedCall call_of(const CallEntry& entry) {
  CommonCall call;
  call.set_count(entry.count);
  call.several = entry.several;
  call.root = Rank{entry.root};
  call.collective = static_cast<Collective>(entry.collective);
  call.exchange = static_cast<Exchange>(entry.exchange);
  call.type = static_cast<DataType>(entry.type);
  call.op = static_cast<ReduceOp>(entry.op);
  call.wire = static_cast<WireType>(entry.wire);
  return {entry.number.load() - 1, words_of(call), entry.begun_ns, entry.ended.load() != 0};
}

std::optional<LoggedWait> wait_of(const WaitEntry& entry) {
  if (entry.waits == 0) return std::nullopt;
  LoggedWait wait{{entry.call, text_of(entry.what), text_of(entry.how), text_of(entry.place), {}},
                  entry.since_ns};
  for (std::uint32_t i = 0; i < std::min(entry.awaited, kAwaited); ++i) {
    wait.where.awaits.push_back(Seat{entry.awaits[i]});
  }
  return wait;
}

Life life_of(const Flight& flight) {
  Text<64> here{};
  if (::gethostname(here.data(), here.size() - 1) != 0 || text_of(here) != flight.host) {
    return Life::Unknown;
  }
  const bool there = ::kill(static_cast<pid_t>(flight.process), 0) == 0 || errno == EPERM;
  return there ? Life::Runs : Life::Dead;
}

/// When the first rank gave up; nobody has: the end of time.
std::int64_t first_failure(const FlightJob& job) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const Flight& flight : job.flights) {
    if (!flight.failure.empty()) first = std::min(first, flight.failed_ns);
  }
  return first;
}

/// Waits that began after the job had failed are of ranks that came too late.
std::string blame_of(const FlightJob& job) {
  const std::int64_t failed = first_failure(job);
  std::vector<Sighting> ranks(job.ranks, Sighting{.gone = "left no record"});
  for (const Flight& flight : job.flights) {
    Sighting& one = ranks[flight.rank];
    one.gone.clear();
    if (flight.life == Life::Dead && flight.failure.empty()) one.gone = "ended without a word";
    if (flight.wait && flight.wait->since_ns - kSlack < failed) one.call = flight.wait->where;
  }
  return blame(ranks);
}

}  // namespace

Flight read_flight(const std::string& path) {
  std::string bytes = load(path);
  for (int look = 0; look < kLooks; ++look) {
    if (page_of(bytes, path)->wait.version.load() % 2 == 0) break;
    bytes = load(path);
  }
  return parse_flight(bytes, path);
}

Flight parse_flight(const std::string& bytes, const std::string& path) {
  const std::unique_ptr<Page> page = page_of(bytes, path);
  Flight flight;
  flight.path = path;
  flight.job = page->job;
  flight.rank = page->rank;
  flight.ranks = page->ranks;
  flight.host = text_of(page->host);
  flight.process = page->process;
  flight.made_ns = page->made_ns;
  flight.begun = page->begun.load();
  flight.life = life_of(flight);
  for (const CallEntry& entry : page->calls) {
    if (entry.number.load() == 0) continue;
    if (!is_call(entry)) reject(path, fmt::format("call {} is none", entry.number.load() - 1));
    flight.calls.push_back(call_of(entry));
  }
  std::ranges::sort(flight.calls, {}, &LoggedCall::number);
  if (page->wait.version.load() % 2 == 0) flight.wait = wait_of(page->wait);
  flight.waited_ns = page->waited_ns.load();
  for (const WaitedEntry& entry : page->waited) {
    if (entry.rank.load() == 0) continue;
    flight.waited.push_back(
        {entry.rank.load() - 1, entry.received_ns.load(), entry.sent_ns.load()});
  }
  if (page->failed.load() != 0) {
    flight.failure = text_of(page->failure);
    flight.failed_ns = page->failed_ns;
  }
  return flight;
}

std::vector<FlightJob> read_flights(const std::vector<std::string>& folders) {
  std::map<std::uint64_t, std::map<std::uint32_t, Flight>> jobs;
  for (const std::string& folder : folders) {
    std::error_code error;
    std::filesystem::directory_iterator files(folder, error);
    if (error) throw Error(ErrorCode::Io, fmt::format("{}: {}", folder, error.message()));
    for (const auto& file : files) {
      if (file.path().extension() != ".flight") continue;
      Flight flight = read_flight(file.path().string());
      auto& ranks = jobs[flight.job];
      const auto there = ranks.find(flight.rank);
      if (there != ranks.end() && there->second.made_ns > flight.made_ns) continue;
      ranks[flight.rank] = std::move(flight);
    }
  }
  using std::chrono::system_clock;
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch())
          .count();
  std::vector<FlightJob> result;
  for (auto& [number, ranks] : jobs) {
    FlightJob job;
    job.job = number;
    job.read_ns = now;
    for (auto& [rank, flight] : ranks) job.ranks = std::max(job.ranks, flight.ranks);
    for (auto& [rank, flight] : ranks) job.flights.push_back(std::move(flight));
    job.blame = blame_of(job);
    result.push_back(std::move(job));
  }
  std::ranges::sort(result, std::greater<>(), [](const FlightJob& job) {
    return std::pair(job.flights.front().made_ns, job.job);
  });
  return result;
}

}  // namespace multitree::runtime::flight
