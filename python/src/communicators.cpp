// SPDX-License-Identifier: BSD-3-Clause
// Communicators and requests as classes of Python.
#include "collectives.hpp"
#include "errors.hpp"
#include "operators.hpp"

namespace multitree::python {
namespace {

nb::bytes unique_id() {
  mtUniqueId id;
  check(mtGetUniqueId(&id));
  return nb::bytes(id.internal, sizeof id.internal);
}

std::optional<std::string> text_of(const std::optional<nb::bytes>& bytes) {
  if (!bytes) return std::nullopt;
  return std::string(bytes->c_str(), bytes->size());
}

void make(Communicator* self, int rank, int size, const std::optional<nb::bytes>& id,
          const Wishes& wishes) {
  new (self) Communicator(rank, size, text_of(id), wishes);
}

/// Of the class of `self`, which may be one of Python's.
nb::object another(nb::handle self, mtComm_t handle) {
  const nb::object made = nb::inst_alloc(self.type());
  new (nb::inst_ptr<Communicator>(made)) Communicator(handle);
  nb::inst_mark_ready(made);
  return made;
}

/// None where this rank is in no part.
nb::object split(nb::handle self, std::optional<int> color, int key) {
  const mtComm_t part = nb::cast<Communicator&>(self).split(color.value_or(MT_SPLIT_NOCOLOR), key);
  return part == nullptr ? nb::none() : another(self, part);
}

nb::object shrink(nb::handle self, const std::vector<int>& without, bool around_links,
                  bool give_up) {
  auto& old = nb::cast<Communicator&>(self);
  nb::object left = another(self, old.shrink(without, around_links, give_up));
  old.close();
  return left;
}

nb::object grow(nb::handle self, int size, const std::optional<nb::bytes>& id,
                std::optional<int> rank) {
  auto& old = nb::cast<Communicator&>(self);
  return another(self, old.grow(size, text_of(id), rank.value_or(-1)));
}

void bind_requests(nb::module_& module) {
  nb::class_<Request>(
      module, "Request",
      "A collective that was started; its arrays are kept, and belong to the library until it is "
      "complete. It goes on by itself. In a `with` statement it is waited for at the end.")
      .def("wait", &Request::wait, nb::arg("timeout") = nb::none(),
           "Waits until it is complete, `timeout` seconds at most (None: until the communicator's "
           "deadline), and "
           "returns the array of the result.\n\nRaises Timeout where it is not complete by then: "
           "it goes on, and can be "
           "waited for again, as it can after a KeyboardInterrupt. Else as the blocking call.")
      .def("test", &Request::test,
           "Whether it is complete; never waits. Raises as the blocking call.")
      .def_prop_ro("done", &Request::is_done, "Whether wait() or test() has found it complete.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__",
           [](Request& self, nb::args arguments) {
             // Of an exception in between the request is let go, and completes by itself.
             if (arguments.size() == 0 || arguments[0].is_none()) self.wait(std::nullopt);
           })
      .def("__repr__", [](const Request& self) {
        return std::string("Request(") + self.call() +
               (self.is_done() ? ": complete)" : ": under way)");
      });
}

}  // namespace

void bind_communicators(nb::module_& module) {
  nb::class_<Wishes>(module, "_Wishes")
      .def(nb::init<>())
      .def_rw("timeout", &Wishes::timeout)
      .def_rw("join_timeout", &Wishes::join_timeout)
      .def_rw("topology", &Wishes::topology)
      .def_rw("algorithm", &Wishes::algorithm)
      .def_rw("plan", &Wishes::plan)
      .def_rw("transport", &Wishes::transport)
      .def_rw("tuning", &Wishes::tuning)
      .def_rw("progress", &Wishes::progress)
      .def_rw("segment", &Wishes::segment)
      .def_rw("refine", &Wishes::refine)
      .def_rw("link_timeout", &Wishes::link_timeout)
      .def_rw("on_link_failure", &Wishes::on_link_failure)
      .def_rw("encrypt", &Wishes::encrypt)
      .def_rw("devices", &Wishes::devices);
  bind_requests(module);
  Class communicator(module, "CommunicatorBase", "What is behind `multitree.Communicator`.");
  communicator
      .def("__init__", make, nb::arg("rank"), nb::arg("size"), nb::arg("id").none(),
           nb::arg("wishes"))
      .def_prop_ro("rank", &Communicator::rank, "The number of this process, from 0.")
      .def_prop_ro("size", &Communicator::size, "The number of ranks.")
      .def_prop_ro("closed", &Communicator::is_closed, "Whether close() or abort() was called.")
      .def("failure", &Communicator::failure,
           "None, or why it cannot be used any more, also when a rank has died and no call has "
           "noticed yet; never waits.")
      .def("barrier", &Communicator::barrier,
           "Waits until all ranks are here and what this one has started is complete. Raises as "
           "all_reduce().")
      .def("close", &Communicator::close,
           "Collective: completes what was started, waits for all ranks, and leaves. Further calls "
           "do nothing. Raises "
           "TransportError, Timeout; it is closed all the same.")
      .def("abort", &Communicator::abort,
           "Leaves at once, from any thread: calls that are blocked on it raise Aborted here, and "
           "TransportError, which "
           "names this rank, at the others.")
      .def("_split", split, nb::arg("color").none(), nb::arg("key"))
      .def("_shrink", shrink, nb::arg("without"), nb::arg("around_links"), nb::arg("give_up"))
      .def("_grow", grow, nb::arg("size"), nb::arg("id").none(), nb::arg("rank").none());
  bind_collectives(communicator);
  bind_exchanges(communicator);
  bind_operators(module, communicator);
  module.def("unique_id", unique_id,
             "128 bytes by which ranks find each other, for `Communicator(rank, size, id=...)`: "
             "made by one process, by custom "
             "rank 0, which must join with it too, and sent to the others by any means. For one "
             "communicator. Raises "
             "SystemFailure (no port).");
  module.def("_close_all", close_all, nb::arg("abort"));
  module.def("_attend_to_signals", attend_to_signals);
}

}  // namespace multitree::python
