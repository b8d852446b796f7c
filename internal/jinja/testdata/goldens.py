"""Renders chat templates with Python's jinja2, for goldens_test.go to compare.

    pip install jinja2==3.1.6
    python3 internal/jinja/testdata/goldens.py [DIR]

DIR (this folder unless given) holds templates/*.jinja; goldens.json is written
beside them. The environment is the one that the Python package transformers
renders chat templates in (src/transformers/utils/chat_template_utils.py), with a
clock that stands still.
"""

import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 7, 4, 9, 8, 7)


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what the assistant wrote; rendering ignores it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(env, source, case):
    variables = dict(case.get("extra", {}))
    variables.update(
        messages=case["messages"],
        tools=case.get("tools"),
        documents=None,
        add_generation_prompt=case.get("add_generation_prompt", True),
        bos_token=case.get("bos", "<s>"),
        eos_token=case.get("eos", "</s>"),
    )
    try:
        return {"text": env.from_string(source).render(**variables)}
    except Exception as problem:  # any failure is a golden too
        return {"error": f"{type(problem).__name__}: {problem}"}


def main():
    here = pathlib.Path(__file__).parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    cases = json.loads((here / "cases.json").read_text(encoding="utf-8"))
    env = environment()
    goldens = {}
    for path in sorted((folder / "templates").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        goldens[path.name] = {case["name"]: render(env, source, case) for case in cases}
    text = json.dumps(goldens, ensure_ascii=False, indent=1)
    (folder / "goldens.json").write_text(text + "\n", encoding="utf-8")


main()
