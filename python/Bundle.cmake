# SPDX-License-Identifier: BSD-3-Clause
# What the module needs and another machine may lack, copied to lib/ beside it when it is installed. The C library and
# the compiler's are those of the machine (the wheel's tag says how new); UCX too, which is loaded where it is: without,
# messages go over TCP sockets. All are found by the module's own path, so nothing has to be patched, and what the
# process has loaded under the same name already is used instead.
set(prefix ${CMAKE_INSTALL_PREFIX}/multitree)
file(REMOVE_RECURSE ${prefix}/lib)
file(MAKE_DIRECTORY ${prefix}/lib)
file(COPY_FILE ${built}/libmultitree.so ${prefix}/lib/libmultitree.so.0)
file(COPY_FILE ${built}/libmultitree_planning.so ${prefix}/lib/libmultitree_planning.so)

file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${built_module} ${built}/libmultitree.so ${built}/libmultitree_planning.so
  RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR lacking
  PRE_EXCLUDE_REGEXES "^(ld-linux.*|lib(c|m|dl|rt|pthread|util|z|gcc_s|stdc\\+\\+))\\.so" "^libmultitree.*"
  DIRECTORIES ${built})
if(lacking)
  message(FATAL_ERROR "expected every library that the module needs, found none of: ${lacking}")
endif()
foreach(library IN LISTS found)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${prefix}/lib/${name})
  # Under what terms it is copied, where the system keeps that.
  execute_process(COMMAND dpkg-query -S ${file} OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX MATCH "^[^:,]+" owner "${owner}")
  if(owner AND EXISTS /usr/share/doc/${owner}/copyright)
    file(REAL_PATH /usr/share/doc/${owner}/copyright terms)
    file(MAKE_DIRECTORY ${prefix}/lib/licenses)
    file(COPY_FILE ${terms} ${prefix}/lib/licenses/${owner}.txt)
  endif()
endforeach()
# A path of its own would keep a library from looking where the module says.
file(GLOB libraries ${prefix}/lib/*.so*)
foreach(library IN LISTS libraries)
  file(RPATH_REMOVE FILE ${library})
endforeach()
