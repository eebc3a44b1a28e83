// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The level that the user wants.
#include <pthread.h>
#include <spdlog/details/console_globals.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/job/log_internal.hpp"

namespace multitree::runtime {
namespace {

using Level = spdlog::level::level_enum;
constexpr std::array<std::pair<std::string_view, Level>, 5> kLevels{{{"off", Level::off},
                                                                     {"error", Level::err},
                                                                     {"warn", Level::warn},
                                                                     {"info", Level::info},
                                                                     {"debug", Level::debug}}};

/// Of all sinks to the terminal.
std::mutex& sink_mutex() { return spdlog::details::console_mutex::mutex(); }

/// Another thread may be writing a line when a process forks, and is not there in the child.
void survive_forks() {
  ::pthread_atfork([] { sink_mutex().lock(); }, [] { sink_mutex().unlock(); },
                   [] { sink_mutex().unlock(); });
}

spdlog::logger* make_logger() {
  survive_forks();
  auto* const made =
      new spdlog::logger("multitree", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  made->set_pattern("[%T.%e] multitree %P: %l: %v");
  made->set_level(Level::warn);
  const char* const wanted = std::getenv("MULTITREE_LOG");
  if (wanted == nullptr) return made;
  for (const auto& [name, level] : kLevels) {
    if (name != wanted) continue;
    made->set_level(level);
    return made;
  }
  made->warn("MULTITREE_LOG: expected off, error, warn, info or debug, found \"{}\"", wanted);
  return made;
}

}  // namespace

spdlog::logger& logger() {
  static spdlog::logger* const one = make_logger();  // outlives every thread
  return *one;
}

}  // namespace multitree::runtime
