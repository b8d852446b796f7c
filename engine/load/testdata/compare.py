#!/usr/bin/env python3
"""Runs the GGUF files that make.py wrote in llama.cpp, and says how far its logits are
from those of transformers."""
import glob
import os
import sys

import llama_cpp
import numpy as np


def main(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.gguf"))):
        golden = np.load(path.replace(".gguf", ".npz"))
        model = llama_cpp.Llama(path, n_ctx=0, n_batch=64, logits_all=True, verbose=False, flash_attn=False,
                                type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32)
        model.eval(golden["tokens"].tolist())
        got = np.array(model.scores[: len(golden["tokens"])])
        print(f"{os.path.basename(path):24} differs by at most {abs(got - golden['logits']).max():.2e}")


if __name__ == "__main__":
    main(sys.argv[1])
