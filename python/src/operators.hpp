// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators that are made for one communicator.
#pragma once

#include <string>

#include "communicator.hpp"
#include "elements.hpp"

namespace multitree::python {

/// An operator of the library beyond those that have names. Freed with the last reference; what was
/// started with it goes on.
class Operator {
 public:
  Operator(nb::object communicator, mtRedOp_t number, std::string words)
      : communicator_(std::move(communicator)), number_(number), words_(std::move(words)) {}
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  /// For a call on `self`. \throws Failure(InvalidArgument): it is another communicator's
  [[nodiscard]] mtRedOp_t number_for(const Communicator& self, const char* call) const;
  /// As it was asked for.
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  nb::object communicator_;
  mtRedOp_t number_;
  std::string words_;
};

/// What `op` of a call means for elements of this type: a name, or an Operator.
/// \throws Failure(InvalidArgument)
mtRedOp_t operator_of(nb::handle op, const Communicator& self, const char* call,
                      const ElementType& type);

void bind_operators(nb::module_& module, nb::class_<Communicator>& communicator);

}  // namespace multitree::python
