// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/stations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rtl/sim/stop.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

std::unique_ptr<Endpoint> make_endpoint(const Plan& plan, std::uint16_t number, Cables& cables) {
  const WireJob& job = plan.job;
  const bool is_hardware = plan.is_hardware(number);
  const NodeId node = plan.numbers.node(number);
  const auto& rank = plan.topology().node(node).rank;
  if (!rank) {
    const SwitchPart part{plan.topology(), plan.parameters, node, cables};
    return is_hardware ? make_hardware_switch(part) : make_software_switch(part);
  }
  const Part part{plan.topology(), plan.collective, *rank, cables};
  auto endpoint =
      is_hardware ? make_hardware_endpoint(part, job.adders) : make_software_endpoint(part);
  std::ranges::copy(plan.inputs[index(*rank)], endpoint->buffer().begin());
  return endpoint;
}

}  // namespace

Stations::Stations(const Plan& plan, std::vector<std::uint16_t> here, std::uint32_t job,
                   std::size_t frame_bytes, const OpenPort& open)
    : plan_(plan), here_(std::move(here)), done_(here_.size()) {
  const WireJob& what = plan.job;
  const Places places{.channels = plan.parameters.virtual_channels,
                      .flits = plan.parameters.buffer_flits,
                      .shape = FlitShape(plan.parameters.flit_bytes)};
  Neighbourhood around{.job = job, .here = here_, .name = [&plan](std::uint16_t number) {
                         return plan.numbers.name(number);
                       }};
  std::vector<std::unique_ptr<Cables>> cables;
  for (const std::uint16_t number : here_) {
    cables.push_back(std::make_unique<Cables>(
        make_cables(what.topology, plan.numbers.node(number), job, frame_bytes, places)));
    for (const Cable& cable : cables.back()->all) {
      if (std::ranges::find(here_, cable.way().to) == here_.end()) {
        around.ways.push_back(cable.way());
      }
    }
  }
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    endpoints.push_back(make_endpoint(plan, here_[i], *cables[i]));
  }
  auto others = open ? open(around) : nullptr;
  if (!others || here_.size() > 1) {
    wires_ = std::make_unique<MemoryWires>(here_, std::move(others));
  }
  for (std::size_t i = 0; i < here_.size(); ++i) {
    auto port = wires_ ? wires_->port(here_[i]) : std::move(others);
    if (what.drop > 0) port = std::make_unique<LossyPort>(std::move(port), what.drop, here_[i]);
    stations_.push_back(std::make_unique<Station>(std::move(endpoints[i]), std::move(cables[i]),
                                                  std::move(port), job));
  }
}

void Stations::start() {
  started_ = Clock::now();
  for (auto& station : stations_) station->endpoint().start();
}

bool Stations::turn() {
  bool moves = false;
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    try {
      moves = stations_[i]->turn() || moves;
    } catch (const AssertionFailed& failed) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: what came to it fails an assertion of its hardware: {}",
                              plan_.numbers.name(here_[i]), failed.what()));
    }
    const bool is_rank = here_[i] < plan_.job.topology.num_ranks();
    if (is_rank && !done_[i] && stations_[i]->endpoint().is_done()) done_[i] = report_of(i);
  }
  return moves;
}

bool Stations::are_done() const {
  return std::ranges::all_of(stations_,
                             [](const auto& station) { return station->endpoint().is_done(); });
}

std::vector<std::string> Stations::late() const {
  std::vector<std::string> late;
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    if (!stations_[i]->endpoint().is_done()) late.push_back(plan_.numbers.name(here_[i]));
  }
  return late;
}

void Stations::check_errors() {
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    const std::string error = stations_[i]->endpoint().error();
    if (error.empty()) continue;
    const bool has_interface = plan_.topology().node(plan_.numbers.node(here_[i])).rank.has_value();
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: {}{}", plan_.numbers.name(here_[i]),
                            has_interface ? "its interface: " : "", error));
  }
}

std::string Stations::silent(Clock::duration most) const {
  for (const auto& station : stations_) {
    if (auto who = station->silent(most); !who.empty()) return who;
  }
  return {};
}

WireReport Stations::report_of(std::size_t i) const {
  Station& station = *stations_[i];
  const Cable::Counts counts = station.counts();
  WireReport report{.is_hardware = plan_.is_hardware(here_[i]),
                    .flits = counts.flits,
                    .frames = counts.frames,
                    .again = counts.again,
                    .bad = station.bad_frames(),
                    .seconds = std::chrono::duration<double>(Clock::now() - started_).count(),
                    .wrong = {}};
  if (here_[i] < plan_.job.topology.num_ranks()) {
    Buffers got = plan_.expected;
    const auto buffer = station.endpoint().buffer();
    got[here_[i]].assign(buffer.begin(), buffer.end());
    report.wrong = find_difference(plan_.schedule(), plan_.job.type, plan_.expected, got);
  }
  return report;
}

std::vector<WireReport> Stations::reports() const {
  std::vector<WireReport> reports;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    reports.push_back(done_[i] ? *done_[i] : report_of(i));
  }
  return reports;
}

}  // namespace multitree::rtl
