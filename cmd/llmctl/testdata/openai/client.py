"""The official OpenAI client against llmctl's own servers.

Called with the base URL of an API and a key. Prints "ok" when everything that a
user of the client relies on works, and raises otherwise.
"""

import sys

import openai

base_url, key = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)

models = [m.id for m in client.models.list()]
assert models == ["builtin"], models

messages = [
    {"role": "system", "content": "be brief and kind " * 20},
    {"role": "user", "content": "tell a story about the sea"},
]
whole = client.chat.completions.create(model="builtin", messages=messages, max_tokens=24, temperature=0, seed=1)
text = whole.choices[0].message.content
assert text and whole.choices[0].finish_reason in ("length", "stop"), whole
assert whole.usage.completion_tokens <= 24 and whole.usage.prompt_tokens > 80, whole.usage

stream = client.chat.completions.create(
    model="builtin", messages=messages, max_tokens=24, temperature=0, seed=1,
    stream=True, stream_options={"include_usage": True},
)
pieces, usage, finish = [], None, None
for chunk in stream:
    if chunk.usage:
        usage = chunk.usage
    for choice in chunk.choices:
        pieces.append(choice.delta.content or "")
        finish = choice.finish_reason or finish
assert "".join(pieces) == text, ("".join(pieces), text)
assert finish == whole.choices[0].finish_reason
assert usage.completion_tokens == whole.usage.completion_tokens
assert usage.prompt_tokens_details.cached_tokens > 0, usage

completion = client.completions.create(model="builtin", prompt="once upon a time", max_tokens=5)
assert completion.choices[0].text and completion.usage.completion_tokens <= 5, completion

for call, error in [
    (lambda: client.chat.completions.create(model="nobody", messages=messages), openai.NotFoundError),
    (lambda: client.chat.completions.create(model="builtin", messages=messages, max_tokens=0), openai.BadRequestError),
    (lambda: client.chat.completions.create(model="builtin", messages=[{"role": "user", "content": "word " * 9000}]), openai.BadRequestError),
    (lambda: openai.OpenAI(base_url=base_url, api_key="sk-wrong", max_retries=0).models.list(), openai.AuthenticationError),
]:
    try:
        call()
    except error:
        continue
    raise AssertionError(f"expected {error.__name__}")

print("ok")
