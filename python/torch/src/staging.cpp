// SPDX-License-Identifier: BSD-3-Clause
#include "staging.hpp"

#include "library.hpp"

namespace multitree_torch {
namespace {

bool as_it_is(const Call& call, const at::Tensor& tensor) {
  return tensor.device() == call.lane->home() && tensor.is_contiguous();
}

at::Tensor memory_for(const Call& call, at::IntArrayRef shape, const at::Tensor& like) {
  return at::empty(shape, at::TensorOptions().dtype(like.scalar_type()).device(call.lane->home()));
}

}  // namespace

void only_one(const Tensors& tensors, const std::string& what) {
  TORCH_CHECK_VALUE(tensors.size() == 1, what, ": expected one tensor of a rank, found ",
                    tensors.size());
}

void same_number(const Tensors& outputs, const Tensors& inputs, const std::string& what) {
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), what,
                    ": expected as many outputs as inputs, found ", outputs.size(), " and ",
                    inputs.size());
}

void check_shares(const at::Tensor& all, const at::Tensor& share, int ranks,
                  const std::string& what) {
  check_tensor(all, what);
  check_tensor(share, what);
  TORCH_CHECK_VALUE(all.numel() == share.numel() * ranks, what, ": expected ", share.numel(),
                    " times ", ranks, " elements in the larger tensor, found ", all.numel());
  TORCH_CHECK_TYPE(all.scalar_type() == share.scalar_type(), what,
                   ": expected tensors of one type, found ", all.scalar_type(), " and ",
                   share.scalar_type());
}

void check_list(const Tensors& list, const at::Tensor& mine, int ranks, const std::string& what) {
  check_tensor(mine, what);
  TORCH_CHECK_VALUE(list.size() == static_cast<std::size_t>(ranks), what, ": expected a list of ",
                    ranks, " tensors, one of each rank, found ", list.size());
  for (const at::Tensor& tensor : list) {
    check_tensor(tensor, what);
    TORCH_CHECK_TYPE(tensor.scalar_type() == mine.scalar_type(), what,
                     ": expected tensors of one type, found ", tensor.scalar_type(), " and ",
                     mine.scalar_type());
  }
}

at::Tensor staged_input(Call& call, const at::Tensor& tensor) {
  check_tensor(tensor, call.what);
  at::Tensor data = tensor.detach();
  if (data.is_conj() || data.is_neg()) data = data.resolve_conj().resolve_neg();
  if (!as_it_is(call, data)) data = data.to(call.lane->home()).contiguous();
  call.keep.push_back(data);
  return data;
}

at::Tensor staged_output(Call& call, const at::Tensor& tensor) {
  check_tensor(tensor, call.what);
  at::Tensor data = tensor.detach();
  if (!as_it_is(call, data)) {
    data = memory_for(call, tensor.sizes(), tensor);
    call.copies.push_back({tensor.detach(), data});
  }
  call.keep.push_back(data);
  return data;
}

at::Tensor staged_in_place(Call& call, const at::Tensor& tensor) {
  const at::Tensor data = staged_input(call, tensor);
  if (!as_it_is(call, tensor) || tensor.is_conj() || tensor.is_neg())
    call.copies.push_back({tensor.detach(), data});
  return data;
}

Shares::Shares(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    numel_ += tensor.numel();
    counts_.push_back(static_cast<std::size_t>(tensor.numel()));
    bytes_.push_back(bytes_of(tensor));
    even_ = even_ && counts_.back() == counts_.front();
  }
}

std::vector<std::size_t> Shares::counts(std::size_t per_element) const {
  std::vector<std::size_t> counts = counts_;
  for (std::size_t& count : counts) count *= per_element;
  return counts;
}

bool Shares::adjacent(const Call& call, const Tensors& tensors) {
  const auto* next = static_cast<const char*>(tensors[0].const_data_ptr());
  for (const at::Tensor& tensor : tensors) {
    if (!as_it_is(call, tensor) || tensor.const_data_ptr() != next ||
        !tensor.is_alias_of(tensors[0]))
      return false;
    next += bytes_of(tensor);
  }
  return true;
}

at::Tensor Shares::whole(const Tensors& tensors) const {
  return at::as_strided(tensors[0].detach(), {numel_}, {1}, tensors[0].storage_offset());
}

at::Tensor Shares::input(Call& call, const Tensors& tensors) const {
  at::Tensor all;
  if (adjacent(call, tensors)) {
    all = whole(tensors);
  } else {
    all = memory_for(call, {numel_}, tensors[0]);
    std::int64_t at = 0;
    for (const at::Tensor& tensor : tensors) {
      all.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor.detach());
      at += tensor.numel();
    }
  }
  call.keep.push_back(all);
  return all;
}

at::Tensor Shares::output(Call& call, const Tensors& tensors) const {
  at::Tensor all;
  if (adjacent(call, tensors)) {
    all = whole(tensors);
  } else {
    all = memory_for(call, {numel_}, tensors[0]);
    std::int64_t at = 0;
    for (const at::Tensor& tensor : tensors) {
      call.copies.push_back({tensor.detach(), all.narrow(0, at, tensor.numel())});
      at += tensor.numel();
    }
  }
  call.keep.push_back(all);
  return all;
}

}  // namespace multitree_torch
