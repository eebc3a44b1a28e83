// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bound of an iteration, its proof, and the proof's file.
#include "training/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/certificate/streams.hpp"
#include "algorithms/io/time_certificate_file.hpp"
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

/// The gradients of the first `layers` layers, in bytes.
std::uint64_t bytes_of(const Model& model, std::uint32_t layers) {
  std::uint64_t bytes = 0;
  for (std::uint32_t l = 0; l < layers; ++l) bytes += model.layers[l].bytes();
  return bytes;
}

/// What the first `layers` layers prove if their all-reduce takes so many seconds; of none, what
/// computing takes.
double time_of(const Model& model, std::uint32_t layers, double all_reduce) {
  double seconds = layers == 0 ? 0 : all_reduce;
  for (std::uint32_t l = std::max(layers, 1U) - 1; l < model.layers.size(); ++l) {
    seconds += model.layers[l].forward + model.layers[l].backward;
  }
  return seconds;
}

/// The least time of an all-reduce that anything here proves.
class LeastAllReduce {
 public:
  LeastAllReduce(const Topology& topology, Certificate bandwidth)
      : least_(topology, std::move(bandwidth), Time{}), streams_(topology) {}

  [[nodiscard]] TimeCertificate at(std::uint64_t bytes) const {
    TimeCertificate best = least_.at(bytes), stream = streams_.at(bytes);
    return stream.bound > best.bound ? stream : best;
  }

 private:
  LeastTime least_;
  Streams streams_;
};

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
  const Certificate bandwidth = certify(topology, Collective::AllReduce).certificate;
  const double per_byte = seconds_per_byte(bandwidth, topology);
  const LeastAllReduce least(topology, bandwidth);
  IterationCertificate best{{time_of(model, 0, 0), 0}, least.at(model.bytes())};
  // Latency adds about twice what a byte takes at most. Layers that are passed over for that could
  // only make the bound larger.
  const double latency = 2 * least.at(1).bound.seconds();
  const double least_of_all = iteration_bound(model, per_byte).seconds;
  std::uint64_t bytes = 0;
  double computing = best.bound.seconds;  // of layer k and those behind it
  for (std::uint32_t k = 1; k <= model.layers.size(); ++k) {
    const Layer& layer = model.layers[k - 1];
    bytes += layer.bytes();
    if (per_byte * static_cast<double>(bytes) + latency + computing >= least_of_all) {
      TimeCertificate all_reduce = least.at(bytes);
      const double seconds = all_reduce.bound.seconds() + computing;
      if (seconds > best.bound.seconds) best = {{seconds, k}, std::move(all_reduce)};
    }
    computing -= layer.forward + layer.backward;
  }
  return best;
}

std::vector<std::string> check(const IterationCertificate& certificate, const Model& model,
                               const Topology& topology) {
  std::vector<std::string> wrong;
  const TimeCertificate& all_reduce = certificate.all_reduce;
  for (const TimeViolation& violation : check_time_certificate(all_reduce, topology)) {
    wrong.push_back(fmt::format("{}: {}", to_string(violation.fault), violation.message));
  }
  if (all_reduce.collective != Collective::AllReduce) {
    wrong.push_back(fmt::format("expected the certificate of an allreduce, found one of {}",
                                to_string(all_reduce.collective)));
  }
  if (all_reduce.message_overhead != Time{}) {
    wrong.push_back(fmt::format("expected messages that cost nothing, found {} each",
                                to_string(all_reduce.message_overhead)));
  }
  const std::uint32_t layers = certificate.bound.layers;
  if (layers > model.layers.size()) {
    wrong.push_back(
        fmt::format("{} front layers, but {} has {}", layers, model.name, model.layers.size()));
  } else if (layers > 0 && all_reduce.bytes != bytes_of(model, layers)) {
    wrong.push_back(
        fmt::format("{} front layers of {} have {} B of gradients, the certificate is "
                    "for {} B",
                    layers, model.name, bytes_of(model, layers), all_reduce.bytes));
  }
  if (!wrong.empty()) return wrong;
  const double proved = time_of(model, layers, all_reduce.bound.seconds());
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
                             {"all_reduce", ordered_json::parse(write_time_certificate_json(
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
  TimeCertificateFile inner =
      parse_time_certificate_json(root.at("all_reduce").json().dump(1), file);
  return {{bound, std::move(inner.certificate)}, std::move(model), std::move(inner.topology)};
}

}  // namespace multitree::training
