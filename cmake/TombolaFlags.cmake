# SPDX-License-Identifier: Apache-2.0
# What all code of ours is compiled with, from this folder down.

# The arithmetic is pinned: a compiler that fuses a multiplication and an addition would change the last bit, and with
# it the token. Code that wants a fused operation writes fmaf.
add_compile_options(-ffp-contract=off)

add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wcast-qual
  -Wformat=2 -Wdouble-promotion -Wswitch-enum -Wimplicit-fallthrough)
if(TOMBOLA_WERROR)
  add_compile_options(-Werror)
endif()

if(TOMBOLA_SANITIZE)
  set(sanitize -fsanitize=${TOMBOLA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
