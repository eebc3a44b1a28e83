// SPDX-License-Identifier: BSD-3-Clause
// From what Python programs hold data in to pointers, counts and types.
#define NPY_NO_DEPRECATED_API NPY_1_20_API_VERSION
#include "arrays.hpp"

#include <numpy/ndarraytypes.h>

#include <algorithm>
#include <array>

#include "errors.hpp"

namespace multitree::python {
namespace {

/// NumPy's class and functions. Never let go of: at the end of the process it may be gone before.
struct Numpy {
  nb::object array = nb::module_::import_("numpy").attr("ndarray");
  nb::object asarray = nb::module_::import_("numpy").attr("asarray");
  nb::object empty = nb::module_::import_("numpy").attr("empty");
};
const Numpy& numpy() {
  static const auto* const functions = new Numpy();
  return *functions;
}

/// DLPack's devices whose memory the library takes: host, CUDA, pinned, managed.
constexpr std::array kDevices{nb::device::cpu::value, nb::device::cuda::value,
                              nb::device::cuda_host::value, nb::device::cuda_managed::value};

std::string text_of(nb::handle object, const char* attribute) {
  return nb::str(nb::object(object.attr(attribute))).c_str();
}

bool is_numpy(nb::handle object) {
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(numpy().array.ptr())) !=
         0;
}

[[noreturn]] void throw_type(const ArrayName& name, const std::string& found) {
  throw_invalid(name.text() +
                ": expected floats of 16 to 64 bits, bfloat16, integers or bool, got " + found +
                (found.starts_with("complex") ? ": pass array.view() as floats of half the size"
                                              : ": convert it with array.astype()"));
}

[[noreturn]] void throw_read_only(const ArrayName& name) {
  throw_invalid(
      name.text() +
      ": expected an array that can be written, got a read-only one: pass a copy of it, or "
      "another array for the result");
}

[[noreturn]] void throw_strided(const ArrayName& name, const std::string& found,
                                bool to_be_written) {
  throw_invalid(name.text() + ": expected an array that is contiguous in C's order, got " + found +
                (to_be_written ? ": use one that is, and copy the result back"
                               : ": pass np.ascontiguousarray(array)"));
}

/// Of an array that lacks one of the flags that all good ones have.
void check_flags(nb::handle object, const PyArrayObject_fields& array, const ArrayName& name,
                 bool to_be_written) {
  if (array.descr->byteorder == NPY_OPPBYTE) {
    throw_invalid(name.text() + ": expected numbers in this machine's order of bytes, got dtype " +
                  nb::repr(nb::object(object.attr("dtype"))).c_str() +
                  ": pass array.astype(array.dtype.newbyteorder('='))");
  }
  if ((array.flags & NPY_ARRAY_C_CONTIGUOUS) == 0) {
    throw_strided(
        name, "shape " + text_of(object, "shape") + " with strides " + text_of(object, "strides"),
        to_be_written);
  }
  if ((array.flags & NPY_ARRAY_ALIGNED) == 0) {
    throw_invalid(name.text() + ": expected memory that is aligned to its elements, got " +
                  text_of(object, "dtype") + " that is not: pass array.copy()");
  }
  if (to_be_written && (array.flags & NPY_ARRAY_WRITEABLE) == 0) throw_read_only(name);
}

bool is_side_by_side(const nb::ndarray<nb::ro>& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.ndim(); i-- > 0;) {
    if (tensor.shape(i) != 1 && tensor.stride(i) != expected) return false;
    expected *= static_cast<std::int64_t>(tensor.shape(i));
  }
  return true;
}

std::string numbers_of(std::size_t count, const std::int64_t* numbers) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "(" : ", ") + std::to_string(numbers[i]);
  return text + ")";
}

}  // namespace

Array::Array(nb::handle object, const ArrayName& name, bool to_be_written) {
  if (take_numpy(object, name, to_be_written) || take_buffer(object, name, to_be_written)) return;
  if (!nb::hasattr(object, "__dlpack__")) {
    throw_invalid(name.text() +
                  ": expected an array of NumPy, or what has the buffer protocol or DLPack, got " +
                  nb::type_name(object.type()).c_str() + ": pass np.asarray() of it");
  }
  take_dlpack(object, name, to_be_written);
}

bool Array::take_numpy(nb::handle object, const ArrayName& name, bool to_be_written) {
  if (!is_numpy(object)) return false;
  const auto& array = *reinterpret_cast<const PyArrayObject_fields*>(object.ptr());
  type_ = find_numpy_type(reinterpret_cast<PyObject*>(array.descr));
  if (type_ == nullptr) throw_type(name, text_of(object, "dtype"));
  constexpr int kGood = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
  if ((array.flags & kGood) != kGood || array.descr->byteorder == NPY_OPPBYTE)
    check_flags(object, array, name, to_be_written);
  data_ = array.data;
  elements_ = 1;
  for (int i = 0; i < array.nd; ++i) elements_ *= static_cast<std::size_t>(array.dimensions[i]);
  owner_ = nb::borrow(object);
  return true;
}

bool Array::take_buffer(nb::handle object, const ArrayName& name, bool to_be_written) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  // An array over that memory, which keeps it as it is.
  PyObject* const view = PyMemoryView_FromObject(object.ptr());
  if (view == nullptr) throw nb::python_error();
  return take_numpy(numpy().asarray(nb::steal(view)), name, to_be_written);
}

void Array::take_dlpack(nb::handle object, const ArrayName& name, bool to_be_written) {
  nb::ndarray<nb::ro> tensor;
  nb::ndarray<> writable;
  if (!nb::try_cast(object, tensor)) {
    throw_invalid(name.text() + ": expected an array that DLPack can hand over, got " +
                  nb::type_name(object.type()).c_str() + " that it cannot");
  }
  if (std::ranges::find(kDevices, tensor.device_type()) == kDevices.end()) {
    throw_invalid(name.text() +
                  ": expected memory of the host or of a CUDA device, got DLPack's device " +
                  std::to_string(tensor.device_type()) + ": copy it to the host");
  }
  type_ = find_dlpack_type(tensor.dtype());
  if (type_ == nullptr) {
    throw_type(name, nb::hasattr(object, "dtype") ? text_of(object, "dtype") : "another type");
  }
  if (tensor.size() > 1 && !is_side_by_side(tensor)) {
    throw_strided(name,
                  "shape " + numbers_of(tensor.ndim(), tensor.shape_ptr()) + " with strides " +
                      numbers_of(tensor.ndim(), tensor.stride_ptr()) + " in elements",
                  to_be_written);
  }
  if (to_be_written && !nb::try_cast(object, writable)) throw_read_only(name);
  data_ = const_cast<void*>(tensor.data());
  elements_ = tensor.size();
  owner_ = nb::borrow(object);
  tensor_ = std::make_shared<nb::ndarray<nb::ro>>(tensor);
}

namespace {

nb::object numpy_of(nb::handle like, const ArrayName& name) {
  if (is_numpy(like)) return nb::borrow(like);
  if (PyObject_CheckBuffer(like.ptr()) == 0) {
    throw_invalid(name.text() + ": expected an array for the result beside one of type " +
                  nb::type_name(like.type()).c_str() + ", got none: only NumPy's are made here");
  }
  return numpy().asarray(nb::steal(PyMemoryView_FromObject(like.ptr())));
}

nb::handle type_of(const PyArrayObject_fields& array) {
  return reinterpret_cast<PyObject*>(array.descr);
}

}  // namespace

nb::object new_array_like(nb::handle like, const ArrayName& name, std::size_t times,
                          std::size_t parts) {
  const nb::object source = numpy_of(like, name);
  const auto& array = *reinterpret_cast<const PyArrayObject_fields*>(source.ptr());
  if (times == 1 && parts == 1) return numpy().empty(source.attr("shape"), type_of(array));
  const std::size_t rows =
      (array.nd == 0 ? 1 : static_cast<std::size_t>(array.dimensions[0])) * times;
  if (rows % parts != 0) {
    throw_invalid(std::string(name.call) +
                  ": send: expected a first dimension that is a multiple of the " +
                  std::to_string(parts) + " ranks, got shape " + text_of(source, "shape") +
                  ": pad it, or use the form with counts");
  }
  nb::list shape;
  shape.append(rows / parts);
  for (int i = 1; i < array.nd; ++i) shape.append(static_cast<Py_ssize_t>(array.dimensions[i]));
  return numpy().empty(nb::tuple(shape), type_of(array));
}

nb::object new_vector_like(nb::handle like, const ArrayName& name, std::size_t elements) {
  const nb::object source = numpy_of(like, name);
  return numpy().empty(elements,
                       type_of(*reinterpret_cast<const PyArrayObject_fields*>(source.ptr())));
}

}  // namespace multitree::python
