// SPDX-License-Identifier: BSD-3-Clause
#include "operators.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace multitree::python {
namespace {

constexpr const char* kCall = "operator";

/// What `exact` may be.
struct Unit {
  std::string_view name;
  mtExact_t unit;
};
constexpr std::array kUnits{Unit{"elements", mtExactElements}, Unit{"blocks", mtExactBlocks}};

/// What `wire` may be.
struct Wire {
  std::string_view name;
  mtDataType_t type;
};
constexpr std::array kWires{Wire{"float16", mtFloat16}, Wire{"bfloat16", mtBfloat16},
                            Wire{"int8", mtInt8}};

/// The row of that name. \throws Failure(InvalidArgument)
template <typename Row, std::size_t n>
const Row& find(const std::array<Row, n>& rows, const std::string& name, const char* argument) {
  const auto* const row = std::ranges::find(rows, std::string_view(name), &Row::name);
  if (row != rows.end()) return *row;
  std::string names;
  for (const Row& one : rows) names += (names.empty() ? "" : ", ") + std::string(one.name);
  throw_invalid(std::string(kCall) + ": " + argument + ": expected one of " + names + ", got '" +
                name + "'");
}

nb::object made(nb::handle self, mtRedOp_t number, std::string words) {
  return nb::cast(new Operator(nb::borrow(self), number, std::move(words)),
                  nb::rv_policy::take_ownership);
}

[[noreturn]] void refuse_base(const char* expected, const std::string& base) {
  throw_invalid(std::string(kCall) + ": base: expected " + expected + ", got " + base);
}

nb::object make_exact(nb::handle self, mtRedOp_t base, const std::string& words,
                      const std::string& exact) {
  if (base != mtSum && base != mtAvg) refuse_base("sum or avg for exact ones", words);
  mtRedOp_t number{};
  check(mtRedOpCreateExact(&number, base, find(kUnits, exact, "exact").unit,
                           nb::cast<Communicator&>(self).usable(kCall)));
  return made(self, number, words + ", exact=" + exact);
}

nb::object make_on_wire(nb::handle self, mtRedOp_t base, const std::string& words,
                        const std::string& wire) {
  if (base >= mtBitAnd) refuse_base("sum, prod, max, min or avg for floats on the wire", words);
  mtRedOp_t number{};
  check(mtRedOpCreateOnWire(&number, base, find(kWires, wire, "wire").type,
                            nb::cast<Communicator&>(self).usable(kCall)));
  return made(self, number, words + ", wire=" + wire);
}

nb::object make_multiplied(nb::handle self, mtRedOp_t base, const std::string& words,
                           nb::handle factor) {
  if (base != mtSum) refuse_base("sum with a factor", words);
  const Array scalar(factor, {kCall, "factor"}, false);
  if (scalar.elements() != 1 || scalar.type().is_bool) {
    throw_invalid(std::string(kCall) +
                  ": factor: expected one number in an array of the type of the calls, as "
                  "np.array(0.5, np.float32), got " +
                  std::to_string(scalar.elements()) + " of " + scalar.type().name);
  }
  mtRedOp_t number{};
  check(mtRedOpCreatePreMulSum(&number, const_cast<void*>(scalar.data()), scalar.type().type,
                               mtScalarHostImmediate, nb::cast<Communicator&>(self).usable(kCall)));
  return made(self, number,
              words + ", factor=" + nb::str(factor).c_str() + " of " + scalar.type().name);
}

nb::object make_operator(nb::handle self, const std::string& base,
                         const std::optional<std::string>& exact,
                         const std::optional<std::string>& wire, nb::handle factor) {
  if (exact.has_value() + wire.has_value() + !factor.is_none() != 1) {
    throw_invalid(std::string(kCall) +
                  ": expected one of exact, wire and factor; without them op=\"" + base +
                  "\" does it");
  }
  const mtRedOp_t number = operator_named(nb::cast(base), kCall);
  if (exact) return make_exact(self, number, base, *exact);
  if (wire) return make_on_wire(self, number, base, *wire);
  return make_multiplied(self, number, base, factor);
}

}  // namespace

Operator::~Operator() {
  const auto& communicator = nb::cast<const Communicator&>(communicator_);
  if (communicator.is_closed() || !communicator.is_of_this_process()) return;
  mtRedOpDestroy(number_, communicator.usable(kCall));
}

mtRedOp_t Operator::number_for(const Communicator& self, const char* call) const {
  if (&nb::cast<const Communicator&>(communicator_) == &self) return number_;
  throw_invalid(std::string(call) +
                ": op: expected an operator of this communicator, got one of another: make it by "
                "operator() of this one");
}

mtRedOp_t operator_of(nb::handle op, const Communicator& self, const char* call,
                      const ElementType& type) {
  Operator* own = nullptr;
  if (!nb::try_cast(op, own, false) || own == nullptr) return operator_of(op, call, type);
  if (type.is_bool) {
    throw_invalid(std::string(call) + ": op: expected one of names for an array of bool, got " +
                  nb::repr(op).c_str());
  }
  return own->number_for(self, call);
}

void bind_operators(nb::module_& module, nb::class_<Communicator>& communicator) {
  nb::class_<Operator>(module, "Operator",
                       "An operator that Communicator.operator() made, for `op` of its calls.")
      .def("__repr__", [](const Operator& self) { return "Operator(" + self.words() + ")"; });
  communicator.def("_operator", make_operator, nb::arg("base"), nb::arg("exact").none(),
                   nb::arg("wire").none(), nb::arg("factor").none());
}

}  // namespace multitree::python
