// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether tables do what they say: collectives that verify, group by group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nic/table/table.hpp"

namespace multitree::nic {

enum class TableFault : std::uint8_t {
  BadPlace,     ///< an entry of no group, out of order, or elsewhere in the buffer than its piece
  BadRoute,     ///< a route that does not lead over links of the network to its peer
  BadSchedule,  ///< what the entries send is not the collective, see verify()
  BadCounts,    ///< wait, turn or after are not what keeps the order of the steps
};
std::string_view to_string(TableFault fault);

/// One broken rule.
struct TableViolation {
  TableFault fault{};
  std::uint32_t group = 0;  ///< 0 without groups
  std::string message;      ///< with group, rank and entry where there are any
};

/// Makes of each group's entries a schedule again, proves it by verify(), and compares the counts
/// with those that its steps ask for. Nops are left out, and so are pieces without elements where
/// what arrives is proved. Groups share nothing but routes, so what holds of each holds of all
/// under way together. Of switches that add and copy, which are no ranks of `topology`, nothing is
/// taken for granted: what they hold before is not in any sum. Of each group what is found first,
/// up to `most` of one fault; empty: all is right. \throws Error(InvalidArgument) if the tables are
/// relative, for another number of ranks, or for other switches.
std::vector<TableViolation> check_tables(const Tables& tables, const Topology& topology,
                                         std::size_t most = 20);

/// The schedule that the tables of one collective are, for whoever runs schedules: of the rooms of
/// the runtime, hosts and devices. Its chunks are the pieces in the order of the buffer, without
/// those that have no elements, and each weighs as much as it has of them, so that a buffer of as
/// many elements is cut as the tables say. Steps, senders, routes and the order of sums are the
/// tables'. \throws Error(InvalidArgument) as check_tables(), with groups (tables_of_group() is for
/// them), and in the words of check_tables() if the tables are wrong; Error(Unsupported) if
/// switches add and copy.
Schedule schedule_of(const Tables& tables, const Topology& topology);

/// The same of one of several groups. \throws as schedule_of() and tables_of_group().
Schedule schedule_of_group(const Tables& tables, const Topology& topology, std::uint32_t group);

}  // namespace multitree::nic
