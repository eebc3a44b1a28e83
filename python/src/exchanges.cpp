// SPDX-License-Identifier: BSD-3-Clause
// Messages of pairs, and collectives with a count for each rank.
#include <algorithm>
#include <numeric>

#include "collectives.hpp"
#include "operators.hpp"

namespace multitree::python {
namespace {

using Counts = std::vector<std::size_t>;

constexpr Functions kSend{
    "send",
    [](const Arguments& a) { return mtSend(a.send, a.count, a.type, a.peer, a.comm, nullptr); },
    [](const Arguments& a, mtRequest_t* r) {
      return mtISend(a.send, a.count, a.type, a.peer, a.comm, nullptr, r);
    }};
constexpr Functions kRecv{
    "recv",
    [](const Arguments& a) { return mtRecv(a.recv, a.count, a.type, a.peer, a.comm, nullptr); },
    [](const Arguments& a, mtRequest_t* r) {
      return mtIRecv(a.recv, a.count, a.type, a.peer, a.comm, nullptr, r);
    }};

const std::size_t* pointer(const Counts& numbers) {
  return numbers.empty() ? nullptr : numbers.data();
}

#define MULTITREE_RECEIVED a.recv, pointer(a.recv_counts), pointer(a.recv_displs)
#define MULTITREE_SENT a.send, pointer(a.send_counts), pointer(a.send_displs)

constexpr Functions kAllToAllv =
    MULTITREE_FUNCTIONS("all_to_allv", AllToAllv, MULTITREE_SENT, MULTITREE_RECEIVED, a.type);
constexpr Functions kAllGatherv =
    MULTITREE_FUNCTIONS("all_gatherv", AllGatherv, a.send, a.count, MULTITREE_RECEIVED, a.type);
constexpr Functions kGatherv =
    MULTITREE_FUNCTIONS("gatherv", Gatherv, a.send, a.count, MULTITREE_RECEIVED, a.type, a.peer);
constexpr Functions kScatterv =
    MULTITREE_FUNCTIONS("scatterv", Scatterv, MULTITREE_SENT, a.recv, a.count, a.type, a.peer);
constexpr Functions kReduceScatterv = MULTITREE_FUNCTIONS(
    "reduce_scatterv", ReduceScatterv, a.send, a.recv, pointer(a.send_counts), a.type, a.op);

/// A whole number of 0 or more for each rank.
Counts numbers_of(nb::handle list, const ArrayName& name, int ranks) {
  const auto wrong = [&] {
    throw_invalid(name.text() + ": expected " + std::to_string(ranks) +
                  " whole numbers of 0 or more, one for each rank, got " + nb::repr(list).c_str());
  };
  Counts counts;
  if (PySequence_Check(list.ptr()) == 0 || PyUnicode_Check(list.ptr())) wrong();
  for (const nb::handle item : list) {
    const Py_ssize_t number = PyNumber_AsSsize_t(item.ptr(), nullptr);
    if (number == -1 && PyErr_Occurred() != nullptr) PyErr_Clear();
    if (PyIndex_Check(item.ptr()) == 0 || number < 0) wrong();
    counts.push_back(static_cast<std::size_t>(number));
  }
  if (counts.size() != static_cast<std::size_t>(ranks)) wrong();
  return counts;
}

std::size_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Shares of an array: counts, and where each begins.
struct Shares {
  nb::handle counts, displs;
  const char* counts_name;
  const char* displs_name;
};

/// Reads them. \returns how many elements an array has that holds them
std::size_t read(const Shares& shares, const char* call, int ranks, Counts& counts,
                 Counts& displs) {
  counts = numbers_of(shares.counts, {call, shares.counts_name}, ranks);
  if (!shares.displs.is_valid() || shares.displs.is_none()) return sum_of(counts);
  displs = numbers_of(shares.displs, {call, shares.displs_name}, ranks);
  std::size_t end = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) end = std::max(end, displs[i] + counts[i]);
  return end;
}

/// The array has room for shares that end there; without displacements it has just that.
void check_room(const ArrayName& name, const Array& array, std::size_t end, bool side_by_side) {
  if (side_by_side) return check_elements(name, array, end, "the counts add up to");
  if (array.elements() >= end) return;
  throw_invalid(name.text() + ": expected " + std::to_string(end) +
                " elements or more, where the last share ends, got " +
                std::to_string(array.elements()));
}

/// The array that the caller gave for the result, or a new one.
void take_result(Prepared& call, const char* name, nb::handle recv, nb::handle like,
                 std::size_t elements) {
  call.result = recv.is_none() ? new_vector_like(like, {name, "recv"}, elements) : nb::borrow(recv);
  call.recv = Array(call.result, {name, "recv"}, true);
}

Prepared prepare_message(const Functions& functions, const Communicator& self, nb::handle array,
                         int peer, bool receives) {
  Prepared call;
  call.arguments.comm = self.usable(functions.name);
  call.recv = Array(array, {functions.name, "array"}, receives);
  if (receives) call.result = nb::borrow(array);
  call.arguments.send = call.arguments.recv = call.recv.data();
  call.arguments.count = call.recv.elements();
  call.arguments.type = call.recv.type().type;
  call.arguments.peer = peer;
  return call;
}

void finish(Prepared& call, const char* name) {
  if (call.send.exists() && call.recv.exists()) check_types(name, call.send, call.recv);
  call.arguments.send = call.send.data();
  call.arguments.recv = call.recv.data();
  call.arguments.type = (call.send.exists() ? call.send : call.recv).type().type;
}

/// all_gatherv(), and gatherv() with a root.
Prepared prepare_gather(const Functions& functions, const Communicator& self, nb::handle send,
                        const Shares& shares, nb::handle recv, std::optional<int> root) {
  const char* const name = functions.name;
  Prepared call;
  Arguments& arguments = call.arguments;
  arguments.comm = self.usable(name);
  arguments.peer = root.value_or(0);
  call.send = Array(send, {name, "send"}, false);
  arguments.count = call.send.elements();
  if (!root || *root == self.rank()) {
    const std::size_t end =
        read(shares, name, self.size(), arguments.recv_counts, arguments.recv_displs);
    check_elements({name, "send"}, call.send,
                   arguments.recv_counts[static_cast<std::size_t>(self.rank())],
                   "the counts say of this rank");
    take_result(call, name, recv, send, end);
    check_room({name, "recv"}, call.recv, end, arguments.recv_displs.empty());
  }
  finish(call, name);
  return call;
}

Prepared prepare_scatter(const Communicator& self, nb::handle send, const Shares& shares,
                         nb::handle recv, int root) {
  const char* const name = kScatterv.name;
  Prepared call;
  Arguments& arguments = call.arguments;
  arguments.comm = self.usable(name);
  arguments.peer = root;
  const bool sends = root == self.rank();
  std::size_t mine = 0;
  if (sends) {
    call.send = Array(send, {name, "send"}, false);
    const std::size_t end =
        read(shares, name, self.size(), arguments.send_counts, arguments.send_displs);
    check_room({name, "send"}, call.send, end, arguments.send_displs.empty());
    mine = arguments.send_counts[static_cast<std::size_t>(root)];
  } else if (recv.is_none()) {
    throw_invalid(ArrayName{name, "recv"}.text() +
                  ": expected an array for the result at ranks other than the root, got None");
  }
  take_result(call, name, recv, send, mine);
  if (sends) check_elements({name, "recv"}, call.recv, mine, "the counts say of this rank");
  arguments.count = call.recv.elements();
  finish(call, name);
  return call;
}

Prepared prepare_reduce_scatter(const Communicator& self, nb::handle send, nb::handle counts,
                                nb::handle recv, nb::handle op) {
  const char* const name = kReduceScatterv.name;
  Prepared call;
  Arguments& arguments = call.arguments;
  arguments.comm = self.usable(name);
  call.send = Array(send, {name, "send"}, false);
  const std::size_t end = read({counts, {}, "counts", ""}, name, self.size(), arguments.send_counts,
                               arguments.send_displs);
  check_room({name, "send"}, call.send, end, true);
  const std::size_t mine = arguments.send_counts[static_cast<std::size_t>(self.rank())];
  take_result(call, name, recv, send, mine);
  check_elements({name, "recv"}, call.recv, mine, "the counts say of this rank");
  take_operator(call, op, self, name, call.send.type());
  finish(call, name);
  return call;
}

Prepared prepare_all_to_all(const Communicator& self, nb::handle send, const Shares& sent,
                            nb::handle recv, const Shares& received) {
  const char* const name = kAllToAllv.name;
  Prepared call;
  Arguments& arguments = call.arguments;
  arguments.comm = self.usable(name);
  call.send = Array(send, {name, "send"}, false);
  const std::size_t sent_end =
      read(sent, name, self.size(), arguments.send_counts, arguments.send_displs);
  check_room({name, "send"}, call.send, sent_end, arguments.send_displs.empty());
  const std::size_t end =
      read(received, name, self.size(), arguments.recv_counts, arguments.recv_displs);
  take_result(call, name, recv, send, end);
  check_room({name, "recv"}, call.recv, end, arguments.recv_displs.empty());
  finish(call, name);
  return call;
}

void bind_messages(Class& to) {
  bind_both<kSend,
            [](const Communicator& self, nb::handle array, int to_rank) {
              return prepare_message(kSend, self, array, to_rank, false);
            },
            nb::handle, int>(to, "send", "isend",
                             "Sends an array to rank `dest`, which calls recv() with this rank. Of "
                             "a pair of ranks the first send meets the "
                             "first recv, and so on; both name the same size and type.\n\nReturns "
                             "when the array may be written again. Raises "
                             "as all_reduce().",
                             nb::arg("array").none(), nb::arg("dest"));
  bind_both<kRecv,
            [](const Communicator& self, nb::handle array, int from_rank) {
              return prepare_message(kRecv, self, array, from_rank, true);
            },
            nb::handle, int>(to, "recv", "irecv",
                             "Receives what rank `source` sends to this one in an array of the "
                             "same size and type, and returns it. Raises as "
                             "all_reduce().",
                             nb::arg("array").none(), nb::arg("source"));
}

void bind_gathers(Class& to) {
  bind_both<kAllGatherv,
            [](const Communicator& self, nb::handle send, nb::handle counts, nb::handle recv,
               nb::handle displs) {
              return prepare_gather(kAllGatherv, self, send, {counts, displs, "counts", "displs"},
                                    recv, std::nullopt);
            },
            nb::handle, nb::handle, nb::handle, nb::handle>(
      to, "all_gatherv", "iall_gatherv",
      "all_gather() of shares that differ.\n\nsend: counts[rank] elements; counts: elements of "
      "each rank, the same list at "
      "all ranks; recv: an array for all of them, or None for a new one of one dimension; displs: "
      "where each rank's share "
      "begins in recv, in elements, None: side by side. Returns recv. Raises as all_reduce().",
      nb::arg("send").none(), nb::arg("counts").none(), nb::arg("recv") = nb::none(),
      nb::arg("displs") = nb::none());
  bind_both<kGatherv,
            [](const Communicator& self, nb::handle send, nb::handle counts, nb::handle recv,
               int root, nb::handle displs) {
              return prepare_gather(kGatherv, self, send, {counts, displs, "counts", "displs"},
                                    recv, root);
            },
            nb::handle, nb::handle, nb::handle, int, nb::handle>(
      to, "gatherv", "igatherv",
      "gather() of shares that differ; counts, recv and displs, as of all_gatherv(), are used at "
      "the root only. Returns "
      "recv at the root, None elsewhere. Raises as all_reduce().",
      nb::arg("send").none(), nb::arg("counts") = nb::none(), nb::arg("recv") = nb::none(),
      nb::arg("root") = 0, nb::arg("displs") = nb::none());
}

void bind_scatters(Class& to) {
  bind_both<kScatterv,
            [](const Communicator& self, nb::handle send, nb::handle counts, nb::handle recv,
               int root, nb::handle displs) {
              return prepare_scatter(self, send, {counts, displs, "counts", "displs"}, recv, root);
            },
            nb::handle, nb::handle, nb::handle, int, nb::handle>(
      to, "scatterv", "iscatterv",
      "scatter() of shares that differ.\n\nsend, counts (elements for each rank), displs (where "
      "they begin in send, None: "
      "side by side) are used at the root only; recv: as many elements as the root has for this "
      "rank; None, at the root "
      "only, for a new array. Returns recv. Raises as all_reduce().",
      nb::arg("send").none(), nb::arg("counts") = nb::none(), nb::arg("recv") = nb::none(),
      nb::arg("root") = 0, nb::arg("displs") = nb::none());
  bind_both<kReduceScatterv, prepare_reduce_scatter, nb::handle, nb::handle, nb::handle,
            nb::handle>(to, "reduce_scatterv", "ireduce_scatterv",
                        "reduce_scatter() of shares that differ.\n\nsend: the shares of all ranks, "
                        "side by side; counts: elements of each "
                        "rank, the same list at all ranks; recv: counts[rank] elements, or None "
                        "for a new array. Returns recv. Raises as "
                        "all_reduce().",
                        nb::arg("send").none(), nb::arg("counts").none(),
                        nb::arg("recv") = nb::none(), nb::arg("op").none() = "sum");
  bind_both<kAllToAllv,
            [](const Communicator& self, nb::handle send, nb::handle send_counts,
               nb::handle recv_counts, nb::handle recv, nb::handle send_displs,
               nb::handle recv_displs) {
              return prepare_all_to_all(
                  self, send, {send_counts, send_displs, "send_counts", "send_displs"}, recv,
                  {recv_counts, recv_displs, "recv_counts", "recv_displs"});
            },
            nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(
      to, "all_to_allv", "iall_to_allv",
      "all_to_all() of shares that differ.\n\nsend_counts, recv_counts: elements for and of each "
      "rank, and what one has for "
      "another is as much as that expects; send_displs, recv_displs: where shares begin, None: "
      "side by side; recv: an "
      "array for all that comes, or None for a new one. Returns recv. Raises as all_reduce().",
      nb::arg("send").none(), nb::arg("send_counts").none(), nb::arg("recv_counts").none(),
      nb::arg("recv") = nb::none(), nb::arg("send_displs") = nb::none(),
      nb::arg("recv_displs") = nb::none());
}

}  // namespace

void bind_exchanges(Class& communicator) {
  bind_messages(communicator);
  bind_gathers(communicator);
  bind_scatters(communicator);
}

}  // namespace multitree::python
