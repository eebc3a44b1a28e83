// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How often links lose, and what it came to.
#include "tools/link_flags.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace multitree::tools {

void add_link_flags(CLI::App& app, std::string& text) {
  app.add_option("--link-errors", text,
                 "RATE[,SEED]: links that lose or corrupt that part of all they carry, 0 to 1, and "
                 "send it again (by default everything arrives, over links that cannot)");
}

std::optional<nic::LinkErrors> link_errors_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return for_flag("--link-errors", [&] { return nic::parse_link_errors(text); });
}

std::string link_counts_line(const nic::LinkCounts& c) {
  return fmt::format(
      "# links: {} flits, {} sent again; {} of {} frames and {} of {} answers lost "
      "or corrupt\n",
      c.flits, c.resent, c.bad, c.frames, c.bad_answers, c.answers);
}

nlohmann::ordered_json link_counts_json(const nic::LinkCounts& c) {
  return {{"flits", c.flits}, {"resent", c.resent},   {"frames", c.frames},
          {"bad", c.bad},     {"answers", c.answers}, {"bad_answers", c.bad_answers}};
}

}  // namespace multitree::tools
