#!/usr/bin/env python3
"""Makes the models of this folder: one small model per family, of random weights, by
Hugging Face transformers, with the logits that it computes, and GGUF files of some.

    pip install torch "transformers==4.51.3" safetensors gguf
    python make.py

Every model has 48 tokens. Weights are stored as bfloat16 and computed with in float32;
golden.safetensors holds "tokens" and "logits", a row after each token.
"""
import json
import os
import shutil
import sys

import gguf
import numpy as np
import torch
import transformers as tf
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, TOKENS = 48, 24
BASE = dict(
    vocab_size=VOCAB, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=1, pad_token_id=None,
    torch_dtype="bfloat16", attn_implementation="eager", head_dim=8, tie_word_embeddings=False, rms_norm_eps=1e-5,
)
PHI = {k: v for k, v in BASE.items() if k != "head_dim"} | dict(hidden_size=32)
QWEN = {k: v for k, v in BASE.items() if k != "head_dim"} | dict(hidden_size=32)
GEMMA3 = BASE | dict(num_hidden_layers=4, sliding_window=6, sliding_window_pattern=3, query_pre_attn_scalar=11,
                     rope_theta=1e6, rope_local_base_freq=1e4, tie_word_embeddings=True, intermediate_size=16)

# What each folder is: the classes of config and model, and what differs from BASE.
# Those with an "of" take the weights of another one.
MODELS = {
    "llama": (tf.LlamaConfig, tf.LlamaForCausalLM, BASE | dict(rope_theta=500.0)),
    "smollm2": (tf.LlamaConfig, tf.LlamaForCausalLM, BASE | dict(tie_word_embeddings=True, attention_bias=False)),
    "mistral": (tf.MistralConfig, tf.MistralForCausalLM, BASE | dict(sliding_window=5)),
    "qwen2": (tf.Qwen2Config, tf.Qwen2ForCausalLM, QWEN | dict(use_sliding_window=True, max_window_layers=0, sliding_window=6)),
    "qwen3": (tf.Qwen3Config, tf.Qwen3ForCausalLM, BASE | dict(num_attention_heads=4)),
    "phi3": (tf.Phi3Config, tf.Phi3ForCausalLM, PHI | dict(sliding_window=7)),
    "gemma2": (tf.Gemma2Config, tf.Gemma2ForCausalLM, BASE | dict(
        sliding_window=6, query_pre_attn_scalar=11, attn_logit_softcapping=2.0, final_logit_softcapping=3.0, tie_word_embeddings=True)),
    "gemma3": (tf.Gemma3TextConfig, tf.Gemma3ForCausalLM, GEMMA3),
    "mixtral": (tf.MixtralConfig, tf.MixtralForCausalLM, BASE | dict(
        num_local_experts=4, num_experts_per_tok=2, intermediate_size=12, sliding_window=None)),
    "qwen3moe": (tf.Qwen3MoeConfig, tf.Qwen3MoeForCausalLM, BASE | dict(
        num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, norm_topk_prob=True, num_hidden_layers=3,
        mlp_only_layers=[1], decoder_sparse_step=1)),
}
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
VARIANTS = {
    "llama3": ("llama", dict(rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))),
    "llama-linear": ("llama", dict(rope_scaling=dict(rope_type="linear", factor=4.0))),
    "llama-dynamic": ("llama", dict(rope_scaling=dict(rope_type="dynamic", factor=2.0), max_position_embeddings=12)),
    "qwen2-yarn": ("qwen2", dict(rope_scaling=YARN, use_sliding_window=False)),
    "phi3-longrope": ("phi3", dict(
        rope_scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 1.5, 3.0, 6.0]),
        original_max_position_embeddings=16, sliding_window=None)),
    "phi4-mini": ("phi3", dict(
        partial_rotary_factor=0.5, rope_scaling=dict(type="longrope", short_factor=[1.0, 1.2], long_factor=[1.5, 4.0]),
        original_max_position_embeddings=32, sliding_window=None)),
    "gemma3-linear": ("gemma3", dict(rope_scaling=dict(rope_type="linear", factor=8.0))),
    "qwen3moe-plain": ("qwen3moe", dict(norm_topk_prob=False)),
}


def randomize(model):
    """Weights large enough for all that a layer does to show in the logits."""
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if "norm" in name:
                centre = 0.0 if "gemma" in model.config.model_type else 1.0
                p.copy_(centre + 0.3 * torch.randn(p.shape))
            elif name.endswith("bias"):
                p.copy_(0.5 * torch.randn(p.shape))
            elif "embed" in name:
                p.copy_(torch.randn(p.shape) * (0.3 if "gemma" in model.config.model_type else 1.0))
            else:
                p.copy_(1.5 * torch.randn(p.shape) / p.shape[-1] ** 0.5)
            p.copy_(p.to(torch.bfloat16).float())


def golden(model, folder):
    tokens = torch.tensor([[(7 * i * i + 3 * i + 5) % VOCAB for i in range(TOKENS)]])
    with torch.no_grad():
        logits = model.float().eval()(tokens, use_cache=False).logits[0]
    save_file({"tokens": tokens[0].to(torch.int32), "logits": logits.float().contiguous()}, os.path.join(folder, "golden.safetensors"))
    return tokens[0].tolist(), logits.float().numpy()


def config_file(config, folder, architecture):
    data = json.loads(config.to_json_string(use_diff=False))
    plain = tf.PretrainedConfig().to_dict()
    keep = {"tie_word_embeddings", "bos_token_id", "eos_token_id", "torch_dtype"}
    data = {k: v for k, v in data.items() if k in keep or k not in plain}
    data |= dict(architectures=[architecture], model_type=config.model_type, torch_dtype="bfloat16")
    for junk in ["_attn_implementation_autoset", "transformers_version", "output_router_logits", "router_aux_loss_coef", "initializer_range"]:
        data.pop(junk, None)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(data, f, indent=1, sort_keys=True)
        f.write("\n")
    return data


def main():
    made = {}
    for seed, (name, (config_class, model_class, settings)) in enumerate(MODELS.items()):
        torch.manual_seed(seed)
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        config = config_class(**settings)
        model = model_class(config)
        randomize(model)
        state = {k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items()
                 if not (k == "lm_head.weight" and config.tie_word_embeddings)}
        save_file(state, os.path.join(folder, "model.safetensors"))
        data = config_file(config, folder, model_class.__name__)
        made[name] = (config, model, data, *golden(model, folder))
    for name, (of, changes) in VARIANTS.items():
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        config_class, model_class, settings = MODELS[of]
        config = config_class(**(settings | changes))
        model = model_class(config)
        model.load_state_dict(made[of][1].state_dict())
        data = config_file(config, folder, model_class.__name__)
        made[name] = (config, model, data, *golden(model, folder))
    for name in made:
        _, _, _, tokens, logits = made[name]
        print(f"{name:16} logits deviate by {logits.std():.2f}")
    return made


if __name__ == "__main__":
    main()
