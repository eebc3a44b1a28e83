// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An engine's place with the thread that moves what was started while its caller does something
/// else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace multitree::runtime {

class Engine;
class ProgressThread;

/// Whether there is such a thread, and where it runs.
struct ProgressChoice {
  bool on = true;
  std::optional<std::uint32_t> core = std::nullopt;  ///< the only one that it may use
};

/// "on", "off" or the number of a core; empty: of the environment variable MULTITREE_PROGRESS, else
/// "on". \throws Error(InvalidArgument), also if the process may not use the core.
ProgressChoice progress_choice(const std::string& text);

/// Numbers this process among those that were forked from each other: what belongs to threads of
/// another number is theirs.
std::uint32_t process_number();

/// All engines of a process with the same choice have one thread between them, which begins with
/// the first that joins it and ends with the last that leaves.
class Progress {
 public:
  struct Place;

  explicit Progress(Engine& engine);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// From here on the thread looks after the engine, if that is wanted and not so already, until
  /// it leaves, for good. One call at a time. \throws Error(Io)
  void join(const ProgressChoice& choice);
  /// The thread is not in the engine any more. In another process than that which joined there is
  /// none, and nothing to do.
  void leave();
  /// Something was started, or is left to the thread. From any thread, after join().
  void wake();

 private:
  std::shared_ptr<Place> place_;
  std::shared_ptr<ProgressThread> thread_;
  std::uint32_t process_ = 0;
};

}  // namespace multitree::runtime
