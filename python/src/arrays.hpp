// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory of arrays, as collectives take it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "elements.hpp"

namespace multitree::python {

/// What an array is called in messages: "all_reduce: recv".
struct ArrayName {
  const char* call;
  const char* argument;
  [[nodiscard]] std::string text() const { return std::string(call) + ": " + argument; }
};

/// An array that somebody gave us, side by side in memory, of a type that the library has.
class Array {
 public:
  /// None.
  Array() = default;
  /// NumPy's arrays, what has the buffer protocol, and what has DLPack.
  /// \throws Failure(InvalidArgument) in words that say what to do
  Array(nb::handle object, const ArrayName& name, bool to_be_written);

  [[nodiscard]] bool exists() const { return type_ != nullptr; }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t elements() const { return elements_; }
  /// \pre there is an array
  [[nodiscard]] const ElementType& type() const { return *type_; }

 private:
  bool take_numpy(nb::handle object, const ArrayName& name, bool to_be_written);
  bool take_buffer(nb::handle object, const ArrayName& name, bool to_be_written);
  void take_dlpack(nb::handle object, const ArrayName& name, bool to_be_written);

  void* data_ = nullptr;
  std::size_t elements_ = 0;
  const ElementType* type_ = nullptr;
  nb::object owner_;              ///< keeps the memory
  std::shared_ptr<void> tensor_;  ///< the same of DLPack
};

/// A new array of NumPy with the type and shape of `like`, but for its first dimension, which is
/// `times` as long, of that the `parts`-th part.
/// \throws Failure(InvalidArgument): it cannot be divided; `like` is neither NumPy's nor a buffer
nb::object new_array_like(nb::handle like, const ArrayName& name, std::size_t times,
                          std::size_t parts);
/// One of its type with one dimension. \throws the same
nb::object new_vector_like(nb::handle like, const ArrayName& name, std::size_t elements);

}  // namespace multitree::python
