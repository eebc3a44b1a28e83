// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// gnuplot as a filter of scripts.
#include "report/gnuplot_internal.hpp"

#include <fmt/format.h>

#include <cctype>

#include "report/filter_internal.hpp"

namespace multitree::report {

std::string gnuplot_quote(std::string_view text) {
  // By code: gnuplot 5.4 ends a single-quoted string that starts with a quote too early. Digits
  // too, which it would take for more of the code before.
  std::string quoted = "\"";
  for (const char c : text) {
    const bool plain = std::isalpha(static_cast<unsigned char>(c)) != 0 || c == ' ';
    quoted += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return quoted + "\"";
}

std::string run_gnuplot(const std::string& script, std::chrono::milliseconds deadline) {
  static const Filter gnuplot{
      {"gnuplot", "--default-settings"}, "figures are drawn", "gnuplot-nox"};
  return run_filter(gnuplot, script, deadline);
}

}  // namespace multitree::report
