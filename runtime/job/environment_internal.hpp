// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the environment says about the job that this process belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/job/links.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

enum class JobKind : std::uint8_t {
  Single,   ///< started by hand: one rank
  Address,  ///< the coordinator's address is known
  Pmix,     ///< ask the process manager
  Pmi1,     ///< the same, in the older protocol
};

struct Job {
  JobKind kind = JobKind::Single;
  std::string description = "single process";
  Seat seat{};  ///< as size: not of Pmix, which is asked
  std::uint32_t size = 1;
  Address coordinator;  ///< of Address
  std::string token;
  bool open = false;            ///< nobody has told a secret, so the token can be guessed
  bool launcher_hosts = false;  ///< the coordinator is in the launcher; else in rank 0
  int pmi_fd = -1;
};

/// getenv(), or a test's.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

/// \throws Error(InvalidArgument): a launcher's variables are incomplete or not numbers.
Job detect_job(const Environment& environment);

/// The secret in a file that its owner alone may read (mode 0600 or 0400), without a newline at its
/// end. \throws Error(InvalidArgument) naming `what`; Error(Io).
std::string read_key_file(const std::string& path, std::string_view what);

/// "node[07-09,12],login" -> "node07": the first host of a Slurm node list.
std::string first_host(std::string_view node_list);

}  // namespace multitree::runtime
