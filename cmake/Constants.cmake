# SPDX-License-Identifier: BSD-3-Clause
# Widths and depths of the hardware in C++, from the package in which they stand.
#
# The hardware is the source: it has to be read by Verilator and yosys as it is, and C++ can be generated.
# The header belongs to neither nic nor rtl: nic may not use rtl, and must be built where there is no
# Verilator; what it needs to know of the hardware is this data.
set(MULTITREE_GENERATED_DIR ${PROJECT_BINARY_DIR}/include)

# multitree_constants(PACKAGE HEADER NAMESPACE): of every `localparam int unsigned Name = expression;` of a
# SystemVerilog package, in its order, a `constexpr` kName. Expressions are taken over as they stand: the
# operators of both languages are the same, and what C++ does not know (`$clog2`, `12'd1`) does not compile.
# Each has to stand on one line. A macro of the package has the value of its `define there, the default. When the
# package changes, CMake runs again.
function(multitree_constants package header namespace)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${package})
  file(STRINGS ${package} lines REGEX "^ *localparam +int +unsigned ")
  file(STRINGS ${package} macros REGEX "^`define +[A-Za-z0-9_]+ +[0-9]+ *$")
  set(constants "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^ *localparam +int +unsigned +([A-Za-z0-9_]+) *= *([^;]+);")
      message(FATAL_ERROR "${package}: expected 'localparam int unsigned NAME = EXPRESSION;' on one line, got '${line}'")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(expression "${CMAKE_MATCH_2}")
    foreach(macro IN LISTS macros)
      string(REGEX MATCH "^`define +([A-Za-z0-9_]+) +([0-9]+)" macro "${macro}")
      string(REPLACE "`${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" expression "${expression}")
    endforeach()
    string(REGEX REPLACE "([A-Za-z_$'][A-Za-z0-9_$']*)" "k\\1" expression "${expression}")
    string(APPEND constants "inline constexpr std::uint32_t k${name} = ${expression};\n")
  endforeach()
  if(constants STREQUAL "")
    message(FATAL_ERROR "${package}: expected constants, got none")
  endif()
  cmake_path(GET package FILENAME source)
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "// Made of ${source} by cmake/Constants.cmake.
#pragma once

#include <cstdint>

namespace ${namespace} {
${constants}}  // namespace ${namespace}
")
endfunction()
