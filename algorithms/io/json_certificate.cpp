// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates as JSON: docs/file-formats.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "algorithms/io/io.hpp"
#include "algorithms/io/json_certificate_internal.hpp"
#include "algorithms/schemas.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

/// More digits than any bound has that 64-bit bandwidths can make on a million ranks, and few
/// enough to be read at once.
constexpr std::size_t kMaxDigits = 2000;
using Integer = boost::multiprecision::cpp_int;

/// ,"gather":"1","reduce":"1/2" without those that are 0.
std::string weights(const Exact& gather, const Exact& reduce) {
  std::string text;
  if (gather != 0) text += fmt::format(",\"gather\":\"{}\"", gather.str());
  if (reduce != 0) text += fmt::format(",\"reduce\":\"{}\"", reduce.str());
  return text;
}

bool is_natural(std::string_view digits) {
  return !digits.empty() && digits.size() <= kMaxDigits &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

/// A cpp_int of decimal digits; leading zeros would make its constructor read octal.
Integer to_integer(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return Integer(std::string(digits));
}

/// "p" or "p/q".
Exact parse_exact(const JsonValue& value) {
  const std::string text = value.string();
  const bool is_negative = text.starts_with('-');
  const std::string_view rest = std::string_view(text).substr(is_negative ? 1 : 0);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view top = rest.substr(0, slash);
  const std::string_view bottom = slash == rest.size() ? "1" : rest.substr(slash + 1);
  if (!is_natural(top) || !is_natural(bottom) || to_integer(bottom) == 0) {
    value.fail(fmt::format("expected a fraction like \"7/3\" of at most {} digits each, got '{}'",
                           kMaxDigits, text.size() <= 60 ? text : fmt::format("{:.57}...", text)));
  }
  const Exact magnitude(to_integer(top), to_integer(bottom));
  return is_negative ? Exact(-magnitude) : magnitude;
}

Exact optional_exact(const JsonValue& object, const std::string& key) {
  return object.has(key) ? parse_exact(object.at(key)) : Exact(0);
}

NodeId parse_node(const JsonValue& value, const Topology& topology) {
  return NodeId{static_cast<std::uint32_t>(value.integer(0, topology.num_nodes() - 1))};
}

Rank parse_rank(const JsonValue& value, std::uint32_t ranks) {
  return Rank{static_cast<std::uint32_t>(value.integer(0, ranks - 1))};
}

WeightedCut parse_cut(const JsonValue& value, const Topology& topology) {
  value.check_keys({"far", "gather", "reduce"});
  WeightedCut cut{.far = {},
                  .gather = optional_exact(value, "gather"),
                  .reduce = optional_exact(value, "reduce")};
  const JsonValue far = value.at("far");
  for (std::size_t i = 0; i < far.size(); ++i) cut.far.push_back(parse_node(far.at(i), topology));
  return cut;
}

SwitchPrice parse_price(const JsonValue& value, const Topology& topology) {
  value.check_keys({"node", "gather", "reduce"});
  return {.node = parse_node(value.at("node"), topology),
          .gather = optional_exact(value, "gather"),
          .reduce = optional_exact(value, "reduce")};
}

LinkPrice parse_link_price(const JsonValue& value, const Topology& topology) {
  value.check_keys({"link", "price"});
  const auto link = static_cast<std::uint32_t>(value.at("link").integer(0, topology.num_links()));
  return {.link = LinkId{link}, .price = parse_exact(value.at("price"))};
}

/// ,"links":[...],"demand":[...] of an all-to-all.
void write_links(const Certificate& certificate, fmt::memory_buffer& out) {
  const auto to = std::back_inserter(out);
  if (!certificate.links.empty()) fmt::format_to(to, ",\n\"links\":[");
  for (std::size_t l = 0; l < certificate.links.size(); ++l) {
    const LinkPrice& price = certificate.links[l];
    fmt::format_to(to, "{}{{\"link\":{},\"price\":\"{}\"}}", l == 0 ? "\n" : ",\n",
                   index(price.link), price.price.str());
  }
  if (!certificate.links.empty()) fmt::format_to(to, "]");
  if (!certificate.demand.empty()) {
    fmt::format_to(to, ",\n\"demand\":[{}]", fmt::join(certificate.demand, ","));
  }
}

void read_links(const JsonValue& value, const Topology& topology, Certificate& certificate) {
  if (value.has("links")) {
    const JsonValue links = value.at("links");
    for (std::size_t l = 0; l < links.size(); ++l) {
      certificate.links.push_back(parse_link_price(links.at(l), topology));
    }
  }
  if (!value.has("demand")) return;
  const JsonValue demand = value.at("demand");
  for (std::size_t d = 0; d < demand.size(); ++d) {
    certificate.demand.push_back(demand.at(d).integer(0, kMaxWeights));
  }
}

}  // namespace

std::string certificate_object(const Certificate& certificate, const Topology& topology) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\n\"model\":\"{}\",\n\"collective\":\"{}\",\n\"root\":{},\n\"ranks\":{},\n",
                 certificate_model(topology), to_string(certificate.collective),
                 index(certificate.root), certificate.ranks);
  fmt::format_to(to, "\"bound\":\"{}\",\n\"hops\":{},\n\"far_apart\":[{},{}],\n\"cuts\":[",
                 certificate.bound.str(), certificate.hops, index(certificate.far_apart.first),
                 index(certificate.far_apart.second));
  for (std::size_t c = 0; c < certificate.cuts.size(); ++c) {
    const WeightedCut& cut = certificate.cuts[c];
    fmt::format_to(to, "{}{{\"far\":[", c == 0 ? "\n" : ",\n");
    for (std::size_t i = 0; i < cut.far.size(); ++i) {
      fmt::format_to(to, "{}{}", i == 0 ? "" : ",", index(cut.far[i]));
    }
    fmt::format_to(to, "]{}}}", weights(cut.gather, cut.reduce));
  }
  fmt::format_to(to, "],\n\"prices\":[");
  for (std::size_t p = 0; p < certificate.prices.size(); ++p) {
    const SwitchPrice& price = certificate.prices[p];
    fmt::format_to(to, "{}{{\"node\":{}{}}}", p == 0 ? "\n" : ",\n", index(price.node),
                   weights(price.gather, price.reduce));
  }
  fmt::format_to(to, "]");
  write_links(certificate, out);
  fmt::format_to(to, "}}");
  return fmt::to_string(out);
}

Certificate parse_certificate(const JsonValue& value, const Topology& topology) {
  value.check_keys({"model", "collective", "root", "ranks", "bound", "hops", "far_apart", "cuts",
                    "prices", "links", "demand"});
  const JsonValue model = value.at("model");
  if (model.string() != certificate_model(topology)) {
    model.fail(fmt::format("expected the model '{}', got '{}'", certificate_model(topology),
                           model.string()));
  }
  Certificate certificate;
  certificate.collective = parse_collective(value.at("collective"));
  certificate.ranks = static_cast<std::uint32_t>(value.at("ranks").integer(1, Spec::kMaxRanks));
  certificate.root = parse_rank(value.at("root"), certificate.ranks);
  certificate.bound = parse_exact(value.at("bound"));
  certificate.hops = static_cast<std::uint32_t>(value.at("hops").integer(0, Spec::kMaxRanks));
  const JsonValue pair = value.at("far_apart");
  if (pair.size() != 2) pair.fail(fmt::format("expected two ranks, got {}", pair.size()));
  certificate.far_apart = {parse_rank(pair.at(0), certificate.ranks),
                           parse_rank(pair.at(1), certificate.ranks)};
  const JsonValue cuts = value.at("cuts");
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    certificate.cuts.push_back(parse_cut(cuts.at(c), topology));
  }
  const JsonValue prices = value.at("prices");
  for (std::size_t p = 0; p < prices.size(); ++p) {
    certificate.prices.push_back(parse_price(prices.at(p), topology));
  }
  read_links(value, topology, certificate);
  return certificate;
}

Collective parse_collective(const JsonValue& value) {
  try {
    return parse_collective(value.string());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;
    value.fail(error.what());
  }
}

std::string write_certificate_json(const Certificate& certificate, const Topology& topology) {
  std::string network = write_topology_json(topology);
  while (!network.empty() && network.back() == '\n') network.pop_back();
  return fmt::format("{{\n\"schema\":\"{}\",\n\"topology\":{},\n\"certificate\":{}\n}}\n",
                     kCertificateSchema.name, network, certificate_object(certificate, topology));
}

CertificateFile parse_certificate_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kCertificateSchema.name});
  root.check_keys({"schema", "topology", "certificate"});
  Topology topology = parse_topology(root.at("topology"));
  Certificate certificate = parse_certificate(root.at("certificate"), topology);
  return {std::move(topology), std::move(certificate)};
}

}  // namespace multitree
