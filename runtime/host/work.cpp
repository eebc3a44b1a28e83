// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks do between publications: copies and sums of pieces.
#include <algorithm>
#include <cstring>

#include "runtime/host/operation_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::host {
namespace {

/// Reduced at a time: stays in the first cache while it is stored for everybody; in the second
/// where it is copied to an area, which takes lines from another processor's cache and is faster
/// for many lines at once.
constexpr std::uint64_t kBlockBytes = 8192, kAreaBlockBytes = 32 * 1024;
/// The same where inputs are fetched from peers' memory first, by a system call each: all of them
/// together stay in the second cache.
constexpr std::uint64_t kFetchedBytes = 512 * 1024;
constexpr std::uint64_t kMostFetched = 64 * 1024;
/// Fetched of a vector between two signs of life.
constexpr std::uint64_t kBytesPerBeat = 1024 * 1024;

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

/// All that others read of this rank's input: not what it reduces itself.
void HostOperation::copy_in(std::uint64_t i) {
  const Range piece = pieces_.piece(i);
  std::byte* const area = group_.input(me(), group_.published() + 1);
  const std::byte* const from = send_ + piece.begin * width_;
  const std::uint64_t bytes = piece.count() * width_;
  const PhaseRecording phase(recorder_, Event::Kind::CopyIn, i, bytes);
  group_.beat();
  if (shards_sent_ > 1) {
    for (const Seat r : all()) {
      if (r != me())
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

/// Whether a sum is made in this rank's memory first, and not in the area from where it is stored
/// past the caches.
bool HostOperation::copies_to_areas() const { return mode_ == Mode::Areas && !past_caches_; }

/// Of an operation's inputs, and of the sums that go to other places.
std::uint64_t HostOperation::block_elements() const {
  if (!lends_) return (copies_to_areas() ? kAreaBlockBytes : kBlockBytes) / width_;
  return std::clamp(kFetchedBytes / group_.size() / kBlockBytes * kBlockBytes, kBlockBytes,
                    kMostFetched) /
         width_;
}

std::byte* HostOperation::block(std::uint32_t number) {
  const std::uint64_t bytes = block_elements() * width_;
  auto& scratch = group_.scratch();
  const std::size_t needed = (group_.size() + 1) * bytes + 64;
  if (scratch.block_bytes < needed) {
    scratch.blocks = std::make_unique_for_overwrite<std::byte[]>(needed);
    scratch.block_bytes = needed;
  }
  const auto misfit = reinterpret_cast<std::uintptr_t>(scratch.blocks.get()) % 64;
  return scratch.blocks.get() + (64 - misfit) % 64 + number * bytes;
}

/// Bytes from `at` of what a rank puts in, or from `at_area` of its area: where they lie, or where
/// they have been fetched to, which is up to a block.
const std::byte* HostOperation::input_of(Seat seat, std::uint64_t at, std::uint64_t at_area,
                                         std::uint64_t bytes) {
  if (seat == me()) return send_ + at;
  const Lent& lent = sends_[index(seat)];
  if (lent.mapped != nullptr) return lent.mapped + at;
  if (!lent.is_lent()) return group_.input(seat, group_.published()) + at_area;
  group_.peers().read(seat, block(index(seat)), lent.address + at, bytes);
  return block(index(seat));
}

/// This rank's slice of a piece that begins at element `from`, for everybody.
void HostOperation::reduce_slice(Range slice, std::uint64_t from) {
  auto& inputs = group_.scratch().inputs;
  auto& outputs = group_.scratch().outputs;
  const std::uint32_t n = group_.size();
  inputs.resize(n);
  for (std::uint64_t at = slice.begin; at < slice.end;) {
    const std::uint64_t count = std::min(block_elements(), slice.end - at);
    const std::uint64_t bytes = count * width_, whole = at * width_, part = (at - from) * width_;
    outputs.clear();
    if (receives(me())) outputs.push_back(recv_ + whole);
    bool area = false;
    for (const Seat r : all()) {
      inputs[index(r)] = input_of(r, whole, part, bytes);
      if (r == me() || !receives(r)) continue;
      if (recvs_[index(r)].mapped != nullptr) outputs.push_back(recvs_[index(r)].mapped + whole);
      area |= !recvs_[index(r)].is_lent();
    }
    if (area) {
      outputs.insert(copies_to_areas() ? outputs.end() : outputs.begin(),
                     group_.result(me(), group_.published() + 1) + part);
    }
    // The area stays in the caches, a large vector does not and is not fetched first.
    const bool apart = (past_caches_ && !area) || n > kernels::kMaxInputs || outputs.empty() ||
                       (copies_to_areas() && !receives(me()));
    std::byte* const sum = apart ? block(n) : outputs.front();
    reduce(sum, inputs, count, call_.type, call_.op, call_.function());
    finish_reduction(sum, count, call_.type, call_.op, n);
    for (std::byte* out : outputs) store(out, sum, bytes);
    write_to_peers(whole, sum, bytes);
    group_.beat();
    at += count;
  }
}

/// Into the outputs that are peers' own memory.
void HostOperation::write_to_peers(std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
  for (const Seat r : all()) {
    if (r == me() || recvs_[index(r)].address == 0) continue;
    group_.peers().write(r, recvs_[index(r)].address + at, from, bytes);
  }
}

/// The same piece of this rank's shard of all inputs.
void HostOperation::reduce_shard(std::uint64_t i) {
  auto& inputs = group_.scratch().inputs;
  const Range piece = pieces_.piece(i);
  const std::uint64_t area = shard_read() * piece.count();
  inputs.resize(group_.size());
  for (std::uint64_t at = piece.begin; at < piece.end;) {
    const std::uint64_t count = std::min(block_elements(), piece.end - at);
    for (const Seat r : all()) {
      inputs[index(r)] = input_of(r, (shard_read() * call_.count + at) * width_,
                                  (area + at - piece.begin) * width_, count * width_);
    }
    std::byte* const out = recv_ + at * width_;
    std::byte* const sum = group_.size() > kernels::kMaxInputs ? block(group_.size()) : out;
    reduce(sum, inputs, count, call_.type, call_.op, call_.function());
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
  for (std::uint32_t step = 0; step < group_.size(); ++step) {
    const Seat r{(index(me()) + step) % group_.size()};  // not all from the same rank at once
    if (!sends(r)) continue;
    const std::uint64_t base = shards_received_ > 1 ? index(r) * call_.count : 0;
    pull_from(r, recv_ + (base + piece.begin) * width_, piece);
    group_.beat();
  }
}

void HostOperation::pull_from(Seat seat, std::byte* to, Range piece) {
  const std::uint64_t bytes = piece.count() * width_;
  const std::uint64_t at = (shard_read() * call_.count + piece.begin) * width_;
  const Lent& lent = sends_[index(seat)];
  if (seat == me()) return store(to, send_ + at, bytes);
  if (lent.mapped != nullptr) return store(to, lent.mapped + at, bytes);
  if (!lent.is_lent()) {
    return store(to, group_.input(seat, group_.published()) + shard_read() * bytes, bytes);
  }
  for (std::uint64_t done = 0; done < bytes; done += kBytesPerBeat) {
    group_.peers().read(seat, to + done, lent.address + at + done,
                        std::min(kBytesPerBeat, bytes - done));
    group_.beat();
  }
}

/// What the others have reduced for this rank.
void HostOperation::copy_out(std::uint64_t i) {
  if (!reduces_slices() || !receives(me()) || my_recv_.is_lent()) return;
  const Range piece = pieces_.piece(i);
  const PhaseRecording phase(recorder_, Event::Kind::CopyOut, i, piece.count() * width_);
  group_.beat();
  for (const Seat r : all()) {
    if (r == me()) continue;
    const Range slice = slice_of(piece, r);  // in its rank's area
    store(recv_ + slice.begin * width_,
          group_.result(r, group_.published()) + (slice.begin - piece.begin) * width_,
          slice.count() * width_);
  }
}

}  // namespace multitree::runtime::host
