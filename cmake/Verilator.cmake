# SPDX-License-Identifier: BSD-3-Clause
# SystemVerilog to C++ libraries, at build time: an error in the hardware never stops CMake.
option(MULTITREE_HARDWARE "Build the hardware model and its tests, if Verilator is found" ON)
if(NOT MULTITREE_HARDWARE)
  return()
endif()
find_package(verilator 5.006 HINTS /usr/share/verilator /usr/local/share/verilator)
if(NOT verilator_FOUND)
  message(STATUS "Verilator not found: no hardware model, no tests of it")
  return()
endif()
find_package(Threads REQUIRED)

# What all verilated models share, compiled once.
set(verilator_include ${VERILATOR_ROOT}/include)
add_library(verilated_runtime STATIC
  ${verilator_include}/verilated.cpp ${verilator_include}/verilated_dpi.cpp
  ${verilator_include}/verilated_cov.cpp ${verilator_include}/verilated_fst_c.cpp
  ${verilator_include}/verilated_threads.cpp ${PROJECT_SOURCE_DIR}/rtl/sim/stop.cpp)
target_include_directories(verilated_runtime PUBLIC ${PROJECT_SOURCE_DIR} ${MULTITREE_GENERATED_DIR})
target_include_directories(verilated_runtime SYSTEM PUBLIC
  ${verilator_include} ${verilator_include}/vltstd)
# A failed assertion throws instead of ending the process.
target_compile_definitions(verilated_runtime PUBLIC
  VL_USER_STOP VL_USER_FATAL VM_COVERAGE=1 VM_TRACE=1 VM_TRACE_FST=1)
target_compile_options(verilated_runtime PRIVATE -w)
find_package(ZLIB REQUIRED)
target_link_libraries(verilated_runtime PUBLIC Threads::Threads ZLIB::ZLIB)

set(MULTITREE_RTL_DIR ${PROJECT_SOURCE_DIR}/rtl)
# Warnings are errors; waivers are all in one file. Functions of some hundred statements at most: what a compiler
# takes for longer ones grows faster than they do.
set(multitree_verilator_flags --cc -Wall -Wpedantic --x-assign fast --x-initial fast
  -Irtl/include --no-timing --output-split-cfuncs 400)

# multitree_verilate(name TOP mt_fifo SOURCES rtl/prim/mt_fifo.sv... [PARAMETERS Width=8...]
#   [FLAGS --coverage-line...] [OPTIMIZE -O3] [NO_ASSERTIONS] [GENERATED /build/x.sv...]): a static library `name` with the class V<name>,
# header V<name>.h. Sources are relative to the project, but for those that are GENERATED.
function(multitree_verilate name)
  cmake_parse_arguments(ARG "NO_ASSERTIONS" "TOP;OPTIMIZE" "SOURCES;PARAMETERS;FLAGS;GENERATED" ${ARGN})
  if(NOT ARG_OPTIMIZE)
    set(ARG_OPTIMIZE -O1)
  endif()
  if(NOT ARG_NO_ASSERTIONS)
    list(APPEND ARG_FLAGS --assert)
  endif()
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${name}.verilated)
  set(archive ${directory}/V${name}__ALL.a)
  set(dependencies ${ARG_SOURCES})
  list(TRANSFORM dependencies PREPEND ${PROJECT_SOURCE_DIR}/)
  # Relative paths, as C++ made of the hardware quotes them: it is the same in every checkout.
  set(generated "")
  foreach(file IN LISTS ARG_GENERATED)
    file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR} ${file})
    list(APPEND generated ${file})
  endforeach()
  set(parameters ${ARG_PARAMETERS})
  list(TRANSFORM parameters PREPEND -G)
  file(GLOB headers CONFIGURE_DEPENDS ${MULTITREE_RTL_DIR}/include/*.svh)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${VERILATOR_BIN} ${multitree_verilator_flags} ${ARG_FLAGS} ${parameters}
            --prefix V${name} --top-module ${ARG_TOP} --Mdir ${directory}
            rtl/lint/waivers.vlt ${ARG_SOURCES} ${generated}
    COMMAND ${CMAKE_COMMAND} -E env "CXX=${CMAKE_CXX_COMPILER}" "OBJCACHE=$<$<BOOL:${CCACHE}>:${CCACHE}>"
            make -s -C ${directory} -f ${PROJECT_SOURCE_DIR}/cmake/verilated_units.mk "MODEL=V${name}" "OPT_FAST=${ARG_OPTIMIZE}"
            "INCLUDES=-I${verilator_include} -I${verilator_include}/vltstd" V${name}__ALL.a
    DEPENDS ${dependencies} ${ARG_GENERATED} ${headers} ${MULTITREE_RTL_DIR}/lint/waivers.vlt
            ${PROJECT_SOURCE_DIR}/cmake/verilated_units.mk
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Verilating ${name}" VERBATIM)
  add_custom_target(${name}_verilated DEPENDS ${archive})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_verilated)
  target_include_directories(${name} SYSTEM INTERFACE ${directory})
  target_link_libraries(${name} INTERFACE ${archive} verilated_runtime)
endfunction()
