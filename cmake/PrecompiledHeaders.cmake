# SPDX-License-Identifier: BSD-3-Clause
# Headers of the standard library and of others that nearly every file includes, parsed once for all
# libraries, once for all programs and once for all tests. Files still include what they use: with
# the option off everything builds the same.
option(MULTITREE_PCH "Precompile the headers of the standard library, fmt, JSON and GoogleTest" ON)

set(multitree_std_headers
  <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem>
  <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span>
  <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)
set(multitree_headers_library ${multitree_std_headers})
set(multitree_headers_program ${multitree_std_headers} <nlohmann/json.hpp>)
set(multitree_headers_test ${multitree_std_headers} <gmock/gmock.h> <gtest/gtest.h>)

# multitree_precompiled_owner(kind LIBRARIES fmt::fmt...): the target that compiles the headers of a kind. Programs are
# position-independent in another way than libraries, so the owner is what its users are.
function(multitree_precompiled_owner kind)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  set(owner multitree_precompiled_${kind})
  set(source ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  if(kind STREQUAL "library")
    add_library(${owner} OBJECT ${source})
  else()
    add_executable(${owner} ${source})
  endif()
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
