// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks do between publications: copies and sums of pieces.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/host/operation_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::host {
namespace {

/// Reduced at a time: stays in the first cache while it is stored for everybody.
constexpr std::uint64_t kBlockBytes = 8192;

void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

void HostOperation::store(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
  if (to == from || bytes == 0) return;
  past_caches_ ? copy_past_caches(to, from, bytes) : copy_bytes(to, from, bytes);
}

Range HostOperation::slice_of(Range piece, Seat seat) const {
  const std::uint64_t line = 64 / width_;
  const std::uint64_t lines = (piece.count() + line - 1) / line;
  const auto cut = [&](std::uint64_t r) {
    return std::min(piece.begin + lines * r / group_.size() * line, piece.end);
  };
  return {cut(index(seat)), cut(index(seat) + 1)};
}

/// What this rank sums up, or pulls, of a piece.
std::uint64_t HostOperation::taken_bytes(Range piece) const {
  if (reduces_slices()) return slice_of(piece, me()).count() * width_;
  return piece.count() * width_ * shards_received_;
}

void HostOperation::read_cards() {
  auto& inputs = group_.scratch().inputs;
  const std::uint64_t parity = group_.published() % 2, bytes = call_.count * width_;
  if (bytes == 0 || !receives(me())) return;
  const PhaseRecording phase(recorder_, Event::Kind::Sum, 0, received_bytes());
  inputs.clear();
  for (const Seat r : all()) {
    if (!sends(r)) continue;
    inputs.push_back(group_.desk(r).cards[parity].vector(sent_bytes()) + shard_read() * bytes);
  }
  if (reduces(call_.collective)) {
    reduce(recv_, inputs, call_.count, call_.type, call_.op);
    finish_reduction(recv_, call_.count, call_.type, call_.op, group_.size());
    return;
  }
  // Of all ranks side by side, or of the root alone.
  std::byte* to = recv_;
  for (const void* const input : inputs) {
    copy_bytes(to, bytes_of(input), bytes);
    to += bytes;
  }
}

/// All that others read of this rank's input: not what it reduces itself.
void HostOperation::copy_in(std::uint64_t i) {
  const Range piece = pieces_.piece(i);
  std::byte* const area = group_.desk(me()).input[(group_.published() + 1) % 2];
  const std::byte* const from = send_ + piece.begin * width_;
  const std::uint64_t bytes = piece.count() * width_;
  const PhaseRecording phase(recorder_, Event::Kind::CopyIn, i, bytes);
  group_.beat();
  if (shards_sent_ > 1) {
    for (const Seat r : all()) {
      if (r == me()) continue;
      copy_bytes(area + index(r) * bytes, from + index(r) * call_.count * width_, bytes);
    }
    return;
  }
  Range skipped{piece.end, piece.end};
  if (reduces_slices()) skipped = slice_of(piece, me());
  copy_bytes(area, from, (skipped.begin - piece.begin) * width_);
  copy_bytes(area + (skipped.end - piece.begin) * width_, send_ + skipped.end * width_,
             (piece.end - skipped.end) * width_);
}

void HostOperation::take(std::uint64_t i) {
  const PhaseRecording phase(recorder_, Event::Kind::Sum, i, taken_bytes(pieces_.piece(i)));
  if (reduces_slices()) {
    return reduce_slice(slice_of(pieces_.piece(i), me()), pieces_.piece(i).begin);
  }
  return reduces(call_.collective) ? reduce_shard(i) : pull(i);
}

/// This rank's slice of a piece that begins at element `from`, for everybody.
void HostOperation::reduce_slice(Range slice, std::uint64_t from) {
  auto& inputs = group_.scratch().inputs;
  auto& outputs = group_.scratch().outputs;
  const std::uint64_t read = group_.published() % 2, written = (group_.published() + 1) % 2;
  const std::uint32_t n = group_.size();
  alignas(64) std::array<std::byte, kBlockBytes> block;
  inputs.resize(n);
  for (std::uint64_t at = slice.begin; at < slice.end;) {
    const std::uint64_t count = std::min(kBlockBytes / width_, slice.end - at);
    const std::uint64_t bytes = count * width_, whole = at * width_, part = (at - from) * width_;
    outputs.clear();
    bool area = false;
    for (const Seat r : all()) {
      const std::byte* own = r == me() ? send_ : sends_[index(r)];
      inputs[index(r)] = own != nullptr ? own + whole : group_.desk(r).input[read] + part;
      if (!receives(r)) continue;
      std::byte* const out = r == me() ? recv_ : recvs_[index(r)];
      if (out != nullptr) outputs.push_back(out + whole);
      area |= out == nullptr;
    }
    if (area) outputs.insert(outputs.begin(), group_.desk(me()).result[written] + part);
    // The area stays in the caches, a large vector does not and is not fetched first.
    const bool apart = (past_caches_ && !area) || n > kernels::kMaxInputs;
    std::byte* const sum = apart ? block.data() : outputs.front();
    reduce(sum, inputs, count, call_.type, call_.op);
    finish_reduction(sum, count, call_.type, call_.op, n);
    for (std::byte* out : outputs) store(out, sum, bytes);
    group_.beat();
    at += count;
  }
}

/// The same piece of this rank's shard of all inputs.
void HostOperation::reduce_shard(std::uint64_t i) {
  auto& inputs = group_.scratch().inputs;
  const Range piece = pieces_.piece(i);
  const std::uint64_t read = group_.published() % 2, bytes = piece.count() * width_;
  alignas(64) std::array<std::byte, kBlockBytes> block;
  inputs.resize(group_.size());
  for (std::uint64_t at = piece.begin; at < piece.end;) {
    const std::uint64_t count = std::min(kBlockBytes / width_, piece.end - at);
    for (const Seat r : all()) {
      const std::byte* own = r == me() ? send_ : sends_[index(r)];
      inputs[index(r)] = own != nullptr ? own + (shard_read() * call_.count + at) * width_
                                        : group_.desk(r).input[read] + shard_read() * bytes +
                                              (at - piece.begin) * width_;
    }
    std::byte* const out = recv_ + at * width_;
    std::byte* const sum = group_.size() > kernels::kMaxInputs ? block.data() : out;
    reduce(sum, inputs, count, call_.type, call_.op);
    finish_reduction(sum, count, call_.type, call_.op, group_.size());
    copy_bytes(out, sum, count * width_);
    group_.beat();
    at += count;
  }
}

/// A piece of what all who send have for this rank.
void HostOperation::pull(std::uint64_t i) {
  if (!receives(me())) return;
  const Range piece = pieces_.piece(i);
  const std::uint64_t read = group_.published() % 2, bytes = piece.count() * width_;
  for (std::uint32_t step = 0; step < group_.size(); ++step) {
    const Seat r{(index(me()) + step) % group_.size()};  // not all from the same rank at once
    if (!sends(r)) continue;
    const std::byte* own = r == me() ? send_ : sends_[index(r)];
    const std::byte* const from = own != nullptr
                                      ? own + (shard_read() * call_.count + piece.begin) * width_
                                      : group_.desk(r).input[read] + shard_read() * bytes;
    const std::uint64_t base = shards_received_ > 1 ? index(r) * call_.count : 0;
    store(recv_ + (base + piece.begin) * width_, from, bytes);
    group_.beat();
  }
}

/// What the others have reduced for this rank.
void HostOperation::copy_out(std::uint64_t i) {
  if (!reduces_slices() || !receives(me()) || recvs_[index(me())] != nullptr) return;
  const Range piece = pieces_.piece(i);
  const PhaseRecording phase(recorder_, Event::Kind::CopyOut, i, piece.count() * width_);
  const std::uint64_t read = group_.published() % 2;
  group_.beat();
  for (const Seat r : all()) {
    if (r == me()) continue;
    const Range slice = slice_of(piece, r);  // in its rank's area
    store(recv_ + slice.begin * width_,
          group_.desk(r).result[read] + (slice.begin - piece.begin) * width_,
          slice.count() * width_);
  }
}

}  // namespace multitree::runtime::host
