// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce of sparse tensors: all ranks get what each has, and add it up.
#include <array>

#include "backend.hpp"
#include "library.hpp"
#include "staging.hpp"

namespace multitree_torch {

using c10d::OpType;

namespace {

constexpr const char* kWhat = "all_reduce of sparse tensors";
constexpr std::size_t kMostDimensions = 29;

/// What a rank says of its tensor before the elements travel.
struct Extent {
  std::int64_t elements = 0, sparse_dimensions = 0, dimensions = 0;
  std::array<std::int64_t, kMostDimensions> sizes{};
  bool operator==(const Extent& other) const {
    return sparse_dimensions == other.sparse_dimensions && dimensions == other.dimensions &&
           sizes == other.sizes;
  }
};

Extent extent_of(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.dim() <= static_cast<std::int64_t>(kMostDimensions), kWhat,
                    ": expected at most ", kMostDimensions, " dimensions, found ", tensor.dim());
  Extent extent{tensor._nnz(), tensor.sparse_dim(), tensor.dim()};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), extent.sizes.begin());
  return extent;
}

/// Of all ranks; waits for them.
std::vector<Extent> meet(const at::Tensor& mine, int rank, int ranks, mtComm_t comm) {
  std::vector<Extent> all(static_cast<std::size_t>(ranks));
  const Extent own = extent_of(mine);
  check(mtAllGather(&own, all.data(), sizeof(Extent), mtUint8, comm, nullptr), kWhat, comm);
  for (int other = 0; other < ranks; ++other) {
    const Extent& theirs = all[static_cast<std::size_t>(other)];
    TORCH_CHECK_VALUE(theirs == own, kWhat, ": expected one shape at all ranks, found ",
                      mine.sizes(), " at rank ", rank, " and another at rank ", other);
  }
  return all;
}

/// One of the two parts of all ranks' elements, behind each other.
struct Part {
  Part(const at::Tensor& own, const std::vector<Extent>& extents) : mine(own.contiguous()) {
    std::int64_t elements = 0;
    const std::size_t each = bytes_of(at::empty(own.sizes().slice(1), own.options()));
    for (const Extent& extent : extents) {
      elements += extent.elements;
      bytes.push_back(each * static_cast<std::size_t>(extent.elements));
    }
    std::vector<std::int64_t> shape = own.sizes().vec();
    shape[0] = elements;
    all = at::empty(shape, own.options());
  }
  at::Tensor mine, all;
  std::vector<std::size_t> bytes;  ///< by rank
};

}  // namespace

WorkPtr MultitreeBackend::allreduce_sparse(Tensors& tensors,
                                           const c10d::AllreduceOptions& options) {
  only_one(tensors, "all_reduce");
  at::Tensor tensor = tensors[0];
  const bool averages = options.reduceOp.op_ == c10d::ReduceOp::AVG;
  TORCH_CHECK_VALUE(tensor.is_sparse() && tensor.device().is_cpu(), kWhat,
                    ": expected a tensor of layout sparse_coo on the CPU");
  TORCH_CHECK_VALUE(averages || options.reduceOp.op_ == c10d::ReduceOp::SUM, kWhat,
                    ": unsupported reduction operation: expected SUM or AVG");
  Call call{.type = OpType::_ALLREDUCE_SPARSE,
            .what = kWhat,
            .inputs = tensors,
            .outputs = tensors,
            .lane = host_};
  const at::Tensor own = tensor.detach().coalesce();
  const std::vector<Extent> extents = meet(own, rank_, size_, host_->comm());
  const auto indices = std::make_shared<Part>(own.indices().t(), extents);
  const auto values = std::make_shared<Part>(own.values(), extents);
  call.finish = [=, ranks = size_]() mutable {
    at::Tensor sum =
        at::sparse_coo_tensor(indices->all.t(), values->all, tensor.sizes()).coalesce();
    tensor.copy_(averages ? sum.div_(ranks) : sum);
  };
  return launch(std::move(call), options.timeout, [&](Starter& starter) {
    for (const auto& part : {indices, values}) {
      starter.took(mtIAllGatherv(part->mine.data_ptr(), bytes_of(part->mine), part->all.data_ptr(),
                                 part->bytes.data(), nullptr, mtUint8, starter.comm(),
                                 starter.stream(), starter.request()));
    }
  });
}

}  // namespace multitree_torch
