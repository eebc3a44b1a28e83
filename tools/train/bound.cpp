// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train bound`: the least time of an iteration, and its proof.
#include "training/bound.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

using training::IterationCertificate;

struct BoundFlags : TrainFlags {
  std::string output, check;
};

/// Evaluates a certificate file, on its own network or on another.
int check_bound(const BoundFlags& flags) {
  const training::IterationCertificateFile file =
      training::parse_iteration_certificate(read_file(flags.check), flags.check);
  const Topology topology =
      flags.network.topology.empty() ? file.topology : load_network(flags.network);
  const training::Model model = load_model(flags);
  const std::vector<std::string> wrong = check(file.certificate, model, topology);
  if (flags.json) {
    print_json({{"ok", wrong.empty()}, {"violations", wrong}});
  } else {
    for (const std::string& line : wrong) print(line + "\n");
    print(fmt::format("{}: an iteration of {} on {} takes at least {}\n",
                      wrong.empty() ? "proved" : "NOT PROVED", model.name, topology.name(),
                      milliseconds(file.certificate.bound.seconds)));
  }
  return wrong.empty() ? kOk : kNegativeAnswer;
}

int run_bound(const BoundFlags& flags) {
  if (!flags.check.empty()) return check_bound(flags);
  const Topology topology = needed_network(flags);
  const training::Model model = load_model(flags);
  const Progress progress("bounding iterations on " + topology.name());
  const IterationCertificate certificate = certify_iteration(model, topology);
  if (!flags.output.empty()) {
    write_file(flags.output, write_json(certificate, topology));
    if (flags.output == "-") return kOk;
  }
  if (flags.json) {
    print_json(bound_json(certificate.bound, model));
  } else {
    print(words_of_machine(flags));
    print(fmt::format("# {} on {}: {} layers, {}, computing {}\n{} at least: {}\n", model.name,
                      topology.name(), model.layers.size(), format_bytes(model.bytes()),
                      milliseconds(model.forward() + model.backward()),
                      milliseconds(certificate.bound.seconds), words_of(certificate.bound, model)));
  }
  return kOk;
}

}  // namespace

Command add_train_bound(CLI::App& train) {
  auto flags = std::make_shared<BoundFlags>();
  CLI::App* app = train.add_subcommand("bound", "The least time of an iteration, with a proof");
  add_model_flags(*app, *flags);
  app->add_option("-o,--output", flags->output,
                  "Write the certificate here ('-': standard output)");
  app->add_option(
      "--check", flags->check,
      "Check a certificate file instead, on its own network unless --topology is given");
  return {app, [flags] { return run_bound(*flags); }};
}

}  // namespace multitree::tools
