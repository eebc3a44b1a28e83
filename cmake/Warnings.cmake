# SPDX-License-Identifier: BSD-3-Clause
# One helper for every library and program of the project: its warnings and its sanitizers.
function(multitree_target_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion
                         -Wno-sign-conversion
                         # false positives of g++ 12 on std::string (PR 105651)
                         -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                         -Wno-maybe-uninitialized  # and on Boost's integers and flows
                         $<$<BOOL:${MULTITREE_WERROR}>:-Werror>)
  if(MULTITREE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${MULTITREE_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${MULTITREE_SANITIZE})
  endif()
endfunction()

# multitree_library(topologies SOURCES a.cpp ... PLAIN b.cpp ... ALONE c.cpp ... PUBLIC x PRIVATE y): target
# multitree_<name>, alias multitree::<name>, exported by Install.cmake under the alias. PLAIN: as multitree_plain_units().
# ALONE: in no unit of several files.
function(multitree_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PLAIN;ALONE;PUBLIC;PRIVATE" ${ARGN})
  multitree_units(units multitree_${name} ${ARG_SOURCES})
  multitree_plain_units(plain multitree_${name} ${ARG_PLAIN})
  add_library(multitree_${name} STATIC ${units} ${plain} ${ARG_ALONE})
  add_library(multitree::${name} ALIAS multitree_${name})
  set_target_properties(multitree_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(multitree_${name} PUBLIC cxx_std_20)
  target_include_directories(multitree_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(multitree_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  multitree_target_options(multitree_${name})
  multitree_precompile(multitree_${name} library)
endfunction()
