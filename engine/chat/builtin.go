package chat

// Builtin is the template of the built-in model: begin of sequence; each message as
// its role's marker, its text, and the end marker; the assistant's marker. A chat
// that goes on therefore has the tokens of the shorter one as its prefix, up to the
// last marker, and finds them in the prefix cache. A message of n words costs n + 2
// tokens, the rest of the template 2.
const Builtin = `{%- if not messages -%}
    {{ raise_exception('messages must not be empty') }}
{%- endif -%}
{%- set markers = {'system': '<|system|>', 'developer': '<|system|>', 'user': '<|user|>', 'assistant': '<|assistant|>', 'tool': '<|tool|>'} -%}
{{- bos_token -}}
{%- for message in messages -%}
    {%- if message.role not in markers -%}
        {{ raise_exception('messages[' ~ loop.index0 ~ '].role is ' ~ message.role | tojson ~ ', expected system, developer, user, assistant or tool') }}
    {%- endif -%}
    {{- markers[message.role] + message.content + '<|end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|assistant|>' -}}
{%- endif -%}`
