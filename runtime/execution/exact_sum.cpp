// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exponents first, then whole numbers.
#include "runtime/execution/exact_sum_internal.hpp"

#include <utility>

#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

bool is_exact_sum(const Call& call) {
  return reduces(call.collective) && (call.op == ReduceOp::Sum || call.op == ReduceOp::Avg) &&
         sums_exactly(call.summing, call.type);
}

std::unique_ptr<Operation> ExactSum::begin(HostMemoryPath& path, const Call& call,
                                           std::uint64_t& sequence) {
  auto program = path.prepare(call);
  return path.start(call, std::move(program), sequence++);
}

ScratchPool::Block ExactSum::take(std::size_t bytes) {
  const auto guard = engine_->guard();
  return engine_->work().take(bytes);
}

ExactSum::ExactSum(HostMemoryPath& path, const Call& call, std::uint64_t& sequence,
                   std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), call_(call) {
  const std::uint32_t ranks = engine_->bootstrap().size();
  layout_ = layout_of(call, rank_at(engine_->bootstrap().seat()), ranks, path.root_of(call));
  form_ = exact_form(call.type, call.summing, ranks);
  form_.count = call.count;
  form_.shards = is_sharded(call.collective) ? ranks : 1;

  const std::size_t exponents = form_.exponents() * form_.shards;
  exponents_ = take(exponents * size_of(form_.exponent_type()));
  exponents_of(form_, exponents_.data.get(), call.send);
  Call maximum{Collective::AllReduce, exponents_.data.get(), exponents_.data.get(), exponents,
               form_.exponent_type(), ReduceOp::Max};
  maximum.several = call.several;
  maximum.priority = call.priority;
  begin(path, maximum, sequence)->wait();

  const std::size_t length = size_of(form_.whole_type());
  const bool fits = length == size_of(call.type);  // the result's place has room for whole numbers
  std::byte* wholes = bytes_of(call.recv);
  if (!fits || !layout_.works_in_recv()) {
    wholes_ = take(form_.count * form_.shards * length);
    wholes = wholes_.data.get();
  }
  to_whole(form_, wholes, call.send, exponents_.data.get());
  if (layout_.receives) {
    const std::size_t elements = layout_.result() / size_of(call.type);
    sums_ = fits ? bytes_of(call.recv) : wholes + elements * length;
  }
  Call sum = call;
  sum.send = wholes;
  sum.recv = sums_;
  sum.type = form_.whole_type();
  sum.op = ReduceOp::Sum;
  sum.summing = Summing::Floats;
  sum_ = begin(path, sum, sequence);
}

ExactSum::~ExactSum() {
  try {
    wait();
  } catch (
      const std::exception&) {  // the communicator is unusable from here on and says so when used
  }
  sum_.reset();  // which reads them to the end
  const auto guard = engine_->guard();
  for (ScratchPool::Block* const block : {&exponents_, &wholes_}) {
    if (block->data != nullptr) engine_->work().give(std::move(*block));
  }
}

bool ExactSum::test() {
  if (sum_ == nullptr) return true;
  if (!sum_->test()) return false;
  finish();
  return true;
}

void ExactSum::wait() {
  if (sum_ == nullptr) return;
  sum_->wait();
  finish();
}

void ExactSum::finish() {
  sum_.reset();
  if (!layout_.receives) return;
  ExactForm result = form_;
  result.shards = 1;
  // A shard's exponents lie where the shard does.
  const std::size_t shard =
      call_.count == 0 ? 0 : layout_.result() / (call_.count * size_of(call_.type));
  const std::size_t first = shard * form_.exponents() * size_of(form_.exponent_type());
  from_whole(result, call_.recv, sums_, exponents_.data.get() + first);
  finish_reduction(call_.recv, call_.count, call_.type, call_.op, engine_->bootstrap().size());
}

}  // namespace multitree::runtime
