#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include rule: each room sees only the rooms below it (docs/design.md draws them).

  layers.py SOURCE        checks a source tree, prints each include that breaks the rule
  layers.py --self-test   breaks the rule in a temporary tree, once in each way, and sees that it is found
"""
import os
import re
import sys
import tempfile

C11 = {"assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math",
       "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib",
       "stdnoreturn", "string", "tgmath", "threads", "time", "uchar", "wchar", "wctype"}
CORE_PUBLIC = {"status", "vocabulary", "sampler", "stage", "text", "tombola", "trace"}
PUBLIC = CORE_PUBLIC | {"constraint", "model", "session", "llama"}
SIMD = {"immintrin.h", "cpuid.h", "arm_neon.h"}
SYSTEM_RANDOM = {"sys/random.h", "unistd.h"}

# Room (the longest matching folder counts): the rooms whose headers it sees beside its own, the public headers, and the
# headers of others. None: any POSIX or C header, but of libraries only those that `libraries` names.
ROOMS = {
    "include/tombola": ([], PUBLIC, set()),
    "src/base": ([], CORE_PUBLIC, set()),
    "src/kernels": (["src/base"], CORE_PUBLIC, SIMD),
    "src/random": (["src/base"], {"status"}, SYSTEM_RANDOM),
    "src/vocabulary": (["src/base"], {"status", "vocabulary"}, set()),
    "src/sampler": (["src/base", "src/kernels", "src/random", "src/vocabulary"], CORE_PUBLIC, set()),
    "src/text": (["src/base"], {"status", "text"}, set()),
    "src/constraint": (["src/base", "src/text"], CORE_PUBLIC | {"constraint"}, None),
    "src/model": (["src/base"], PUBLIC - {"constraint", "session", "llama"}, None),
    "src/session": (["src/base", "src/text"], PUBLIC - {"llama"}, None),
    "backends/llama": (["src/base"], PUBLIC - {"session"}, None),
    "programs": (["src/base", "src/kernels"], PUBLIC, None),  # bench times the kernels, selftest checks them
}
# Which public headers each public header sees: the core's never one of the session layer's.
HEADER_SEES = {"status": set(), "vocabulary": {"status"}, "sampler": {"status", "vocabulary"},
               "stage": {"status", "vocabulary", "sampler"},
               "trace": {"status", "vocabulary", "sampler"}, "text": {"status"},
               "tombola": CORE_PUBLIC, "constraint": CORE_PUBLIC, "model": CORE_PUBLIC,
               "session": CORE_PUBLIC | {"constraint", "model"},
               "llama": PUBLIC - {"session"}}
LIBRARIES = {"llama": r"^(llama|ggml|gguf)", "yyjson": r"^yyjson", "xxhash": r"^xxh", "libedit": r"^(histedit|editline)",
             "sockets": r"^(sys/socket|netinet/|arpa/|netdb|microhttpd)", "cuda": r"^cu(da|blas)"}
ROOM_LIBRARIES = {"src/constraint": {"yyjson"}, "src/model": {"yyjson"}, "src/session": {"yyjson", "xxhash"},
                  "backends/llama": {"llama"}, "programs": {"llama", "yyjson", "libedit", "xxhash"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    """The room that holds a path, or None."""
    found = [room for room in ROOMS if path.startswith(room + "/")]
    return max(found, key=len, default=None)


def library_of(header):
    return next((name for name, pattern in LIBRARIES.items() if re.match(pattern, header)), None)


def check_public(path, room, name):
    allowed = ROOMS[room][1]
    if room == "include/tombola":
        allowed = HEADER_SEES.get(os.path.basename(path)[:-2], set())
    return None if name in allowed else f"may not see <tombola/{name}.h>"


def check_foreign(room, header):
    library = library_of(header)
    if library:
        return None if library in ROOM_LIBRARIES.get(room, set()) else f"may not use {library} ({header})"
    extra = ROOMS[room][2]
    if extra is None or header in extra or header[:-2] in C11:
        return None
    return f"may use the headers of C11 only, not <{header}>"


def check_include(source, path, room, header):
    """What is wrong with one include, or None."""
    if header.startswith("tombola/"):
        return check_public(path, room, header[len("tombola/"):-2])
    for base in (os.path.dirname(path), "src", "programs", "backends/llama"):
        target = os.path.normpath(os.path.join(base, header))
        if os.path.isfile(os.path.join(source, target)):
            other = room_of(target)
            if other == room or other in ROOMS[room][0]:
                return None
            return f"may not see {target}"
    return check_foreign(room, header)


def check_tree(source):
    """All violations, and the number of files that were read."""
    found, files = [], 0
    for top in ("include", "src", "backends", "programs"):
        for folder, _, names in sorted(os.walk(os.path.join(source, top))):
            for name in sorted(names):
                if not name.endswith((".c", ".h", ".def")):
                    continue
                path = os.path.relpath(os.path.join(folder, name), source)
                room = room_of(path)
                files += 1
                if room is None:
                    found.append(f"{path}: belongs to no room of this list")
                    continue
                with open(os.path.join(source, path), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        match = INCLUDE.match(line)
                        wrong = match and check_include(source, path, room, match.group(2))
                        if wrong:
                            found.append(f"{path}:{number}: {room} {wrong}")
    return found, files


GOOD = {"src/base/base.h": "#include <tombola/status.h>\n#include <stdio.h>",
        "src/kernels/x86/avx2.c": '#include <immintrin.h>\n#include "../../base/base.h"',
        "src/sampler/draw.c": '#include "../base/base.h"\n#include "kernels/kernels.h"',
        "src/kernels/kernels.h": '#include "base/base.h"', "src/text/utf8.c": "#include <tombola/text.h>",
        "src/session/session.h": "", "src/session/session.c": '#include <yyjson.h>\n#include <sys/time.h>',
        "backends/llama/llama.c": "#include <llama.h>\n#include <tombola/model.h>",
        "programs/chat.c": "#include <histedit.h>\n#include <tombola/llama.h>",
        "include/tombola/status.h": "#include <stddef.h>", "include/tombola/sampler.h": "#include <tombola/status.h>"}
BAD = [("src/base/base.c", '#include "kernels/kernels.h"'), ("src/kernels/scalar.c", '#include "../sampler/draw.h"'),
       ("src/constraint/mask.c", "#include <tombola/session.h>"),
       ("src/sampler/chain.c", "#include <tombola/session.h>"), ("src/sampler/chain.c", "#include <yyjson.h>"),
       ("src/sampler/chain.c", '#include "../session/session.h"'), ("src/text/utf8.c", "#include <tombola/sampler.h>"),
       ("src/vocabulary/v.c", "#include <llama.h>"), ("src/base/net.c", "#include <sys/socket.h>"),
       ("src/base/a.c", "#include <unistd.h>"), ("src/sampler/s.c", "#include <immintrin.h>"),
       ("src/session/s.c", '#include "sampler/draw.h"'), ("src/model/m.c", "#include <ggml-backend.h>"),
       ("src/session/s.c", "#  include <netdb.h>"), ("backends/llama/l.c", "#include <tombola/session.h>"),
       ("include/tombola/sampler.h", "#include <tombola/model.h>"), ("include/tombola/text.h", "#include <poll.h>"),
       ("src/model/m.c", "#include <xxhash.h>"), ("src/attic/old.c", ""), ("programs/p.c", '#include "sampler/draw.h"')]


def self_test():
    failed = []
    for extra in [None] + BAD:
        with tempfile.TemporaryDirectory() as tree:
            files = dict(GOOD)
            files.setdefault("src/sampler/draw.h", "")
            if extra:
                files[extra[0]] = extra[1]
            for path, text in files.items():
                os.makedirs(os.path.join(tree, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            found, _ = check_tree(tree)
            if len(found) != (1 if extra else 0):
                failed.append((extra, found))
    for extra, found in failed:
        print(f"with {extra}: found {found}")
    print(f"{len(BAD)} ways to break the rule, {len(failed)} not judged as they should be")
    return 1 if failed else 0


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--self-test":
        return self_test()
    found, files = check_tree(sys.argv[1])
    print("\n".join(found + [f"{files} files, {len(found)} violations"]))
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
