# SPDX-License-Identifier: Apache-2.0
# tombola_commit: link it to get "tombola_commit.h", which defines TOMBOLA_COMMIT as a string: the short commit that is
# built, "+" after it when tracked files were changed, "unknown" outside a checkout. Looked up at each build, and
# rewritten only when it changed. As a script (cmake -P) this file writes the header.

if(CMAKE_SCRIPT_MODE_FILE)
  set(commit unknown)
  execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty=+ --exclude=* --abbrev=10
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND found)
    set(commit "${found}")
  endif()
  set(text "#define TOMBOLA_COMMIT \"${commit}\"\n")
  set(old "")
  if(EXISTS "${HEADER}")
    file(READ "${HEADER}" old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE "${HEADER}" "${text}")
  endif()
  return()
endif()

set(tombola_commit_folder "${PROJECT_BINARY_DIR}/generated/commit")
add_custom_target(tombola_commit_header
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DHEADER=${tombola_commit_folder}/tombola_commit.h"
          -P "${CMAKE_CURRENT_LIST_FILE}"
  BYPRODUCTS "${tombola_commit_folder}/tombola_commit.h"
  COMMENT "" VERBATIM)
add_library(tombola_commit INTERFACE)
target_include_directories(tombola_commit INTERFACE "${tombola_commit_folder}")
add_dependencies(tombola_commit tombola_commit_header)
