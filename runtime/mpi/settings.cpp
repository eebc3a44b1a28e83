// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The interposer's variables and its log.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A number, or `otherwise` where there is none, with a word on standard error if it is something
/// else.
long number(const char* name, long otherwise, long most) {
  const std::string value = text(name);
  if (value.empty()) return otherwise;
  char* end = nullptr;
  const long found = std::strtol(value.c_str(), &end, 10);
  if (*end == '\0' && found >= 0 && found <= most) return found;
  std::fprintf(stderr, "multitree: %s: expected a number from 0 to %ld, found \"%s\"\n", name, most,
               value.c_str());
  return otherwise;
}

std::set<std::string> list(const std::string& value) {
  std::set<std::string> items;
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    items.insert(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

Settings read() {
  Settings settings;
  const std::string log = text("MULTITREE_MPI_LOG");
  settings.log = !log.empty() && log != "0";
  settings.log_all = log == "all";
  settings.at_init = text("MULTITREE_MPI_AT_INIT") != "0";
  const long least = number("MULTITREE_MPI_MIN_BYTES", -1, LONG_MAX);
  if (least >= 0) settings.min_bytes = static_cast<std::size_t>(least);
  settings.disabled = list(text("MULTITREE_MPI_DISABLE"));
  settings.max_communicators = static_cast<int>(number("MULTITREE_MPI_MAX_COMMS", 64, INT_MAX));
  settings.deadline_ms =
      static_cast<int>(number("MULTITREE_MPI_DEADLINE", 86'400, INT_MAX / 1000) * 1000);
  if (settings.deadline_ms == 0) settings.deadline_ms = 1;
  settings.topology = text("MULTITREE_MPI_TOPOLOGY");
  settings.algorithm = text("MULTITREE_MPI_ALGORITHM");
  settings.plan_file = text("MULTITREE_MPI_PLAN");
  settings.transport = text("MULTITREE_MPI_TRANSPORT");
  return settings;
}

struct Counts {
  long served = 0;
  std::map<Reason, long> passed_on;
};

std::mutex counts_mutex;

std::map<std::string_view, Counts>& counts() {
  static std::map<std::string_view, Counts> counts;
  return counts;
}

}  // namespace

const Settings& settings() {
  static const Settings settings = read();
  return settings;
}

void count(const char* call, const Reason& reason) {
  const std::scoped_lock lock(counts_mutex);
  Counts& of_call = counts()[call];
  if (reason.empty()) {
    ++of_call.served;
  } else {
    ++of_call.passed_on[reason];
  }
}

void print_log(int rank) {
  if (!settings().log || (rank != 0 && !settings().log_all)) return;
  const std::scoped_lock lock(counts_mutex);
  std::string log;
  for (const auto& [call, of_call] : counts()) {
    long passed_on = 0;
    std::string reasons;
    for (const auto& [reason, times] : of_call.passed_on) {
      passed_on += times;
      reasons += (reasons.empty() ? ": " : "; ") + std::to_string(times) + " " + reason;
    }
    log += "multitree: rank " + std::to_string(rank) + ": " + std::string(call) + ": " +
           std::to_string(of_call.served) + " served, " + std::to_string(passed_on) + " passed on" +
           reasons + "\n";
  }
  if (log.empty()) log = "multitree: rank " + std::to_string(rank) + ": no collective was called\n";
  std::fputs(log.c_str(), stderr);
}

}  // namespace multitree::mpi
