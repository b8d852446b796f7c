"""Writes vectors.txt, which decoding and encoding are held against.

    pip install gguf==0.19.0 numpy==2.4.6 ml_dtypes==0.6.0
    python vectors.py > vectors.txt

A line is: decode or encode, the type, the stored bytes, the values as little-endian
singles, both in hexadecimal. For decode the bytes are random, with scales of all
sizes, and the values are what gguf.quants (the converters of llama.cpp) makes of
them; for FP8 what ml_dtypes does. For encode the values are random, and the bytes
what gguf.quants, NumPy and ml_dtypes make of them.
"""

import ml_dtypes
import numpy as np
from gguf import quants
from gguf.constants import GGMLQuantizationType as T

rng = np.random.default_rng(7)


def line(what, name, data, values):
    print(what, name, data.tobytes().hex(), np.asarray(values, "<f4").tobytes().hex())


def halves(n):
    """Halves of all sizes and both signs, subnormal ones too."""
    return (rng.standard_normal(n) * 2.0 ** rng.integers(-24, 8, n)).astype("<f2")


# Where the halves of a block are.
for t, size, at in (
    (T.Q8_0, 34, [0]),
    (T.Q4_0, 18, [0]),
    (T.Q4_1, 20, [0, 2]),
    (T.Q4_K, 144, [0, 2]),
    (T.Q6_K, 210, [208]),
):
    blocks = rng.integers(0, 256, (4, size), np.uint8)
    for i in at:
        blocks[:, i : i + 2] = halves(4).view(np.uint8).reshape(4, 2)
    line("decode", t.name, blocks, quants.dequantize(blocks, t).reshape(-1))

bits = rng.integers(0, 1 << 16, 128).astype("<u2")
line("decode", "F16", bits, bits.view("<f2").astype("<f4"))
line("decode", "BF16", bits, quants.dequantize(bits.view(np.uint8), T.BF16))
everything = np.arange(256, dtype=np.uint8)
line("decode", "F8_E4M3", everything, everything.view(ml_dtypes.float8_e4m3fn).astype("<f4"))

values = (rng.standard_normal(128) * 2.0 ** rng.integers(-20, 8, 128)).astype("<f4")
ties = ((2 * rng.integers(0, 1 << 11, 64) + 1) / 2048 * 2.0 ** rng.integers(-30, 6, 64)).astype("<f4")
for v in (values, np.clip(ties, 0, 448)):
    line("encode", "F16", v.astype("<f2"), v)
    line("encode", "BF16", quants.quantize(v, T.BF16), v)
    line("encode", "F8_E4M3", v.astype(ml_dtypes.float8_e4m3fn), v)
    line("encode", "Q8_0", quants.quantize(v, T.Q8_0), v)
