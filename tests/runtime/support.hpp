// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks as threads, schedules by hand, and reference results.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime::test {

constexpr Seat operator""_seat(unsigned long long number) {
  return Seat{static_cast<std::uint32_t>(number)};
}
/// Several, by their numbers.
template <typename... Numbers>
std::vector<Seat> seats_at(Numbers... numbers) {
  return {Seat{static_cast<std::uint32_t>(numbers)}...};
}

/// Runs `body` once a rank, each in its thread; the exceptions by rank (null where there was none).
std::vector<std::exception_ptr> try_ranks(
    std::uint32_t ranks, const std::function<void(std::shared_ptr<Bootstrap>)>& body);

/// The same, rethrowing the first.
void run_ranks(std::uint32_t ranks, const std::function<void(std::shared_ptr<Bootstrap>)>& body);

/// "" for null.
std::string message_of(const std::exception_ptr& error);

/// The textbook ring on ranks 0 -> 1 -> ... -> 0; broadcast and reduce are pipelined chains.
Schedule ring_schedule(Collective collective, std::uint32_t ranks, Rank root = Rank{0});
/// All five.
std::vector<Schedule> ring_schedules(std::uint32_t ranks, Rank root = Rank{0});

/// Elements of any type, written and read as double.
class Values {
 public:
  Values(DataType type, std::size_t count);
  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] double get(std::size_t i) const;
  void set(std::size_t i, double value);
  /// Not null even without elements.
  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  [[nodiscard]] std::byte* at(std::size_t i) { return bytes_.data() + i * size_of(type_); }
  bool operator==(const Values&) const = default;

 private:
  DataType type_;
  std::size_t count_;
  std::vector<std::byte> bytes_;
};

/// Rank `rank`'s input element i: small integers, so that results are exact in every type and
/// order.
double input(ReduceOp op, std::uint32_t rank, std::size_t i);
/// The result over all ranks in the arithmetic of `type`.
double expected(DataType type, ReduceOp op, std::uint32_t ranks, std::size_t i);

/// Runs `collective` once on every rank of a communicator and checks every element, that `send` was
/// not changed, and that a non-root's `recv` was not; throws std::runtime_error if not.
void check_collective(Communicator& communicator, Collective collective, Rank root,
                      std::size_t count, DataType type, ReduceOp op, bool in_place);

}  // namespace multitree::runtime::test
