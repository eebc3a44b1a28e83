# SPDX-License-Identifier: BSD-3-Clause
# Libraries, headers, data and the program, with a package that find_package(multitree) finds.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/multitree)
install(TARGETS multitree_topologies multitree_algorithms multitree_nic multitree_runtime multitree_c multitree
        EXPORT multitreeTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT multitreeTargets NAMESPACE multitree:: DESTINATION ${package_dir})

# Public headers by their public names: #include <multitree/schedule.hpp>.
set(face ${PROJECT_BINARY_DIR}/face)
install(CODE "
  file(REMOVE_RECURSE ${face})
  set(FACE_SOURCE ${PROJECT_SOURCE_DIR})
  set(FACE_OUTPUT ${face})
  include(${PROJECT_SOURCE_DIR}/cmake/PublicHeaders.cmake)")
install(DIRECTORY ${face}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/multitree)

# What the program says of itself, for shells and for man.
set(words ${PROJECT_BINARY_DIR}/words)
install(CODE "
  execute_process(COMMAND $<TARGET_FILE:multitree> manual -o ${words}/man1 COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND $<TARGET_FILE:multitree> manual --json-schema -o ${words}/schemas COMMAND_ERROR_IS_FATAL ANY)
  foreach(shell bash zsh fish)
    execute_process(COMMAND $<TARGET_FILE:multitree> completion \${shell}
                    OUTPUT_FILE ${words}/\${shell} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(DIRECTORY ${words}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${words}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/multitree)
install(FILES ${words}/bash RENAME multitree
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${words}/zsh RENAME _multitree
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${words}/fish RENAME multitree.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# The study is a program with its data, and no part of the package.
install(TARGETS multitree-study RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY study/workloads DESTINATION ${CMAKE_INSTALL_DATADIR}/multitree)
install(FILES study/compatibility-message.json study/compatibility-packet.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/multitree)

configure_package_config_file(cmake/multitreeConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/multitreeConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/multitreeConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/multitreeConfig.cmake
              ${PROJECT_BINARY_DIR}/multitreeConfigVersion.cmake
        DESTINATION ${package_dir})
