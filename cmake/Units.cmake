# SPDX-License-Identifier: BSD-3-Clause
# Source files of a folder compiled together, which takes a fraction of the time: what they include is read once, and what
# they instantiate is made once. So names in unnamed namespaces have to differ within a folder of a target. Not
# CMake's UNITY_BUILD: that includes files by absolute paths, of which a compiler cache finds nothing in another
# checkout. Off, every file is compiled by itself (as scripts/lint wants to see it).
option(MULTITREE_UNITS "Compile the source files of a folder together" ON)
set(multitree_files_of_unit 10)

# multitree_units(result target SOURCE...): the files to compile in place of the target's sources.
function(multitree_units result target)
  set(units "")
  set(folders "")
  foreach(source IN LISTS ARGN)
    if(NOT MULTITREE_UNITS OR NOT source MATCHES "^[a-z0-9_/]+\\.cpp$")
      list(APPEND units ${source})
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    string(REPLACE "/" "_" folder "in_${folder}")
    list(APPEND folders ${folder})
    list(APPEND ${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH ${folder} files)
    # As many units as needed, of about the same length.
    math(EXPR count "(${files} + ${multitree_files_of_unit} - 1) / ${multitree_files_of_unit}")
    foreach(number RANGE 1 ${count})
      math(EXPR begin "(${number} - 1) * ${files} / ${count}")
      math(EXPR length "${number} * ${files} / ${count} - ${begin}")
      list(SUBLIST ${folder} ${begin} ${length} members)
      set(text "")
      foreach(member IN LISTS members)
        file(RELATIVE_PATH member ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${member})
        string(APPEND text "#include \"${member}\"\n")
      endforeach()
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}.units/${folder}_${number}.cpp)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
      list(APPEND units ${unit})
    endforeach()
  endforeach()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# multitree_plain_units(result target SOURCE...): of what reads, prints and arranges, and takes no time when it runs. With
# -O3, which is for all others, it takes up to twice as long to compile.
function(multitree_plain_units result target)
  multitree_units(plain ${target} ${ARGN})
  set_source_files_properties(${plain} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
  set(${result} ${plain} PARENT_SCOPE)
endfunction()
