// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What Python sees.
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/extension.h>

#include "backend.hpp"

namespace py = pybind11;

namespace multitree_torch {
namespace {

using Options = MultitreeBackend::MultitreeOptions;
using BaseOptions = c10d::Backend::Options;

/// As torch has bound its own: by intrusive pointers.
void define_options(py::module_& module) {
  py::class_<Options, c10::intrusive_ptr<Options>, BaseOptions>(module, "Options")
      .def(py::init<std::chrono::milliseconds>(), py::arg("timeout") = kBackendDefaultTimeout)
      .def_property(
          "topology", [](const Options& o) { return o.network.topology; },
          [](Options& o, const std::string& text) { o.network.topology = text; })
      .def_property(
          "algorithm", [](const Options& o) { return o.network.algorithm; },
          [](Options& o, const std::string& text) { o.network.algorithm = text; })
      .def_property(
          "plan", [](const Options& o) { return o.network.plan; },
          [](Options& o, const std::string& text) { o.network.plan = text; })
      .def_property(
          "transport", [](const Options& o) { return o.network.transport; },
          [](Options& o, const std::string& text) { o.network.transport = text; })
      .def_readwrite("buckets", &Options::buckets)
      .def_readwrite("sums", &Options::sums);
}

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size, std::chrono::milliseconds timeout,
                                         const c10::intrusive_ptr<BaseOptions>& options) {
  auto own = c10::make_intrusive<Options>(timeout);
  if (auto* given = dynamic_cast<Options*>(options.get())) {
    own->network = given->network;
    own->buckets = given->buckets;
    own->sums = given->sums;
  }
  return c10::make_intrusive<MultitreeBackend>(store, rank, size, std::move(own));
}

MultitreeBackend& ours(const c10::intrusive_ptr<c10d::Backend>& backend) {
  auto* found = dynamic_cast<MultitreeBackend*>(backend.get());
  TORCH_CHECK_VALUE(found != nullptr,
                    "group: expected one of backend \"multitree\" for CPU tensors, found \"",
                    backend->getBackendName(), "\"");
  return *found;
}

}  // namespace
}  // namespace multitree_torch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  using namespace multitree_torch;
  py::module_::import("torch.distributed");
  define_options(module);
  module.def("create", &create, py::arg("store"), py::arg("rank"), py::arg("size"),
             py::arg("timeout"), py::arg("options"), py::call_guard<py::gil_scoped_release>());
  module.def(
      "empty",
      [](const c10::intrusive_ptr<c10d::Backend>& backend, const std::vector<std::int64_t>& shape,
         const py::object& dtype) {
        const at::ScalarType type = reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type;
        const py::gil_scoped_release release;
        return ours(backend).empty(shape, type);
      },
      py::arg("backend"), py::arg("shape"), py::arg("dtype"));
  module.def(
      "device",
      [](const c10::intrusive_ptr<c10d::Backend>& backend) { return ours(backend).device(); },
      py::arg("backend"));
  module.def(
      "wait_for_closed",
      [](int milliseconds) {
        Communicator::wait_for_closed(std::chrono::milliseconds(milliseconds));
      },
      py::call_guard<py::gil_scoped_release>());
}
