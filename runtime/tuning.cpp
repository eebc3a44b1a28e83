// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank chooses, all make the same.
#include "runtime/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/planner.hpp"
#include "runtime/device/device.hpp"
#include "runtime/host/group_internal.hpp"
#include "runtime/job/agreement.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// One rank's choice for one collective, or why there is none.
std::string pack(const std::vector<SizedSpec>& specs) {
  Writer writer;
  writer.text("");
  for (const SizedSpec& sized : specs) {
    writer.text(std::to_string(sized.max_bytes)).text(sized.spec);
    writer.number(static_cast<std::uint32_t>(sized.rivals.size()));
    for (const PricedSpec& rival : sized.rivals) {
      writer.text(rival.spec).text(fmt::format("{}", rival.seconds));
    }
  }
  return writer.bytes();
}

std::string pack(const Error& error) {
  return Writer().text(error.what()).number(static_cast<std::uint32_t>(error.code())).bytes();
}

std::vector<SizedSpec> unpack(const std::string& text) {
  Reader reader(text);
  const std::string failure = reader.text().value_or(
      "a rank has chosen no schedules where others have: give all the same algorithm");
  if (!failure.empty()) {
    constexpr auto kOtherwise = static_cast<std::uint32_t>(ErrorCode::InvalidArgument);
    const std::uint32_t code = reader.number().value_or(kOtherwise);
    const bool known = code <= static_cast<std::uint32_t>(ErrorCode::Cuda);
    throw Error(static_cast<ErrorCode>(known ? code : kOtherwise), failure);
  }
  std::vector<SizedSpec> specs;
  while (const auto bytes = reader.text()) {
    SizedSpec& sized = specs.emplace_back();
    std::from_chars(bytes->data(), bytes->data() + bytes->size(), sized.max_bytes);
    sized.spec = reader.text().value_or("");
    for (std::uint32_t left = reader.number().value_or(0); left > 0; --left) {
      const auto spec = reader.text();
      if (!spec) break;  // fewer than it says
      PricedSpec& rival = sized.rivals.emplace_back();
      rival.spec = *spec;
      const std::string seconds = reader.text().value_or("0");
      std::from_chars(seconds.data(), seconds.data() + seconds.size(), rival.seconds);
    }
  }
  return specs;
}

}  // namespace

bool goes_without_messages(Bootstrap& bootstrap, const CommunicatorOptions& options) {
  if (options.host_path == HostPath::Off || bootstrap.size() == 1) return false;
  const bool device = options.devices && (options.device != nullptr || device::cuda_is_loaded());
  const auto devices = bootstrap.all_gather(device ? "device" : "", options.timeout);
  if (!std::ranges::all_of(devices, &std::string::empty)) return false;
  return host::Group::can_join(bootstrap, options.timeout);
}

std::vector<std::vector<SizedSpec>> choose_specs_together(Bootstrap& bootstrap,
                                                          std::span<const Collective> collectives,
                                                          const Choose& choose, Deadline deadline) {
  Writer mine;
  for (std::size_t i = index(bootstrap.seat()); i < collectives.size(); i += bootstrap.size()) {
    try {
      mine.text(pack(choose(collectives[i])));
    } catch (const Error& error) {
      mine.text(pack(error));
    }
  }
  const Gathered all = bootstrap.all_gather(mine.bytes(), deadline);
  std::vector<Reader> of_rank(all.begin(), all.end());
  std::vector<std::vector<SizedSpec>> chosen;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    chosen.push_back(unpack(of_rank[i % all.size()].text().value_or("")));
  }
  return chosen;
}

SizedSchedules choose_together(Bootstrap& bootstrap, const Topology& topology,
                               Collective collective, Rank root, const ChooseOptions& options,
                               Deadline deadline) {
  const std::vector<std::vector<SizedSpec>> chosen = choose_specs_together(
      bootstrap, {&collective, 1},
      [&](Collective of) { return choose_specs(topology, of, root, options); }, deadline);
  return schedules_of(chosen.front(), topology, collective, root);
}

void Refining::add(std::map<Collective, std::vector<SizedSpec>> more) {
  candidates.merge(std::move(more));
  const auto sums = candidates.find(Collective::AllReduce);
  if (sums != candidates.end()) comparing = sums->second.front().spec;
}

std::shared_ptr<Refining> refining_of(std::map<Collective, std::vector<SizedSpec>> candidates,
                                      Topology topology) {
  Refining refining{.candidates = {}, .comparing = "multitree", .make = nullptr};
  refining.add(std::move(candidates));
  refining.make = [topology = std::move(topology)](const std::string& spec, Collective collective,
                                                   Rank root) {
    SizedSchedules one = for_all_sizes(generate_schedule(spec, topology, collective, root));
    check_verified(one, topology);
    return std::move(one.front().schedule);
  };
  return std::make_shared<Refining>(std::move(refining));
}

std::unique_ptr<Communicator> make_auto_communicator(std::shared_ptr<Bootstrap> bootstrap,
                                                     const Topology& topology,
                                                     const AutoOptions& wanted,
                                                     const CommunicatorOptions& options) {
  ChooseOptions choose = wanted.choose;
  LinkTable measured;
  if (choose.links == nullptr && wanted.measure && !goes_without_messages(*bootstrap, options)) {
    measured = measure_links(*bootstrap, topology, measure_options(options));
    choose.links = &measured;
  }
  choose.rivals = wanted.refine;
  std::map<Collective, std::vector<SizedSpec>> candidates;
  const RemainingNetwork network(topology);
  const Planner planner(network, {}, [&](const Topology& on, Collective collective, Rank root) {
    auto chosen = choose_specs_together(
        *bootstrap, {&collective, 1},
        [&](Collective of) { return choose_specs(on, of, root, choose); }, options.timeout);
    SizedSchedules schedules = schedules_of(chosen.front(), on, collective, root);
    candidates.emplace(collective, std::move(chosen.front()));
    return schedules;
  });
  std::vector<SizedSchedules> plans = planner.schedules(wanted.collectives, wanted.root);
  check_agreement(plans, *bootstrap, options.timeout);
  PlansBySize all(std::move(plans), true);
  all.remaking = std::make_shared<const Remaking>(
      Remaking{topology, true, choose.links ? std::optional(*choose.links) : std::nullopt});
  if (wanted.refine) all.refining = refining_of(std::move(candidates), topology);
  return std::make_unique<Communicator>(std::move(bootstrap), std::move(all), options);
}

}  // namespace multitree::runtime
