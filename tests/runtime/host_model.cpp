// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random collectives against a model that goes from rank to rank, two operands at a time.
#include "host_model.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "algorithms/collective.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes input_of(std::uint64_t seed, std::uint32_t rank, std::size_t bytes) {
  std::mt19937_64 random(seed * 1000 + rank);
  Bytes data(bytes + 8);
  for (std::size_t i = 0; i + 8 <= data.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(data.data() + i, &word, 8);
  }
  data.resize(bytes);
  return data;
}

struct Model {
  Collective collective{};
  DataType type{};
  ReduceOp op{};
  std::size_t count = 0;
  std::uint32_t ranks = 1, root = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] std::size_t shard() const { return count * size_of(type); }
  [[nodiscard]] std::size_t sent() const { return shard() * shards_sent(collective, ranks); }
  [[nodiscard]] std::size_t received() const {
    return shard() * shards_received(collective, ranks);
  }

  [[nodiscard]] Bytes reduced() const {
    Bytes sum = input_of(seed, 0, sent());
    const auto combine =
        kernels::kPortable.combine[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
    for (std::uint32_t r = 1; r < ranks; ++r) {
      const Bytes next = input_of(seed, r, sent());
      const std::array<const void*, 2> operands{sum.data(), next.data()};
      combine(sum.data(), operands.data(), 2, sum.size() / size_of(type));
    }
    finish_reduction(sum.data(), sum.size() / size_of(type), type, op, ranks);
    return sum;
  }

  [[nodiscard]] Bytes result(std::uint32_t rank) const {
    if (sends_shard(collective)) {
      Bytes all;
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const Bytes one = input_of(seed, r, sent());
        all.insert(all.end(), one.begin(), one.end());
      }
      return all;
    }
    Bytes all = reduces(collective) ? reduced() : input_of(seed, root, sent());
    if (!receives_shard(collective)) return all;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * shard());
    return {begin, begin + static_cast<std::ptrdiff_t>(shard())};
  }
};

/// A buffer with a margin that must stay as it was.
class Guarded {
 public:
  Guarded(Communicator& c, bool shared, std::size_t align, std::size_t bytes)
      : communicator_(c), shared_(shared), bytes_(bytes), align_(align) {
    const std::size_t all = align + bytes + 64;
    if (!shared) own_.resize(all);
    base_ = shared ? static_cast<std::byte*>(c.allocate(all)) : own_.data();
    std::memset(base_, 0x3c, all);
  }
  [[nodiscard]] std::byte* data() { return base_ + align_; }
  [[nodiscard]] bool margins_kept() const {
    for (std::size_t i = 0; i < align_ + 64; ++i) {
      if (base_[i < align_ ? i : i + bytes_] != std::byte{0x3c}) return false;
    }
    return true;
  }
  void release() {
    if (shared_) communicator_.deallocate(base_);
  }

 private:
  Communicator& communicator_;
  bool shared_;
  std::size_t bytes_, align_;
  Bytes own_;
  std::byte* base_ = nullptr;
};

}  // namespace

void check_random_call(Communicator& communicator, Rank root, const RandomCall& call) {
  std::mt19937_64 all(call.seed), own(call.seed * 977 + index(communicator.rank()));
  Model m;
  m.collective = all_collectives()[all() % all_collectives().size()];
  m.type = all_data_types()[all() % all_data_types().size()];
  m.op = all_reduce_ops()[all() % all_reduce_ops().size()];
  const std::size_t most = call.max_bytes / size_of(m.type);
  m.count = all() % 3 == 0 ? all() % 40 : all() % (most + 1);
  m.ranks = communicator.size();
  m.root = index(root);
  m.seed = call.seed;
  const std::uint32_t rank = index(communicator.rank());
  // Allocations are collective, so all ranks make them; who uses them is each one's own affair.
  const bool allocate = all() % 2 == 0;
  const bool everybody = all() % 2 == 0;
  const bool shared = allocate && (everybody || own() % 2 == 0);
  const bool in_place = own() % 2 == 0;
  const std::size_t whole = m.shard() * m.ranks;
  const std::size_t align = own() % 9 * size_of(m.type);
  Guarded shared_send(communicator, allocate, align, std::max(whole, m.sent()));
  Guarded shared_recv(communicator, allocate, align, std::max(whole, m.received()));
  Guarded own_send(communicator, false, align, std::max(whole, m.sent()));
  Guarded own_recv(communicator, false, align, std::max(whole, m.received()));
  Guarded& send = shared ? shared_send : own_send;
  Guarded& recv = shared ? shared_recv : own_recv;
  std::byte *from = send.data(), *to = recv.data();
  if (in_place) {
    from = recv.data() + (sends_shard(m.collective) ? rank * m.shard() : 0);
    to = recv.data() + (receives_shard(m.collective) ? rank * m.shard() : 0);
  }
  const Bytes input = input_of(call.seed, rank, m.sent());
  if (!input.empty()) std::memcpy(from, input.data(), input.size());
  communicator.run({m.collective, from, to, m.count, m.type, m.op});
  const bool has_result = receives(m.collective, Rank{rank}, Rank{m.root});
  const Bytes want = m.result(rank);
  const bool right = !has_result || want.empty() || std::memcmp(to, want.data(), want.size()) == 0;
  const bool kept = in_place || input.empty() || std::memcmp(from, input.data(), input.size()) == 0;
  if (!right || !kept || !send.margins_kept() || !recv.margins_kept()) {
    throw std::runtime_error(fmt::format(
        "seed {} rank {} of {}: {} {} {} of {}, shared {}, in place {}: result {}, input {}",
        call.seed, rank, m.ranks, to_string(m.collective), to_string(m.type), to_string(m.op),
        m.count, shared, in_place, right ? "right" : "wrong", kept ? "kept" : "changed"));
  }
  communicator.barrier();
  shared_send.release();
  shared_recv.release();
}

}  // namespace multitree::runtime::test
