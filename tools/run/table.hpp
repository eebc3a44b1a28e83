// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The output of `multitree run`: nccl-tests' columns, its JSON keys, and a summary over
/// algorithms.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/report.hpp"
#include "tools/run/benchmark.hpp"

namespace multitree::tools {

/// All rows of one algorithm, with what is known of its schedule; `host` has none.
struct AlgorithmRun {
  std::string algorithm;
  std::string topology;
  std::optional<ScheduleReport> report;
  std::vector<Row> rows;
  std::vector<RowDetails> details = {};  ///< at rank 0; rows that others finished have none

  [[nodiscard]] std::uint64_t wrong() const;
  /// Mean over rows and both modes, as nccl-tests' footer.
  [[nodiscard]] double mean_busbw() const;
  [[nodiscard]] double best_busbw() const;
};

/// What is shown besides nccl-tests' columns.
struct TableColumns {
  bool digest = false;
  bool predicted = false;  ///< time
  bool algorithm = false;  ///< of the schedule that ran
  bool busiest = false;    ///< link, and what it carried
};

std::string table_header(const AlgorithmRun& run, const BenchmarkOptions& options,
                         const TableColumns& columns);
std::string table_row(const Row& row, const RowDetails& details, const BenchmarkOptions& options,
                      const TableColumns& columns);
std::string table_footer(const AlgorithmRun& run);
/// One line an algorithm.
std::string summary_table(const std::vector<AlgorithmRun>& runs);
nlohmann::ordered_json run_json(const std::vector<AlgorithmRun>& runs,
                                const BenchmarkOptions& options, std::uint32_t ranks,
                                const std::string& launch);

}  // namespace multitree::tools
