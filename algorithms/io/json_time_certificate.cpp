// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Proofs of least times as JSON: docs/file-formats.md.
#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <utility>

#include "algorithms/io/json_certificate_internal.hpp"
#include "algorithms/io/time_certificate_file.hpp"
#include "algorithms/schemas.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

/// What a quantity or a word is read as. \throws Error(InvalidInput) with its place
template <class Parse>
auto parsed(const JsonValue& value, Parse&& parse) {
  try {
    return parse(value.string());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;
    value.fail(error.what());
  }
}

Rank rank_in(const JsonValue& value, std::uint32_t ranks) {
  return Rank{static_cast<std::uint32_t>(value.integer(0, ranks - 1))};
}

std::string reason_fields(const TimeCertificate& certificate, const Topology& topology) {
  switch (certificate.reason) {
    case TimeReason::Path:
    case TimeReason::Spread:
    case TimeReason::Stream:
    case TimeReason::Shares:
      return fmt::format("\"path\":[{},{}]", index(certificate.path.first),
                         index(certificate.path.second));
    case TimeReason::Cuts:
      return "\"cuts\":" + certificate_object(certificate.cuts, topology);
    case TimeReason::Arrivals:
      return fmt::format("\"informed\":{}", certificate.informed);
    case TimeReason::Growth:
      return fmt::format("\"path\":[{},{}],\n\"doubling\":\"{}\",\n\"rest\":\"{}\"",
                         index(certificate.path.first), index(certificate.path.second),
                         to_string(certificate.doubling), to_string(certificate.rest));
  }
  return {};
}

std::pair<Rank, Rank> parse_path(const JsonValue& path, std::uint32_t ranks) {
  if (path.size() != 2) path.fail(fmt::format("expected two ranks, got {}", path.size()));
  return {rank_in(path.at(0), ranks), rank_in(path.at(1), ranks)};
}

Time time_in(const JsonValue& value) {
  return parsed(value, [](const std::string& text) { return parse_time(text); });
}

void parse_reason(const JsonValue& value, const Topology& topology, TimeCertificate& certificate) {
  certificate.reason =
      parsed(value.at("reason"), [](const std::string& text) { return parse_time_reason(text); });
  switch (certificate.reason) {
    case TimeReason::Path:
    case TimeReason::Spread:
    case TimeReason::Stream:
    case TimeReason::Shares:
      certificate.path = parse_path(value.at("path"), certificate.ranks);
      break;
    case TimeReason::Cuts:
      certificate.cuts = parse_certificate(value.at("cuts"), topology);
      break;
    case TimeReason::Arrivals:
      certificate.informed =
          static_cast<std::uint32_t>(value.at("informed").integer(0, Spec::kMaxRanks));
      break;
    case TimeReason::Growth:
      certificate.path = parse_path(value.at("path"), certificate.ranks);
      certificate.doubling = time_in(value.at("doubling"));
      certificate.rest = time_in(value.at("rest"));
      break;
  }
}

TimeCertificate parse_time_certificate(const JsonValue& value, const Topology& topology) {
  value.check_keys({"model", "collective", "root", "ranks", "bytes", "message_overhead", "bound",
                    "reason", "path", "informed", "cuts", "doubling", "rest"});
  const JsonValue model = value.at("model");
  if (model.string() != certificate_model(topology)) {
    model.fail(fmt::format("expected the model '{}', got '{}'", certificate_model(topology),
                           model.string()));
  }
  TimeCertificate certificate;
  certificate.collective = parse_collective(value.at("collective"));
  certificate.ranks = static_cast<std::uint32_t>(value.at("ranks").integer(1, Spec::kMaxRanks));
  certificate.root = rank_in(value.at("root"), certificate.ranks);
  certificate.bytes = value.at("bytes").integer(0, std::numeric_limits<std::int64_t>::max());
  certificate.message_overhead = time_in(value.at("message_overhead"));
  certificate.bound = time_in(value.at("bound"));
  parse_reason(value, topology, certificate);
  return certificate;
}

}  // namespace

std::string write_time_certificate_json(const TimeCertificate& certificate,
                                        const Topology& topology) {
  std::string network = write_topology_json(topology);
  while (!network.empty() && network.back() == '\n') network.pop_back();
  return fmt::format(
      "{{\n\"schema\":\"{}\",\n\"topology\":{},\n\"certificate\":{{\n\"model\":\"{}\",\n"
      "\"collective\":\"{}\",\n\"root\":{},\n\"ranks\":{},\n\"bytes\":{},\n"
      "\"message_overhead\":\"{}\",\n\"bound\":\"{}\",\n\"reason\":\"{}\",\n{}}}\n}}\n",
      kTimeCertificateSchema.name, network, certificate_model(topology),
      to_string(certificate.collective), index(certificate.root), certificate.ranks,
      certificate.bytes, to_string(certificate.message_overhead), to_string(certificate.bound),
      to_string(certificate.reason), reason_fields(certificate, topology));
}

TimeCertificateFile parse_time_certificate_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kTimeCertificateSchema.name});
  root.check_keys({"schema", "topology", "certificate"});
  Topology topology = parse_topology(root.at("topology"));
  TimeCertificate certificate = parse_time_certificate(root.at("certificate"), topology);
  return {std::move(topology), std::move(certificate)};
}

bool is_time_certificate(std::string_view text) {
  return text.substr(0, text.find("\"topology\"")).find(kTimeCertificateSchema.name) !=
         std::string_view::npos;
}

}  // namespace multitree
