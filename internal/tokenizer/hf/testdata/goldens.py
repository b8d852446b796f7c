#!/usr/bin/env python3
"""Writes ids.json: tokens, and the text they give, by Hugging Face's tokenizers.

usage: python3 goldens.py   (in this folder; needs tokenizers from PyPI)
"""

import json

import tokenizers

TEXTS = [
    "the moon and the sun",
    " leading, trailing ",
    "two  spaces   three    four\n\n\n five \t\n six\r\n\r\nseven\u00a0\u3000eight",
    "   ",
    "\n \n",
    "a\x00b\x07\x1b[0m\x7f\u0085c\u200bd\ufeff",
    "1234567 12.50 ٣٤٥ ½ Ⅻ ①②③",
    "it's IT'S we'Ll 'ſ 'tis don''t a'b'",
    "naïve café Ünï ɐ e\u0301 \u0301",
    "Привет, мир! 你好世界 안녕 नमस्ते ไทย שלום",
    "🙂 👍🏽 👩‍💻 🇩🇪 ❤️ 1️⃣ 𝔘𝟙",
    "if (x != nil) {\n\treturn a[i] <<= 2;\n}\n",
    "\ufffd\ufffd \uffff ▁▁a▁ Ġ Ċ <0x0A> <unk>",
    "<s>the</s> <|x|>moon<|x|>",
    "a <|l|> b <|r|> c<|l|><|r|>d",
    "word unword word, word_ 'word' éword word",
    "ÀÉ\u00c5ngstr\u00f6m A\u030a",
    "…" * 9 + "a" * 20 + " " * 19 + "b",
]

# Tokens of every kind of flag. Their numbers follow the vocabulary.
ADDED = [
    {"content": "<|x|>", "special": True, "normalized": False},
    {"content": "<|l|>", "special": True, "normalized": False, "lstrip": True},
    {"content": "<|r|>", "special": False, "normalized": False, "rstrip": True},
    {"content": "word", "special": False, "normalized": True, "single_word": True},
    {"content": "你好", "special": False, "normalized": False},
    {"content": "åa", "special": False, "normalized": True},
]


def changed(case):
    with open(case["base"] + ".json") as f:
        file = json.load(f)
    for name, value in case["change"].items():
        if name.startswith("model."):
            file["model"][name.removeprefix("model.")] = value
        else:
            file[name] = value
    return file


def added(base):
    with open(base + ".json") as f:
        file = json.load(f)
    size = max(file["model"]["vocab"].values()) + 1
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    more = [{"id": size + i, **flags, **token} for i, token in enumerate(ADDED)]
    return file["added_tokens"] + more


LLAMA = [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
]


def with_ends(case):
    """Gives a case the decoder and the post-processor that such models have."""
    special = {"id": "<s>", "ids": [1], "tokens": ["<s>"]}
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": special},
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    change = case["change"]
    if case["base"] == "bytelevel":
        change["decoder"] = byte_level
        if case["name"] == "Llama 3":
            change["post_processor"] = {"type": "Sequence", "processors": [byte_level, template]}
    elif "pre_tokenizer" in change and change["pre_tokenizer"]["type"] == "Metaspace":
        scheme = change["pre_tokenizer"]["prepend_scheme"]
        change["decoder"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
    else:
        change["decoder"] = {"type": "Sequence", "decoders": LLAMA[:3] if case["name"] == "Gemma" else LLAMA}
        change["post_processor"] = template


def lower(entry):
    return {k.lower(): v for k, v in entry.items()}


def main():
    with open("counts.json") as f:
        cases = [lower(c) for c in lower(json.load(f))["cases"]]
    cases = [c for c in cases if c["base"] != "wordpiece"]
    for base in ("bytelevel", "sentencepiece"):
        cases.append({"name": base + " with added tokens", "base": base, "change": {"added_tokens": added(base)}})
    cases.append({
        "name": "added tokens after normalizing", "base": "bytelevel",
        "change": {"added_tokens": added("bytelevel"), "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}},
    })
    out = []
    for case in cases:
        with_ends(case)
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(changed(case)))
        ids, plain, texts = [], [], []
        for text in TEXTS:
            tokenizer.encode_special_tokens = False
            ids.append(tokenizer.encode(text, add_special_tokens=False).ids)
            texts.append(tokenizer.decode(ids[-1], skip_special_tokens=True))
            tokenizer.encode_special_tokens = True
            without = tokenizer.encode(text, add_special_tokens=False).ids
            plain.append(None if without == ids[-1] else without)
        begin = tokenizer.encode("", add_special_tokens=True).ids
        out.append({**{k: case[k] for k in ("name", "base", "change")}, "ids": ids, "plain": plain, "decoded": texts, "begin": begin})
    with open("ids.json", "w") as f:
        f.write('{"texts":' + json.dumps(TEXTS, ensure_ascii=False) + ',\n"cases":[\n')
        f.write(",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in out) + "\n]}\n")


if __name__ == "__main__":
    main()
