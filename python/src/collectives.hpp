// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls that take arrays, blocking and not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "communicator.hpp"

namespace multitree::python {

/// A call as the C API takes it.
struct Arguments {
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  mtDataType_t type = mtFloat32;
  mtRedOp_t op = mtSum;
  int peer = 0;  ///< or root
  mtComm_t comm = nullptr;
  /// By rank, for those that have them; empty displacements: side by side.
  std::vector<std::size_t> send_counts, send_displs, recv_counts, recv_displs;
};

/// Its functions in the C API, and its name in messages.
struct Functions {
  const char* name;
  mtResult_t (*run)(const Arguments&);
  mtResult_t (*start)(const Arguments&, mtRequest_t*);
};

/// Of a function of the C API, blocking and not, with how its parameters are passed on.
#define MULTITREE_FUNCTIONS(name, function, ...)                                         \
  {                                                                                      \
    name, [](const Arguments& a) { return mt##function(__VA_ARGS__, a.comm, nullptr); }, \
        [](const Arguments& a, mtRequest_t* r) {                                         \
          return mtI##function(__VA_ARGS__, a.comm, nullptr, r);                         \
        }                                                                                \
  }

/// A call that can be made.
struct Prepared {
  Array send, recv;
  nb::object result = nb::none();  ///< what it returns
  nb::object op;                   ///< an Operator, where it has one
  Arguments arguments;
};

/// Makes the call, and returns its result. \throws Failure, nb::python_error
nb::object run(const Functions& functions, Prepared&& prepared);
/// Starts it, and returns a Request. `self` is the communicator. \throws as run()
Request* start(const Functions& functions, nb::handle self, Prepared&& prepared);

/// \throws Failure(InvalidArgument) unless there are as many as expected, for a reason.
void check_elements(const ArrayName& name, const Array& array, std::size_t expected,
                    const std::string& reason);
/// Both arrays are of one type. \throws Failure(InvalidArgument)
void check_types(const char* call, const Array& send, const Array& recv);

using Class = nb::class_<Communicator>;

inline constexpr const char* kStarts =
    "The same, started: returns a `Request` at once. The arrays are the library's until it is "
    "done.";

/// Two methods of what is prepared alike: one that waits, and one that returns a Request.
template <const Functions& functions, auto prepare, typename... Parameters, typename... Extra>
void bind_both(Class& to, const char* name, const char* starting, const char* words,
               const Extra&... extra) {
  to.def(
      name,
      [](const Communicator& self, Parameters... parameters) {
        return run(functions, prepare(self, parameters...));
      },
      extra..., words);
  to.def(
      starting,
      [](nb::handle self, Parameters... parameters) {
        return start(functions, self, prepare(nb::cast<const Communicator&>(self), parameters...));
      },
      extra..., kStarts);
}

void bind_collectives(Class& communicator);
void bind_exchanges(Class& communicator);

}  // namespace multitree::python
