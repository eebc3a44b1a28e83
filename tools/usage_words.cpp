// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Natural mistakes: a flag left out, two words for one, a list with blanks.
#include "tools/usage_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace multitree::tools {
namespace {

/// As help names it: HOSTS, --topology.
std::string shown_name(const CLI::Option& option) {
  std::string name = option.get_name();
  if (name.starts_with('-')) return name;
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

/// What the command asks for and did not get.
std::vector<std::string> missing_in(const CLI::App& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) missing.push_back(shown_name(*option));
  }
  return missing;
}

bool looks_like_flag(const std::string& word) {
  return word.size() > 1 && word.front() == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

/// Where what the flag is called, or begins with, is a word of the command.
std::string without_flag(const CLI::App& command, const std::string& flag) {
  const std::string name = flag.substr(flag.find_first_not_of('-'));
  for (const CLI::Option* option : command.get_options()) {
    const std::string& word = option->get_name();
    const bool is_word = option->get_positional() && !word.starts_with('-');
    if (!is_word || (word != name && (name.size() != 1 || word.front() != name.front()))) continue;
    return fmt::format("; {} is given without a flag", shown_name(*option));
  }
  return {};
}

std::string unknown_flag(const CLI::App& command, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string hint = without_flag(command, flag);
  if (hint.empty() && flag.starts_with("--")) hint = did_you_mean(flag, known);
  return fmt::format("unknown flag '{}'{}", flag, hint);
}

bool is_unit(const std::string& word) {
  if (word.empty() || std::isalpha(static_cast<unsigned char>(word.front())) == 0) return false;
  const auto reads = [&](const auto& parse) {
    try {
      static_cast<void>(parse("1" + word));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  return reads([](const std::string& text) { return parse_bytes(text); }) ||
         reads([](const std::string& text) { return parse_bandwidth(text); }) ||
         reads([](const std::string& text) { return parse_time(text); });
}

bool is_algorithm(const std::string& word) {
  const auto names = names_of(algorithms());
  return meant(word.substr(0, word.find_first_of("?,")), names).has_value();
}

/// The flag that the word is a value of: the one that is required, else the network. Where the
/// command takes words, only what is called as a network is one.
std::string flag_left_out(const CLI::App& command, const std::string& word) {
  std::vector<std::string> flags = missing_in(command);
  std::erase_if(flags, [](const std::string& name) { return !name.starts_with("--"); });
  const CLI::Option* topology = command.get_option_no_throw("--topology");
  const auto is_word = [](const CLI::Option* one) { return one->get_positional(); };
  const bool takes_words = std::ranges::any_of(command.get_options(), is_word);
  const auto families = names_of(topology_families());
  const bool is_network = meant(word.substr(0, word.find_first_of(":?")), families).has_value();
  const bool may_name =
      topology != nullptr && topology->count() == 0 && (!takes_words || is_network);
  const bool asked = std::ranges::find(flags, "--topology") != flags.end();
  if (may_name && (flags.empty() || asked)) return "--topology";
  return flags.size() == 1 ? flags.front() : std::string();
}

/// A word too many; empty: it says nothing of what was meant.
std::string stray_word(const CLI::App& command, const std::string& word) {
  const CLI::Option* algorithm = command.get_option_no_throw("--algorithm");
  if (algorithm != nullptr && algorithm->count() > 0 && is_algorithm(word)) {
    return fmt::format("expected a flag, got '{}'; several algorithms are one word: -a {},{}", word,
                       algorithm->results().front(), word);
  }
  if (is_unit(word)) {
    return fmt::format("expected a flag, got '{0}'; a quantity and its unit are one word: 64{0}",
                       word);
  }
  const std::string flag = flag_left_out(command, word);
  if (flag == "--topology") {
    return fmt::format("expected a flag, got '{}'; a network is named by --topology", word);
  }
  if (!flag.empty()) {
    return fmt::format("expected a flag, got '{0}'; did you mean '{1} {0}'?", word, flag);
  }
  return {};
}

/// What is left over of the command line; empty: nothing that tells more.
std::string left_over(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (looks_like_flag(word)) return unknown_flag(command, word.substr(0, word.find('=')));
  }
  for (const std::string& word : command.remaining()) {
    if (std::string words = stray_word(command, word); !words.empty()) return words;
  }
  return {};
}

/// A flag that may be given once.
std::string given_again(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const auto times = option->results().size();
    if (option->get_expected_max() != 1 || times < 2 ||
        option->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw) {
      continue;
    }
    const bool is_list = option->get_name() == "--algorithm";
    return fmt::format(
        "{}: expected once, got it {} times{}", shown_name(*option), times,
        is_list ? fmt::format("; several are one list: -a {}", fmt::join(option->results(), ","))
                : std::string());
  }
  return {};
}

}  // namespace

std::string usage_words(const CLI::App& command, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (std::string words = given_again(command); !words.empty()) return words;
  }
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> missing = lacks ? missing_in(command) : std::vector<std::string>();
  if (lacks && missing.empty()) {  // a command of this one
    std::vector<std::string> names;
    for (const CLI::App* one : command.get_subcommands({})) names.push_back(one->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string word = command.remaining().empty() ? "" : command.remaining().front();
    return fmt::format("expected a command ({}), got {}{}", fmt::join(names, ", "),
                       word.empty() ? "none" : "'" + word + "'", did_you_mean(word, known));
  }
  const std::string required = missing.empty()
                                   ? std::string()
                                   : fmt::format("{} {} required", fmt::join(missing, ", "),
                                                 missing.size() == 1 ? "is" : "are");
  if (!lacks && dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const std::string left = left_over(command);
  if (left.empty()) return lacks ? required : error.what();
  return lacks && left.starts_with("unknown") ? left + "; " + required : left;
}

std::string deeper_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> found;
  for (const CLI::App* command : app.get_subcommands({})) {
    for (const CLI::App* inner : command->get_subcommands({})) {
      if (inner->get_name() != word) continue;
      found.push_back(fmt::format("'{} {}'", command->get_name(), word));
    }
  }
  return found.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(found, " or "));
}

}  // namespace multitree::tools
