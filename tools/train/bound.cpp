// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train bound`: the least time of an iteration, and its proof.
#include "training/bound.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/certificates.hpp"
#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

using training::IterationCertificate;

struct BoundFlags : TrainFlags {
  std::string output, check;
};

/// On its own network and model, or on others.
int check_bound(const BoundFlags& flags) {
  Claims claims;
  if (!flags.network.topology.empty()) claims.topology = load_network(flags.network);
  if (!flags.model_file.empty()) claims.model = load_model(flags);
  return check_certificate(read_certificate(flags.check), claims, flags.json);
}

int run_bound(const BoundFlags& flags) {
  if (!flags.check.empty()) return check_bound(flags);
  if (flags.model_file.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "train bound: expected --model or --check, got neither");
  }
  const Topology topology = load_whole_network(flags.network);
  const training::Model model = load_model(flags);
  const Progress progress("bounding iterations on " + topology.name());
  const IterationCertificate certificate = certify_iteration(model, topology);
  if (!flags.output.empty()) {
    write_file(flags.output, write_json(certificate, model, topology));
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
  add_model_flags(*app, *flags)->required(false);
  app->add_option("-o,--output", flags->output,
                  "Write the certificate here ('-': standard output)");
  app->add_option("--check", flags->check,
                  "Check a certificate file instead, with its own network and model unless "
                  "--topology or --model "
                  "is given");
  return {app, [flags] { return run_bound(*flags); }};
}

}  // namespace multitree::tools
