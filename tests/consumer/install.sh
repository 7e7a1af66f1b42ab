#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and installs the libraries as static or shared ones, moves what was installed, and then uses it as strangers
# do: by find_package from the installation and from the build folder, by add_subdirectory, by pkg-config. Of shared
# libraries it also checks what they export and need.
#
#   install.sh static|shared     TOMBOLA_SOURCE, TOMBOLA_BUILD, LLAMA_DIR (empty: without that component)
set -eu
linkage=$1
work=${TOMBOLA_BUILD:?}/consumer-$linkage
here=${TOMBOLA_SOURCE:?}/tests/consumer
moved=$work/moved
components="constraint;session"
parts=-DTOMBOLA_LLAMA=OFF
if [ -n "${LLAMA_DIR:-}" ]; then
  components="constraint;session;llama"
  parts="-DTOMBOLA_LLAMA=ON -Dllama_DIR=$LLAMA_DIR"
fi
fail() { echo "consumer.$linkage: $*" >&2; exit 1; }

# quietly COMMAND...: shows what a command says only when it fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "this failed: $*"; }; }

build_and_install() {
  shared=OFF
  [ "$linkage" = static ] || shared=ON
  # Two words or one; a folder with spaces is not supported here.
  # shellcheck disable=SC2086
  quietly cmake -G Ninja -S "$TOMBOLA_SOURCE" -B "$work/build" -DBUILD_SHARED_LIBS=$shared $parts \
    -DCMAKE_BUILD_TYPE=Debug -DTOMBOLA_TESTS=OFF -DTOMBOLA_BENCH=OFF
  quietly cmake --build "$work/build"
  rm -rf "$work/prefix" "$moved"
  quietly cmake --install "$work/build" --prefix "$work/prefix"
  mv "$work/prefix" "$moved"
  for header in "$TOMBOLA_SOURCE"/include/tombola/*.h; do
    name=$(basename "$header")
    [ -f "$moved/include/tombola/$name" ] || { [ "$name" = llama.h ] && [ -z "${LLAMA_DIR:-}" ]; } || fail "$name is not installed"
  done
  if grep -rIlE "$work/(build|prefix)|/\.cache/" "$moved/lib/cmake/tombola" "$moved"/lib/pkgconfig/*.pc >"$work/log"; then
    fail "an installed file names the build machine: $(cat "$work/log")"
  fi
}

# consume NAME CMAKE-OPTION...: configures and builds the stranger's project, and runs every program of it.
consume() {
  name=$1; shift
  quietly cmake -G Ninja -S "$here/project" -B "$work/$name" "$@"
  quietly cmake --build "$work/$name"
  for program in "$work/$name"/use_*; do quietly "$program"; echo "$name: $(basename "$program"): $(tail -n 1 "$work/log")"; done
}

# refuse WHAT CMAKE-OPTION...: the stranger's project must not configure.
refuse() {
  what=$1; shift
  rm -rf "$work/refused"
  if cmake -G Ninja -S "$here/project" -B "$work/refused" "-DCMAKE_PREFIX_PATH=$moved" "$@" >"$work/log" 2>&1; then
    fail "find_package accepted $what"
  fi
  grep -qi tombola "$work/log" || { cat "$work/log" >&2; fail "another error than the expected one for $what"; }
}

consume_by_pkg_config() {
  export PKG_CONFIG_PATH="$moved/lib/pkgconfig"
  for package in tombola tombola-constraint tombola-session ${LLAMA_DIR:+tombola-llama}; do
    source=${package#tombola-}
    [ "$source" != tombola ] || source=core
    # pkg-config answers with a list of words.
    # shellcheck disable=SC2046
    quietly "${CC:-cc}" -std=c11 -o "$work/pc_$source" "$here/$source.c" $(pkg-config --cflags --libs "$package")
    quietly env LD_LIBRARY_PATH="$moved/lib" "$work/pc_$source"
    echo "pkg-config $package: $(tail -n 1 "$work/log")"
  done
}

# Nothing leaves a shared library but the public names; the core needs libc and libm alone.
check_shared_libraries() {
  for library in "$moved"/lib/libtombola*.so; do
    nm -D --defined-only "$library" | awk '{print $NF}' >"$work/symbols"
    grep -q '^tombola_[a-z]' "$work/symbols" || fail "$library exports nothing"
    if grep -v '^tombola_[a-z]' "$work/symbols" >&2; then fail "$library exports the names above"; fi
    readelf -d "$library" | grep -q "SONAME.*libtombola[a-z_]*\.so\.[0-9]" || fail "$library has no versioned soname"
    echo "$(basename "$library"): $(wc -l <"$work/symbols") names"
  done
  readelf -d "$moved/lib/libtombola.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needed"
  if grep -vE '^(libc\.|libm\.|ld-)' "$work/needed" >&2; then fail "the core needs the libraries above"; fi
}

mkdir -p "$work"
build_and_install
consume installed -DWAY=installed "-DWANTED=$components" "-DCMAKE_PREFIX_PATH=$moved"
consume build-tree -DWAY=build-tree "-DWANTED=$components" "-Dtombola_DIR=$work/build"
consume core-only -DWAY=installed -DCMAKE_DISABLE_FIND_PACKAGE_llama=ON "-DCMAKE_PREFIX_PATH=$moved"
refuse "version 99" -DVERSION=99
refuse "an unknown component" -DWANTED=nonsense
if [ -z "${LLAMA_DIR:-}" ]; then refuse "a component that was not built" -DWANTED=llama; fi
consume_by_pkg_config
if [ -x "$moved/bin/tombola" ]; then quietly "$moved/bin/tombola" --version; head -n 1 "$work/log"; fi
if [ "$linkage" = shared ]; then
  check_shared_libraries
else
  consume subdirectory -DWAY=subdirectory "-DTOMBOLA_SOURCE=$TOMBOLA_SOURCE" -DTOMBOLA_SESSION=OFF
fi
