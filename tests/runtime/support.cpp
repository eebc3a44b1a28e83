// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks as threads, schedules by hand, and reference results.
#include "support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "runtime/kernels/float16_internal.hpp"

namespace multitree::runtime::test {

std::vector<std::exception_ptr> try_ranks(
    std::uint32_t ranks, const std::function<void(std::shared_ptr<Bootstrap>)>& body) {
  std::vector<std::exception_ptr> errors(ranks);
  std::vector<std::thread> threads;
  auto bootstraps = make_in_process_bootstraps(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        body(bootstraps[r]);
      } catch (...) {
        errors[r] = std::current_exception();
        bootstraps[r]->report_failure(message_of(errors[r]));
      }
      bootstraps[r].reset();  // has left: who shrinks does not wait for it
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void run_ranks(std::uint32_t ranks, const std::function<void(std::shared_ptr<Bootstrap>)>& body) {
  for (const std::exception_ptr& error : try_ranks(ranks, body)) {
    if (error) std::rethrow_exception(error);
  }
}

std::string message_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

namespace {

void add_ring(Schedule& schedule) {
  const std::uint32_t n = schedule.ranks;
  const auto rank = [n](std::uint32_t r) { return Rank{r % n}; };
  for (std::uint32_t c = 0; c < n; ++c) {
    for (std::uint32_t s = 0; s + 1 < n; ++s) {
      std::uint32_t step = s;
      if (reduces(schedule.collective)) {
        schedule.add(step, Op::Reduce, c, rank(c + 1 + s), rank(c + 2 + s), {});
        step += n - 1;
      }
      if (copies(schedule.collective)) {
        schedule.add(step, Op::Copy, c, rank(c + s), rank(c + s + 1), {});
      }
    }
  }
}

/// Chunk by chunk along a chain that begins at the root, away from it or towards it; shards only as
/// far as they have to.
void add_chain(Schedule& schedule) {
  const std::uint32_t n = schedule.ranks;
  const std::uint32_t first = index(schedule.root);
  const bool away = facts(schedule.collective).start == Holder::Root;
  const Op op = reduces(schedule.collective) ? Op::Reduce : Op::Copy;
  for (std::uint32_t c = 0; c < n; ++c) {
    const std::uint32_t hops = is_sharded(schedule.collective) ? (c + n - first) % n : n - 1;
    (away ? schedule.chunks[c].source : schedule.chunks[c].target) = schedule.root;
    if (!is_sharded(schedule.collective)) schedule.chunks[c].set_root(schedule.root);
    for (std::uint32_t s = 0; s < hops; ++s) {
      const Rank near{(first + s) % n}, far{(first + s + 1) % n};
      if (away) {
        schedule.add(c + s, op, c, near, far, {});
      } else {
        schedule.add(c + n - 2 - s, op, c, far, near, {});
      }
    }
  }
}

}  // namespace

Schedule ring_schedule(Collective collective, std::uint32_t ranks, Rank root) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.algorithm = "ring by hand";
  schedule.ranks = ranks;
  schedule.chunks = one_chunk_per_rank(ranks);
  if (has_root(collective)) {
    schedule.root = root;
    add_chain(schedule);
  } else {
    add_ring(schedule);
  }
  schedule.canonicalize();
  return schedule;
}

std::vector<Schedule> ring_schedules(std::uint32_t ranks, Rank root) {
  std::vector<Schedule> all;
  for (const Collective collective : all_collectives()) {
    all.push_back(ring_schedule(collective, ranks, root));
  }
  return all;
}

namespace {

template <typename T>
double load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(value.to_float());
  }
}

template <typename T>
void store(std::byte* to, double value) {
  T stored;
  if constexpr (std::is_integral_v<T>) {
    stored = static_cast<T>(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    stored = static_cast<T>(value);
  } else {
    stored = T::from_float(static_cast<float>(value));
  }
  std::memcpy(to, &stored, sizeof stored);
}

struct Access {
  double (*load)(const std::byte*);
  void (*store)(std::byte*, double);
};
template <typename T>
constexpr Access access() {
  return {&load<T>, &store<T>};
}
constexpr Access kAccess[] = {
    access<std::int8_t>(),   access<std::uint8_t>(),  access<std::int32_t>(),
    access<std::int64_t>(),  access<Half>(),          access<Bfloat>(),
    access<float>(),         access<double>(),        access<std::int16_t>(),
    access<std::uint16_t>(), access<std::uint32_t>(), access<std::uint64_t>()};
const Access& access_of(DataType type) { return kAccess[static_cast<std::size_t>(type)]; }

}  // namespace

Values::Values(DataType type, std::size_t count)
    : type_(type), count_(count), bytes_(count * size_of(type) + 1) {}
double Values::get(std::size_t i) const {
  return access_of(type_).load(bytes_.data() + i * size_of(type_));
}
void Values::set(std::size_t i, double value) {
  access_of(type_).store(bytes_.data() + i * size_of(type_), value);
}

double input(ReduceOp op, std::uint32_t rank, std::size_t i) {
  const auto mixed = static_cast<std::uint32_t>((rank * 7 + i * 13 + i / 5) % 101);
  return op == ReduceOp::Prod ? 1.0 + mixed % 2 : mixed % 7;
}

double expected(DataType type, ReduceOp op, std::uint32_t ranks, std::size_t i) {
  double result = input(op, 0, i);
  for (std::uint32_t r = 1; r < ranks; ++r) {
    const double x = input(op, r, i);
    switch (op) {
      case ReduceOp::Sum:
      case ReduceOp::Avg:
        result += x;
        break;
      case ReduceOp::Prod:
        result *= x;
        break;
      case ReduceOp::Min:
        result = std::min(result, x);
        break;
      case ReduceOp::Max:
        result = std::max(result, x);
        break;
      default:
        throw std::logic_error("expected(): of operators of all types");
    }
  }
  if (op == ReduceOp::Avg) {
    // 16-bit types divide in float.
    result = type == DataType::Float64
                 ? result / ranks
                 : static_cast<double>(static_cast<float>(result) / static_cast<float>(ranks));
    if (is_integer(type)) {
      result = std::trunc(result);
    }
  }
  Values stored(type, 1);
  stored.set(0, result);
  return stored.get(0);
}

namespace {

[[noreturn]] void mismatch(Collective collective, DataType type, ReduceOp op, std::size_t count,
                           std::uint32_t rank, const std::string& what) {
  throw std::runtime_error(fmt::format("{} {} {} count {} rank {}: {}", to_string(collective),
                                       to_string(type), to_string(op), count, rank, what));
}

/// Which element of whose input a call concerns.
struct Layout {
  std::size_t sent, received;                      ///< elements of the two buffers
  std::size_t send_in_recv = 0, recv_in_send = 0;  ///< in place: offset of one in the other
};

Layout layout_of(Collective collective, std::size_t count, std::uint32_t rank, std::uint32_t n) {
  return {shards_sent(collective, n) * count, shards_received(collective, n) * count,
          sends_shard(collective) ? rank * count : 0,
          receives_shard(collective) ? rank * count : 0};
}

/// The reference of one element of what a rank receives, as its type stores it.
double wanted(Collective collective, DataType type, ReduceOp op, const Communicator& communicator,
              Rank root, std::size_t count, std::size_t i) {
  const std::size_t first = receives_shard(collective) ? index(communicator.rank()) * count : 0;
  if (reduces(collective)) return expected(type, op, communicator.size(), first + i);
  Values stored(type, 1);
  const auto source = sends_shard(collective) ? static_cast<std::uint32_t>(i / count) : index(root);
  stored.set(0, input(op, source, sends_shard(collective) ? i % count : first + i));
  return stored.get(0);
}

}  // namespace

void check_collective(Communicator& communicator, Collective collective, Rank root,
                      std::size_t count, DataType type, ReduceOp op, bool in_place) {
  const std::uint32_t rank = index(communicator.rank()), n = communicator.size();
  const Layout layout = layout_of(collective, count, rank, n);
  Values send(type, layout.sent), recv(type, layout.received);
  // All-gather: element i of the whole is element i % count of rank i / count's input.
  for (std::size_t i = 0; i < layout.sent; ++i) send.set(i, input(op, rank, i));
  const Values sent = send, received = recv;
  Values whole(type, count * n);  // in-place buffer of the sharded collectives
  std::byte* to = recv.data();
  const std::byte* from = send.data();
  if (in_place) {
    std::memcpy(whole.at(layout.send_in_recv), send.data(), layout.sent * size_of(type));
    from = whole.at(layout.send_in_recv);
    to = whole.at(layout.recv_in_send);
  }
  communicator.run({collective, from, to, count, type, op});
  if (in_place) std::memcpy(recv.data(), to, layout.received * size_of(type));
  if (!in_place && !(send == sent)) mismatch(collective, type, op, count, rank, "send was changed");
  if (!receives(collective, Rank{rank}, root)) {
    if (!in_place && !(recv == received)) {
      mismatch(collective, type, op, count, rank, "recv was changed");
    }
    return;
  }
  for (std::size_t i = 0; i < layout.received; ++i) {
    const double want = wanted(collective, type, op, communicator, root, count, i);
    if (recv.get(i) != want) {
      mismatch(collective, type, op, count, rank,
               fmt::format("element {} is {}, not {}", i, recv.get(i), want));
    }
  }
}

}  // namespace multitree::runtime::test
