#!/usr/bin/env python3
"""Makes the models of this folder: one small model per family, of random weights, by
Hugging Face transformers, with the logits that it computes, and GGUF files of some.

    pip install torch "transformers==4.51.3" safetensors gguf llama-cpp-python
    python make.py [FOLDER]
    python compare.py FOLDER

FOLDER gets the GGUF files in float32, which compare.py runs in llama.cpp beside the
logits of transformers.

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
import transformers.modeling_rope_utils
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, TOKENS = 48, 24
BASE = dict(
    vocab_size=VOCAB, hidden_size=24, intermediate_size=16, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=1, pad_token_id=None,
    torch_dtype="bfloat16", attn_implementation="eager", head_dim=8, tie_word_embeddings=False, rms_norm_eps=1e-5,
)
SMALL = dict(hidden_size=16, num_attention_heads=2, num_key_value_heads=1)
PHI = {k: v for k, v in BASE.items() if k != "head_dim"} | SMALL
QWEN = PHI
GEMMA3 = BASE | dict(num_hidden_layers=7, hidden_size=16, sliding_window=6, sliding_window_pattern=6, query_pre_attn_scalar=11,
                     rope_theta=1e6, rope_local_base_freq=1e4, tie_word_embeddings=True, intermediate_size=12)

# What each folder is: the classes of config and model, and what differs from BASE.
# Those with an "of" take the weights of another one.
MODELS = {
    "llama": (tf.LlamaConfig, tf.LlamaForCausalLM, BASE | dict(rope_theta=500.0)),
    "smollm2": (tf.LlamaConfig, tf.LlamaForCausalLM, BASE | dict(tie_word_embeddings=True, attention_bias=False)),
    "qwen2": (tf.Qwen2Config, tf.Qwen2ForCausalLM, QWEN | dict(use_sliding_window=True, max_window_layers=0, sliding_window=6)),
    "qwen3": (tf.Qwen3Config, tf.Qwen3ForCausalLM, BASE | dict(num_attention_heads=4)),
    "phi3": (tf.Phi3Config, tf.Phi3ForCausalLM, PHI | dict(sliding_window=7)),
    "gemma2": (tf.Gemma2Config, tf.Gemma2ForCausalLM, BASE | dict(
        sliding_window=6, query_pre_attn_scalar=11, attn_logit_softcapping=2.0, final_logit_softcapping=3.0, tie_word_embeddings=True)),
    "gemma3": (tf.Gemma3TextConfig, tf.Gemma3ForCausalLM, GEMMA3),
    "mixtral": (tf.MixtralConfig, tf.MixtralForCausalLM, BASE | dict(
        num_local_experts=4, num_experts_per_tok=2, intermediate_size=8, sliding_window=None)),
    "qwen3moe": (tf.Qwen3MoeConfig, tf.Qwen3MoeForCausalLM, BASE | dict(
        num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, norm_topk_prob=True)),
    "qwen3moe-dense": (tf.Qwen3MoeConfig, tf.Qwen3MoeForCausalLM, BASE | dict(
        num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, norm_topk_prob=True, num_hidden_layers=3,
        mlp_only_layers=[0], decoder_sparse_step=2)),
}
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
VARIANTS = {
    "mistral": ("llama", dict(sliding_window=5), tf.MistralConfig, tf.MistralForCausalLM),
    "llama3": ("llama", dict(rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))),
    "llama-linear": ("llama", dict(rope_scaling=dict(rope_type="linear", factor=4.0))),
    "llama-dynamic": ("llama", dict(rope_scaling=dict(rope_type="dynamic", factor=2.0), max_position_embeddings=12)),
    "qwen2-full": ("qwen2", dict(use_sliding_window=False, sliding_window=None)),
    "phi3-full": ("phi3", dict(sliding_window=None)),
    "qwen2-yarn": ("qwen2", dict(rope_scaling=YARN, use_sliding_window=False, sliding_window=None)),
    "phi3-longrope": ("phi3", dict(
        rope_scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 1.5, 3.0, 6.0]),
        original_max_position_embeddings=16, sliding_window=None)),
    "phi4-mini": ("phi3", dict(
        partial_rotary_factor=0.5, rope_scaling=dict(type="longrope", short_factor=[1.0, 1.2], long_factor=[1.5, 4.0]),
        original_max_position_embeddings=32, sliding_window=None)),
    "gemma2-head": ("gemma2", dict(query_pre_attn_scalar=8)),
    "gemma3-linear": ("gemma3", dict(query_pre_attn_scalar=8, rope_scaling=dict(rope_type="linear", factor=8.0))),
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


def vocabulary():
    """Markers, letters, digits, some more, and three merges: 48 tokens."""
    tokens = ["<s>", "</s>", "<|im_end|>", "\u010a", "\u0120"] + [chr(ord("a") + i) for i in range(26)]
    tokens += [str(i) for i in range(10)] + list(",.!?")
    merges = [("\u0120", "a"), ("h", "e"), ("t", "he")]
    tokens += ["".join(m) for m in merges]
    assert len(tokens) == VOCAB
    return tokens, merges


def tokenizer_file():
    tokens, merges = vocabulary()
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    added = [dict(id=i, content=tokens[i], single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) for i in range(3)]
    data = dict(version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None, pre_tokenizer=level, post_processor=None,
                decoder=level, model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
                                          fuse_unk=False, byte_fallback=False, ignore_merges=False,
                                          vocab={t: i for i, t in enumerate(tokens)}, merges=[" ".join(m) for m in merges]))
    with open(os.path.join(HERE, "tokenizer.json"), "w") as f:
        json.dump(data, f, indent=1, ensure_ascii=True)
        f.write("\n")


# GGUF: the architecture's name, and what tensors of a layer are called there.
GGUF = {
    "llama3": "llama", "qwen2-full": "qwen2", "qwen3": "qwen3", "phi3-full": "phi3", "phi3-longrope": "phi3",
    "gemma2-head": "gemma2", "gemma3-linear": "gemma3", "mixtral": "llama", "qwen3moe": "qwen3moe",
}
LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.qkv_proj": "attn_qkv",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "mlp.gate_up_proj": "ffn_up", "mlp.gate": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp",
}
FOUR = LAYER | {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
EXPERT = {"w1": "ffn_gate_exps", "w3": "ffn_up_exps", "w2": "ffn_down_exps",
          "gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps"}


def gguf_tensors(config, model, arch):
    """The tensors by their names there, as convert_hf_to_gguf.py of llama.cpp makes them."""
    out, stacks = {}, {}
    for name, p in model.state_dict().items():
        values = p.float().numpy()
        if name.startswith("lm_head") and config.tie_word_embeddings:
            continue
        if arch.startswith("gemma") and "norm" in name:
            values = values + 1
        whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
        if name in whole:
            out[whole[name]] = values
            continue
        _, _, layer, rest = name.split(".", 3)
        if ".experts." in rest:
            _, _, expert, part, _ = rest.split(".")
            stacks.setdefault(f"blk.{layer}.{EXPERT[part]}.weight", []).append(values)
            continue
        part, kind = rest.rsplit(".", 1)
        if arch == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = config.num_attention_heads if "q_proj" in part else config.num_key_value_heads
            values = values.reshape(heads, 2, values.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(values.shape)
        out[f"blk.{layer}.{(FOUR if arch.startswith('gemma') else LAYER)[part]}.{kind}"] = values
    return out | {name: np.stack(all) for name, all in stacks.items()}


def llama3_factors(config):
    plain = 1.0 / config.rope_theta ** (np.arange(0, config.head_dim, 2) / config.head_dim)
    scaled, _ = tf.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    return (plain / scaled.numpy()).astype(np.float32)


def gguf_file(path, config, model, arch, kind):
    """Writes a model; kind is the type of matrices. Norms and the like are always float32."""
    w = gguf.GGUFWriter(path, arch)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_head_count_kv(config.num_key_value_heads)
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    w.add_rope_freq_base(config.rope_theta)
    w.add_key_length(width)
    w.add_value_length(width)
    w.add_rope_dimension_count(width)
    w.add_vocab_size(VOCAB)
    experts = getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None)
    if experts:
        w.add_expert_count(experts)
        w.add_expert_used_count(config.num_experts_per_tok)
        if arch == "qwen3moe":
            w.add_expert_feed_forward_length(config.moe_intermediate_size)
    if getattr(config, "sliding_window", None) and arch in ("gemma2", "gemma3", "phi3"):
        w.add_sliding_window(config.sliding_window)
    if arch == "gemma2":
        w.add_attn_logit_softcapping(config.attn_logit_softcapping)
        w.add_final_logit_softcapping(config.final_logit_softcapping)
    tensors = gguf_tensors(config, model, arch)
    scaling = getattr(config, "rope_scaling", None) or {}
    rope = scaling.get("rope_type", scaling.get("type"))
    if rope in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType(rope))
        w.add_rope_scaling_factor(scaling["factor"])
    if rope == "yarn":
        w.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    if rope == "llama3":
        tensors["rope_freqs.weight"] = llama3_factors(config)
    if rope == "longrope":
        original = config.original_max_position_embeddings
        w.add_rope_scaling_orig_ctx_len(original)
        w.add_rope_scaling_attn_factors(float(np.sqrt(1 + np.log(config.max_position_embeddings / original) / np.log(original))))
        tensors["rope_factors_long.weight"] = np.array(scaling["long_factor"], np.float32)
        tensors["rope_factors_short.weight"] = np.array(scaling["short_factor"], np.float32)
    words, merges = vocabulary()
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(words)
    w.add_token_types([3] * 3 + [1] * (VOCAB - 3))
    w.add_token_merges([" ".join(m) for m in merges])
    w.add_bos_token_id(0)
    w.add_eos_token_id(1)
    w.add_chat_template("{{ messages[0].content }}")
    for name, values in tensors.items():
        if values.ndim > 1 and kind != gguf.GGMLQuantizationType.F32:
            w.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(values, np.float32), kind), raw_dtype=kind)
        else:
            w.add_tensor(name, np.ascontiguousarray(values, np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def gguf_files(made, whole):
    """Writes all GGUF files here in bfloat16, and to the folder whole in float32."""
    for name, arch in GGUF.items():
        config, model, _, tokens, logits = made[name]
        gguf_file(os.path.join(HERE, name, "model.gguf"), config, model, arch, gguf.GGMLQuantizationType.BF16)
        if whole:
            gguf_file(os.path.join(whole, name + ".gguf"), config, model, arch, gguf.GGMLQuantizationType.F32)
            np.savez(os.path.join(whole, name + ".npz"), tokens=tokens, logits=logits)


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
    for name, (of, changes, *classes) in VARIANTS.items():
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        *usual, settings = MODELS[of]
        config_class, model_class = classes or usual
        config = config_class(**(settings | changes))
        model = model_class(config)
        model.load_state_dict(made[of][1].state_dict())
        data = config_file(config, folder, model_class.__name__)
        made[name] = (config, model, data, *golden(model, folder))
    for name in made:
        _, _, _, tokens, logits = made[name]
        print(f"{name:16} logits deviate by {logits.std():.2f}")
    tokenizer_file()
    gguf_files(made, sys.argv[1] if len(sys.argv) > 1 else None)


if __name__ == "__main__":
    main()
