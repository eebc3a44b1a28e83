# SPDX-License-Identifier: BSD-3-Clause
# `cpack` in a build folder writes Debian packages, each with the dependencies that its linker recorded:
#   multitree          program, libraries, headers, man pages, completion
#   multitree-openmpi, multitree-mpich    what MPI programs are run with, each needing its MPI
#   python3-multitree  `import multitree` for the system's Python
# The same sources and packages give the same bytes where SOURCE_DATE_EPOCH is set (scripts/package does).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME multitree)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the multitree developers <maintainers@multitree.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME multitree)
set(CPACK_DEBIAN_UNSPECIFIED_DESCRIPTION "${PROJECT_DESCRIPTION}")
# What is run where a figure is asked for, and what is loaded where it is there.
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "gnuplot-nox, libssl3, libucx0")
install(FILES LICENSE DESTINATION share/doc/multitree RENAME copyright)

# multitree_package(component name depends description)
macro(multitree_package component name depends description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "multitree (= ${PROJECT_VERSION})${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  install(FILES LICENSE DESTINATION share/doc/${name} RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

foreach(mpi openmpi mpich)
  if(TARGET multitree_mpi_${mpi})
    multitree_package(${mpi} multitree-${mpi} "" "multitree under MPI programs as they are, of ${mpi}")
  endif()
endforeach()
if(TARGET multitree_python)
  # The module is of one version of Python.
  find_package(Python QUIET COMPONENTS Interpreter)
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  multitree_package(site python3-multitree
    ", python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy" "multitree for Python 3")
  set(site lib/python3/dist-packages/multitree)
  install(TARGETS multitree_python LIBRARY DESTINATION ${site} COMPONENT site EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_BINARY_DIR}/python/multitree/_core.pyi DESTINATION ${site} COMPONENT site EXCLUDE_FROM_ALL)
  install(DIRECTORY python/multitree/ DESTINATION ${site} COMPONENT site EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()
include(CPack)
