// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators that are not of every type, or are made at run time.
#include "runtime/execution/custom_op_internal.hpp"

#include <fmt/format.h>

#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

bool is_logic(ReduceOp op) { return op >= ReduceOp::BitAnd && op <= ReduceOp::LogicalXor; }

bool lacks_its_part(const Call& call) {
  if (call.op == ReduceOp::Custom) return call.custom == nullptr || !call.custom->function;
  if (call.op != ReduceOp::PreMulSum) return false;
  return call.custom == nullptr || call.custom->scalar == nullptr;
}

}  // namespace

void check_operator(const Call& call) {
  if (!reduces(call.collective)) return;
  if (is_logic(call.op) && !is_integer(call.type)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: {} is for integers, found {}", to_string(call.collective),
                            to_string(call.op), to_string(call.type)));
  }
  if (!lacks_its_part(call)) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: {} needs a CustomOp with its {}", to_string(call.collective),
                          to_string(call.op), call.op == ReduceOp::Custom ? "function" : "scalar"));
}

void check_operator_by_messages(const Call& call) {
  const bool ordered = reduces(call.collective) && call.op == ReduceOp::Custom;
  if (!ordered || call.custom->commutative) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: an operator that is not commutative needs the order of ranks, which "
                          "only ranks that share the memory of a host keep",
                          to_string(call.collective)));
}

PreMultiplied::PreMultiplied(Path& path, const Call& call,
                             std::shared_ptr<const LoadedProgram> program, std::uint64_t sequence,
                             std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)) {
  Call sum = call;
  const std::uint64_t elements = elements_of(call, engine_->bootstrap().size());
  void* products = call.recv;
  if (call.collective != Collective::AllReduce) {
    const auto guard = engine_->guard();
    work_ = engine_->work().take(elements * size_of(call.type));
    products = work_.data.get();
  }
  premultiply(products, call.send, elements, call.type, call.custom->scalar);
  sum.send = products;
  sum_ = path.start(sum, std::move(program), sequence);
}

PreMultiplied::~PreMultiplied() {
  sum_.reset();  // which reads them to the end
  if (work_.data == nullptr) return;
  const auto guard = engine_->guard();
  engine_->work().give(std::move(work_));
}

}  // namespace multitree::runtime
