// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All signals of some nodes over time, in one FST file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rtl/sim/node.hpp"

class VerilatedContext;
class VerilatedFstC;

namespace multitree::rtl {

/// Nodes are added (by make_wave_rank()) before the file is opened. Time is in cycles of 1 ns, from
/// 0.
class Waves {
 public:
  Waves();
  ~Waves();
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  [[nodiscard]] VerilatedContext& context() { return *context_; }
  [[nodiscard]] VerilatedFstC& file() { return *file_; }
  void add(Node& node) { nodes_.push_back(&node); }

  /// \throws Error(Io).
  void open(const std::string& path);
  [[nodiscard]] bool is_open() const { return is_open_; }
  /// What all signals are after the clock's edge.
  void write_cycle();
  void close();

 private:
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<VerilatedFstC> file_;
  std::vector<Node*> nodes_;
  bool is_open_ = false;
  std::uint64_t cycle_ = 0;
};

/// A rank whose signals can be written, under its name; its adders are those of the hardware.
std::unique_ptr<Node> make_wave_rank(std::uint32_t memory, const std::string& name, Waves& waves);

/// A rank in a save file of GTKWave.
struct WaveRank {
  std::string scope;
  std::uint32_t rank = 0;
  std::uint32_t ports = 0;  ///< that have links
};

/// The name of a node as scopes can have it.
std::string scope_name(const std::string& node);

/// What GTKWave shows of a file of waves: of each rank its state, step and errors, and of each of
/// its ports what it begins, sends, receives, adds and takes in.
std::string gtkwave_save(const std::string& waves, const std::vector<WaveRank>& ranks);

}  // namespace multitree::rtl
