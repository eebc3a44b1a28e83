// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Completion of what is being typed, and man pages.
#include "tools/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "runtime/kernels/data_type.hpp"
#include "tools/command.hpp"
#include "topologies/registry.hpp"

namespace multitree::tools {
namespace {

constexpr std::string_view kBash = R"sh(_multitree() {
  local word candidates
  mapfile -t candidates < <("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  for word in "${candidates[@]}"; do COMPREPLY+=("${word%%$'\t'*}"); done
  [[ ${COMPREPLY[*]} != *[:,] ]] || compopt -o nospace
}
complete -o default -F _multitree multitree
)sh";

constexpr std::string_view kZsh = R"sh(#compdef multitree
_multitree() {
  local -a found
  local line
  for line in ${(f)"$($words[1] completion words -- ${(@)words[2,CURRENT]} 2>/dev/null)"}; do
    found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( $#found )) && _describe multitree found || _files
}
compdef _multitree multitree
)sh";

constexpr std::string_view kFish = R"sh(function __multitree_words
  set -l typed (commandline -opc) (commandline -ct)
  $typed[1] completion words -- $typed[2..-1] 2>/dev/null
end
complete -c multitree -a '(__multitree_words)'
)sh";

constexpr auto kScripts = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}});

std::vector<Candidate> topology_candidates() {
  std::vector<Candidate> list;
  for (const TopologyFamily& family : topology_families()) {
    list.push_back({fmt::format("{}{}", family.name, family.dims.empty() ? "" : ":"),
                    std::string(family.summary)});
  }
  return list;
}

std::vector<Candidate> algorithm_candidates() {
  std::vector<Candidate> list;
  for (const Algorithm& row : algorithms()) {
    list.push_back({std::string(row.name), std::string(row.summary)});
  }
  return list;
}

template <typename Values>
std::vector<Candidate> candidates(const Values& values) {
  std::vector<Candidate> list;
  for (const auto value : values) list.push_back({std::string(to_string(value)), ""});
  return list;
}

/// Flags whose names are checked where they are used, and not by the parser.
constexpr auto kNamesOfFlags =
    std::to_array<std::pair<std::string_view, std::vector<Candidate> (*)()>>(
        {{"topology", topology_candidates},
         {"algorithm", algorithm_candidates},
         {"collective", [] { return candidates(all_collectives()); }},
         {"datatype", [] { return candidates(runtime::all_data_types()); }},
         {"op", [] { return candidates(runtime::all_reduce_ops()); }}});

/// What an option takes: names of the table above, or what its check lists between braces.
std::vector<Candidate> values_of(const CLI::Option& option) {
  for (const auto& [flag, names] : kNamesOfFlags) {
    const auto& known = option.get_lnames();
    if (std::ranges::find(known, flag) != known.end()) return names();
  }
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', std::min(open, type.size()));
  if (close == std::string::npos) return {};
  std::vector<Candidate> list;
  for (std::string& name : split_list(type.substr(open + 1, close - open - 1))) {
    list.push_back({std::move(name), ""});
  }
  return list;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<Candidate> flags_of(const CLI::App& command) {
  std::vector<Candidate> list;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      list.push_back({"--" + name, option->get_description()});
    }
    for (const std::string& name : option->get_snames()) {
      list.push_back({"-" + name, option->get_description()});
    }
  }
  return list;
}

/// The option of a command that a word names, or null.
const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
  return word.starts_with('-') ? command.get_option_no_throw(word) : nullptr;
}

std::vector<Candidate> commands_and_arguments(const CLI::App& command) {
  std::vector<Candidate> list;
  for (const CLI::App* inner : command.get_subcommands({})) {
    list.push_back({inner->get_name(), inner->get_description()});
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    for (Candidate& value : values_of(*option)) list.push_back(std::move(value));
  }
  return list;
}

/// Those that go on as `typed` does, each with what stands before it in a list.
std::vector<Candidate> going_on(std::vector<Candidate> list, const std::string& typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string before = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  const std::string begun = typed.substr(before.size());
  std::erase_if(list, [&](const Candidate& row) { return !row.word.starts_with(begun); });
  for (Candidate& row : list) row.word.insert(0, before);
  std::ranges::sort(list, {}, &Candidate::word);
  return list;
}

/// As man(7) wants text: what it would read as a command or a hyphenation is taken literally, and
/// lists may break after their commas.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == ',') {
      escaped += ",\\:";
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += fmt::format("\\&{}", c);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string roff_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    std::string head = fmt::format("\\fB{}\\fR", roff(option->get_name(false, true)));
    if (takes_value(*option) && !option->get_positional()) head += " \\fIVALUE\\fR";
    std::string rest = roff(option->get_description());
    if (!option->get_default_str().empty()) {
      rest += fmt::format(" Default: {}.", roff(option->get_default_str()));
    }
    if (option->get_required()) rest += " Required.";
    text += fmt::format(".TP\n{}\n{}\n", head, rest);
  }
  return text;
}

}  // namespace

const CLI::App* command_named(const CLI::App& command, const std::string& name) {
  const auto all = command.get_subcommands({});
  const auto found =
      std::ranges::find(all, name, [](const CLI::App* app) { return app->get_name(); });
  return found == all.end() ? nullptr : *found;
}

std::vector<Candidate> complete(const CLI::App& program, std::span<const std::string> words) {
  const CLI::App* command = &program;
  const CLI::Option* before = nullptr;  // the flag whose value comes next
  if (words.empty()) return commands_and_arguments(program);
  for (const std::string& word : words.first(words.size() - 1)) {
    if (before != nullptr) {
      before = nullptr;
    } else if (const CLI::App* inner = command_named(*command, word)) {
      command = inner;
    } else if (const CLI::Option* option = option_of(*command, word)) {
      if (takes_value(*option)) before = option;
    }
  }
  const std::string& typed = words.back();
  if (before != nullptr) return going_on(values_of(*before), typed);
  if (typed.starts_with('-')) return going_on(flags_of(*command), typed);
  return going_on(commands_and_arguments(*command), typed);
}

std::string_view completion_script(std::string_view shell) {
  for (const auto& [name, script] : kScripts) {
    if (name == shell) return script;
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected bash, zsh or fish, got '{}'", shell));
}

std::string man_page(const CLI::App& command, const std::string& path) {
  std::string title = path;
  std::ranges::replace(title, ' ', '-');
  const auto inner = command.get_subcommands({});
  std::string page =
      fmt::format(".TH {} 1 \"\" \"multitree {}\" \"multitree\"\n.ad l\n.nh\n.SH NAME\n{} \\- {}\n",
                  title, MULTITREE_VERSION, roff(title), roff(command.get_description()));
  page += fmt::format(".SH SYNOPSIS\n.B {}\n{}[\\fIOPTION\\fR]...\n", path,
                      inner.empty() ? "" : "\\fICOMMAND\\fR ");
  page += fmt::format(".SH OPTIONS\n{}", roff_options(command));
  if (!inner.empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* each : inner) {
    page += fmt::format(".TP\n.B {}\n{}\n", each->get_name(), roff(each->get_description()));
  }
  if (!command.get_footer().empty()) {
    page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.get_footer()));
  }
  return page;
}

}  // namespace multitree::tools
