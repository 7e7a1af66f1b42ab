# SPDX-License-Identifier: Apache-2.0
# The front door. CMake is the build (see CMakePresets.json); this file makes the commands short and sees to what a
# fresh machine lacks. What was done once leaves a stamp under build/ and is not done again.
#
#   make                build everything: build/tombola, the libraries in build/lib
#   make run            the chat with the default model (without a terminal: tombola run); ARGS='...' is passed on
#   make test           all tests; make test-long: the same with larger counts, and the long ones
#   make bench          tombola's speed beside llama.cpp's
#   make install        into PREFIX (/usr/local)
#   make clean          removes build/, keeps what was fetched

MAKEFLAGS += --no-print-directory
.SUFFIXES:
.DEFAULT_GOAL := all

PREFIX ?= /usr/local
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
stamps := build/stamps

.PHONY: all run test test-long tests bench install clean help

all: $(stamps)/configured
	@scripts/build build

$(stamps)/packages-run $(stamps)/packages-test: $(stamps)/packages-%: scripts/packages
	@scripts/packages $*
	@mkdir -p $(stamps) && touch $@

$(stamps)/configured: | $(stamps)/packages-run
	@scripts/configure -DTOMBOLA_TESTS=OFF -DTOMBOLA_WERROR=OFF
	@touch $@

# Tests want cmocka, and warnings to be errors; a build that had neither is configured anew.
$(stamps)/tests: $(stamps)/packages-test
	@scripts/configure -DTOMBOLA_TESTS=ON -DTOMBOLA_WERROR=ON
	@touch $(stamps)/configured $@

# ARGS is taken as it was typed, for the shell to split and unquote.
run: all
	@scripts/default-model >/dev/null
	@if [ -t 0 ] && [ -t 1 ]; then exec build/tombola chat $(value ARGS); else exec build/tombola run $(value ARGS); fi

tests: $(stamps)/tests
	@scripts/build build
	@scripts/default-model >/dev/null

test: tests
	@ctest --test-dir build --output-on-failure -j $(JOBS) -LE '^long$$' $(value ARGS)

test-long: tests
	@TOMBOLA_TEST_LONG=1 ctest --test-dir build --output-on-failure -j $(JOBS) $(value ARGS)

bench: all
	@scripts/default-model >/dev/null
	@exec build/tombola bench $(value ARGS)

install: all
	@cmake --install build --prefix "$(PREFIX)" >build/install.log || { cat build/install.log >&2; exit 1; }
	@printf 'tombola: installed in %s\n' "$(PREFIX)" >&2

clean:
	@rm -rf build

help:
	@sed -n '6,11s/^# *//p' Makefile
