// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory that several processes of one host map, without a name that could be left behind.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace multitree::runtime::host {

/// A piece of memory, unmapped with its last owner.
class Mapping {
 public:
  /// Anonymous shared memory, zeroed and reserved. \throws Error(Io) if there is not so much.
  static std::shared_ptr<Mapping> create(std::size_t bytes);
  /// Memory of this process alone. \throws Error(Io)
  static std::shared_ptr<Mapping> create_private(std::size_t bytes);
  /// What create() made in the process that describe()d it: mapped, or within that process shared.
  /// \throws Error(Io) saying why it cannot be mapped.
  static std::shared_ptr<Mapping> open(std::string_view description);

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// For open(), while nobody has called close_door().
  [[nodiscard]] std::string describe() const;
  /// When all have opened it: from now on nobody else can.
  void close_door();

 private:
  Mapping(std::byte* data, std::size_t bytes, int fd) : data_(data), bytes_(bytes), fd_(fd) {}

  std::byte* data_;
  std::size_t bytes_;
  int fd_;  ///< of the memory, in this process; -1: none
  std::string token_;
};

/// What ranks of one host have in common: the boot of the kernel and its namespaces.
std::string host_identity();

}  // namespace multitree::runtime::host
