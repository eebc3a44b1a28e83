# SPDX-License-Identifier: BSD-3-Clause
# Headers of the standard library and of others that nearly every unit includes, parsed once for all
# libraries and programs and once for all tests. Files still include what they use: with the option
# off everything builds the same.
option(MULTITREE_PCH "Precompile the headers of the standard library, fmt, JSON and GoogleTest" ON)

set(multitree_std_headers
  <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem>
  <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span>
  <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)
set(multitree_headers_library ${multitree_std_headers} <boost/multiprecision/cpp_int.hpp> <boost/rational.hpp>
  <nlohmann/json.hpp>)
set(multitree_headers_test ${multitree_std_headers} <gmock/gmock.h> <gtest/gtest.h>)

# Programs are compiled as libraries are: precompiled headers that are position-independent in another way cannot be used.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)

# multitree_precompiled_owner(kind LIBRARIES fmt::fmt...): the target that compiles the headers of a kind.
function(multitree_precompiled_owner kind)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  set(owner multitree_precompiled_${kind})
  add_library(${owner} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  multitree_target_options(${owner})
  target_link_libraries(${owner} PRIVATE ${ARG_LIBRARIES})
  target_precompile_headers(${owner} PRIVATE ${multitree_headers_${kind}})
endfunction()

# multitree_precompile(target kind): gives a target the precompiled headers of its kind.
function(multitree_precompile target kind)
  if(MULTITREE_PCH)
    target_precompile_headers(${target} REUSE_FROM multitree_precompiled_${kind})
  endif()
endfunction()
