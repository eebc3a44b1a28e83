// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Passes on one side, transfers on the other.
#include "tools/train/run/player.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/train/run/exchange.hpp"
#include "topologies/error.hpp"
#include "topologies/thread.hpp"

namespace multitree::tools {
namespace {

using training::Plan;
using training::PlannedTransfer;

std::size_t find_scatter(const Plan& plan, std::size_t gather) {
  const PlannedTransfer& wanted = plan.transfers[gather];
  for (std::size_t t = 0; t < gather; ++t) {
    const PlannedTransfer& one = plan.transfers[t];
    if (one.collective == Collective::ReduceScatter && one.first == wanted.first &&
        one.last == wanted.last && one.bytes == wanted.bytes) {
      return t;
    }
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("{}: transfer {}: expected an all-gather behind a reduce-scatter of the "
                          "same layers, found none",
                          plan.policy, gather));
}

}  // namespace

std::vector<Stretch> stretches_of(const Plan& plan) {
  std::vector<std::uint64_t> begins(1, 0), left;  // by layer, in bytes
  for (const training::Layer& layer : plan.model.layers) {
    if (layer.bytes() % sizeof(float) != 0) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: layer '{}': expected gradients of 4 bytes each, found {} bytes",
                              plan.model.name, layer.name, layer.bytes()));
    }
    left.push_back(layer.bytes());
    begins.push_back(begins.back() + left.back());
  }
  // A policy's parts may end within a number, which then goes with the part before.
  const auto number_at = [](std::uint64_t byte) {
    return (byte + sizeof(float) - 1) / sizeof(float);
  };
  std::vector<Stretch> stretches;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const PlannedTransfer& transfer = plan.transfers[t];
    if (transfer.collective == Collective::AllGather) {
      stretches.push_back(stretches[find_scatter(plan, t)]);
      continue;
    }
    std::uint64_t wanted = transfer.bytes;
    const std::uint64_t end = begins[transfer.last] + left[transfer.last];
    for (std::size_t l = transfer.last + 1; l-- > transfer.first && wanted > 0;) {
      // What is left of a layer is its front: behind another layer nothing may be missing.
      if (l < transfer.last && left[l] != begins[l + 1] - begins[l]) break;
      const std::uint64_t taken = std::min(wanted, left[l]);
      left[l] -= taken;
      wanted -= taken;
    }
    if (wanted != 0) {
      throw Error(
          ErrorCode::InvalidInput,
          fmt::format("{}: transfer {}: expected {} bytes that are left of the layers '{}' "
                      "to '{}', found {} fewer",
                      plan.policy, t, transfer.bytes, plan.model.layers[transfer.first].name,
                      plan.model.layers[transfer.last].name, wanted));
    }
    const std::size_t first = number_at(end - transfer.bytes);
    stretches.push_back({first, number_at(end) - first});
  }
  const auto missing = std::ranges::find_if(left, [](std::uint64_t bytes) { return bytes != 0; });
  if (missing != left.end()) {
    const auto layer = static_cast<std::size_t>(missing - left.begin());
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: layer '{}': expected transfers of all {} bytes, {} are missing",
                            plan.policy, plan.model.layers[layer].name,
                            begins[layer + 1] - begins[layer], *missing));
  }
  return stretches;
}

Player::Player(const Plan& plan, runtime::Communicator& communicator, Worker& worker,
               std::chrono::milliseconds patience, runtime::CountedAllReduce* counted,
               const Schedule* sums)
    : plan_(plan),
      communicator_(communicator),
      worker_(worker),
      patience_(patience),
      counted_(counted),
      losses_{.least_count = communicator.size()},
      stretches_(stretches_of(plan)),
      arranged_(plan.transfers.size()),
      padded_(plan.transfers.size()),
      shards_(plan.transfers.size()) {
  const std::size_t ranks = communicator.size();
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Collective collective = plan.transfers[t].collective;
    pair_.push_back(collective == Collective::AllGather ? find_scatter(plan, t) : t);
    if (sums != nullptr && collective != Collective::AllGather) {
      arranged_[t] = std::make_unique<Arrangement>(*sums, stretches_[t].begin, stretches_[t].count);
      padded_[t].resize(arranged_[t]->size());
      shards_[t].resize(padded_[t].size() / ranks);
    } else if (collective == Collective::ReduceScatter) {
      shards_[t].resize((stretches_[t].count + ranks - 1) / ranks);
      padded_[t].resize(shards_[t].size() * ranks);
    }
  }
  conductor_ = start_thread("transfers", [this] { conduct(); });
}

Player::~Player() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  conductor_.join();
}

double Player::now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

void Player::compress(std::string_view compressor, std::uint64_t seed) {
  exchange_ = std::make_unique<CommunicatorExchange>(communicator_);
  for (const Stretch& stretch : stretches_) {
    compressors_.push_back(training::make_compressor(compressor, seed));
    errors_.emplace_back(stretch.count);
  }
}

void Player::begin() {
  for (std::size_t l = 0; l < plan_.model.layers.size(); ++l) worker_.forward(l, false);
}

training::SimulatedPlan Player::iterate() {
  const std::size_t layers = plan_.model.layers.size();
  {
    const std::scoped_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    ++iteration_;
    backward_from_ = layers;
    done_.assign(plan_.transfers.size(), false);
    times_.transfers.assign(plan_.transfers.size(), {});
    times_.backward.assign(layers, {});
    times_.forward.assign(layers, {});
    begin_ = Clock::now();
  }
  changed_.notify_all();
  if (counted_ != nullptr && counted_->behind()) {
    skip();
  } else {
    pass();
  }
  const std::scoped_lock lock(mutex_);
  times_.seconds = now();
  return times_;
}

void Player::pass() {
  const std::size_t layers = plan_.model.layers.size();
  for (std::size_t l = layers; l-- > 0;) {
    const double begin = now();
    worker_.backward(l);
    const std::scoped_lock lock(mutex_);
    times_.backward[l] = {begin, now()};
    backward_from_ = l;
    changed_.notify_all();
  }
  for (std::size_t l = 0; l < layers; ++l) {
    if (await(l)) worker_.waited();
    const double begin = now();
    worker_.forward(l, true);
    const std::scoped_lock lock(mutex_);
    times_.forward[l] = {begin, now()};
  }
}

void Player::skip() {
  {
    const std::scoped_lock lock(mutex_);
    backward_from_ = 0;  // nobody awaits these gradients
  }
  changed_.notify_all();
  for (std::size_t l = 0; l < plan_.model.layers.size(); ++l) {
    await(l);
    worker_.skip(l);
  }
}

bool Player::await(std::size_t layer) {
  const auto is_over = [&] {
    for (std::size_t t = 0; t < done_.size(); ++t) {
      const PlannedTransfer& transfer = plan_.transfers[t];
      const bool needed = plan_.together || (transfer.first <= layer && layer <= transfer.last);
      if (needed && !done_[t]) return false;
    }
    return true;
  };
  std::unique_lock lock(mutex_);
  if (!error_ && is_over()) return false;
  const bool in_time = changed_.wait_for(lock, patience_, [&] { return error_ || is_over(); });
  if (error_) std::rethrow_exception(error_);
  if (in_time) return true;
  throw Error(ErrorCode::Timeout,
              fmt::format("waited {} ms in vain for the gradients of layer '{}'", patience_.count(),
                          plan_.model.layers[layer].name));
}

void Player::conduct() {
  std::uint64_t played = 0;
  try {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || iteration_ != played; });
        if (stopping_) return;
        played = iteration_;
      }
      plan_.order == training::Order::Serial ? conduct_serial() : conduct_at_once();
    }
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

bool Player::await_gradients(std::size_t transfer) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return stopping_ || backward_from_ <= plan_.transfers[transfer].first; });
  return !stopping_;
}

void Player::conduct_serial() {
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    if (!await_gradients(t)) return;
    std::this_thread::sleep_until(begin_ +
                                  std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(plan_.transfers[t].hold)));
    start(t).wait();
    finish(t);
  }
}

/// Of preemptive and of overlapping plans all that is ready is under way at once; the communicator
/// moves it on, the most urgent first.
/// Nobody looks whether one is over before the forward pass, which is when it matters.
void Player::conduct_at_once() {
  std::vector<std::size_t> order(plan_.transfers.size());
  for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
  // As gradients become ready, which is the same order at all ranks.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return plan_.transfers[a].first > plan_.transfers[b].first;
  });
  std::vector<runtime::Request> started;
  for (const std::size_t transfer : order) {
    if (!await_gradients(transfer)) return;
    started.push_back(start(transfer));
  }
  for (std::size_t i = order.size(); i-- > 0;) {  // front layers became ready last
    started[i].wait();
    finish(order[i]);
  }
}

runtime::Call Player::call_of(std::size_t transfer) {
  const PlannedTransfer& planned = plan_.transfers[transfer];
  const std::span<float> own = stretch_of(transfer);
  std::vector<float>& padded = padded_[pair_[transfer]];
  std::vector<float>& shard = shards_[pair_[transfer]];
  runtime::Call call{
      .collective = planned.collective, .type = runtime::DataType::Float32, .wire = wire_};
  call.priority = planned.priority;
  switch (planned.collective) {
    case Collective::ReduceScatter:
      pack(transfer);
      call.send = padded.data();
      call.recv = shard.data();
      call.count = shard.size();
      break;
    case Collective::AllGather:
      call.send = shard.data();
      call.recv = padded.data();
      call.count = shard.size();
      break;
    default:
      pack(transfer);
      call.send = call.recv = arranged_[transfer] ? padded.data() : own.data();
      call.count = arranged_[transfer] ? padded.size() : own.size();
  }
  return call;
}

/// What does not travel where it lies.
void Player::pack(std::size_t transfer) {
  const std::span<const float> own = stretch_of(transfer);
  std::vector<float>& padded = padded_[transfer];
  if (arranged_[transfer]) {
    arranged_[transfer]->pack(own, padded);
  } else if (!padded.empty()) {
    std::ranges::copy(own, padded.begin());
  }
}

void Player::unpack(std::size_t transfer) {
  const std::size_t packed = pair_[transfer];
  if (plan_.transfers[transfer].collective == Collective::ReduceScatter) return;
  const std::span<float> own = stretch_of(transfer);
  const std::vector<float>& padded = padded_[packed];
  if (arranged_[packed]) {
    arranged_[packed]->unpack(padded, own);
  } else if (!padded.empty()) {
    std::copy_n(padded.begin(), own.size(), own.begin());
  }
}

runtime::Request Player::start(std::size_t transfer) {
  {
    const std::scoped_lock lock(mutex_);
    times_.transfers[transfer].begin = now();
  }
  if (exchange_ != nullptr) {
    compressors_[transfer]->sum(stretch_of(transfer), errors_[transfer], *exchange_);
    return {};
  }
  if (counted_ == nullptr) return communicator_.start(call_of(transfer));
  counted_->contribute(transfer, stretch_of(transfer));
  return {};  // finish() waits
}

std::span<float> Player::stretch_of(std::size_t transfer) {
  return worker_.gradients().subspan(stretches_[transfer].begin, stretches_[transfer].count);
}

void Player::finish(std::size_t transfer) {
  if (counted_ != nullptr) {
    const runtime::LossCount count = counted_->wait(transfer, stretch_of(transfer));
    losses_.contributions += count.contributions;
    losses_.lost += count.lost;
    losses_.least_count = std::min(losses_.least_count, count.least_count);
  }
  unpack(transfer);
  const std::scoped_lock lock(mutex_);
  times_.transfers[transfer].end = now();
  done_[transfer] = true;
  changed_.notify_all();
}

}  // namespace multitree::tools
