# SPDX-License-Identifier: Apache-2.0
# tombola_flags: what all code of ours is compiled with; link it PRIVATE. It is never installed.
add_library(tombola_flags INTERFACE)

# The arithmetic is pinned: a compiler that fuses a multiplication and an addition would change the last bit, and with
# it the token. Code that wants a fused operation writes fmaf.
target_compile_options(tombola_flags INTERFACE -ffp-contract=off)

target_compile_options(tombola_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wcast-qual
  -Wformat=2 -Wdouble-promotion -Wswitch-enum -Wimplicit-fallthrough)
if(TOMBOLA_WERROR)
  target_compile_options(tombola_flags INTERFACE -Werror)
endif()

if(TOMBOLA_SANITIZE)
  set(sanitize -fsanitize=${TOMBOLA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
