// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From one rank's records to what all of them say.
#include "tools/run/observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using runtime::Event;
using runtime::Recorder;

/// Events of one iteration that a rank keeps.
constexpr std::size_t kEvents = std::size_t{1} << 17;

template <typename T>
void append(std::string& blob, std::span<const T> values) {
  blob.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Values exchanged as raw bytes between equal programs.
template <typename T>
std::vector<T> values_of(std::string_view blob) {
  std::vector<T> values(blob.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), blob.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

const LinkBytes* RowDetails::busiest() const {
  const auto most = std::ranges::max_element(links, {}, &LinkBytes::bytes);
  return most == links.end() || most->bytes == 0 ? nullptr : &*most;
}

Observer::Observer(const ObserverOptions& options)
    : options_(options), recorder_(std::make_shared<Recorder>(options.trace ? kEvents : 0)) {}

void Observer::join(runtime::Bootstrap& job, const Topology& network,
                    const SizedSchedules& schedules, runtime::Deadline deadline) {
  network_ = &network;
  schedules_ = &schedules;
  priced_ = options_.times == nullptr ? network : with_times(network, *options_.times);
  if (options_.times != nullptr) cost_ = cost_model(network, *options_.times);
  if (options_.trace) offsets_ = runtime::clock_offsets(job, deadline);
}

void Observer::prepare(const RowKey& key) {
  key_ = key;
  schedule_ = schedules_->empty() ? nullptr : &schedule_for(*schedules_, key.bytes);
}

void Observer::start() {
  if (!options_.links && !options_.trace) return;
  recorder_->start(options_.trace ? Recorder::Mode::Events : Recorder::Mode::Count,
                   schedule_ == nullptr ? 0 : schedule_->transfers.size());
}

RowDetails Observer::collect(runtime::Bootstrap& job, runtime::Deadline deadline) {
  RowDetails details{key_, schedule_ == nullptr ? "host" : schedule_->algorithm, {}, {}};
  if (schedule_ != nullptr) {
    details.predicted_seconds = predict_time(*schedule_, *priced_, key_.bytes, cost_).seconds();
  }
  if (options_.links && schedule_ != nullptr) collect_links(job, deadline, details);
  if (options_.trace) collect_events(job, deadline, details);
  return details;
}

void Observer::collect_links(runtime::Bootstrap& job, runtime::Deadline deadline,
                             RowDetails& details) {
  std::vector<std::uint64_t> mine(network_->num_links());
  const auto sent = recorder_->sent();
  for (std::size_t t = 0; t < sent.size(); ++t) {
    if (sent[t] == 0) continue;
    for (const LinkId link : schedule_->route(schedule_->transfers[t])) {
      mine[index(link)] += sent[t];
    }
  }
  std::vector<std::uint64_t> pairs;  // link, bytes: a rank uses few of the links
  for (std::size_t link = 0; link < mine.size(); ++link) {
    if (mine[link] != 0) pairs.insert(pairs.end(), {link, mine[link]});
  }
  std::string blob;
  append(blob, std::span<const std::uint64_t>(pairs));
  for (const Link& link : network_->links()) {
    details.links.push_back({network_->node(link.src).name, network_->node(link.dst).name, 0});
  }
  for (const std::string& other : job.all_gather(blob, deadline)) {
    const auto theirs = values_of<std::uint64_t>(other);
    for (std::size_t i = 0; i + 1 < theirs.size(); i += 2) {
      if (theirs[i] < details.links.size()) details.links[theirs[i]].bytes += theirs[i + 1];
    }
  }
}

void Observer::collect_events(runtime::Bootstrap& job, runtime::Deadline deadline,
                              const RowDetails& details) {
  std::string blob;
  const std::uint64_t lost = recorder_->lost();
  append(blob, std::span(&lost, 1));
  append(blob, recorder_->events());
  const runtime::Gathered all = job.all_gather(blob, deadline);
  if (job.seat() != runtime::Seat{0}) return;
  TracedIteration iteration;
  iteration.title = fmt::format("{} {} B {}", details.algorithm, details.key.bytes,
                                runtime::to_string(details.key.type));
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::string_view other = all[r];
    for (const std::uint64_t more : values_of<std::uint64_t>(other.substr(0, sizeof lost))) {
      iteration.lost += more;
    }
    auto& events = iteration.events.emplace_back(
        values_of<Event>(other.substr(std::min(other.size(), sizeof lost))));
    for (Event& event : events) {
      event.begin_ns -= offsets_[r].ns;
      event.end_ns -= offsets_[r].ns;
    }
    iteration.clock_error_ns = std::max(iteration.clock_error_ns, 2 * offsets_[r].error_ns);
  }
  lost_ += iteration.lost;
  if (schedule_ == nullptr) {
    timeline_.add(iteration, *network_);
  } else {
    timeline_.add(iteration, *schedule_, *network_);
  }
}

}  // namespace multitree::tools
