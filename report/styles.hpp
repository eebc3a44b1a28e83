// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How algorithms look in all figures and pages: one colour and dash each, whatever else is drawn.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace multitree::report {

enum class Dashes : std::uint8_t { Solid, Long, Short };

struct Style {
  std::string_view algorithm;
  std::string_view
      colour;  ///< "#rrggbb", of Okabe and Ito: colour-blind readers can tell them apart
  Dashes dashes = Dashes::Solid;
};

/// Algorithms of one kind have a colour in common.
inline constexpr std::array kStyles{
    Style{"allreduce-optimal", "#009E73"},
    Style{"auto", "#000000"},
    Style{"bidirectional-ring", "#D55E00", Dashes::Long},
    Style{"bine", "#CC79A7", Dashes::Short},
    Style{"breadth-first", "#0072B2", Dashes::Long},
    Style{"circulant", "#E69F00", Dashes::Short},
    Style{"double-binary-tree", "#56B4E9"},
    Style{"exchange", "#E69F00", Dashes::Long},
    Style{"forest", "#CC79A7"},
    Style{"halving-doubling", "#000000", Dashes::Long},
    Style{"hdrm", "#56B4E9", Dashes::Long},
    Style{"in-network", "#009E73", Dashes::Long},
    Style{"multitree", "#0072B2"},
    Style{"recursive-doubling", "#000000", Dashes::Short},
    Style{"ring", "#D55E00"},
    Style{"ring2d", "#D55E00", Dashes::Short},
    Style{"swing", "#CC79A7", Dashes::Long},
    Style{"symmetric", "#E69F00"},
};

/// That of the algorithm of a spec ("ring?segments=4"); null if it is none of these.
constexpr const Style* style_of(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find('?'));
  const auto* const found = std::ranges::find(kStyles, name, &Style::algorithm);
  return found == kStyles.end() ? nullptr : found;
}

}  // namespace multitree::report
