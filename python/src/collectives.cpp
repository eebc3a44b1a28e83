// SPDX-License-Identifier: BSD-3-Clause
// Collectives whose arrays hold one share, or one for each rank.
#include "collectives.hpp"

#include "operators.hpp"

namespace multitree::python {
namespace {

/// What one of the arrays holds.
struct Side {
  bool all = false;      ///< a share for each rank, else one
  bool at_root = false;  ///< it is used at the root only
};

struct Row {
  Side send, recv;
  bool reduces;
  Functions functions;
};

constexpr Side kOne{}, kAll{.all = true}, kOneAtRoot{.at_root = true};
constexpr Side kAllAtRoot{.all = true, .at_root = true};

#define MULTITREE_BUFFERS a.send, a.recv, a.count, a.type

constexpr Row kAllReduce{kOne, kOne, true,
                         MULTITREE_FUNCTIONS("all_reduce", AllReduce, MULTITREE_BUFFERS, a.op)};
constexpr Row kReduceScatter{
    kAll, kOne, true,
    MULTITREE_FUNCTIONS("reduce_scatter", ReduceScatter, MULTITREE_BUFFERS, a.op)};
constexpr Row kAllGather{kOne, kAll, false,
                         MULTITREE_FUNCTIONS("all_gather", AllGather, MULTITREE_BUFFERS)};
constexpr Row kReduce{kOne, kOneAtRoot, true,
                      MULTITREE_FUNCTIONS("reduce", Reduce, MULTITREE_BUFFERS, a.op, a.peer)};
constexpr Row kGather{kOne, kAllAtRoot, false,
                      MULTITREE_FUNCTIONS("gather", Gather, MULTITREE_BUFFERS, a.peer)};
constexpr Row kScatter{kAllAtRoot, kOne, false,
                       MULTITREE_FUNCTIONS("scatter", Scatter, MULTITREE_BUFFERS, a.peer)};
constexpr Row kAllToAll{kAll, kAll, false,
                        MULTITREE_FUNCTIONS("all_to_all", AllToAll, MULTITREE_BUFFERS)};
constexpr Functions kBroadcast =
    MULTITREE_FUNCTIONS("broadcast", Broadcast, MULTITREE_BUFFERS, a.peer);

std::size_t shares(const Side& side, std::size_t ranks) { return side.all ? ranks : 1; }

void check_root(const char* call, const Communicator& self, int root) {
  if (root >= 0 && root < self.size()) return;
  throw_invalid(std::string(call) + ": root: expected a rank, 0 to " +
                std::to_string(self.size() - 1) + ", got " + std::to_string(root));
}

/// Elements of a share in an array that has them all.
std::size_t share_of(const Array& array, const Side& side, const ArrayName& name,
                     std::size_t ranks) {
  const std::size_t parts = shares(side, ranks);
  if (array.elements() % parts == 0) return array.elements() / parts;
  throw_invalid(name.text() + ": expected a multiple of the " + std::to_string(parts) +
                " ranks, got " + std::to_string(array.elements()) +
                " elements: pad it, or use the form with counts");
}

/// What is sent, and the result that the caller gave or gets.
void take_arrays(Prepared& call, const Row& row, const Communicator& self, nb::handle send,
                 nb::handle recv, int root) {
  const auto ranks = static_cast<std::size_t>(self.size());
  const char* const name = row.functions.name;
  const bool sends = !row.send.at_root || self.rank() == root;
  const bool receives = !row.recv.at_root || self.rank() == root;
  if (sends && send.is_none())
    throw_invalid(ArrayName{name, "send"}.text() + ": expected an array, got None");
  const bool in_place = sends && receives && send.is(recv);
  if (sends) call.send = Array(send, {name, "send"}, in_place);
  if (!receives) return;
  if (!recv.is_none()) {
    call.result = nb::borrow(recv);
  } else if (sends) {
    call.result =
        new_array_like(send, {name, "recv"}, shares(row.recv, ranks), shares(row.send, ranks));
  } else {
    throw_invalid(ArrayName{name, "recv"}.text() +
                  ": expected an array for the result at ranks other than the root, got None");
  }
  call.recv = in_place ? call.send : Array(call.result, {name, "recv"}, true);
}

Prepared prepare(const Row& row, const Communicator& self, nb::handle send, nb::handle recv,
                 nb::handle op, int root) {
  const auto ranks = static_cast<std::size_t>(self.size());
  const char* const name = row.functions.name;
  Prepared call;
  Arguments& arguments = call.arguments;
  arguments.comm = self.usable(name);
  check_root(name, self, root);
  take_arrays(call, row, self, send, recv, root);
  const bool sends = call.send.exists(), receives = call.recv.exists();
  const Array& first = sends ? call.send : call.recv;
  arguments.count = sends ? share_of(call.send, row.send, {name, "send"}, ranks)
                          : share_of(call.recv, row.recv, {name, "recv"}, ranks);
  if (sends && receives) {
    check_types(name, call.send, call.recv);
    const std::size_t expected = arguments.count * shares(row.recv, ranks);
    if (call.recv.elements() != expected) {  // the words take longer than the call
      check_elements({name, "recv"}, call.recv, expected,
                     std::to_string(call.send.elements()) + " are sent");
    }
  }
  arguments.send = call.send.data();
  arguments.recv = call.recv.data();
  arguments.type = first.type().type;
  arguments.peer = root;
  if (row.reduces) take_operator(call, op, self, name, first.type());
  return call;
}

/// One array, which the root sends and the others receive in.
Prepared prepare_broadcast(const Communicator& self, nb::handle array, int root) {
  Prepared call;
  call.arguments.comm = self.usable(kBroadcast.name);
  check_root(kBroadcast.name, self, root);
  call.recv = Array(array, {kBroadcast.name, "array"}, self.rank() != root);
  call.result = nb::borrow(array);
  call.arguments.send = call.arguments.recv = call.recv.data();
  call.arguments.count = call.recv.elements();
  call.arguments.type = call.recv.type().type;
  call.arguments.peer = root;
  return call;
}

template <const Row& row>
void bind_reducing(Class& to, const char* name, const char* starting, const char* words) {
  constexpr auto prepare_it = [](const Communicator& self, nb::handle send, nb::handle recv,
                                 nb::handle op) { return prepare(row, self, send, recv, op, 0); };
  bind_both<row.functions, prepare_it, nb::handle, nb::handle, nb::handle>(
      to, name, starting, words, nb::arg("send").none(), nb::arg("recv") = nb::none(),
      nb::arg("op").none() = "sum");
}

template <const Row& row>
void bind_moving(Class& to, const char* name, const char* starting, const char* words) {
  constexpr auto prepare_it = [](const Communicator& self, nb::handle send, nb::handle recv) {
    return prepare(row, self, send, recv, {}, 0);
  };
  bind_both<row.functions, prepare_it, nb::handle, nb::handle>(
      to, name, starting, words, nb::arg("send").none(), nb::arg("recv") = nb::none());
}

template <const Row& row>
void bind_rooted(Class& to, const char* name, const char* starting, const char* words) {
  constexpr auto prepare_it = [](const Communicator& self, nb::handle send, nb::handle recv,
                                 int root) { return prepare(row, self, send, recv, {}, root); };
  bind_both<row.functions, prepare_it, nb::handle, nb::handle, int>(
      to, name, starting, words, nb::arg("send").none(), nb::arg("recv") = nb::none(),
      nb::arg("root") = 0);
}

void bind_reduce(Class& to, const char* words) {
  constexpr auto prepare_it = [](const Communicator& self, nb::handle send, nb::handle recv,
                                 nb::handle op,
                                 int root) { return prepare(kReduce, self, send, recv, op, root); };
  bind_both<kReduce.functions, prepare_it, nb::handle, nb::handle, nb::handle, int>(
      to, "reduce", "ireduce", words, nb::arg("send").none(), nb::arg("recv") = nb::none(),
      nb::arg("op").none() = "sum", nb::arg("root") = 0);
}

}  // namespace

nb::object run(const Functions& functions, Prepared&& prepared) {
  call_library([&] { return functions.run(prepared.arguments); });
  check_operator(prepared.op);
  return std::move(prepared.result);
}

Request* start(const Functions& functions, nb::handle self, Prepared&& prepared) {
  nb::cast<Communicator&>(self).sweep();
  auto pending = std::make_unique<Pending>();
  pending->send = std::move(prepared.send);
  pending->recv = std::move(prepared.recv);
  pending->op = std::move(prepared.op);
  // Kept before it is started: what could fail afterwards would leave the library with arrays.
  auto request = std::make_unique<Request>(nb::borrow(self), functions.name, std::move(pending),
                                           std::move(prepared.result));
  call_library([&] { return functions.start(prepared.arguments, request->handle()); });
  return request.release();
}

void check_elements(const ArrayName& name, const Array& array, std::size_t expected,
                    const std::string& reason) {
  if (array.elements() == expected) return;
  throw_invalid(name.text() + ": expected " + std::to_string(expected) + " elements, as " + reason +
                ", got " + std::to_string(array.elements()));
}

void check_types(const char* call, const Array& send, const Array& recv) {
  if (&send.type() == &recv.type()) return;
  throw_invalid(std::string(call) + ": recv: expected the type of send, " + send.type().name +
                ", got " + recv.type().name + ": convert one with array.astype()");
}

void bind_collectives(Class& communicator) {
  bind_reducing<kAllReduce>(
      communicator, "all_reduce", "iall_reduce",
      "Reduces over all ranks; every rank has the result, the same bits at all of them.\n\n"
      "send: an array of any shape; recv: one with as many elements of its type, `send` itself (in "
      "place), or None for "
      "a new one of NumPy. op: \"sum\", \"prod\", \"min\", \"max\", \"avg\", for integers "
      "\"bit-and\", \"bit-or\", "
      "\"bit-xor\", \"logical-and\", \"logical-or\", \"logical-xor\", or one of operator(). "
      "Returns recv.\n\n"
      "Raises InvalidArgument (an array, sizes or types that differ, also between ranks), "
      "TransportError (a rank died), "
      "Timeout (nothing moved for `timeout`), Aborted, InvalidUsage (closed).");
  bind_reducing<kReduceScatter>(communicator, "reduce_scatter", "ireduce_scatter",
                                "Reduces, and leaves each rank its share: rank r the r-th of as "
                                "many parts as there are ranks, along the first "
                                "dimension.\n\nsend: shape (ranks * n, ...); recv: n * ... "
                                "elements, or None for a new array of shape (n, ...). "
                                "Returns recv. Raises as all_reduce().");
  bind_moving<kAllGather>(
      communicator, "all_gather", "iall_gather",
      "Gives every rank what each rank has, in the order of ranks, along the first dimension.\n\n"
      "send: shape (n, ...), the same at all ranks; recv: shape (ranks * n, ...), or None for a "
      "new array. Returns recv. "
      "Raises as all_reduce().");
  bind_both<kBroadcast, prepare_broadcast, nb::handle, int>(
      communicator, "broadcast", "ibroadcast",
      "Gives all ranks what the root has.\n\narray: read at the root, written elsewhere; of the "
      "same size and type at "
      "all ranks. Returns it. Raises as all_reduce().",
      nb::arg("array").none(), nb::arg("root") = 0);
  bind_reduce(communicator,
              "Reduces over all ranks to the root.\n\nsend: an array of any shape; recv: used at "
              "the root, with as many elements, "
              "`send` itself, or None for a new one. Returns recv at the root, None elsewhere. "
              "Raises as all_reduce().");
  bind_rooted<kGather>(communicator, "gather", "igather",
                       "Gives the root what each rank has, in the order of ranks, along the first "
                       "dimension.\n\nsend: shape (n, ...); recv: "
                       "used at the root, (ranks * n, ...), or None for a new array. Returns recv "
                       "at the root, None elsewhere. Raises as "
                       "all_reduce().");
  bind_rooted<kScatter>(communicator, "scatter", "iscatter",
                        "Gives rank r the r-th part, along the first dimension, of what the root "
                        "has.\n\nsend: read at the root, shape (ranks "
                        "* n, ...), None elsewhere; recv: n * ... elements; None, at the root "
                        "only, for a new array. Returns recv. Raises as "
                        "all_reduce().");
  bind_moving<kAllToAll>(communicator, "all_to_all", "iall_to_all",
                         "Sends part r of `send`, along the first dimension, to rank r, and gets "
                         "its part for this rank.\n\nsend: shape (ranks * "
                         "n, ...); recv: as many elements, not `send`, or None for a new array. "
                         "Returns recv. Raises as all_reduce().");
}

}  // namespace multitree::python
