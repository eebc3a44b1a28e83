// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From mtConfig_t to schedules.
#include "runtime/c/settings_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

#include "algorithms/io/io.hpp"
#include "runtime/c/result_internal.hpp"
#include "runtime/device/device.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/measure/cached_links.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "runtime/messages/network/cables.hpp"
#include "runtime/messages/transport.hpp"
#include "runtime/tuning.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/notes.hpp"

namespace multitree::runtime::c {
namespace {

/// Plans kept in the process; jobs have a handful of communicator sizes.
constexpr std::size_t kMaxPlans = 64;
/// Of mtConfig_t before it had `devices`.
constexpr std::size_t kFirstSize = offsetof(mtConfig_t, devices);
/// Of mtConfig_t before it had `tuning`, and before it had `progress`.
constexpr std::size_t kSecondSize = offsetof(mtConfig_t, tuning);
constexpr std::size_t kThirdSize = offsetof(mtConfig_t, progress);
/// Before it had `refine`, before it had `linkTimeoutMs`, and before it had `encrypt`.
constexpr std::size_t kFourthSize = offsetof(mtConfig_t, refine);
constexpr std::size_t kFifthSize = offsetof(mtConfig_t, linkTimeoutMs);
constexpr std::size_t kSixthSize = offsetof(mtConfig_t, encrypt);
constexpr const char* kRefineVariable = "MULTITREE_REFINE";
constexpr const char* kTuningVariable = "MULTITREE_TUNING";
constexpr std::string_view kTunings[] = {kDeclared, kMeasured, kCached};

/// In this thread, which has chosen its device; the set-up may run in another.
void find_device(Settings& settings) {
  std::string why;  // a process with the driver and no device has host memory only
  if (device::cuda_is_loaded()) settings.options.device = device::open_cuda(-1, why);
}

int checked(const char* field, int value, int otherwise, int least, int most) {
  if (value == MT_CONFIG_UNDEF_INT) return otherwise;
  if (value >= least && value <= most) return value;
  throw Failure(mtInvalidArgument,
                fmt::format("config.{}: expected {} to {}, found {}", field, least, most, value));
}

std::string text(const char* value, const char* otherwise) {
  return value == nullptr ? otherwise : value;
}

/// Of the configuration, else of the environment.
std::string find_tuning(const char* configured) {
  if (configured == nullptr) configured = std::getenv(kTuningVariable);
  const std::string tuning = text(configured, "");
  return tuning.empty() ? std::string(kDeclared) : tuning;
}

int find_refine() {
  const char* value = std::getenv(kRefineVariable);
  if (value == nullptr || *value == '\0' || std::string_view(value) == "0") return 0;
  if (std::string_view(value) == "1") return 1;
  throw Failure(mtInvalidArgument,
                fmt::format("{}: expected 0 or 1, found \"{}\"", kRefineVariable, value));
}

/// What a silent link does to a job.
void read_links(const mtConfig_t& config, CommunicatorOptions& options) {
  if (config.linkTimeoutMs != MT_CONFIG_UNDEF_INT) {
    options.link_timeout = Deadline(checked("linkTimeoutMs", config.linkTimeoutMs, 0, 0, INT_MAX));
  }
  const std::string_view wanted = config.onLinkFailure == nullptr ? "" : config.onLinkFailure;
  if (wanted.empty()) return;
  options.on_link_failure = link_failure_named(wanted);
  if (options.on_link_failure) return;
  throw Failure(
      mtInvalidArgument,
      fmt::format("config.onLinkFailure: expected stop, continue or adapt, found \"{}\"", wanted));
}

/// What make() gave for this network, algorithm, ranks, collective and root the last time.
using Key = std::tuple<std::string, std::string, std::uint32_t, Collective, Rank>;

template <typename Value, typename Make>
Value remembered(const Key& key, const Make& make) {
  static std::mutex mutex;
  static auto& values = *new std::map<Key, Value>();  // never destroyed: threads may use it
  {
    const std::scoped_lock lock(mutex);
    if (const auto it = values.find(key); it != values.end()) return it->second;
  }
  Value made = make();
  const std::scoped_lock lock(mutex);
  if (values.size() >= kMaxPlans) values.clear();
  values.emplace(key, made);
  return made;
}

/// The collectives with a root, or those without.
std::vector<Collective> collectives_of(bool rooted) {
  std::vector<Collective> all;
  std::ranges::copy_if(all_collectives(), std::back_inserter(all),
                       [&](Collective collective) { return has_root(collective) == rooted; });
  return all;
}

std::string words_of(const std::vector<SizedSpec>& specs) {
  std::string words;
  for (const SizedSpec& sized : specs) words += fmt::format("{} {}\n", sized.max_bytes, sized.spec);
  return words;
}

}  // namespace

Settings read_config(const mtConfig_t* config) {
  Settings settings;
  if (config == nullptr) {
    find_device(settings);
    settings.tuning = find_tuning(nullptr);
    settings.refine = find_refine() == 1;
    return settings;
  }
  // Versions append fields: a program that was compiled with an earlier one has not got the last.
  const bool has_encrypt = config->size == sizeof(mtConfig_t);
  const bool has_links = has_encrypt || config->size == kSixthSize;
  const bool has_refine = has_links || config->size == kFifthSize;
  const bool has_progress = has_refine || config->size == kFourthSize;
  const bool has_tuning = has_progress || config->size == kThirdSize;
  const bool has_devices = has_tuning || config->size == kSecondSize;
  if (config->magic != MT_CONFIG_MAGIC || (!has_devices && config->size != kFirstSize)) {
    throw Failure(
        mtInvalidArgument,
        fmt::format("config: expected {} bytes from MT_CONFIG_INITIALIZER, found {} bytes "
                    "of version {}",
                    sizeof(mtConfig_t), config->size, config->version));
  }
  settings.blocking = checked("blocking", config->blocking, 1, 0, 1) == 1;
  settings.options.timeout =
      Deadline(checked("deadlineMs", config->deadlineMs, 30'000, 1, INT_MAX));
  settings.init_deadline =
      Deadline(checked("initDeadlineMs", config->initDeadlineMs, 60'000, 1, INT_MAX));
  settings.options.transport = text(config->transport, "auto");
  settings.topology = text(config->topology, "");
  settings.algorithm = text(config->algorithm, "auto");
  settings.plan_file = text(config->planFile, "");
  settings.tuning = find_tuning(has_tuning ? config->tuning : nullptr);
  if (has_progress) settings.options.progress = text(config->progress, "");
  settings.refine = checked("refine", has_refine ? config->refine : MT_CONFIG_UNDEF_INT,
                            find_refine(), 0, 1) == 1;
  if (has_links) read_links(*config, settings.options);
  if (has_encrypt && config->encrypt != MT_CONFIG_UNDEF_INT) {
    settings.options.encrypt = checked("encrypt", config->encrypt, 0, 0, 1) == 1;
  }
  if (config->segmentBytes != 0) {
    settings.options.segment_bytes = settings.options.kernel_segment_bytes = config->segmentBytes;
  }
  const bool devices = !has_devices || checked("devices", config->devices, 1, 0, 1) == 1;
  settings.options.devices = devices;
  if (devices) find_device(settings);
  if (!settings.plan_file.empty() && !settings.topology.empty()) {
    throw Failure(mtInvalidArgument,
                  "config: expected topology or planFile, which has its own, found both");
  }
  return settings;
}

CommPlans::CommPlans(Settings settings, std::uint32_t ranks,
                     const std::optional<RemainingNetwork>& remaining)
    : settings_(std::move(settings)), network_(remaining) {
  named_ = remaining || !settings_.plan_file.empty() || !settings_.topology.empty();
  if (!remaining) load(ranks);
  if (!network_) return;
  const Topology& network = network_->network();
  if (network.num_ranks() != ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected a network of {} ranks, as the communicator, found {}",
                            network.name(), ranks, network.num_ranks()));
  }
  const bool named = std::ranges::count(kTunings, settings_.tuning) != 0;
  if (chooses() && !named) read_times();
}

void CommPlans::load(std::uint32_t ranks) {
  if (!settings_.plan_file.empty()) {
    PlanFile file = parse_plan_json(read_file(settings_.plan_file), settings_.plan_file);
    check_verified(file.schedules, file.topology);
    network_.emplace(std::move(file.topology));
    ready_ = std::move(file.schedules);
  } else if (!settings_.topology.empty()) {
    network_.emplace(load_topology(settings_.topology));
  } else if (auto named = ranks > 1 ? named_cluster() : std::nullopt;
             named && !named->installed && named->cluster.network->num_ranks() == ranks) {
    network_.emplace(std::move(*named->cluster.network));
    named_ = true;
  } else if (ranks > 1) {
    network_.emplace(load_topology(fmt::format("full:{}", ranks)));
  }
}

void CommPlans::follow(Bootstrap& job) {
  if (job.size() == 1) return;
  if (!settings_.topology.empty() && network_ && network_->is_whole()) {
    network_.emplace(with_all_cables(job, network_->network(), settings_.init_deadline));
  }
  const bool wanted = !named_ && !times_;
  auto cluster = installed_cluster_of(job, wanted, settings_.init_deadline);
  if (!cluster) return;
  network_.emplace(std::move(*cluster->cluster.network));
  named_ = true;
}

void CommPlans::read_times() {
  times_ = parse_link_table_json(read_file(settings_.tuning), settings_.tuning);
  try {
    static_cast<void>(with_times(network_->network(), *times_));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", settings_.tuning, error.what()));
  }
}

void CommPlans::measure(Bootstrap& job) {
  const bool kept = settings_.tuning == kCached;
  if ((!kept && settings_.tuning != kMeasured) || !network_ || !chooses()) return;
  const MeasureOptions options = measure_options(settings_.options);
  times_ = kept ? cached_links(job, network_->network(), options, &times_file_)
                : measure_links(job, network_->network(), options);
}

std::vector<SizedSpec> CommPlans::choice(Collective collective) const {
  const Topology& network = network_->network();
  const auto choose = [&] {
    return choose_specs(network, collective, Rank{0},
                        {.links = times_ ? &*times_ : nullptr, .rivals = settings_.refine});
  };
  // A file and links may change between two communicators; specs mean the same for ever.
  if (named_ || times_) return choose();
  const char* const kind = settings_.refine ? "with rivals" : "";
  return remembered<std::vector<SizedSpec>>({{}, kind, network.num_ranks(), collective, {}},
                                            choose);
}

std::vector<Collective> CommPlans::unchosen(bool rooted) const {
  if (!network_ || !chooses() || network_->network().num_ranks() == 1) return {};
  std::vector<Collective> wanted = collectives_of(rooted);
  std::erase_if(wanted, [&](Collective one) { return chosen_.contains(one); });
  return wanted;
}

void CommPlans::choose(Bootstrap& job, bool rooted) {
  const std::vector<Collective> wanted = unchosen(rooted);
  if (wanted.empty()) return;
  try {
    const auto chosen = choose_specs_together(
        job, wanted, [this](Collective one) { return choice(one); }, settings_.init_deadline);
    std::map<Collective, std::vector<SizedSpec>> candidates;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      candidates[wanted[i]] = chosen_[wanted[i]] = chosen[i];
    }
    if (!settings_.refine) return;
    if (refining_ == nullptr) refining_ = refining_of({}, network_->network());
    refining_->add(std::move(candidates));
  } catch (const Error& error) {
    // What nothing serves is repaired from what the whole network had.
    if (network_->is_whole() || error.code() != ErrorCode::Unsupported) throw;
    for (const Collective one : wanted) chosen_[one];
  }
}

std::shared_ptr<const Remaking> CommPlans::remaking() const {
  if (!network_) return nullptr;
  return std::make_shared<const Remaking>(
      Remaking{network_->network(), chooses() && ready_.empty(), times_});
}

void CommPlans::keep(const std::vector<Refined>& refined) const {
  if (times_file_.empty()) return;
  std::map<std::pair<Collective, std::uint64_t>, const Refined*> most_called;
  for (const Refined& one : refined) {
    const bool compared =
        one.seconds > 0 && std::ranges::any_of(one.rivals, &Refined::Rival::looks);
    const Refined*& known = most_called[{one.collective, one.bytes}];
    if (compared && (known == nullptr || known->calls < one.calls)) known = &one;
  }
  std::vector<LinkTable::Choice> found;
  for (const auto& [size, one] : most_called) {
    if (one != nullptr) found.push_back({one->collective, one->bytes, one->used});
  }
  if (!found.empty()) keep_choices(times_file_, found);
}

SizedSchedules CommPlans::make(const Topology& network, Collective collective, Rank root) const {
  const auto chosen = chosen_.find(collective);
  const bool known =
      chosen != chosen_.end() && !chosen->second.empty() && &network == &network_->network();
  const auto generate = [&] {
    if (known) return schedules_of(chosen->second, network, collective, root);
    return by_algorithm(settings_.algorithm)(network, collective, root);
  };
  if (named_ || times_) return generate();
  return remembered<SizedSchedules>(
      {settings_.topology, known ? words_of(chosen->second) : settings_.algorithm,
       network.num_ranks(), collective, root},
      generate);
}

std::vector<SizedSchedules> CommPlans::plan(std::span<const Collective> collectives,
                                            Rank root) const {
  if (!network_) return {};
  const Planner planner(*network_, ready_,
                        [this](const Topology& network, Collective collective, Rank of) {
                          return make(network, collective, of);
                        });
  return planner.schedules(collectives, root);
}

std::vector<SizedSchedules> CommPlans::first() const {
  std::vector<Collective> wanted{Collective::AllReduce};
  if (!ready_.empty()) {
    const Collective of_file = ready_.front().schedule.collective;
    if (of_file != wanted.front() && !has_root(of_file)) wanted.push_back(of_file);
  }
  return plan(wanted, Rank{0});
}

SizedSchedules CommPlans::on_demand(Collective collective, Rank root) const {
  std::vector<SizedSchedules> one = plan({&collective, 1}, root);
  return one.empty() ? SizedSchedules() : std::move(one.front());
}

CommPlans plans_of(const Settings& settings, const Bootstrap& job,
                   const std::optional<RemainingNetwork>& remaining) {
  const Notes notes;
  CommPlans plans(settings, job.size(), remaining);
  if (job.seat() == Seat{0}) {
    for (const std::string& note : notes.all()) logger().warn("{}", note);
  }
  return plans;
}

}  // namespace multitree::runtime::c
