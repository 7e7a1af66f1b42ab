# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: program, libraries, headers, the CMake package (also usable from the build folder)
# and pkg-config files. All of it may be moved; nothing in it names the build folder or the user's cache.
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/tombola")
set(components tombola)
if(TARGET tombola_session)
  list(APPEND components constraint session)
endif()
if(TARGET tombola_llama)
  list(APPEND components llama)
endif()

set(origin "$ORIGIN")
if(APPLE)
  set(origin "@loader_path")
endif()

# A libllama of the cache goes along, because a cache may be emptied, and is one user's own.
set(TOMBOLA_LLAMA_BUNDLED "")
if(TARGET tombola_llama AND TOMBOLA_LLAMA_CACHED)
  set(TOMBOLA_LLAMA_BUNDLED "${CMAKE_INSTALL_LIBDIR}/tombola/llama")
  install(DIRECTORY "${TOMBOLA_LLAMA_CACHED}/" DESTINATION "${TOMBOLA_LLAMA_BUNDLED}" USE_SOURCE_PERMISSIONS)
  set(from_lib "${origin}/tombola/llama/lib")
  set(from_bin "${origin}/../${TOMBOLA_LLAMA_BUNDLED}/lib")
endif()

# Libraries: an export set for each component, so that a component's absence never breaks another.
foreach(component IN LISTS components)
  set(target tombola_${component})
  if(component STREQUAL tombola)
    set(target tombola)
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${origin};${from_lib}")
  install(TARGETS ${target} EXPORT tombola-${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT tombola-${component} NAMESPACE tombola:: DESTINATION "${package_folder}"
    FILE tombola-${component}-targets.cmake)
  export(EXPORT tombola-${component} NAMESPACE tombola::
    FILE "${PROJECT_BINARY_DIR}/tombola-${component}-targets.cmake")
endforeach()

set(headers sampler.h stage.h status.h text.h tombola.h trace.h vocabulary.h)
if(TARGET tombola_session)
  list(APPEND headers constraint.h model.h session.h)
endif()
if(TARGET tombola_llama)
  list(APPEND headers llama.h)
endif()
foreach(header IN LISTS headers)
  install(FILES "${PROJECT_SOURCE_DIR}/include/tombola/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tombola")
endforeach()

if(TARGET tombola_program)
  set_target_properties(tombola_program PROPERTIES INSTALL_RPATH "${origin}/../${CMAKE_INSTALL_LIBDIR};${from_bin}")
  install(TARGETS tombola_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

set(tombola_static ON)
if(BUILD_SHARED_LIBS)
  set(tombola_static OFF)
endif()

# The CMake package. The build folder has one too, whose libllama is where it was found.
set(TOMBOLA_LLAMA_HINT "")
if(TOMBOLA_LLAMA_BUNDLED)
  set(TOMBOLA_LLAMA_HINT "\${PACKAGE_PREFIX_DIR}/${TOMBOLA_LLAMA_BUNDLED}")
endif()
configure_package_config_file(cmake/tombola-config.cmake.in "${PROJECT_BINARY_DIR}/installed/tombola-config.cmake"
  INSTALL_DESTINATION "${package_folder}")
set(TOMBOLA_LLAMA_HINT "${TOMBOLA_LLAMA_CACHED}")
configure_package_config_file(cmake/tombola-config.cmake.in "${PROJECT_BINARY_DIR}/tombola-config.cmake"
  INSTALL_DESTINATION "${PROJECT_BINARY_DIR}" INSTALL_PREFIX "${PROJECT_BINARY_DIR}")
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tombola-config-version.cmake" COMPATIBILITY ${compatibility})
install(FILES "${PROJECT_BINARY_DIR}/installed/tombola-config.cmake"
  "${PROJECT_BINARY_DIR}/tombola-config-version.cmake" DESTINATION "${package_folder}")

# pkg-config. The prefix is found from the file's own place; libllama's own file forgets ggml, so ours names both.
file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
set(session_requires "")
set(session_libs "")
if(TOMBOLA_YYJSON_SYSTEM)
  set(session_requires yyjson)
endif()
set(llama_libs "-lllama -lggml -lggml-base")
if(TOMBOLA_LLAMA_BUNDLED)
  set(llama_folder "\${prefix}/${TOMBOLA_LLAMA_BUNDLED}/lib")
  set(llama_libs "-L${llama_folder} -Wl,-rpath,${llama_folder} ${llama_libs}")
endif()

# tombola_pkgconfig(FILE DESCRIPTION LIBRARY REQUIRES REQUIRES-PRIVATE LIBS-PRIVATE)
# What is private to a shared library is everyone's with a static one, so that `pkg-config --libs` alone is enough.
function(tombola_pkgconfig PC_NAME PC_DESCRIPTION PC_LIBRARY PC_REQUIRES PC_REQUIRES_PRIVATE PC_LIBS_PRIVATE)
  set(PC_LIBS "")
  if(NOT BUILD_SHARED_LIBS)
    set(PC_LIBS " ${PC_LIBS_PRIVATE}")
    set(PC_LIBS_PRIVATE "")
    string(STRIP "${PC_REQUIRES} ${PC_REQUIRES_PRIVATE}" PC_REQUIRES)
    set(PC_REQUIRES_PRIVATE "")
  endif()
  configure_file(cmake/tombola.pc.in "${PROJECT_BINARY_DIR}/pkgconfig/${PC_NAME}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${PC_NAME}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

tombola_pkgconfig(tombola "Logits of a language model to tokens, tokens to text" tombola "" "" "-lm")
if(TARGET tombola_session)
  tombola_pkgconfig(tombola-constraint "tombola's constraints: JSON Schema, regular expressions, grammars"
    tombola_constraint tombola "${session_requires}" "${CMAKE_THREAD_LIBS_INIT}")
  tombola_pkgconfig(tombola-session "tombola's sessions over a model" tombola_session "tombola-constraint tombola"
    "${session_requires}" "")
endif()
if(TARGET tombola_llama)
  tombola_pkgconfig(tombola-llama "tombola's models of libllama" tombola_llama tombola-session "" "${llama_libs}")
endif()
