// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time of training iterations, with and without layer-wise overlap.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "report/plot.hpp"
#include "study/iteration.hpp"
#include "tools/study/report.hpp"

namespace multitree::tools {
namespace {

constexpr std::array<std::string_view, 7> kNetworks = {
    "alexnet", "alphagozero", "fasterrcnn", "googlenet", "ncf", "resnet50", "transformer"};
constexpr std::array<std::string_view, 4> kConvolutional = {"alexnet", "fasterrcnn", "googlenet",
                                                            "resnet50"};
constexpr std::array<std::string_view, 2> kEmbedding = {"ncf", "transformer"};
constexpr double kAcceleratorHz = 1e9;

/// A workload with every contender.
struct Training {
  std::string name;
  bool is_averaged = false, is_convolutional = false, is_embedding = false;
  std::uint64_t gradient_bytes = 0;
  struct Times {
    study::IterationTime sequential, overlapped;
  };
  std::map<std::string, Times, std::less<>> of;  // by label

  [[nodiscard]] const Times& times_of(std::string_view label) const {
    return of.find(label)->second;
  }
  /// How much faster `label` is than `than`, by a number of the times.
  template <typename Pick>
  [[nodiscard]] double speedup(std::string_view label, std::string_view than,
                               const Pick& pick) const {
    return static_cast<double>(pick(times_of(than))) / static_cast<double>(pick(times_of(label)));
  }
};

std::uint64_t all_reduce_of(const Training::Times& times) { return times.sequential.communication; }
std::uint64_t sequential_of(const Training::Times& times) { return times.sequential.total; }
std::uint64_t overlapped_of(const Training::Times& times) { return times.overlapped.total; }

double communication_share(const study::IterationTime& time) {
  return static_cast<double>(time.communication) / static_cast<double>(time.total);
}

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(names, name) != names.end();
}

Training train(const ReportInput& input, const study::Workload& workload) {
  const std::string network = training_network(input.plan);
  Training training{.name = workload.name,
                    .is_averaged = is_among(kNetworks, workload.name),
                    .is_convolutional = is_among(kConvolutional, workload.name),
                    .is_embedding = is_among(kEmbedding, workload.name),
                    .gradient_bytes = 4 * study::total_parameters(workload),
                    .of = {}};
  const auto tasks = study::layer_tasks(workload, study::training_cycles(workload));
  for (const Contender& contender : training_contenders(network)) {
    const study::AllReduceCycles cycles = [&](std::uint64_t bytes) {
      const Outcome outcome = input.outcome(point_of(input.plan, network, contender, bytes));
      // Exact where both clocks are the same, as they are by default.
      return static_cast<std::uint64_t>(static_cast<double>(outcome.cycles) * kAcceleratorHz /
                                            static_cast<double>(outcome.clock_hz) +
                                        0.5);
    };
    training.of[contender.label] = {study::sequential_iteration(tasks, cycles),
                                    study::overlapped_iteration(tasks, cycles)};
  }
  return training;
}

std::string milliseconds(std::uint64_t cycles) {
  return fmt::format("{:.3f}", static_cast<double>(cycles) / kAcceleratorHz * 1e3);
}

std::string table_of(const Training& training, const std::vector<Contender>& contenders) {
  Rows rows = {{"ms", "all-reduce", "iteration", "communication", "over ring, 1 port",
                "over 2D-ring", "overlapped", "exposed", "over ring, 1 port", "over 2D-ring"}};
  for (const Contender& contender : contenders) {
    const auto& [sequential, overlapped] = training.times_of(contender.label);
    const auto over = [&](std::string_view than, const auto& pick) {
      return times(training.speedup(contender.label, than, pick));
    };
    rows.push_back(
        {contender.label, milliseconds(sequential.communication), milliseconds(sequential.total),
         percent(communication_share(sequential)), over(kRingOnePort, sequential_of),
         over(kRing2d, sequential_of), milliseconds(overlapped.total),
         percent(static_cast<double>(overlapped.exposed()) / static_cast<double>(overlapped.total)),
         over(kRingOnePort, overlapped_of), over(kRing2d, overlapped_of)});
  }
  const auto& compute = training.times_of(kRingOnePort).sequential;
  return fmt::format(
             "\n#### {}\n\nGradients: {:.2f} MB. Computing: {} ms forward, {} ms backward.\n\n",
             training.name, static_cast<double>(training.gradient_bytes) / 1e6,
             milliseconds(compute.forward), milliseconds(compute.backward)) +
         markdown_table(rows);
}

std::string figure_of(const std::vector<Training>& set, const std::vector<Contender>& contenders,
                      bool overlapped) {
  report::Bars bars{.title = overlapped ? "Training iteration, layer-wise overlap"
                                        : "Training iteration, no overlap",
                    .y_label = "time, ring with one port = 1"};
  for (const Training& training : set) bars.groups.push_back(training.name);
  for (const Contender& contender : contenders) {
    report::BarSeries series{.label = contender.label};
    for (const Training& training : set) {
      series.values.push_back(
          overlapped ? 1 / training.speedup(contender.label, kRingOnePort, overlapped_of)
                     : 1 / training.speedup(contender.label, kRingOnePort, sequential_of));
    }
    bars.series.push_back(std::move(series));
  }
  return report::to_svg(bars);
}

using Filter = bool Training::*;

template <typename Pick>
std::vector<double> speedups(const std::vector<Training>& set, Filter filter,
                             std::string_view label, std::string_view than, const Pick& pick) {
  std::vector<double> ratios;
  for (const Training& training : set) {
    if (training.*filter) ratios.push_back(training.speedup(label, than, pick));
  }
  return ratios;
}

std::string mean(const std::vector<double>& ratios) {
  return ratios.empty() ? "-" : times(geometric_mean(ratios));
}

std::string most(const std::vector<double>& ratios) {
  return ratios.empty() ? "-" : times(std::ranges::max(ratios));
}

/// Speed-ups over ring and 2D-ring, with the study's ports and with equal ones.
template <typename Pick, typename Print>
Claim claim(const std::vector<Training>& set, Filter filter, std::string_view label,
            const Pick& pick, const Print& print) {
  const auto over = [&](std::string_view than) {
    return print(speedups(set, filter, label, than, pick));
  };
  Claim claim;
  claim.unequal = fmt::format("{} / {}", over(kRingOnePort), over(kRing2d));
  claim.equal =
      fmt::format("{}, {} over a ring each way / {}", over(kRing), over(kTwoRings), over(kRing2d));
  return claim;
}

std::vector<Claim> claims_of(const std::string& label, const std::vector<Training>& set) {
  std::vector<Claim> claims;
  const auto add = [&](Claim claim, const std::string& what, const char* published,
                       const char* why) {
    claim.what = fmt::format("{}: {}", label, what);
    claim.published = published;
    claim.why = why;
    claims.push_back(std::move(claim));
  };
  add(claim(set, &Training::is_averaged, kMultitree, all_reduce_of, mean),
      "all-reduce, packets, mean, over ring / 2D-ring", "2.2x / 1.51x",
      "its simulator adds sums after whole chunks, and its ports take messages in any direction, "
      "so "
      "they wait for each other: 2.24x / 1.61x at 1 MiB");
  add(claim(set, &Training::is_averaged, kMultitreeMessages, all_reduce_of, mean),
      "all-reduce, messages, mean, over ring / 2D-ring", "2.3x / 1.56x",
      "the same; its simulator: 2.93x / 2.11x at 1 MiB, more than is published");
  const auto gain =
      speedups(set, &Training::is_averaged, kMultitreeMessages, kMultitree, all_reduce_of);
  const std::string saved =
      gain.empty() ? "-" : fmt::format("{:.1f} %", (geometric_mean(gain) - 1) * 100);
  add({.unequal = saved, .equal = saved}, "message flow control over packets", "6 %",
      "17 flits a packet against 16; its simulator: 31 % at 1 MiB, as packets wait in its routers");
  std::vector<double> shares;
  for (const Training& training : set) {
    if (training.is_averaged) {
      shares.push_back(communication_share(training.times_of(kRingOnePort).sequential));
    }
  }
  const std::string share = shares.empty()
                                ? "-"
                                : fmt::format("{} to {}", percent(std::ranges::min(shares)),
                                              percent(std::ranges::max(shares)));
  add({.unequal = share, .equal = share}, "communication with ring", "30 % to 88 %",
      "other layer tables; full networks compute and send more");
  add(claim(set, &Training::is_embedding, kMultitreeMessages, sequential_of, most),
      "iteration, NCF and Transformer, best over ring / 2D-ring", "up to 1.81x / 1.30x",
      "printed as 81 % and 30 %: as savings of time they would need an all-reduce 5 times as fast");
  add(claim(set, &Training::is_convolutional, kMultitreeMessages, sequential_of, most),
      "iteration, convolutional networks, best over ring / 2D-ring", "up to 1.34x / 1.15x",
      "the share of communication, which depends on the layer tables");
  add(claim(set, &Training::is_convolutional, kMultitreeMessages, overlapped_of, most),
      "overlapped, convolutional networks, best over ring / 2D-ring", "at most 1.10x",
      "the fully connected layers of the full AlexNet; tables without shapes compute too little");
  add(claim(set, &Training::is_embedding, kMultitreeMessages, overlapped_of, most),
      "overlapped, NCF and Transformer, best over ring / 2D-ring", "about 2x / 1.37x",
      "many all-reduces of small layers, where a ring of 64 ranks waits for 126 links in a row");
  add(claim(set, &Training::is_averaged, kOptimal, all_reduce_of, mean),
      "all-reduce of our optimal schedules, mean, over ring / 2D-ring", "-",
      "the least load of the busiest link");
  return claims;
}

}  // namespace

Section training_section(const ReportInput& input) {
  const std::string network = training_network(input.plan);
  const std::vector<Contender> contenders = training_contenders(network);
  Section section{.text = fmt::format(
                      "## Training\n\nIterations on {}, 16 samples a rank, computing as in "
                      "docs/study.md. Every size of an all-reduce (each\nlayer's, each "
                      "network's) is simulated, none interpolated. Without overlap: one "
                      "all-reduce of all gradients\nafter the backward pass. With overlap: one a "
                      "layer, in the order in which the backward pass has them.\n\"Exposed\": "
                      "share of the iteration in which nothing is computed.\n",
                      network)};
  std::size_t number = 0;
  for (const WorkloadSet& set : input.plan.workloads) {
    std::vector<Training> trained;
    for (const study::Workload& workload : set.workloads) trained.push_back(train(input, workload));
    section.text += fmt::format("\n### Layer tables: {}\n\n", set.label);
    ++number;
    for (const bool overlapped : {false, true}) {
      const std::string file =
          fmt::format("training-{}-{}.svg", number, overlapped ? "overlapped" : "sequential");
      section.text += fmt::format("![{}]({})\n", overlapped ? "overlapped" : "sequential", file);
      section.figures.emplace_back(file, figure_of(trained, contenders, overlapped));
    }
    for (const Training& training : trained) section.text += table_of(training, contenders);
    const std::vector<Claim> claims = claims_of(set.label, trained);
    section.claims.insert(section.claims.end(), claims.begin(), claims.end());
  }
  return section;
}

}  // namespace multitree::tools
