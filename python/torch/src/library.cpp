// SPDX-License-Identifier: BSD-3-Clause
#include "library.hpp"

#include <c10/util/Exception.h>

#include <map>

namespace multitree_torch {
namespace {

std::string words_of(mtResult_t result, mtComm_t comm) {
  std::string words;
  if (comm != nullptr) words = mtGetLastError(comm);
  if (words.empty()) words = mtGetLastError(nullptr);
  const std::string meaning = mtGetErrorString(result);
  return words.empty() ? meaning : meaning + ": " + words;
}

mtRedOp_t of_bool(c10d::ReduceOp::RedOpType op, const std::string& what) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::MAX:
    case c10d::ReduceOp::BOR:
      return mtMax;  // of 0 and 1
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::BAND:
      return mtMin;
    case c10d::ReduceOp::BXOR:
      return mtBitXor;
    default:
      C10_THROW_ERROR(ValueError, what +
                                      ": expected SUM, PRODUCT, MIN, MAX, BAND, BOR or BXOR for "
                                      "bool tensors, found another operator; convert to uint8");
  }
}

mtRedOp_t of_number(c10d::ReduceOp::RedOpType op, const at::Tensor& tensor,
                    const std::string& what) {
  const bool complex = tensor.is_complex();
  const bool whole = c10::isIntegralType(tensor.scalar_type(), false);
  switch (op) {
    case c10d::ReduceOp::SUM:
      return mtSum;
    case c10d::ReduceOp::AVG:
      return mtAvg;
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::MAX:
      if (complex) {
        C10_THROW_ERROR(ValueError, what +
                                        ": all_reduce does not support this operator on complex "
                                        "tensors: expected SUM or AVG");
      }
      return op == c10d::ReduceOp::PRODUCT ? mtProd : op == c10d::ReduceOp::MIN ? mtMin : mtMax;
    case c10d::ReduceOp::BAND:
    case c10d::ReduceOp::BOR:
    case c10d::ReduceOp::BXOR:
      if (!whole) {
        C10_THROW_ERROR(ValueError, what +
                                        ": Cannot use ReduceOp.BAND, BOR or BXOR with non-integral "
                                        "dtype " +
                                        c10::toString(tensor.scalar_type()));
      }
      return op == c10d::ReduceOp::BAND ? mtBitAnd : op == c10d::ReduceOp::BOR ? mtBitOr : mtBitXor;
    default:
      C10_THROW_ERROR(ValueError, what +
                                      ": unknown operator; expected SUM, AVG, PRODUCT, MIN, MAX, "
                                      "BAND, BOR, BXOR or a pre-multiplied sum");
  }
}

}  // namespace

void check(mtResult_t result, const std::string& what, mtComm_t comm) {
  if (result == mtSuccess || result == mtInProgress) return;
  const std::string words = what + ": " + words_of(result, comm);
  if (result == mtInvalidArgument) C10_THROW_ERROR(ValueError, words);
  if (result == mtUnsupported) C10_THROW_ERROR(NotImplementedError, words);
  C10_THROW_ERROR(DistBackendError, words);
}

std::exception_ptr failure(mtResult_t result, const std::string& what, mtComm_t comm) {
  try {
    check(result, what, comm);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

Elements elements_of(const at::Tensor& tensor, const std::string& what) {
  switch (tensor.scalar_type()) {
    case at::kChar:
      return {mtInt8, 1};
    case at::kByte:
    case at::kBool:
      return {mtUint8, 1};
    case at::kShort:
      return {mtInt16, 1};
    case at::kInt:
      return {mtInt32, 1};
    case at::kLong:
      return {mtInt64, 1};
    case at::kUInt16:
      return {mtUint16, 1};
    case at::kUInt32:
      return {mtUint32, 1};
    case at::kUInt64:
      return {mtUint64, 1};
    case at::kHalf:
      return {mtFloat16, 1};
    case at::kBFloat16:
      return {mtBfloat16, 1};
    case at::kFloat:
      return {mtFloat32, 1};
    case at::kDouble:
      return {mtFloat64, 1};
    case at::kComplexHalf:
      return {mtFloat16, 2};
    case at::kComplexFloat:
      return {mtFloat32, 2};
    case at::kComplexDouble:
      return {mtFloat64, 2};
    default:
      C10_THROW_ERROR(TypeError,
                      what +
                          ": Invalid scalar type: expected bool, integers of 8 to 64 bits, "
                          "float16, bfloat16, float32, float64 or complex, found " +
                          c10::toString(tensor.scalar_type()) + "; convert before reducing");
  }
}

bool reduced_on_devices(const c10d::ReduceOp& op, const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kShort:
    case at::kUInt16:
    case at::kUInt32:
    case at::kUInt64:
      return false;
    case at::kBool:
      return op.op_ != c10d::ReduceOp::BXOR && op.op_ != c10d::ReduceOp::PREMUL_SUM;
    default:
      return op.op_ == c10d::ReduceOp::SUM || op.op_ == c10d::ReduceOp::AVG ||
             op.op_ == c10d::ReduceOp::PRODUCT || op.op_ == c10d::ReduceOp::MIN ||
             op.op_ == c10d::ReduceOp::MAX;
  }
}

Sums::Sums(const std::string& name) {
  if (name.empty()) return;
  if (name == "exact" || name == "exact-blocks") {
    kind_ = Kind::Exact;
    unit_ = name == "exact" ? mtExactElements : mtExactBlocks;
    return;
  }
  static const std::map<std::string, mtDataType_t> wires{
      {"float16", mtFloat16}, {"bfloat16", mtBfloat16}, {"int8", mtInt8}};
  const auto wire = wires.find(name);
  if (wire == wires.end()) {
    C10_THROW_ERROR(ValueError,
                    "sums (Options.sums, MULTITREE_TORCH_SUMS): expected exact, exact-blocks, "
                    "float16, bfloat16 or int8, found \"" +
                        name + "\"");
  }
  kind_ = Kind::Wire;
  wire_ = wire->second;
}

bool Sums::apply(const c10d::ReduceOp& op, const at::Tensor& tensor) const {
  if (kind_ == Kind::Plain) return false;
  if (op.op_ != c10d::ReduceOp::SUM && op.op_ != c10d::ReduceOp::AVG) return false;
  const at::ScalarType type = c10::toRealValueType(tensor.scalar_type());
  return kind_ == Kind::Wire ? type == at::kFloat : c10::isFloatingType(type);
}

mtResult_t Sums::make(mtRedOp_t* op, mtRedOp_t base, mtComm_t comm) const {
  return kind_ == Kind::Wire ? mtRedOpCreateOnWire(op, base, wire_, comm)
                             : mtRedOpCreateExact(op, base, unit_, comm);
}

Operator::Operator(const c10d::ReduceOp& op, const at::Tensor& tensor, const std::string& what,
                   mtComm_t comm, const Sums& sums)
    : comm_(comm) {
  if (op.op_ == c10d::ReduceOp::PREMUL_SUM) {
    multiply(op, tensor, what);
  } else if (tensor.scalar_type() == at::kBool) {
    op_ = of_bool(op.op_, what);
  } else {
    op_ = of_number(op.op_, tensor, what);
    if (!sums.apply(op, tensor)) return;
    check(sums.make(&op_, op_, comm_), what, comm_);
    made_ = true;
  }
}

Operator::~Operator() {
  if (made_) mtRedOpDestroy(op_, comm_);  // what was started with it goes on
}

void Operator::multiply(const c10d::ReduceOp& op, const at::Tensor& tensor,
                        const std::string& what) {
  const auto* factor = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  if (factor == nullptr || tensor.is_complex() || tensor.scalar_type() == at::kBool) {
    C10_THROW_ERROR(ValueError, what +
                                    ": expected a factor and a tensor of real numbers for a "
                                    "pre-multiplied sum");
  }
  at::Tensor scalar =
      factor->tensor_factor.defined()
          ? factor->tensor_factor.to(at::kCPU, tensor.scalar_type())
          : at::scalar_tensor(factor->double_factor, tensor.options().device(at::kCPU));
  check(mtRedOpCreatePreMulSum(&op_, scalar.data_ptr(), elements_of(tensor, what).type,
                               mtScalarHostImmediate, comm_),
        what, comm_);
  made_ = true;
}

void check_tensor(const at::Tensor& tensor, const std::string& what) {
  if (!tensor.defined()) C10_THROW_ERROR(ValueError, what + ": expected a tensor, found none");
  if (tensor.layout() != at::kStrided) {
    C10_THROW_ERROR(ValueError, what +
                                    ": expected a dense tensor, found a sparse one; call "
                                    "to_dense() first, or use Gloo for it");
  }
  if (!tensor.device().is_cpu() && !tensor.device().is_cuda()) {
    C10_THROW_ERROR(ValueError, what + ": expected a tensor of the CPU or of CUDA, found one of " +
                                    tensor.device().str());
  }
}

std::size_t bytes_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.nbytes()); }

}  // namespace multitree_torch
