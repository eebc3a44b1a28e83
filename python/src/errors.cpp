// SPDX-License-Identifier: BSD-3-Clause
#include "errors.hpp"

#include <multitree/error.hpp>

#include "bindings.hpp"

namespace multitree::python {
namespace {

const char* kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "InvalidArgument";
    case ErrorCode::Unsupported:
      return "Unsupported";
    case ErrorCode::InvalidInput:
      return "InvalidInput";
    case ErrorCode::Io:
      return "FileError";
    case ErrorCode::Transport:
      return "TransportError";
    case ErrorCode::Timeout:
      return "Timeout";
    case ErrorCode::Cuda:
      return "DeviceError";
  }
  return "Error";
}

void raise(const char* kind, const char* words) {
  // The classes are Python's own (multitree/errors.py), so that they have more than one base.
  const nb::object errors = nb::module_::import_("multitree.errors");
  PyErr_SetString(nb::object(errors.attr(kind)).ptr(), words);
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(kind_of(error.code()), error.what());
  } catch (const Failure& failure) {
    raise(failure.kind().c_str(), failure.what());
  }
}

}  // namespace

std::string kind_of(mtResult_t result) {
  switch (result) {
    case mtCudaError:
      return "DeviceError";
    case mtSystemError:
      return "SystemFailure";
    case mtInvalidArgument:
      return "InvalidArgument";
    case mtInvalidUsage:
      return "InvalidUsage";
    case mtRemoteError:
      return "TransportError";
    case mtTimeout:
      return "Timeout";
    case mtAborted:
      return "Aborted";
    case mtUnsupported:
      return "Unsupported";
    default:
      return "InternalError";
  }
}

void check(mtResult_t result) {
  if (result != mtSuccess) throw Failure(kind_of(result), mtGetLastError(nullptr));
}

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace multitree::python
