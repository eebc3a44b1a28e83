// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a page asks that computes by itself: text in, text out.
#pragma once

#include <string>
#include <string_view>

namespace multitree::view {

/// Nodes and links of networks that are computed: a page has to answer within seconds.
inline constexpr std::uint32_t kMostTouchNodes = 128, kMostTouchLinks = 4096;

/// Answers a question, both JSON objects. Of a question:
///   network     a spec, or the text of a topology file in multitree's own format
///   changes     optional: [{kind, from, to, rate, latency}] (view/touch/changes.hpp)
///   collective, root, size   optional: "allreduce", 0, "64MiB"
///   algorithms  optional: names as of `multitree schedule -a`
///   want        "page" (what view/page/page.js draws), or the text of a file: "network",
///               "certificate", "schedule" (of the first algorithm, with its certificate)
/// Of an answer: `page` with `left_out`, pairs of an algorithm and why it has no schedule; or
/// `text`, which is what the program writes, byte for byte; or `error`, and where cuts have split
/// the network `parts`, lists of numbers of nodes. Never throws.
std::string answer(std::string_view question);

}  // namespace multitree::view
