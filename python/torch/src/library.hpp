// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the C library takes and says, in torch's types and exceptions.
#pragma once

#include <ATen/ATen.h>
#include <multitree.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace multitree_torch {

/// \throws the exception that fits the result, with the library's words, unless it is mtSuccess.
/// With a communicator, the words of its failure are taken where it has failed.
void check(mtResult_t result, const std::string& what, mtComm_t comm = nullptr);
/// The same as an exception to keep.
std::exception_ptr failure(mtResult_t result, const std::string& what, mtComm_t comm);

/// Elements of a tensor as the library counts them: complex numbers are two reals.
struct Elements {
  mtDataType_t type;
  std::size_t per_element;
};
/// \throws TypeError for what the library does not compute with.
Elements elements_of(const at::Tensor& tensor, const std::string& what);

/// Whether devices reduce it (docs/c-api.md): else tensors of CUDA are reduced by the host. The
/// same at all ranks.
bool reduced_on_devices(const c10d::ReduceOp& op, const at::Tensor& tensor);

/// How floats are added and averaged: with the same bits in any order, or as fewer bytes on the
/// wire (Options.sums).
class Sums {
 public:
  Sums() = default;  ///< as they come
  /// \throws ValueError for a name that it does not know.
  explicit Sums(const std::string& name);

  /// Whether they are for this.
  [[nodiscard]] bool apply(const c10d::ReduceOp& op, const at::Tensor& tensor) const;
  /// The operator for it.
  mtResult_t make(mtRedOp_t* op, mtRedOp_t base, mtComm_t comm) const;

 private:
  enum class Kind { Plain, Exact, Wire } kind_ = Kind::Plain;
  mtExact_t unit_ = mtExactElements;
  mtDataType_t wire_ = mtBfloat16;
};

/// An operator of the library, made for one call where it has to be.
class Operator {
 public:
  /// \throws ValueError, TypeError: what the library does not compute.
  Operator(const c10d::ReduceOp& op, const at::Tensor& tensor, const std::string& what,
           mtComm_t comm, const Sums& sums = {});
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  [[nodiscard]] mtRedOp_t get() const { return op_; }

 private:
  void multiply(const c10d::ReduceOp& op, const at::Tensor& tensor, const std::string& what);

  mtComm_t comm_;
  mtRedOp_t op_ = mtSum;
  bool made_ = false;
};

/// \throws ValueError for what is sparse, quantized or on a device that is not served.
void check_tensor(const at::Tensor& tensor, const std::string& what);
/// Bytes of the elements.
std::size_t bytes_of(const at::Tensor& tensor);

}  // namespace multitree_torch
