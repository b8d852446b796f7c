"""The official OpenAI client against llmctl serve alone: what engines have and
gateways pass on.

Called with the base URL of an API, and a key. Prints one line "ok NAME" or "failed
NAME: why" for each thing, and exits with 1 when any failed. What needs a model of
real text is skipped for the built-in one, which says so with a 400.
"""

import json
import sys
import typing

import openai
import pydantic

base_url, key = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=120)
model = client.models.list().data[0].id
builtin = model == "builtin"
messages: typing.Any = [{"role": "user", "content": "Tell me about the sea."}]


def several():
    got = client.chat.completions.create(model=model, messages=messages, n=3, max_tokens=8, seed=1)
    assert [c.index for c in got.choices] == [0, 1, 2], got
    assert got.usage and 3 <= got.usage.completion_tokens <= 24, got.usage
    texts: dict[int, str] = {}
    for chunk in client.chat.completions.create(model=model, messages=messages, n=3, max_tokens=8, seed=1, stream=True):
        for c in chunk.choices:
            texts[c.index] = texts.get(c.index, "") + (c.delta.content or "")
    assert texts == {c.index: c.message.content for c in got.choices}, (texts, got)


def logprobs():
    got = client.chat.completions.create(
        model=model, messages=messages, max_tokens=6, temperature=0, logprobs=True, top_logprobs=3, extra_body={"ignore_eos": True}
    )
    content = got.choices[0].logprobs.content
    assert len(content) == got.usage.completion_tokens == 6, got
    for token in content:
        assert len(token.top_logprobs) == 3 and token.logprob <= 0, token
        assert token.logprob == max(t.logprob for t in token.top_logprobs), token  # the likeliest at temperature 0
    assert bytes(b for t in content for b in t.bytes).decode(errors="replace") == got.choices[0].message.content, got
    old = client.completions.create(model=model, prompt="the sea", max_tokens=4, logprobs=2, temperature=0)
    assert len(old.choices[0].logprobs.tokens) == old.usage.completion_tokens, old


class Place(pydantic.BaseModel):
    name: str
    country: typing.Literal["France", "Peru"]
    islands: int = pydantic.Field(ge=0, le=99)


def parsed():
    got = client.chat.completions.parse(model=model, messages=messages, response_format=Place, max_tokens=400, temperature=0)
    place = got.choices[0].message.parsed
    assert isinstance(place, Place), got


def parsed_stream():
    with client.chat.completions.stream(model=model, messages=messages, response_format=Place, max_tokens=400, temperature=0) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert isinstance(final.choices[0].message.parsed, Place), final
    assert {"chunk", "content.delta", "content.done"} <= kinds, kinds


def json_object():
    got = client.chat.completions.create(
        model=model, messages=messages, response_format={"type": "json_object"}, max_tokens=200, temperature=0,
    )
    if got.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(got.choices[0].message.content), dict), got
    else:
        assert got.choices[0].message.content.lstrip().startswith("{"), got


tools: typing.Any = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "description": "When high water is.",
            "parameters": {
                "type": "object",
                "properties": {"harbour": {"type": "string", "maxLength": 20}, "day": {"type": "integer", "minimum": 1, "maximum": 31}},
                "required": ["harbour", "day"],
                "additionalProperties": False,
            },
        },
    }
]
named: typing.Any = {"type": "function", "function": {"name": "tide"}}


def named_tool():
    got = client.chat.completions.create(model=model, messages=messages, tools=tools, tool_choice=named, max_tokens=200, temperature=0)
    (call,) = got.choices[0].message.tool_calls
    arguments = json.loads(call.function.arguments)
    assert call.function.name == "tide" and call.id and set(arguments) == {"harbour", "day"}, got
    name, text = "", ""
    for chunk in client.chat.completions.create(
        model=model, messages=messages, tools=tools, tool_choice=named, max_tokens=200, temperature=0, stream=True
    ):
        for choice in chunk.choices:
            for delta in choice.delta.tool_calls or []:
                name += delta.function.name or ""
                text += delta.function.arguments or ""
    assert name == "tide" and json.loads(text) == arguments, (name, text, arguments)


def required_tool():
    got = client.chat.completions.create(model=model, messages=messages, tools=tools, tool_choice="required", max_tokens=200, temperature=0)
    assert [c.function.name for c in got.choices[0].message.tool_calls] and got.choices[0].finish_reason == "tool_calls", got


def stream_helper():
    # The helper takes an answer that the length ends for an error.
    brief: typing.Any = {"model": model, "messages": messages, "max_tokens": 64, "temperature": 0, "stop": [" ", "\n"]}
    with client.chat.completions.stream(**brief, stream_options={"include_usage": True}) as stream:
        pieces = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(pieces) == final.choices[0].message.content and final.usage, final
    whole = client.chat.completions.create(**brief)
    assert whole.choices[0].message.content == final.choices[0].message.content, (whole, final)


def usage_details():
    long = [{"role": "user", "content": "the sea is wide and deep " * 20}]
    client.chat.completions.create(model=model, messages=long, max_tokens=2)
    again = client.chat.completions.create(model=model, messages=long, max_tokens=2)
    assert again.usage.prompt_tokens_details.cached_tokens >= 16, again.usage
    salted = client.chat.completions.create(model=model, messages=long, max_tokens=2, extra_body={"cache_salt": "another tenant"})
    assert salted.usage.prompt_tokens_details.cached_tokens == 0, salted.usage
    seen = []
    for chunk in client.chat.completions.create(
        model=model, messages=messages, max_tokens=4, stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True},
        extra_body={"ignore_eos": True},
    ):
        assert chunk.usage, chunk
        seen.append(chunk.usage.completion_tokens)
    assert seen == sorted(seen) and seen[-1] == 4, seen


def errors():
    for arguments in ({"n": 0}, {"temperature": -1}, {"top_p": 2}, {"logit_bias": {"x": 1}}, {"max_tokens": 10**9}):
        try:
            client.chat.completions.create(model=model, messages=messages, **arguments)
        except openai.BadRequestError as e:
            assert e.body and e.body["message"], e
            continue
        raise AssertionError(f"{arguments} is taken")


failed = 0
for case in (several, logprobs, stream_helper, usage_details, errors, parsed, parsed_stream, json_object, named_tool, required_tool):
    try:
        case()
        print("ok", case.__name__)
    except Exception as e:
        if builtin and isinstance(e, openai.BadRequestError) and "built-in" in str(e):
            print("skipped", case.__name__)
            continue
        failed += 1
        print(f"failed {case.__name__}: {type(e).__name__}: {e}"[:2000])
sys.exit(1 if failed else 0)
