// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Emscripten's standard library (LLVM 13) has no algorithms for ranges: where it lacks them, those
/// of range-v3, which they were standardised from. Read before every source.
#pragma once

#include <algorithm>
#include <functional>

#ifndef __cpp_lib_ranges
#include <range/v3/algorithm.hpp>

namespace std::ranges {  // NOLINT(cert-dcl58-cpp): by the names that the sources use
using ::ranges::adjacent_find;
using ::ranges::all_of;
using ::ranges::any_of;
using ::ranges::binary_search;
using ::ranges::count;
using ::ranges::count_if;
using ::ranges::equal;
using ::ranges::fill;
using ::ranges::find;
using ::ranges::find_if;
using ::ranges::find_if_not;
using ::ranges::for_each;
using ::ranges::is_sorted;
using ::ranges::lexicographical_compare;
using ::ranges::lower_bound;
using ::ranges::max;
using ::ranges::max_element;
using ::ranges::min;
using ::ranges::min_element;
using ::ranges::minmax;
using ::ranges::mismatch;
using ::ranges::move;
using ::ranges::none_of;
using ::ranges::nth_element;
using ::ranges::pop_heap;
using ::ranges::push_heap;
using ::ranges::replace;
using ::ranges::reverse;
using ::ranges::rotate;
using ::ranges::sort;
using ::ranges::stable_sort;
using ::ranges::upper_bound;
}  // namespace std::ranges
#endif
