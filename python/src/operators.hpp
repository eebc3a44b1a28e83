// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators that are made for one communicator.
#pragma once

#include <memory>
#include <string>

#include "collectives.hpp"
#include "elements.hpp"

namespace multitree::python {

/// A function of Python that combines elements, for mtRedOpCreate().
class Combination {
 public:
  /// `function` takes what is of lower ranks, what is here and is to become the result, as bytes,
  /// and the name of their type.
  explicit Combination(nb::object function) : function_(std::move(function)) {}
  /// mtRedOpFunction_t; `state` is a Combination. By any thread that does not have Python's lock
  /// with it; what the function raises is kept, and it is not called again.
  static void combine(const void* lower, void* here, std::size_t count, mtDataType_t type,
                      void* state);
  /// What the function raised, once. \throws nb::python_error
  void raise();
  [[nodiscard]] bool has_raised() const { return raised_.is_valid(); }

 private:
  nb::object function_, raised_;
};

/// An operator of the library beyond those that have names. Freed with the last reference; what was
/// started with it goes on.
class Operator {
 public:
  Operator(nb::object communicator, mtRedOp_t number, std::string words,
           std::unique_ptr<Combination> combination = nullptr)
      : communicator_(std::move(communicator)),
        number_(number),
        words_(std::move(words)),
        combination_(std::move(combination)) {}
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  /// For a call on `self`. \throws Failure(InvalidArgument): it is another communicator's
  [[nodiscard]] mtRedOp_t number_for(const Communicator& self, const char* call) const;
  /// After a call with it: what its function raised. The result is wrong at all ranks then, so the
  /// communicator is aborted. \throws nb::python_error
  void check() const;
  /// As it was asked for.
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  nb::object communicator_;
  mtRedOp_t number_;
  std::string words_;
  std::unique_ptr<Combination> combination_;
};

/// What `op` of a call means for elements of this type, a name or an Operator, which the call
/// keeps. \throws Failure(InvalidArgument)
void take_operator(Prepared& prepared, nb::handle op, const Communicator& self, const char* call,
                   const ElementType& type);
/// After a call with that, which may be none. \throws nb::python_error
void check_operator(const nb::object& op);

void bind_operators(nb::module_& module, nb::class_<Communicator>& communicator);

}  // namespace multitree::python
