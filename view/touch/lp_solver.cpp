// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where CLP is not linked, the library's linear programs go to the simplex method beside this.
#include "algorithms/certificate/lp_solver.hpp"

#include "view/touch/dense_simplex.hpp"

namespace multitree {

std::unique_ptr<LpSolver> make_lp_solver(std::size_t rows, double tolerance) {
  return std::make_unique<view::DenseSimplex>(rows, tolerance);
}

}  // namespace multitree
