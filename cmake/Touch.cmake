# SPDX-License-Identifier: BSD-3-Clause
# What scripts/touch compiles to WebAssembly: networks, schedules and proofs, with nothing that would have to be linked.
# Left out: files of networks that need a parser of others (DOT, XML, YAML), traffic, exports, and CLP, which has
# view/touch/lp_solver.cpp in its place.
set(CMAKE_EXECUTABLE_SUFFIX .js)
foreach(folder certificate generators io packing symmetric tuning)
  add_subdirectory(algorithms/${folder})
endforeach()
set(algorithms bounds.cpp coalesced.cpp collective.cpp combined_routes.cpp cost.cpp report.cpp schedule.cpp schedule_store.cpp verify.cpp verify_counting.cpp
    verify_links.cpp written_out.cpp
    ${MULTITREE_CERTIFICATE_SOURCES} ${MULTITREE_GENERATOR_SOURCES} ${MULTITREE_SCHEDULE_IO_SOURCES}
    ${MULTITREE_PACKING_SOURCES} ${MULTITREE_SYMMETRIC_SOURCES} ${MULTITREE_TUNING_SOURCES})
list(TRANSFORM algorithms PREPEND algorithms/)

# Headers of others, alone: those of this system's C library must not be seen.
set(headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(folder boost fmt nlohmann range concepts meta std)
  find_path(at_${folder} ${folder} PATHS /usr/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${at_${folder}}/${folder} ${headers}/${folder} SYMBOLIC)
endforeach()

file(GLOB topologies RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS topologies/*.cpp)
list(REMOVE_ITEM topologies topologies/placement.cpp topologies/remaining_network.cpp)
list(APPEND topologies topologies/io/cluster_file.cpp topologies/io/files.cpp topologies/io/json_document.cpp topologies/io/json_lines.cpp
     topologies/io/json_topology.cpp topologies/io/raw_network.cpp topologies/io/text.cpp)
multitree_units(units touch ${topologies} ${algorithms} view/drawing.cpp view/labels.cpp view/layout.cpp view/page_data.cpp view/scene.cpp view/timeline.cpp
                view/touch/changes.cpp view/touch/dense_simplex.cpp view/touch/lp_solver.cpp view/touch/touch.cpp)
add_executable(touch view/touch/main.cpp ${units})
target_include_directories(touch PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(touch SYSTEM PRIVATE ${headers})
target_compile_definitions(touch PRIVATE FMT_HEADER_ONLY)
target_precompile_headers(touch PRIVATE view/touch/ranges.hpp <fmt/format.h> <nlohmann/json.hpp>)
target_compile_options(touch PRIVATE -O2 -fwasm-exceptions)
target_link_options(touch PRIVATE -O2 -fwasm-exceptions
  -sSINGLE_FILE -sMODULARIZE -sEXPORT_NAME=multitree_module -sENVIRONMENT=web,worker,node -sALLOW_MEMORY_GROWTH
  -sTOTAL_STACK=8MB -sFILESYSTEM=0 -sEXPORTED_FUNCTIONS=_multitree_touch,_malloc -sEXPORTED_RUNTIME_METHODS=cwrap)
