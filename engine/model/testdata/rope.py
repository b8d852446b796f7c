#!/usr/bin/env python3
"""Writes rope.json: rotary embeddings as Hugging Face transformers computes them.

    pip install torch "transformers==4.51.3"
    python rope.py
"""
import json
import os

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LONG = [1.0 + 0.37 * i for i in range(48)]
SHORT = [1.0 + 0.01 * i for i in range(48)]

# Name, theta, size of a head, window before scaling, length of the sequence, rope_scaling.
# transformers 4.51 takes yarn's factor from the windows, so that both are given.
CASES = [
    ("none", 10000.0, 64, 4096, 4096, None),
    ("llama 3.1 8B", 500000.0, 128, 131072, 131072, dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)),
    ("linear", 10000.0, 64, 4096, 4096, dict(rope_type="linear", factor=2.5)),
    ("dynamic within the window", 10000.0, 64, 4096, 4096, dict(rope_type="dynamic", factor=4.0)),
    ("dynamic beyond the window", 10000.0, 64, 4096, 16384, dict(rope_type="dynamic", factor=4.0)),
    ("qwen 2.5 with yarn", 1000000.0, 128, 131072, 131072, dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)),
    ("yarn with betas", 10000.0, 64, 65536, 65536, dict(
        rope_type="yarn", factor=16.0, original_max_position_embeddings=4096, beta_fast=24.0, beta_slow=2.0)),
    ("yarn with scales", 10000.0, 64, 163840, 163840, dict(
        rope_type="yarn", factor=40.0, original_max_position_embeddings=4096, mscale=1.0, mscale_all_dim=0.5)),
    ("yarn with its attention factor", 10000.0, 64, 16384, 16384, dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=4096, attention_factor=1.25)),
    ("longrope within the window", 10000.0, 96, 131072, 4096, dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG)),
    ("longrope beyond the window", 10000.0, 96, 131072, 4097, dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG)),
]


def main():
    out = []
    for name, theta, width, window, length, scaling in CASES:
        config = transformers.LlamaConfig(
            hidden_size=2 * width, num_attention_heads=2, head_dim=width, rope_theta=theta, max_position_embeddings=window, rope_scaling=scaling)
        kind = scaling["rope_type"] if scaling else "default"
        if kind == "longrope":
            config.original_max_position_embeddings = 4096
        frequencies, magnitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
        out.append(dict(name=name, theta=theta, width=width, window=window, length=length, scaling=scaling,
                        frequencies=[float(f) for f in frequencies], magnitude=float(magnitude)))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rope.json"), "w") as f:
        json.dump(out, f, indent=None, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
