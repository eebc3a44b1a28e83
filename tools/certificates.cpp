// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One function for each kind of certificate, and one form for what all of them answer.
#include "tools/certificates.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/io/time_certificate_file.hpp"
#include "algorithms/schemas.hpp"
#include "tools/command.hpp"
#include "tools/train/setting.hpp"
#include "topologies/io/files.hpp"
#include "training/bound.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// What is wrong with a certificate, and what it says.
struct Answer {
  std::vector<std::pair<std::string, std::string>> faults;  ///< kind and words
  std::string claim;                                        ///< "... takes at least ..."
  ordered_json json;                                        ///< of the claim

  template <typename Violations>
  void blame(const Violations& violations) {
    for (const auto& [fault, message] : violations) {
      faults.emplace_back(to_string(fault), message);
    }
  }
};

Answer check_bandwidth(const CertificateText& file, const Claims& claims) {
  const auto [own, certificate] = parse_certificate_json(file.text, file.name);
  const Topology& topology = claims.topology ? *claims.topology : own;
  const CertificateReport report = multitree::check_certificate(certificate, topology);
  Answer answer{
      {},
      fmt::format("{} on {} takes at least {} shard times", to_string(certificate.collective),
                  topology.name(), certificate.bound.str()),
      {{"topology", topology.name()},
       {"collective", to_string(certificate.collective)},
       {"model", certificate_model(topology)},
       {"bound_shards", report.bound.str()}}};
  answer.blame(report.violations);
  return answer;
}

Answer check_time(const CertificateText& file, const Claims& claims) {
  const auto [own, certificate] = parse_time_certificate_json(file.text, file.name);
  const Topology& topology = claims.topology ? *claims.topology : own;
  Answer answer{
      {},
      fmt::format("{} of {} on {} takes at least {}", to_string(certificate.collective),
                  format_bytes(certificate.bytes), topology.name(), to_string(certificate.bound)),
      {{"topology", topology.name()},
       {"collective", to_string(certificate.collective)},
       {"model", certificate_model(topology)},
       {"bytes", certificate.bytes},
       {"least_seconds", certificate.bound.seconds()},
       {"least_by", to_string(certificate.reason)}}};
  answer.blame(check_time_certificate(certificate, topology));
  return answer;
}

Answer check_iteration(const CertificateText& file, const Claims& claims) {
  const training::IterationCertificateFile own =
      training::parse_iteration_certificate(file.text, file.name);
  const Topology& topology = claims.topology ? *claims.topology : own.topology;
  const training::Model& model = claims.model ? *claims.model : own.model;
  Answer answer{{},
                fmt::format("an iteration of {} on {} takes at least {}", model.name,
                            topology.name(), milliseconds(own.certificate.bound.seconds)),
                {{"topology", topology.name()},
                 {"model", model.name},
                 {"least_seconds", own.certificate.bound.seconds},
                 {"front_layers", own.certificate.bound.layers}}};
  for (const std::string& words : training::check(own.certificate, model, topology)) {
    answer.faults.emplace_back("", words);
  }
  return answer;
}

struct Kind {
  std::string_view schema;
  Answer (*check)(const CertificateText& file, const Claims& claims);
};
constexpr std::array kKinds{Kind{kCertificateSchema.name, check_bandwidth},
                            Kind{kTimeCertificateSchema.name, check_time},
                            Kind{kIterationCertificateSchema.name, check_iteration}};

/// What a JSON text says that it is; "" if it does not say so at its beginning.
std::string_view schema_of(std::string_view text) {
  constexpr std::size_t kBeginning = 4096;
  constexpr std::string_view kKey = "\"schema\"";
  text = text.substr(0, kBeginning);
  const std::size_t key = text.find(kKey);
  if (key == text.npos) return {};
  const std::size_t from = text.find('"', key + kKey.size());
  if (from == text.npos) return {};
  const std::size_t to = text.find('"', from + 1);
  return to == text.npos ? std::string_view() : text.substr(from + 1, to - from - 1);
}

const Kind* kind_of(std::string_view text) {
  const auto* const found = std::ranges::find(kKinds, schema_of(text), &Kind::schema);
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace

CertificateText read_certificate(const std::string& path) {
  return {read_file(path), path == "-" ? "standard input" : path};
}

bool is_certificate(std::string_view text) { return kind_of(text) != nullptr; }

int check_certificate(const CertificateText& file, const Claims& claims, bool json) {
  const Kind* const kind = kind_of(file.text);
  // What is none of them is told what a certificate looks like.
  const Answer answer = (kind == nullptr ? check_bandwidth : kind->check)(file, claims);
  const bool ok = answer.faults.empty();
  if (json) {
    ordered_json all = {{"ok", ok}};
    all.update(answer.json);
    all["violations"] = ordered_json::array();
    for (const auto& [fault, words] : answer.faults) {
      ordered_json one = {{"message", words}};
      if (!fault.empty()) one["kind"] = fault;
      all["violations"].push_back(std::move(one));
    }
    print_json(all);
  } else {
    for (const auto& [fault, words] : answer.faults) {
      print(fmt::format("{}{}{}\n", fault, fault.empty() ? "" : ": ", words));
    }
    print(fmt::format("{}: {}\n", ok ? "proved" : "NOT PROVED", answer.claim));
  }
  return ok ? kOk : kNegativeAnswer;
}

}  // namespace multitree::tools
