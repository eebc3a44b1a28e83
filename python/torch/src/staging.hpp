// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From torch's tensors, of any strides and on any device, to buffers that the library takes.
#pragma once

#include "backend.hpp"

namespace multitree_torch {

void only_one(const Tensors& tensors, const std::string& what);
void same_number(const Tensors& outputs, const Tensors& inputs, const std::string& what);
/// `all` has the elements of `ranks` times `share`, of its type.
void check_shares(const at::Tensor& all, const at::Tensor& share, int ranks,
                  const std::string& what);
/// A tensor of each rank, of the type of `mine`.
void check_list(const Tensors& list, const at::Tensor& mine, int ranks, const std::string& what);

/// Contiguous where the call's lane wants its buffers; the tensor itself where it lies so. The call
/// keeps it alive.
at::Tensor staged_input(Call& call, const at::Tensor& tensor);
/// As that, and copied back at the end.
at::Tensor staged_output(Call& call, const at::Tensor& tensor);
at::Tensor staged_in_place(Call& call, const at::Tensor& tensor);

/// A list of tensors, one of each rank, as one buffer.
class Shares {
 public:
  explicit Shares(const Tensors& tensors);
  [[nodiscard]] bool even() const { return even_; }
  /// By rank.
  [[nodiscard]] const std::size_t* bytes() const { return bytes_.data(); }
  [[nodiscard]] std::vector<std::size_t> counts(std::size_t per_element) const;
  /// Side by side, of the list's values; the list's own memory where it lies so.
  at::Tensor input(Call& call, const Tensors& tensors) const;
  /// Side by side, to be written; handed out to the list at the end.
  at::Tensor output(Call& call, const Tensors& tensors) const;

 private:
  [[nodiscard]] static bool adjacent(const Call& call, const Tensors& tensors);
  [[nodiscard]] at::Tensor whole(const Tensors& tensors) const;

  bool even_ = true;
  std::int64_t numel_ = 0;
  std::vector<std::size_t> bytes_, counts_;
};

/// Calls of a starter that begin together.
class Together {
 public:
  explicit Together(Starter& starter) : starter_(starter), raised_(std::uncaught_exceptions()) {
    starter_.took(mtGroupStart());
  }
  ~Together() noexcept(false) {
    const mtResult_t result = mtGroupEnd();
    if (std::uncaught_exceptions() == raised_) starter_.took(result);
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  Starter& starter_;
  int raised_;
};

}  // namespace multitree_torch
