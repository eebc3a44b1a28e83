// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The last of a process says farewell for all.
#include "runtime/c/household_internal.hpp"

#include <functional>
#include <unordered_map>

#include "runtime/c/group_internal.hpp"

namespace multitree::runtime::c {
namespace {

struct Households {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<Household>> by_job;
};

/// Never destroyed, as the list of communicators.
Households& households() {
  static auto* const all = new Households();
  return *all;
}

}  // namespace

std::shared_ptr<Household> Household::of(const std::string& job) {
  const std::scoped_lock lock(households().mutex);
  std::weak_ptr<Household>& known = households().by_job[job];
  std::shared_ptr<Household> household = known.lock();
  if (household == nullptr) known = household = std::make_shared<Household>(job);
  return household;
}

Household::~Household() {
  const std::scoped_lock lock(households().mutex);
  const auto it = households().by_job.find(job_);
  // Another of this name may have been made since the last rank let go of this one.
  if (it != households().by_job.end() && it->second.expired()) households().by_job.erase(it);
}

void Household::enter() {
  const std::scoped_lock lock(mutex_);
  ++staying_;
}

bool Household::others_stay() {
  const std::scoped_lock lock(mutex_);
  return --staying_ > 0;
}

std::vector<std::shared_ptr<Comm>> Household::take_leavers(const std::shared_ptr<Comm>& one_more) {
  const std::scoped_lock lock(mutex_);
  if (one_more != nullptr) leavers_.push_back(one_more);
  if (staying_ > 0) return {};
  return std::exchange(leavers_, {});
}

void Household::finalize(Comm& comm) {
  others_stay();
  const auto leavers = take_leavers();
  std::vector<std::function<void()>> farewells{[&comm] { comm.close(); }};
  for (const auto& one : leavers) farewells.emplace_back([&one] { one->close(); });
  FirstError error;
  run_together(farewells, error);
  error.rethrow();
}

void Household::leave(const std::shared_ptr<Comm>& comm) {
  FirstError error;
  if (others_stay() && comm->stands()) error.run([&] { comm->finish(); });
  // One that has failed is dropped as it is; its failure was reported when it happened.
  const auto leavers = take_leavers(comm->stands() ? comm : nullptr);
  std::vector<std::function<void()>> farewells;
  for (const auto& one : leavers) farewells.emplace_back([&one] { one->close(); });
  run_together(farewells, error);
  error.rethrow();
}

void Household::vanish(const std::string& reason) {
  if (others_stay()) return;
  for (const auto& one : take_leavers()) one->abort(reason);
}

}  // namespace multitree::runtime::c
