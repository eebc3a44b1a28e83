// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ways of compressing, each in a file of its own or with its like.
#pragma once

#include <memory>
#include <span>

#include "topologies/spec.hpp"
#include "training/compression/compressor.hpp"

namespace multitree::training {

std::unique_ptr<Compressor> make_plain(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_lossless(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_fp8(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_bfloat16(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_half(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_int8(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_sign(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_top_k(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_random_k(const Spec& options, std::uint64_t seed);
std::unique_ptr<Compressor> make_powersgd(const Spec& options, std::uint64_t seed);

/// Everything travels, rounded to `wire`.
std::unique_ptr<Compressor> make_wired(runtime::WireType wire);

/// Adds what was left the last time. \throws Error(InvalidArgument) unless `error` is empty or as
/// long as `numbers`.
void add_error(std::span<float> numbers, std::span<const float> error);

}  // namespace multitree::training
