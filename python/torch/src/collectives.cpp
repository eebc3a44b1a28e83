// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives without a root.
#include "backend.hpp"
#include "library.hpp"
#include "staging.hpp"

namespace multitree_torch {

using c10d::OpType;

WorkPtr MultitreeBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  only_one(tensors, "all_reduce");
  if (tensors[0].defined() && tensors[0].is_sparse()) return allreduce_sparse(tensors, options);
  Call call{.type = OpType::ALLREDUCE, .what = "all_reduce", .inputs = tensors, .outputs = tensors};
  place(call, tensors[0], &options.reduceOp);
  const at::Tensor data = staged_in_place(call, tensors[0]);
  const Elements elements = elements_of(data, call.what);
  const Operator op(options.reduceOp, data, call.what, call.lane->comm(), sums_);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIAllReduce(data.data_ptr(), data.data_ptr(), elements.per_element * data.numel(),
                              elements.type, op.get(), starter.comm(), starter.stream(),
                              starter.request()));
  });
}

WorkPtr MultitreeBackend::allreduce_coalesced(Tensors& tensors,
                                              const c10d::AllreduceCoalescedOptions& options) {
  Call call{.type = OpType::ALLREDUCE_COALESCED,
            .what = "all_reduce_coalesced",
            .inputs = tensors,
            .outputs = tensors};
  place_all(call, tensors, &options.reduceOp);
  Tensors data;
  for (const at::Tensor& tensor : tensors) {
    data.push_back(staged_in_place(call, tensor));
    elements_of(data.back(), call.what);
  }
  const std::string what = call.what;
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    const Together together(starter);
    for (const at::Tensor& tensor : data) {
      const Elements elements = elements_of(tensor, what);
      const Operator op(options.reduceOp, tensor, what, starter.comm(), sums_);
      starter.took(mtIAllReduce(tensor.data_ptr(), tensor.data_ptr(),
                                elements.per_element * tensor.numel(), elements.type, op.get(),
                                starter.comm(), starter.stream(), starter.request()));
    }
  });
}

WorkPtr MultitreeBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::AllgatherOptions& options) {
  Call call{.type = OpType::_ALLGATHER_BASE,
            .what = "all_gather_into_tensor",
            .inputs = {input},
            .outputs = {output}};
  check_shares(output, input, size_, call.what);
  place(call, input);
  const at::Tensor from = staged_input(call, input);
  const at::Tensor to = staged_output(call, output);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIAllGather(from.data_ptr(), to.data_ptr(), bytes_of(from), mtUint8,
                              starter.comm(), starter.stream(), starter.request()));
  });
}

WorkPtr MultitreeBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                    const c10d::AllgatherOptions& options) {
  only_one(inputs, "all_gather");
  TORCH_CHECK_VALUE(outputs.size() == 1, "all_gather: expected one list of outputs, found ",
                    outputs.size());
  Call call{
      .type = OpType::ALLGATHER, .what = "all_gather", .inputs = inputs, .outputs = outputs[0]};
  check_list(outputs[0], inputs[0], size_, call.what);
  TORCH_CHECK_VALUE(outputs[0][rank_].numel() == inputs[0].numel(), "all_gather: expected ",
                    inputs[0].numel(), " elements in this rank's output, found ",
                    outputs[0][rank_].numel());
  const Shares shares(outputs[0]);
  shares.even() ? place(call, inputs[0]) : place_on_host(call, inputs[0]);
  const at::Tensor from = staged_input(call, inputs[0]);
  const at::Tensor all = shares.output(call, outputs[0]);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    if (shares.even()) {
      starter.took(mtIAllGather(from.data_ptr(), all.data_ptr(), bytes_of(from), mtUint8,
                                starter.comm(), starter.stream(), starter.request()));
    } else {
      starter.took(mtIAllGatherv(from.data_ptr(), bytes_of(from), all.data_ptr(), shares.bytes(),
                                 nullptr, mtUint8, starter.comm(), starter.stream(),
                                 starter.request()));
    }
  });
}

WorkPtr MultitreeBackend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) {
  TORCH_CHECK_VALUE(outputs.size() == static_cast<std::size_t>(size_),
                    "all_gather_coalesced: expected ", size_, " lists of outputs, found ",
                    outputs.size());
  Call call{.type = OpType::ALLGATHER_COALESCED, .what = "all_gather_coalesced", .inputs = inputs};
  place_all(call, inputs);
  Tensors from, all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors shares;
    for (const Tensors& list : outputs) {
      TORCH_CHECK_VALUE(list.size() == inputs.size(), "all_gather_coalesced: expected ",
                        inputs.size(), " outputs of each rank, found ", list.size());
      shares.push_back(list[i]);
    }
    check_list(shares, inputs[i], size_, call.what);
    const Shares even(shares);
    TORCH_CHECK_VALUE(even.even(), "all_gather_coalesced: expected outputs of one size");
    from.push_back(staged_input(call, inputs[i]));
    all.push_back(even.output(call, shares));
  }
  for (const Tensors& list : outputs)
    call.outputs.insert(call.outputs.end(), list.begin(), list.end());
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    const Together together(starter);
    for (std::size_t i = 0; i < from.size(); ++i) {
      starter.took(mtIAllGather(from[i].data_ptr(), all[i].data_ptr(), bytes_of(from[i]), mtUint8,
                                starter.comm(), starter.stream(), starter.request()));
    }
  });
}

WorkPtr MultitreeBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                          const c10d::AllgatherOptions& options) {
  Call call{.type = OpType::COALESCED,
            .what = "all_gather_into_tensor_coalesced",
            .inputs = inputs,
            .outputs = outputs};
  same_number(outputs, inputs, call.what);
  place_all(call, inputs);
  Tensors from, to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_shares(outputs[i], inputs[i], size_, call.what);
    from.push_back(staged_input(call, inputs[i]));
    to.push_back(staged_output(call, outputs[i]));
  }
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    const Together together(starter);
    for (std::size_t i = 0; i < from.size(); ++i) {
      starter.took(mtIAllGather(from[i].data_ptr(), to[i].data_ptr(), bytes_of(from[i]), mtUint8,
                                starter.comm(), starter.stream(), starter.request()));
    }
  });
}

WorkPtr MultitreeBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                               const c10d::ReduceScatterOptions& options) {
  Call call{.type = OpType::_REDUCE_SCATTER_BASE,
            .what = "reduce_scatter_tensor",
            .inputs = {input},
            .outputs = {output}};
  check_shares(input, output, size_, call.what);
  place(call, input, &options.reduceOp);
  const at::Tensor from = staged_input(call, input);
  const at::Tensor to = staged_output(call, output);
  const Elements elements = elements_of(from, call.what);
  const Operator op(options.reduceOp, from, call.what, call.lane->comm(), sums_);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    starter.took(mtIReduceScatter(from.data_ptr(), to.data_ptr(), elements.per_element * to.numel(),
                                  elements.type, op.get(), starter.comm(), starter.stream(),
                                  starter.request()));
  });
}

WorkPtr MultitreeBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                         const c10d::ReduceScatterOptions& options) {
  only_one(outputs, "reduce_scatter");
  TORCH_CHECK_VALUE(inputs.size() == 1, "reduce_scatter: expected one list of inputs, found ",
                    inputs.size());
  Call call{.type = OpType::REDUCE_SCATTER,
            .what = "reduce_scatter",
            .inputs = inputs[0],
            .outputs = outputs};
  check_list(inputs[0], outputs[0], size_, call.what);
  TORCH_CHECK_VALUE(inputs[0][rank_].numel() == outputs[0].numel(), "reduce_scatter: expected ",
                    outputs[0].numel(), " elements in this rank's input, found ",
                    inputs[0][rank_].numel());
  const Shares shares(inputs[0]);
  shares.even() ? place(call, outputs[0], &options.reduceOp) : place_on_host(call, outputs[0]);
  const at::Tensor from = shares.input(call, inputs[0]);
  const at::Tensor to = staged_output(call, outputs[0]);
  const Elements elements = elements_of(from, call.what);
  const Operator op(options.reduceOp, from, call.what, call.lane->comm(), sums_);
  const std::vector<std::size_t> counts = shares.counts(elements.per_element);
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    if (shares.even()) {
      starter.took(mtIReduceScatter(from.data_ptr(), to.data_ptr(), counts[0], elements.type,
                                    op.get(), starter.comm(), starter.stream(), starter.request()));
    } else {
      starter.took(mtIReduceScatterv(from.data_ptr(), to.data_ptr(), counts.data(), elements.type,
                                     op.get(), starter.comm(), starter.stream(),
                                     starter.request()));
    }
  });
}

WorkPtr MultitreeBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  Call call{.type = OpType::COALESCED,
            .what = "reduce_scatter_tensor_coalesced",
            .inputs = inputs,
            .outputs = outputs};
  same_number(outputs, inputs, call.what);
  place_all(call, inputs, &options.reduceOp);
  Tensors from, to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_shares(inputs[i], outputs[i], size_, call.what);
    from.push_back(staged_input(call, inputs[i]));
    to.push_back(staged_output(call, outputs[i]));
  }
  const std::string what = call.what;
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    const Together together(starter);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Elements elements = elements_of(from[i], what);
      const Operator op(options.reduceOp, from[i], what, starter.comm(), sums_);
      starter.took(mtIReduceScatter(from[i].data_ptr(), to[i].data_ptr(),
                                    elements.per_element * to[i].numel(), elements.type, op.get(),
                                    starter.comm(), starter.stream(), starter.request()));
    }
  });
}

WorkPtr MultitreeBackend::barrier(const c10d::BarrierOptions& options) {
  const at::Tensor token = at::zeros({1}, at::kInt);
  Call call{.type = OpType::BARRIER, .what = "barrier", .keep = {token}, .after_all = true};
  place(call, token);
  set_timeout(call, options.timeout);
  Starter starter(*call.lane, call.what);
  starter.reserve(1);
  starter.took(mtIAllReduce(token.data_ptr(), token.data_ptr(), 1, mtInt32, mtSum, starter.comm(),
                            nullptr, starter.request()));
  auto pending = std::make_unique<Requests>(starter.take(), call.what, starter.comm());
  return hand_over(std::move(call), behind_device(std::move(pending)));
}

}  // namespace multitree_torch
