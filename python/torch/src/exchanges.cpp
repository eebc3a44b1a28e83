// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives with a root, and all-to-all.
#include <numeric>

#include "backend.hpp"
#include "library.hpp"
#include "staging.hpp"

namespace multitree_torch {
namespace {

using c10d::OpType;

int checked_root(std::int64_t root, int ranks, const std::string& what) {
  TORCH_CHECK_VALUE(root >= 0 && root < ranks, what, ": expected a root below ", ranks, ", found ",
                    root);
  return static_cast<int>(root);
}

/// Bytes of each rank's rows; no splits: all alike.
std::vector<std::size_t> bytes_of_splits(const at::Tensor& tensor,
                                         const std::vector<int64_t>& splits, int ranks,
                                         const std::string& what) {
  const auto parts = static_cast<std::size_t>(ranks);
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % ranks == 0, what,
                      ": Tensor's dim 0 does not divide equally across group size: ", rows,
                      " rows, ", ranks, " ranks; give split sizes");
    return std::vector<std::size_t>(parts, bytes_of(tensor) / parts);
  }
  TORCH_CHECK_VALUE(splits.size() == parts, what,
                    ": Number of tensor splits not equal to group size: ", splits.size(), " and ",
                    ranks);
  const std::int64_t sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  TORCH_CHECK_VALUE(sum == rows, what, ": Split sizes doesn't match total dim 0 size: ", sum,
                    " and ", rows);
  std::vector<std::size_t> bytes;
  for (const std::int64_t split : splits) {
    TORCH_CHECK_VALUE(split >= 0, what, ": expected split sizes of 0 or more, found ", split);
    bytes.push_back(rows == 0 ? 0
                              : bytes_of(tensor) / static_cast<std::size_t>(rows) *
                                    static_cast<std::size_t>(split));
  }
  return bytes;
}

}  // namespace

WorkPtr MultitreeBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  only_one(tensors, "broadcast");
  Call call{.type = OpType::BROADCAST, .what = "broadcast", .inputs = tensors, .outputs = tensors};
  const int root = checked_root(options.rootRank, size_, call.what);
  place(call, tensors[0]);
  const at::Tensor data =
      root == rank_ ? staged_input(call, tensors[0]) : staged_output(call, tensors[0]);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIBroadcast(data.data_ptr(), data.data_ptr(), bytes_of(data), mtUint8, root,
                              starter.comm(), starter.stream(), starter.request()));
  });
}

WorkPtr MultitreeBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  only_one(tensors, "reduce");
  Call call{.type = OpType::REDUCE, .what = "reduce", .inputs = tensors, .outputs = tensors};
  const int root = checked_root(options.rootRank, size_, call.what);
  place(call, tensors[0], &options.reduceOp);
  const at::Tensor data =
      root == rank_ ? staged_in_place(call, tensors[0]) : staged_input(call, tensors[0]);
  const Elements elements = elements_of(data, call.what);
  const Operator op(options.reduceOp, data, call.what, call.lane->comm(), sums_);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIReduce(data.data_ptr(), root == rank_ ? data.data_ptr() : nullptr,
                           elements.per_element * data.numel(), elements.type, op.get(), root,
                           starter.comm(), starter.stream(), starter.request()));
  });
}

WorkPtr MultitreeBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                 const c10d::GatherOptions& options) {
  only_one(inputs, "gather");
  Call call{.type = OpType::GATHER, .what = "gather", .inputs = inputs};
  const int root = checked_root(options.rootRank, size_, call.what);
  place(call, inputs[0]);
  const at::Tensor from = staged_input(call, inputs[0]);
  at::Tensor all;
  if (root == rank_) {
    TORCH_CHECK_VALUE(outputs.size() == 1,
                      "gather: requires a single-element output list at the root, found ",
                      outputs.size());
    check_list(outputs[0], inputs[0], size_, call.what);
    const Shares shares(outputs[0]);
    TORCH_CHECK_VALUE(shares.even() && outputs[0][0].numel() == from.numel(),
                      "gather: expected outputs of ", from.numel(), " elements, as the input has");
    all = shares.output(call, outputs[0]);
    call.outputs = outputs[0];
  } else {
    TORCH_CHECK_VALUE(outputs.empty() || outputs[0].empty(),
                      "gather: requires empty output on non-root");
  }
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIGather(from.data_ptr(), all.defined() ? all.data_ptr() : nullptr,
                           bytes_of(from), mtUint8, root, starter.comm(), starter.stream(),
                           starter.request()));
  });
}

WorkPtr MultitreeBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                  const c10d::ScatterOptions& options) {
  only_one(outputs, "scatter");
  Call call{.type = OpType::SCATTER, .what = "scatter", .outputs = outputs};
  const int root = checked_root(options.rootRank, size_, call.what);
  place(call, outputs[0]);
  at::Tensor all;
  if (root == rank_) {
    TORCH_CHECK_VALUE(inputs.size() == 1,
                      "scatter: requires a single-element input list at the root, found ",
                      inputs.size());
    check_list(inputs[0], outputs[0], size_, call.what);
    const Shares shares(inputs[0]);
    TORCH_CHECK_VALUE(shares.even() && inputs[0][0].numel() == outputs[0].numel(),
                      "scatter: expected inputs of ", outputs[0].numel(),
                      " elements, as the output has");
    all = shares.input(call, inputs[0]);
    call.inputs = inputs[0];
  } else {
    TORCH_CHECK_VALUE(inputs.empty() || inputs[0].empty(),
                      "scatter: requires empty input on non-root");
  }
  const at::Tensor to = staged_output(call, outputs[0]);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIScatter(all.defined() ? all.data_ptr() : nullptr, to.data_ptr(), bytes_of(to),
                            mtUint8, root, starter.comm(), starter.stream(), starter.request()));
  });
}

WorkPtr MultitreeBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                        std::vector<int64_t>& output_splits,
                                        std::vector<int64_t>& input_splits,
                                        const c10d::AllToAllOptions& options) {
  Call call{.type = OpType::ALLTOALL_BASE,
            .what = "all_to_all_single",
            .inputs = {input},
            .outputs = {output}};
  TORCH_CHECK_TYPE(output.scalar_type() == input.scalar_type(),
                   "all_to_all_single: expected tensors of one type, found ", output.scalar_type(),
                   " and ", input.scalar_type());
  const std::vector<std::size_t> sends = bytes_of_splits(input, input_splits, size_, call.what);
  const std::vector<std::size_t> receives =
      bytes_of_splits(output, output_splits, size_, call.what);
  place_on_host(call, input);
  at::Tensor from = staged_input(call, input);
  const at::Tensor to = staged_output(call, output);
  if (from.is_alias_of(to)) {
    from = from.clone();
    call.keep.push_back(from);
  }
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIAllToAllv(from.data_ptr(), sends.data(), nullptr, to.data_ptr(),
                              receives.data(), nullptr, mtUint8, starter.comm(), starter.stream(),
                              starter.request()));
  });
}

WorkPtr MultitreeBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                   const c10d::AllToAllOptions& options) {
  Call call{.type = OpType::ALLTOALL, .what = "all_to_all", .inputs = inputs, .outputs = outputs};
  TORCH_CHECK_VALUE(!inputs.empty() && !outputs.empty(), "all_to_all: expected lists of ", size_,
                    " tensors");
  check_list(inputs, inputs[0], size_, call.what);
  check_list(outputs, inputs[0], size_, call.what);
  place_on_host(call, inputs[0]);
  const Shares sends(inputs), receives(outputs);
  at::Tensor from = sends.input(call, inputs);
  const at::Tensor to = receives.output(call, outputs);
  if (from.is_alias_of(to)) {
    from = from.clone();
    call.keep.push_back(from);
  }
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIAllToAllv(from.data_ptr(), sends.bytes(), nullptr, to.data_ptr(),
                              receives.bytes(), nullptr, mtUint8, starter.comm(), starter.stream(),
                              starter.request()));
  });
}

}  // namespace multitree_torch
