// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators by number, those that are made at run time among them.
#include "runtime/c/operators_internal.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "runtime/c/result_internal.hpp"

namespace multitree::runtime::c {
namespace {

/// Values by the numbers that they have in the C API.
template <typename Value>
class ByNumber {
 public:
  ByNumber(std::initializer_list<std::span<const Value>> lists) {
    for (const std::span<const Value> list : lists) {
      for (const Value value : list) {
        values_.at(static_cast<std::size_t>(c_name(value).number)) = value;
      }
    }
  }
  [[nodiscard]] std::optional<Value> find(int number) const {
    const bool known = number >= 0 && static_cast<std::size_t>(number) < values_.size();
    return known ? values_[static_cast<std::size_t>(number)] : std::nullopt;
  }

 private:
  std::array<std::optional<Value>, 64> values_;
};

const ByNumber<ReduceOp>& common_operators() {
  static const ByNumber<ReduceOp> all{all_reduce_ops()};
  return all;
}

std::optional<ReduceOp> find_built_in(int number) {
  static const ByNumber<ReduceOp> all{all_reduce_ops(), logic_ops()};
  return all.find(number);
}

/// One that was made at run time.
struct Made {
  std::weak_ptr<Comm> comm;
  ReduceOp op{};
  std::shared_ptr<const CustomOp> custom;
  std::optional<DataType> type;  ///< the only one that it is for
  WireType wire = WireType::AsIs;
  Summing summing = Summing::Floats;
};

/// Numbers are never used twice, so one that was freed is told from a good one.
class Operators {
 public:
  mtRedOp_t add(Made made) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(made_, [](const auto& entry) { return entry.second.comm.expired(); });
    if (next_ == mtMaxRedOp) throw Failure(mtSystemError, "no more numbers for operators");
    made_.emplace(next_, std::move(made));
    return static_cast<mtRedOp_t>(next_++);
  }

  [[nodiscard]] Made find(int number, const std::shared_ptr<Comm>& comm) {
    const std::scoped_lock lock(mutex_);
    return locate(number, comm)->second;
  }

  void remove(int number, const std::shared_ptr<Comm>& comm) {
    const std::scoped_lock lock(mutex_);
    made_.erase(locate(number, comm));
  }

 private:
  /// \pre locked
  std::map<int, Made>::iterator locate(int number, const std::shared_ptr<Comm>& comm) {
    const auto it = made_.find(number);
    if (it == made_.end()) {
      throw Failure(mtInvalidArgument, fmt::format("op: expected an mtRedOp_t, found {}", number));
    }
    if (it->second.comm.lock() == comm) return it;
    throw Failure(mtInvalidArgument,
                  fmt::format("op: {} was made for another communicator", number));
  }

  std::mutex mutex_;
  int next_ = 1 << 16;  // far from what NCCL and this library may number one day
  std::map<int, Made> made_;
};

/// Never destroyed, as the list of communicators.
Operators& operators() {
  static auto* const all = new Operators();
  return *all;
}

/// \throws Failure(mtInvalidArgument)
Summing summing_of(mtExact_t unit) {
  switch (static_cast<int>(unit)) {
    case mtExactElements:
      return Summing::Elements;
    case mtExactBlocks:
      return Summing::Blocks;
    default:
      throw Failure(mtInvalidArgument,
                    fmt::format("unit: expected an mtExact_t, found {}", static_cast<int>(unit)));
  }
}

/// \throws Failure(mtInvalidArgument)
WireType wire_of(mtDataType_t type) {
  switch (static_cast<int>(type)) {
    case mtFloat16:
      return WireType::Float16;
    case mtBfloat16:
      return WireType::BFloat16;
    case mtInt8:
      return WireType::Int8;
    default:
      throw Failure(mtInvalidArgument,
                    fmt::format("wire: expected mtFloat16, mtBfloat16 or mtInt8, found {}",
                                static_cast<int>(type)));
  }
}

}  // namespace

DataType type_of(mtDataType_t type) {
  static const ByNumber<DataType> all{all_data_types()};
  const int number = static_cast<int>(type);
  if (const auto found = all.find(number)) return *found;
  throw Failure(mtInvalidArgument, fmt::format("type: expected an mtDataType_t, found {}", number));
}

ReduceOp built_in_operator(mtRedOp_t op) {
  if (const auto found = find_built_in(static_cast<int>(op))) return *found;
  throw Failure(mtInvalidArgument,
                fmt::format("op: expected a built-in mtRedOp_t, found {}", static_cast<int>(op)));
}

void set_operator(Call& call, mtRedOp_t op, const std::shared_ptr<Comm>& comm) {
  const int number = static_cast<int>(op);
  if (const auto built_in = find_built_in(number)) {
    call.op = *built_in;
    return;
  }
  const Made made = operators().find(number, comm);
  if (made.type && *made.type != call.type) {
    throw Failure(mtInvalidArgument,
                  fmt::format("op: {} was made for {}, the call is of {}", number,
                              to_string(*made.type), to_string(call.type)));
  }
  call.op = made.op;
  call.custom = made.custom;
  call.wire = made.wire;
  call.summing = made.summing;
}

}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;
using multitree::runtime::CustomOp;
using multitree::runtime::DataType;
using multitree::runtime::ReduceOp;

mtResult_t mtRedOpCreate(mtRedOp_t* op, mtRedOpFunction_t function, void* state, int commutative,
                         mtComm_t comm) {
  return guarded([&] {
    require(op, "op");
    if (function == nullptr) throw Failure(mtInvalidArgument, "function is NULL");
    auto custom = std::make_shared<CustomOp>();
    custom->function = [function, state](const void* in, void* inout, std::size_t count,
                                         DataType type) {
      function(in, inout, count, static_cast<mtDataType_t>(c_name(type).number), state);
    };
    custom->commutative = commutative != 0;
    *op = operators().add({find(comm), ReduceOp::Custom, std::move(custom), std::nullopt});
  });
}

mtResult_t mtRedOpCreatePreMulSum(mtRedOp_t* op, void* scalar, mtDataType_t type,
                                  mtScalarResidence_t residence, mtComm_t comm) {
  return guarded([&] {
    require(op, "op");
    require(scalar, "scalar");
    const DataType of = type_of(type);
    const int where = static_cast<int>(residence);
    if (where != mtScalarDevice && where != mtScalarHostImmediate) {
      throw Failure(mtInvalidArgument,
                    fmt::format("residence: expected an mtScalarResidence_t, found {}", where));
    }
    struct WithScalar : CustomOp {
      std::array<std::byte, 8> value{};
    };
    auto custom = std::make_shared<WithScalar>();
    custom->scalar = scalar;
    if (where == mtScalarHostImmediate) {
      std::memcpy(custom->value.data(), scalar, size_of(of));
      custom->scalar = custom->value.data();
    }
    *op = operators().add({find(comm), ReduceOp::PreMulSum, std::move(custom), of});
  });
}

mtResult_t mtRedOpCreateOnWire(mtRedOp_t* op, mtRedOp_t base, mtDataType_t wire, mtComm_t comm) {
  return guarded([&] {
    require(op, "op");
    const auto built_in = common_operators().find(static_cast<int>(base));
    if (!built_in) {
      throw Failure(mtInvalidArgument,
                    fmt::format("base: expected mtSum, mtProd, mtMax, mtMin or mtAvg, found {}",
                                static_cast<int>(base)));
    }
    *op = operators().add({find(comm), *built_in, nullptr, DataType::Float32, wire_of(wire)});
  });
}

mtResult_t mtRedOpCreateExact(mtRedOp_t* op, mtRedOp_t base, mtExact_t unit, mtComm_t comm) {
  return guarded([&] {
    require(op, "op");
    if (base != mtSum && base != mtAvg) {
      throw Failure(mtInvalidArgument,
                    fmt::format("base: expected mtSum or mtAvg, found {}", static_cast<int>(base)));
    }
    Made made{find(comm), base == mtSum ? ReduceOp::Sum : ReduceOp::Avg, nullptr, std::nullopt};
    made.summing = summing_of(unit);
    *op = operators().add(std::move(made));
  });
}

mtResult_t mtRedOpDestroy(mtRedOp_t op, mtComm_t comm) {
  return guarded([&] { operators().remove(static_cast<int>(op), find(comm)); });
}
