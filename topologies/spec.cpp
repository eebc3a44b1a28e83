// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Taking "name:dims?key=value&key=value" apart.
#include "topologies/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "topologies/error.hpp"
#include "topologies/words.hpp"

namespace multitree {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

bool is_control(char c) { return (c >= 0 && c < ' ') || c == 0x7f; }

bool is_of_key(char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '_'; }

/// Whether "key=" follows.
bool starts_parameter(std::string_view text) {
  const std::size_t end =
      static_cast<std::size_t>(std::ranges::find_if_not(text, is_of_key) - text.begin());
  return end > 0 && end < text.size() && text[end] == '=';
}

/// ":key=" is another way to write "?key=" or, further on, "&key=".
std::string with_question_mark(std::string_view text) {
  std::string result;
  bool asked = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool parameter = text[i] == ':' && starts_parameter(text.substr(i + 1));
    result += !parameter ? text[i] : asked ? '&' : '?';
    asked = asked || parameter || text[i] == '?';
  }
  return result;
}

/// Where sizes are written in another way than with an x between them.
std::string hint_for_dims(const std::string& name, const std::string& dims) {
  if (const std::size_t at = dims.find('&'); at != std::string::npos) {
    return fmt::format("; the first parameter follows a '?': {}:{}?{}", name, dims.substr(0, at),
                       dims.substr(at + 1));
  }
  std::string sizes;
  for (const char c : dims) {
    const bool separates = c == ',' || c == '*' || c == 'X' || c == ';' || c == '/';
    if (c != ' ') sizes += separates ? 'x' : c;
  }
  const bool only_sizes = sizes.find_first_not_of("0123456789x") == std::string::npos;
  if (sizes == dims || !only_sizes) return {};
  return fmt::format("; did you mean '{}:{}'?", name, sizes);
}

/// What else parameters of several families are called.
constexpr std::array<Alias, 6> kOtherKeys = {{{"bandwidth", "bw"},
                                              {"rate", "bw"},
                                              {"speed", "bw"},
                                              {"latency", "lat"},
                                              {"delay", "lat"},
                                              {"dead-links", "without"}}};

std::string hint_for_key(std::string_view key, std::span<const std::string_view> known) {
  const auto other = meant(key, known, kOtherKeys);
  const bool is_known = other && std::ranges::find(known, *other) != known.end();
  return is_known ? fmt::format("; did you mean '{}'?", *other) : did_you_mean(key, known);
}

}  // namespace

void Spec::call(std::string_view name, std::string_view form) {
  text_.replace(0, name_.size(), name);
  name_ = name;
  form_ = form;
}

void Spec::fail(const std::string& what) const {
  throw Error(ErrorCode::InvalidArgument, text_ + ": " + what);
}

Spec Spec::parse(std::string_view given) {
  // They would be in the way of whoever reads the messages, which quote the spec.
  const auto control = std::ranges::find_if(given, is_control);
  if (control != given.end()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected name:dims?key=value, found a control character at byte {}",
                            control - given.begin() + 1));
  }
  Spec spec;
  spec.text_ = with_question_mark(given);
  const std::string_view text = spec.text_;
  const std::size_t query = text.find('?');
  const std::string_view head = text.substr(0, query);
  const std::size_t colon = head.find(':');
  spec.name_ = head.substr(0, colon);
  if (spec.name_.empty()) spec.fail("expected name:dims?key=value, the name is empty");
  if (colon != std::string_view::npos) spec.dims_ = head.substr(colon + 1);
  if (query == std::string_view::npos) return spec;

  for (const std::string_view part : split(text.substr(query + 1), '&')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size()) {
      spec.fail(fmt::format("expected key=value after '?' and '&', got '{}'", part));
    }
    const std::size_t comma = part.find(',', equals);
    if (comma != std::string_view::npos && starts_parameter(part.substr(comma + 1))) {
      spec.fail(fmt::format("parameters are separated by '&' or ':', got '{}'", part));
    }
    const std::string key(part.substr(0, equals));
    if (!spec.parameters_.emplace(key, part.substr(equals + 1)).second) {
      spec.fail(fmt::format("parameter '{}' is given twice", key));
    }
  }
  return spec;
}

std::vector<std::uint32_t> Spec::dims(std::size_t min_count, std::size_t max_count,
                                      std::uint32_t least, std::uint64_t most) const {
  std::vector<std::uint32_t> sizes;
  std::uint64_t product = 1;
  const std::vector<std::string_view> parts =
      dims_.empty() ? std::vector<std::string_view>{} : split(dims_, 'x');
  if (parts.size() < min_count || parts.size() > max_count) {
    const std::string expected = min_count == max_count ? fmt::format("{}", min_count)
                                 : max_count == SIZE_MAX
                                     ? fmt::format("at least {}", min_count)
                                     : fmt::format("{} to {}", min_count, max_count);
    fail(fmt::format("dims: expected {} size(s) as in {}:{}, got {}", expected, name_, form_,
                     parts.size()));
  }
  for (const std::string_view part : parts) {
    const auto size = to_number(part);
    if (!size || *size < least) {
      const bool huge = !part.empty() && part.find_first_not_of("0123456789") == part.npos && !size;
      fail(huge ? fmt::format("dims: at most {} ranks, got '{}'", most, part)
                : fmt::format("dims: each size must be a number >= {}, got '{}'{}", least, part,
                              hint_for_dims(name_, dims_)));
    }
    if (*size > most || product * std::max<std::uint64_t>(*size, 1) > most) {
      fail(fmt::format("dims: sizes may multiply to at most {}, got '{}'", most, dims_));
    }
    product *= std::max<std::uint64_t>(*size, 1);
    sizes.push_back(static_cast<std::uint32_t>(*size));
  }
  return sizes;
}

bool Spec::has(std::string_view key) const {
  used_.emplace(key);
  return parameters_.contains(key);
}

std::string Spec::get(std::string_view key, std::string_view fallback) const {
  const auto found = parameters_.find(key);
  used_.emplace(key);
  return found == parameters_.end() ? std::string(fallback) : found->second;
}

std::uint32_t Spec::get_number(std::string_view key, std::uint32_t fallback, std::uint32_t least,
                               std::uint32_t most) const {
  const auto found = parameters_.find(key);
  used_.emplace(key);
  if (found == parameters_.end()) return fallback;
  const auto value = to_number(found->second);
  if (!value || *value < least || *value > most) {
    fail(fmt::format("{}: expected a number from {} to {}, got '{}'", key, least, most,
                     found->second));
  }
  return static_cast<std::uint32_t>(*value);
}

std::vector<std::string> Spec::get_list(std::string_view key, std::string_view fallback) const {
  const std::string value = get(key, fallback);
  std::vector<std::string> items;
  if (value.empty()) return items;
  for (const std::string_view item : split(value, ',')) {
    if (item.empty()) fail(fmt::format("{}: empty item in list '{}'", key, value));
    items.emplace_back(item);
  }
  return items;
}

std::vector<std::uint32_t> Spec::get_numbers(std::string_view key, std::string_view fallback,
                                             std::uint32_t least, std::uint32_t most) const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& item : get_list(key, fallback)) {
    const auto value = to_number(item);
    if (!value || *value < least || *value > most) {
      fail(fmt::format("{}: expected numbers from {} to {}, got '{}'", key, least, most, item));
    }
    numbers.push_back(static_cast<std::uint32_t>(*value));
  }
  return numbers;
}

void Spec::check_all_used() const {
  for (const auto& [key, value] : parameters_) {
    if (used_.contains(key)) continue;
    const std::vector<std::string_view> known(used_.begin(), used_.end());
    fail(fmt::format("unknown parameter '{}'{}{}{}", key,
                     known.empty() ? ", none is known here" : "; known here: ",
                     fmt::join(known, ", "), hint_for_key(key, known)));
  }
}

}  // namespace multitree
