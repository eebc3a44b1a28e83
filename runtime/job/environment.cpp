// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recognises launchers by the variables that they set.
#include "runtime/job/environment_internal.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Ports for jobs whose launcher names none: below those the kernel gives out.
constexpr std::uint32_t kFirstPort = 10'000;
constexpr std::uint32_t kPorts = 20'000;
constexpr const char* kToken = "MULTITREE_TOKEN";
constexpr const char* kKeyFile = "MULTITREE_KEY_FILE";

/// What the user has told all ranks; empty: nothing.
std::string secret_of(const Environment& environment) {
  const auto file = environment(kKeyFile);
  if (file && !file->empty()) return read_key_file(*file, kKeyFile);
  return environment(kToken).value_or("");
}

/// What launchers name their jobs can be guessed; what the user adds cannot.
void set_token(Job& job, const Environment& environment, const std::string& name) {
  const std::string secret = secret_of(environment);
  job.open = secret.empty();
  job.token = name.empty() || secret.empty() ? name + secret : name + " " + secret;
}

/// The variables of one launcher.
class Variables {
 public:
  Variables(const Environment& environment, std::string_view launcher)
      : environment_(environment), launcher_(launcher) {}

  [[nodiscard]] bool has(const char* name) const { return environment_(name).has_value(); }

  [[nodiscard]] std::string text(const char* name) const {
    const auto value = environment_(name);
    if (!value || value->empty()) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("{}: {} is not set, though other variables of it are", launcher_, name));
    }
    return *value;
  }

  [[nodiscard]] std::uint32_t number(const char* name, std::uint32_t most) const {
    const std::string value = text(name);
    std::uint32_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stop != end || number > most) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{}: {} must be a number from 0 to {}, found \"{}\"", launcher_, name,
                              most, value));
    }
    return number;
  }

  /// Reads rank and size. \pre both are known to be wanted
  void rank_and_size(Job& job, const char* rank, const char* size) const {
    job.size = number(size, std::numeric_limits<std::uint32_t>::max());
    job.seat = Seat{number(rank, std::numeric_limits<std::uint32_t>::max())};
    if (index(job.seat) >= job.size) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{}: {}={} must be less than {}={}", launcher_, rank, job.seat, size,
                              job.size));
    }
  }

  /// \pre the coordinator and the token are known; `name` is where the coordinator was read from
  void require_secret(const Job& job, const char* name) const {
    if (!job.token.empty() || is_loopback(job.coordinator.host)) return;
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("{}: {}={} can be reached from other hosts, where anybody could take a "
                    "rank's seat: set {} to a secret, the same for all ranks, or {} to a file "
                    "that has it",
                    launcher_, name, job.coordinator.host, kToken, kKeyFile));
  }

 private:
  const Environment& environment_;
  std::string_view launcher_;
};

std::optional<Job> detect_own(const Environment& environment) {
  const Variables v(environment, "multitree launcher");
  if (!v.has("MULTITREE_RANK") && !v.has("MULTITREE_SIZE") && !v.has("MULTITREE_RENDEZVOUS")) {
    return std::nullopt;
  }
  Job job;
  job.kind = JobKind::Address;
  v.rank_and_size(job, "MULTITREE_RANK", "MULTITREE_SIZE");
  job.coordinator = parse_address(v.text("MULTITREE_RENDEZVOUS"), "MULTITREE_RENDEZVOUS");
  job.launcher_hosts = environment("MULTITREE_COORDINATOR") == "launcher";
  if (job.launcher_hosts) {
    job.token = environment(kToken).value_or("");
  } else {
    set_token(job, environment, "");
  }
  v.require_secret(job, "MULTITREE_RENDEZVOUS");
  job.description = job.launcher_hosts ? "local launcher" : "MULTITREE_RANK";
  return job;
}

std::optional<Job> detect_pmix(const Environment& environment) {
  const Variables v(environment, "PMIx");
  if (!v.has("PMIX_RANK") && !v.has("PMIX_NAMESPACE")) return std::nullopt;
  Job job;
  job.kind = JobKind::Pmix;
  static_cast<void>(v.text("PMIX_RANK"));
  static_cast<void>(v.text("PMIX_NAMESPACE"));
  job.description = v.has("OMPI_COMM_WORLD_RANK") ? "Open MPI (PMIx)"
                    : v.has("SLURM_PROCID")       ? "Slurm (PMIx)"
                                                  : "PMIx";
  return job;
}

std::optional<Job> detect_pmi1(const Environment& environment) {
  const Variables v(environment, "PMI-1");
  // Some Slurm set-ups give PMI_RANK without the connection; then Slurm's own variables serve.
  const bool wire = v.has("PMI_FD");
  const bool other = v.has("PMI_RANK") || v.has("PMI_SIZE");
  if (!wire && (!other || v.has("SLURM_PROCID"))) return std::nullopt;
  Job job;
  job.kind = JobKind::Pmi1;
  v.rank_and_size(job, "PMI_RANK", "PMI_SIZE");
  job.pmi_fd = static_cast<int>(v.number("PMI_FD", 1U << 20));
  // srun --mpi=pmi2 speaks PMI-1 as well.
  job.description = v.has("SLURM_STEP_NODELIST") ? "Slurm (PMI-1)" : "MPICH (PMI-1)";
  return job;
}

std::optional<Job> detect_torchrun(const Environment& environment) {
  const Variables v(environment, "torchrun");
  if (!v.has("RANK") && !v.has("WORLD_SIZE")) return std::nullopt;
  Job job;
  job.kind = JobKind::Address;
  v.rank_and_size(job, "RANK", "WORLD_SIZE");
  const std::uint32_t port = v.number("MASTER_PORT", 65534);
  job.coordinator = {v.text("MASTER_ADDR"), static_cast<std::uint16_t>(port + 1)};
  const std::string run = environment("TORCHELASTIC_RUN_ID").value_or("");
  set_token(job, environment, run.empty() ? run : "torchrun " + run);
  v.require_secret(job, "MASTER_ADDR");
  job.description = "torchrun";
  return job;
}

std::optional<Job> detect_slurm(const Environment& environment) {
  const Variables v(environment, "Slurm");
  // A batch script has SLURM_PROCID too, but only the processes of a step were started by srun.
  if (!v.has("SLURM_PROCID") || !v.has("SLURM_STEP_NODELIST")) return std::nullopt;
  Job job;
  job.kind = JobKind::Address;
  const bool step_size = v.has("SLURM_STEP_NUM_TASKS");
  v.rank_and_size(job, "SLURM_PROCID", step_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
  constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t id = v.number("SLURM_JOB_ID", kAny);
  const std::uint32_t step = v.has("SLURM_STEP_ID") ? v.number("SLURM_STEP_ID", kAny) : 0;
  job.coordinator = {first_host(v.text("SLURM_STEP_NODELIST")),
                     static_cast<std::uint16_t>(kFirstPort + (id * 7 + step) % kPorts)};
  set_token(job, environment, fmt::format("slurm {}.{}", id, step));
  job.description = "Slurm";
  return job;
}

// The order of preference.
constexpr std::array kDetectors{&detect_own, &detect_pmix, &detect_pmi1, &detect_torchrun,
                                &detect_slurm};

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Job detect_job(const Environment& environment) {
  for (const auto& detect : kDetectors) {
    if (auto job = detect(environment)) return *job;
  }
  return {};
}

std::string first_host(std::string_view node_list) {
  std::string host;
  bool in_brackets = false, skipping = false;
  for (const char c : node_list) {
    if (c == '[') {
      in_brackets = true;
    } else if (c == ']') {
      in_brackets = skipping = false;
    } else if (c == ',' && !in_brackets) {
      break;
    } else if (in_brackets && (c == ',' || c == '-')) {
      skipping = true;  // of a range or list only the first
    } else if (!skipping) {
      host += c;
    }
  }
  return host;
}

}  // namespace multitree::runtime
