// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory that several processes of one host map, without a name that could be left behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace multitree::runtime::host {

/// A piece of memory, unmapped with its last owner.
class Mapping {
 public:
  /// Anonymous shared memory, zeroed. \throws Error(Io) if there is not so much.
  static std::shared_ptr<Mapping> create(std::size_t bytes);
  /// The same, of which reserve() makes sure.
  static std::shared_ptr<Mapping> create_unreserved(std::size_t bytes);
  /// Memory of this process alone. \throws Error(Io)
  static std::shared_ptr<Mapping> create_private(std::size_t bytes);
  /// What create() made in the process that describe()d it: mapped, or within that process shared.
  /// \throws Error(Io) saying why it cannot be mapped.
  static std::shared_ptr<Mapping> open(std::string_view description);

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Pages of this part, which are this thread's to choose: on the memory of its processor. Those
  /// that are missing later are a signal and not an error. \throws Error(Io)
  /// \pre close_door() has not been called
  void reserve(std::size_t offset, std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// For open(), while nobody has called close_door().
  [[nodiscard]] std::string describe() const;
  /// When all have opened it, and reserved what is theirs: from now on nobody else can.
  /// Threads that share it may all do so.
  void close_door();

 private:
  Mapping(std::byte* data, std::size_t bytes, int fd) : data_(data), bytes_(bytes), fd_(fd) {}

  void reserve_file(std::size_t offset, std::size_t bytes) const;

  std::byte* data_;
  std::size_t bytes_;
  std::atomic<int> fd_;  ///< of the memory, in this process; -1: none
  std::string token_;
};

/// What ranks of one host have in common: the boot of the kernel and its namespaces.
std::string host_identity();

}  // namespace multitree::runtime::host
