// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names as people type them: "Fat-Tree" is fattree, and "tors" is near torus.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace multitree {

/// Another word for a name.
struct Alias {
  std::string_view word, name;
};

/// The one of `names` that `word` means: itself, or the same letters and digits in another case or
/// with other separators ("All_Reduce"), or that which an alias stands for.
std::optional<std::string_view> meant(std::string_view word,
                                      std::span<const std::string_view> names,
                                      std::span<const Alias> aliases = {});

/// "; did you mean 'torus'?" where one of `names` is a slip of the keyboard or two away, else "".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);

/// The `name` of each row of a table.
template <typename Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace multitree
