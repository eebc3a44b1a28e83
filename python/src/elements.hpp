// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Types of elements under the names that Python, NumPy, DLPack and the library have for them, and
/// operators.
#pragma once

#include <multitree.h>

#include <cstddef>

#include "bindings.hpp"

namespace multitree::python {

/// A type of elements.
struct ElementType {
  const char* name;
  mtDataType_t type;
  std::size_t bytes;
  int numpy[2];          ///< numbers that NumPy has for it; -1: none
  int dlpack_code;       ///< with the bits of `bytes`
  bool is_bool = false;  ///< travels as bytes; operators have to give truth values
};

/// nullptr: the library has none such.
const ElementType* find_numpy_type(nb::handle dtype);
const ElementType* find_dlpack_type(nb::dlpack::dtype type);

/// What arrays of the library's type are called; bytes are no truth values.
/// \pre a type of mtDataType_t
const ElementType& element_of(mtDataType_t type);

/// Operator by name. \throws Failure(InvalidArgument)
mtRedOp_t operator_named(nb::handle op, const char* call);
/// The same for this type. \throws Failure(InvalidArgument)
mtRedOp_t operator_of(nb::handle op, const char* call, const ElementType& type);

/// \throws Failure(InvalidArgument)
[[noreturn]] void throw_invalid(const std::string& words);

}  // namespace multitree::python
