// SPDX-License-Identifier: BSD-3-Clause
#include "operators.hpp"

#include "waiting.hpp"

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

nb::object make_of_function(nb::handle self, nb::object function, const std::string& words,
                            bool commutative) {
  auto combination = std::make_unique<Combination>(std::move(function));
  mtRedOp_t number{};
  check(mtRedOpCreate(&number, &Combination::combine, combination.get(), commutative ? 1 : 0,
                      nb::cast<Communicator&>(self).usable(kCall)));
  return nb::cast(new Operator(nb::borrow(self), number, words, std::move(combination)),
                  nb::rv_policy::take_ownership);
}

nb::object make_operator(nb::handle self, const std::string& base,
                         const std::optional<std::string>& exact,
                         const std::optional<std::string>& wire, nb::handle factor) {
  if (exact.has_value() + wire.has_value() + !factor.is_none() != 1) {
    throw_invalid(std::string(kCall) +
                  ": expected one of exact, wire, factor and function; without them op=\"" + base +
                  "\" does it");
  }
  const mtRedOp_t number = operator_named(nb::cast(base), kCall);
  if (exact) return make_exact(self, number, base, *exact);
  if (wire) return make_on_wire(self, number, base, *wire);
  return make_multiplied(self, number, base, factor);
}

}  // namespace

void Combination::combine(const void* lower, void* here, std::size_t count, mtDataType_t type,
                          void* state) {
  auto& self = *static_cast<Combination*>(state);
  const nb::gil_scoped_acquire lock;
  if (self.has_raised()) return;
  const ElementType& element = element_of(type);
  const auto view = [&](void* data, int access) {
    return nb::steal(PyMemoryView_FromMemory(
        static_cast<char*>(data), static_cast<Py_ssize_t>(count * element.bytes), access));
  };
  try {
    self.function_(view(const_cast<void*>(lower), PyBUF_READ), view(here, PyBUF_WRITE),
                   element.name);
  } catch (const nb::python_error& error) {
    self.raised_ = nb::borrow(error.value());
  }
}

void Combination::raise() {
  const nb::object raised = std::move(raised_);
  raised_.reset();
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  throw nb::python_error();
}

Operator::~Operator() {
  const auto& communicator = nb::cast<const Communicator&>(communicator_);
  if (communicator.is_closed() || !communicator.is_of_this_process()) return;
  const mtComm_t comm = communicator.usable(kCall);
  const Waiting waiting(false);
  mtRedOpDestroy(number_, comm);
}

void Operator::check() const {
  if (combination_ == nullptr || !combination_->has_raised()) return;
  nb::cast<Communicator&>(communicator_).abort();
  combination_->raise();
}

mtRedOp_t Operator::number_for(const Communicator& self, const char* call) const {
  if (&nb::cast<const Communicator&>(communicator_) == &self) return number_;
  throw_invalid(std::string(call) +
                ": op: expected an operator of this communicator, got one of another: make it by "
                "operator() of this one");
}

void take_operator(Prepared& prepared, nb::handle op, const Communicator& self, const char* call,
                   const ElementType& type) {
  Operator* own = nullptr;
  if (!nb::try_cast(op, own, false) || own == nullptr) {
    prepared.arguments.op = operator_of(op, call, type);
    return;
  }
  if (type.is_bool) {
    throw_invalid(std::string(call) + ": op: expected one of names for an array of bool, got " +
                  nb::repr(op).c_str());
  }
  prepared.arguments.op = own->number_for(self, call);
  prepared.op = nb::borrow(op);
}

void check_operator(const nb::object& op) {
  if (op.is_valid()) nb::cast<const Operator&>(op).check();
}

void bind_operators(nb::module_& module, nb::class_<Communicator>& communicator) {
  nb::class_<Operator>(module, "Operator",
                       "An operator that Communicator.operator() made, for `op` of its calls.")
      .def("__repr__", [](const Operator& self) { return "Operator(" + self.words() + ")"; });
  communicator.def("_operator", make_operator, nb::arg("base"), nb::arg("exact").none(),
                   nb::arg("wire").none(), nb::arg("factor").none());
  communicator.def("_operator_of_function", make_of_function, nb::arg("function"), nb::arg("words"),
                   nb::arg("commutative"));
}

}  // namespace multitree::python
