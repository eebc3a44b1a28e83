// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bound of an iteration, its proof, and the proof's file.
#include "training/bound.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/report.hpp"
#include "algorithms/schemas.hpp"
#include "topologies/error.hpp"
#include "topologies/io/json_document.hpp"

namespace multitree::training {
namespace {

using nlohmann::ordered_json;

/// So many bytes make the rounding of seconds_of() small.
constexpr std::uint64_t kManyBytes = std::uint64_t{1} << 40;
/// Sums of floating-point numbers may differ by so much of themselves.
constexpr double kRounding = 1e-9;

/// What the first `layers` layers prove; of none, what computing takes.
double time_of(const Model& model, std::uint32_t layers, double seconds_per_byte) {
  double seconds = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t l = 0; l < model.layers.size(); ++l) {
    if (l < layers) bytes += model.layers[l].bytes();
    if (l + 1 >= layers) seconds += model.layers[l].forward + model.layers[l].backward;
  }
  return seconds + seconds_per_byte * static_cast<double>(bytes);
}

}  // namespace

IterationBound iteration_bound(const Model& model, double seconds_per_byte) {
  IterationBound bound{model.forward() + model.backward(), 0};
  double computing = bound.seconds;  // of layer k and those behind it
  std::uint64_t bytes = 0;
  for (std::uint32_t k = 1; k <= model.layers.size(); ++k) {
    const Layer& layer = model.layers[k - 1];
    bytes += layer.bytes();
    const double seconds = seconds_per_byte * static_cast<double>(bytes) + computing;
    if (seconds > bound.seconds) bound = {seconds, k};
    computing -= layer.forward + layer.backward;
  }
  return bound;
}

double seconds_per_byte(const Certificate& all_reduce, const Topology& topology) {
  return seconds_of(all_reduce.bound, topology, kManyBytes) / static_cast<double>(kManyBytes);
}

IterationCertificate certify_iteration(const Model& model, const Topology& topology) {
  Certificate all_reduce = certify(topology, Collective::AllReduce).certificate;
  const IterationBound bound = iteration_bound(model, seconds_per_byte(all_reduce, topology));
  return {bound, std::move(all_reduce)};
}

std::vector<std::string> check(const IterationCertificate& certificate, const Model& model,
                               const Topology& topology) {
  std::vector<std::string> wrong;
  const CertificateReport report = check_certificate(certificate.all_reduce, topology);
  for (const CertificateViolation& violation : report.violations) {
    wrong.push_back(fmt::format("{}: {}", to_string(violation.fault), violation.message));
  }
  if (certificate.all_reduce.collective != Collective::AllReduce) {
    wrong.push_back(fmt::format("expected the certificate of an allreduce, found one of {}",
                                to_string(certificate.all_reduce.collective)));
  }
  const std::uint32_t layers = certificate.bound.layers;
  if (layers > model.layers.size()) {
    wrong.push_back(
        fmt::format("{} front layers, but {} has {}", layers, model.name, model.layers.size()));
  }
  if (!wrong.empty()) return wrong;
  const double proved = time_of(model, layers, seconds_per_byte(certificate.all_reduce, topology));
  const double claimed = certificate.bound.seconds;
  if (!(std::abs(claimed - proved) <= kRounding * proved)) {
    wrong.push_back(fmt::format("{} front layers prove {:.9f} s, the certificate says {:.9f} s",
                                layers, proved, claimed));
  }
  return wrong;
}

namespace {

ordered_json to_json(const Model& model) {
  ordered_json layers = ordered_json::array();
  for (const Layer& layer : model.layers) {
    layers.push_back({{"name", layer.name},
                      {"forward", layer.forward},
                      {"backward", layer.backward},
                      {"tensors", layer.tensors}});
  }
  return {{"name", model.name}, {"layers", std::move(layers)}};
}

Model parse_model_json(const JsonValue& value) {
  value.check_keys({"name", "layers"});
  Model model{value.at("name").string(), {}};
  const JsonValue layers = value.at("layers");
  if (layers.size() == 0 || layers.size() > kMaxLayers) {
    layers.fail(fmt::format("'layers': expected 1 to {}, got {}", kMaxLayers, layers.size()));
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const JsonValue layer = layers.at(l);
    layer.check_keys({"name", "forward", "backward", "tensors"});
    Layer& made = model.layers.emplace_back();
    made.name = layer.at("name").string();
    made.forward = layer.at("forward").number();
    made.backward = layer.at("backward").number();
    const JsonValue tensors = layer.at("tensors");
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      made.tensors.push_back(tensors.at(t).integer(0, 8 * kMaxParameters));
    }
  }
  return model;
}

}  // namespace

std::string write_json(const IterationCertificate& certificate, const Model& model,
                       const Topology& topology) {
  const ordered_json json = {{"schema", kIterationCertificateSchema.name},
                             {"seconds", certificate.bound.seconds},
                             {"front_layers", certificate.bound.layers},
                             {"model", to_json(model)},
                             {"all_reduce", ordered_json::parse(write_certificate_json(
                                                certificate.all_reduce, topology))}};
  return json.dump(1) + "\n";
}

IterationCertificateFile parse_iteration_certificate(std::string_view text,
                                                     const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kIterationCertificateSchema.name});
  root.check_keys({"schema", "seconds", "front_layers", "model", "all_reduce"});
  const IterationBound bound{
      root.at("seconds").number(),
      static_cast<std::uint32_t>(root.at("front_layers").integer(0, kMaxLayers))};
  Model model = parse_model_json(root.at("model"));
  CertificateFile inner = parse_certificate_json(root.at("all_reduce").json().dump(1), file);
  return {{bound, std::move(inner.certificate)}, std::move(model), std::move(inner.topology)};
}

}  // namespace multitree::training
