// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks tell each other while they compress: sums, maxima, bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/data_type.hpp"

namespace multitree::training {

/// Bytes of one rank, as they travel: what an all-reduce, an all-gather takes follows from them.
struct Sent {
  std::uint64_t reduced = 0;   ///< of vectors that were all-reduced
  std::uint64_t gathered = 0;  ///< of this rank's part in all-gathers
  auto operator<=>(const Sent&) const = default;
};

/// One rank's end. Everything is collective: all ranks make the same calls in the same order, with
/// vectors of the same lengths but for gather(). \throws Error(Transport) if a rank fails, or calls
/// something else.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;

  /// In place, the sums over all ranks, the same bits at each. What travels is rounded to `wire` at
  /// every hop, and the result once; sums are floats.
  void sum(std::span<float> numbers, runtime::WireType wire = runtime::WireType::AsIs);
  /// The same of whole numbers, which wrap.
  void sum(std::span<std::int8_t> numbers);
  void sum(std::span<std::int16_t> numbers);
  void sum(std::span<std::int32_t> numbers);
  /// In place, the largest of any rank. \pre no NaN
  void max(std::span<float> numbers);
  /// Of every rank its bytes, by rank, of any length.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own);

  /// By this rank, since the beginning.
  [[nodiscard]] const Sent& sent() const { return sent_; }

 protected:
  /// A vector to be all-reduced, by runtime::ReduceOp::Sum or Max.
  struct Vector {
    void* data = nullptr;
    std::size_t count = 0;
    runtime::DataType type{};
    runtime::ReduceOp op{};
    runtime::WireType wire{};  ///< of floats
    auto operator<=>(const Vector&) const = default;
  };

 private:
  virtual void all_reduce(const Vector& vector) = 0;
  virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> own) = 0;
  void reduce(const Vector& vector);
  static std::uint64_t bytes_of(const Vector& vector);

  Sent sent_;
};

}  // namespace multitree::training
