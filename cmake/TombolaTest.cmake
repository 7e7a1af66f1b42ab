# SPDX-License-Identifier: Apache-2.0
# How tests are registered.
#
#   tombola_test(NAME name SOURCES file... [LIBS target...] [LABELS label...] [ARGS arg...] [SWEEP] [LONG])
#     builds a cmocka program and adds the test `name`. SWEEP adds `name@scalar` and `name@avx2`, the same program
#     under TOMBOLA_CPU. LONG: only `make test-long` runs it.
#   tombola_script_test(NAME name COMMAND command... [LABELS label...] [LONG])
#     adds a test that is a command.
#
# The folder's name is a label of each test ("unit", "cli", …), and so is "threads" where a program starts some: the
# thread sanitizer's build (target tombola_threaded_tests) has no use for the others. A test that exits with 77 is
# skipped. Every test sees TOMBOLA_PROGRAM, TOMBOLA_SOURCE and TOMBOLA_BUILD; with TOMBOLA_TEST_LONG=1 tests use larger
# counts.

find_path(TOMBOLA_CMOCKA_INCLUDE cmocka.h)
find_library(TOMBOLA_CMOCKA cmocka)
mark_as_advanced(TOMBOLA_CMOCKA_INCLUDE TOMBOLA_CMOCKA)
if(NOT TOMBOLA_CMOCKA_INCLUDE OR NOT TOMBOLA_CMOCKA)
  message(FATAL_ERROR "cmocka is missing: install it (libcmocka-dev), or build without tests: TOMBOLA_TESTS=OFF")
endif()
add_library(tombola_cmocka INTERFACE)
target_include_directories(tombola_cmocka SYSTEM INTERFACE "${TOMBOLA_CMOCKA_INCLUDE}")
target_link_libraries(tombola_cmocka INTERFACE "${TOMBOLA_CMOCKA}")

add_custom_target(tombola_threaded_tests)

# What every test has; a property that is set later wins. Timeouts catch a hang, not a slow machine.
function(tombola_test_properties name long)
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(labels ${ARGN})
  if(NOT folder STREQUAL tests)
    list(PREPEND labels ${folder})
  endif()
  set(timeout 300)
  if(long)
    list(APPEND labels long)
    set(timeout 3600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "TOMBOLA_SOURCE=${PROJECT_SOURCE_DIR}" "TOMBOLA_BUILD=${PROJECT_BINARY_DIR}"
    "TOMBOLA_PROGRAM=${PROJECT_BINARY_DIR}/tombola"
    "ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1" "UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

function(tombola_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SWEEP;LONG" "NAME" "SOURCES;LIBS;LABELS;ARGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES)
    message(FATAL_ERROR "tombola_test: NAME and SOURCES are needed, and nothing else is known: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target test_${arg_NAME})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests/support")
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
  target_link_libraries(${target} PRIVATE ${arg_LIBS} tombola::tombola tombola_cmocka)
  if(TOMBOLA_LIBM)
    target_link_libraries(${target} PRIVATE m)
  endif()
  foreach(source IN LISTS arg_SOURCES)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
      file(STRINGS "${source}" starts REGEX "pthread_create\\(" LIMIT_COUNT 1)
      if(starts)
        list(APPEND arg_LABELS threads)
        add_dependencies(tombola_threaded_tests ${target})
      endif()
    endif()
  endforeach()
  set(names "${arg_NAME}")
  if(arg_SWEEP)
    list(APPEND names ${arg_NAME}@scalar ${arg_NAME}@avx2)
  endif()
  foreach(name IN LISTS names)
    add_test(NAME ${name} COMMAND ${target} ${arg_ARGS})
    tombola_test_properties(${name} "${arg_LONG}" ${arg_LABELS})
    if(name MATCHES "@(.+)$")
      set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT TOMBOLA_CPU=${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

function(tombola_script_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "LONG" "NAME" "COMMAND;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "tombola_script_test: NAME and COMMAND are needed, and nothing else is known: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  tombola_test_properties(${arg_NAME} "${arg_LONG}" ${arg_LABELS})
endfunction()
