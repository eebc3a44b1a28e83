# SPDX-License-Identifier: BSD-3-Clause
# Files as string constants of the program.

# multitree_embed(result NAME=FILE...): a source that defines `extern const std::string_view NAME` in namespace
# multitree::embedded for each file. Made again when a file changes.
function(multitree_embed result)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${result}.cpp)
  set(text "#include <string_view>\nnamespace multitree::embedded {\n")
  foreach(item IN LISTS ARGN)
    string(REGEX MATCH "^([a-z0-9_]+)=(.+)$" matched "${item}")
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(APPEND text "extern const std::string_view ${name};\n"
                       "const std::string_view ${name} = R\"--embed--(${content})--embed--\";\n")
  endforeach()
  string(APPEND text "}  // namespace multitree::embedded\n")
  file(GENERATE OUTPUT ${source} CONTENT "${text}")
  set(${result} ${source} PARENT_SCOPE)
endfunction()

# multitree_embed_folder(result NAME FILE...): a source that defines in the same namespace
# `extern const std::span<const std::pair<std::string_view, std::string_view>> NAME`, a row for each file: its name without
# folder and extension, and what it says.
function(multitree_embed_folder result name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set(row "std::pair<std::string_view, std::string_view>")
  set(text "#include <span>\n#include <string_view>\n#include <utility>\n"
           "namespace multitree::embedded {\nnamespace {\nconst ${row} rows[] = {\n")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    cmake_path(GET file STEM stem)
    string(APPEND text "{\"${stem}\", R\"--embed--(${content})--embed--\"},\n")
  endforeach()
  string(APPEND text "};\n}  // namespace\nextern const std::span<const ${row}> ${name};\n"
                     "const std::span<const ${row}> ${name} = rows;\n}  // namespace multitree::embedded\n")
  file(GENERATE OUTPUT ${source} CONTENT "${text}")
  set(${result} ${source} PARENT_SCOPE)
endfunction()
