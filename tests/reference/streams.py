# SPDX-License-Identifier: Apache-2.0
"""The random streams of the engines, plainly."""
import math

from plain import single

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def rotr32(x, n):
    n &= 31
    return ((x >> n) | (x << (32 - n))) & M32


def rotl32(x, n):
    return rotr32(x, 32 - n)


class Mt19937:
    """std::mt19937, and the uniforms that libstdc++ makes of it."""

    def __init__(self, seed):
        self.state = [seed & M32]
        for i in range(1, 624):
            last = self.state[-1]
            self.state.append((1812433253 * (last ^ (last >> 30)) + i) & M32)
        self.at = 624

    def next(self):
        if self.at == 624:
            self.at = 0
            s = self.state
            for i in range(624):
                y = (s[i] & 0x80000000) | (s[(i + 1) % 624] & 0x7FFFFFFF)
                s[i] = s[(i + 397) % 624] ^ (y >> 1) ^ (0x9908B0DF if y & 1 else 0)
        y = self.state[self.at]
        self.at += 1
        y ^= y >> 11
        y ^= (y << 7) & 0x9D2C5680
        y ^= (y << 15) & 0xEFC60000
        return y ^ (y >> 18)

    def double(self):
        low = self.next()
        return min((low + self.next() * 2**32) / 2**64, 1 - 2**-53)

    def float(self):
        return min(single(self.next() / 2**32), 1 - 2**-24)


class Pcg32:
    """rMLX's: the increment from its constant, then the seed added between two steps."""

    MULTIPLIER = 6364136223846793005
    INCREMENT = ((0x9E3779B97F4A7C15 << 1) | 1) & M64

    def __init__(self, seed):
        self.state = 0
        self.next()
        self.state = (self.state + seed) & M64
        self.next()

    def next(self):
        old = self.state
        self.state = (old * self.MULTIPLIER + self.INCREMENT) & M64
        return rotr32((((old >> 18) ^ old) >> 27) & M32, old >> 59)

    def float(self):
        return (self.next() >> 8) / 2**24


def chacha_block(key, counter, rounds):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, counter & M32, counter >> 32, 0, 0]
    s = list(start)

    def quarter(a, b, c, d):
        for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & M32
            s[z] = rotl32(s[z] ^ s[x], n)

    for _ in range(rounds // 2):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(x + y) & M32 for x, y in zip(s, start)]


class ChaCha12:
    """rand 0.8's StdRng::seed_from_u64."""

    def __init__(self, seed):
        self.key = []
        for _ in range(8):
            seed = (seed * 6364136223846793005 + 11634580027462260723) & M64
            self.key.append(rotr32((((seed >> 18) ^ seed) >> 27) & M32, seed >> 59))
        self.counter, self.words = 0, []

    def next(self):
        if not self.words:
            self.words = chacha_block(self.key, self.counter, 12)[::-1]
            self.counter += 1
        return self.words.pop()

    def float(self):
        return (self.next() >> 8) / 2**24


def threefry2x32(key, counter):
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    k = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (counter[0] + k[0]) & M32, (counter[1] + k[1]) & M32
    for i in range(5):
        for n in rotations[i % 2]:
            x = (x + y) & M32
            y = rotl32(y, n) ^ x
        x = (x + k[(i + 1) % 3]) & M32
        y = (y + k[(i + 2) % 3] + i + 1) & M32
    return x, y


def mlx_bits(key, n):
    half = n // 2 + n % 2
    words = [0] * n
    for i in range(n // 2):
        words[i], words[i + half] = threefry2x32(key, (i, i + half))
    if n % 2:
        words[n // 2] = threefry2x32(key, (n // 2, 0))[0]
    return words


class MlxKeys:
    """mlx's global state: each call splits it."""

    def __init__(self, seed):
        self.key = (seed >> 32, seed & M32)

    def next(self):
        w = mlx_bits(self.key, 4)
        self.key = (w[0], w[1])
        return (w[2], w[3])

    def uniforms(self, n):
        return [mlx_uniform(word) for word in mlx_bits(self.next(), n)]


def mlx_uniform(word):
    return min(single(single(word) / single(4294967295)), 1 - 2**-24)


def gumbel(u):
    """-ln(-ln u), each logarithm in single precision."""
    if u <= 0:
        return -math.inf
    inner = single(-single(math.log(u)))
    return single(-single(math.log(inner))) if inner > 0 else math.inf


def philox4x32(key, counter):
    c, k = list(counter), list(key)
    for i in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def philox_uniform(word):
    return ((word >> 9) + 0.5) / 2**23
