package jinja

import (
	"strings"
	"testing"
)

func TestATemplateCannotTakeTheProcessWithIt(t *testing.T) {
	for _, tc := range []struct{ name, source, want string }{
		{"macro that calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nests more than 1000 deep"},
		{"loops in loops", strings.Repeat("{% for i in range(1000) %}", 5) + "x" + strings.Repeat("{% endfor %}", 5), "more than 4000000 steps"},
		{"text that doubles", "{% set ns = namespace(s='0123456789') %}{% for i in range(1000) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "more than 268435456 bytes"},
		{"string times a number", "{{ 'abc' * 9000000000000000000 }}", "more than 268435456 bytes"},
		{"list times a number", "{{ [[]] * 9000000000000000000 }}", "more than 268435456 bytes"},
		{"range", "{{ range(1000000000000) }}", "maximum is 100000 items"},
		{"indent", "{{ 'x' | indent(10000000000) }}", "indent by 10000000000, expected at most 1000"},
		{"replace", "{% set x = 'a' * 100000 %}{{ x.replace('a', x) }}", "more than 268435456 bytes"},
		{"namespace in itself", "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns == ns }}{{ [ns] == [ns.x] }}{{ ns.x | tojson }}", "not JSON serializable"},
		{"lists in lists", "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}", "nests more than 1000 deep"},
		{"lists compared", "{% set ns = namespace(x=[], y=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}", "nests more than 1000 deep"},
		{"lists that double when printed", "{% set ns = namespace(x=['abcdefgh']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}", "more than"},
		{"text looked through again and again", "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{{ x.count('b') }}{% endfor %}", "more than 4000000 steps"},
		{"chain of operators", "{{ 1" + strings.Repeat("+1", 5000) + " }}", "nests more than 1000 deep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template, err := Parse(tc.source)
			if err == nil {
				_, err = template.Render(nil, present)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, expected one with %q", err, tc.want)
			}
		})
	}
}

func TestBadTemplatesSayWhereAndWhat(t *testing.T) {
	for _, tc := range []struct{ name, source, want string }{
		{"brackets", "{{ " + strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000) + " }}", "line 1: nested more than 100 deep"},
		{"tags", strings.Repeat("{% if x %}", 1000), "line 1: nested more than 100 deep"},
		{"too large", strings.Repeat("x", maxSource+1), "template of 1048577 bytes, expected 1048576 at most"},
		{"expression without an end", "a\n{{ x", "line 2: tag without an end, expected }}"},
		{"comment without an end", "{# x", "line 1: comment without an end, expected #}"},
		{"string without an end", "{{ 'x }}", "line 1: string without an end, expected '"},
		{"if without an end", "{% if x %}\n", "line 1: expected {% elif or else or endif %}, found the end of the template"},
		{"unknown tag", "{% include 'x' %}", `line 1: unknown tag "include"`},
		{"break outside of a loop", "{% break %}", "line 1: break outside of a loop"},
		{"unknown filter", "{{ 1 | shout }}", "line 1: no filter named 'shout'"},
		{"undefined", "{{ x.y }}", "line 1: 'x' is undefined"},
		{"missing attribute", "\n{{ {}.x.y }}", "line 2: 'dict object' has no attribute 'x'"},
		{"missing argument", "{{ 'a' | replace }}", "line 1: argument 1 must be str, not NoneType"},
		{"changing a list", "{{ [].append(1) }}", "line 1: 'list object' has no attribute 'append'"},
		{"adding unlike things", "{{ 'a' + 1 }}", `line 1: can only concatenate str (not "int") to str`},
		{"refusal", "{{ raise_exception('no system role') }}", "no system role"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template, err := Parse(tc.source)
			if err == nil {
				_, err = template.Render(nil, present)
			}
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v\n want %q", err, tc.want)
			}
		})
	}
}

// FuzzTemplate: whatever a template says, it ends, without a crash.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{% for m in messages %}{{ m.content | trim }}{% endfor %}",
		"{%- macro f(a, b=1) %}{{ a ~ b }}{% endmacro -%}{{ f('x')|tojson(indent=2) }}",
		"{{ x[1:-1:2] }}{{ 'a%s' % 'b' }}{{ '{}'.format(1) }}{% raw %}{{{% endraw %}{# c -#}",
		"{{ messages|selectattr('role','equalto','user')|map(attribute='content')|join(',') }}{{ 1//0 }}",
		"{% set ns=namespace(a=1) %}{% set ns.a=2 %}{{ cycler(1,2).next() }}{{ joiner()() }}{{ 2**62 }}{{ 'é'[::-1] }}",
	} {
		f.Add(s, "hi")
	}
	f.Fuzz(func(t *testing.T, source, content string) {
		if len(source) > 1000 {
			return
		}
		template, err := Parse(source)
		if err != nil {
			return
		}
		m := NewDict()
		m.Set(Trusted("role"), User("user"))
		m.Set(Trusted("content"), User(content))
		text, err := template.Render(map[string]Value{"messages": &List{Items: []Value{m}}}, present)
		if err != nil {
			return
		}
		var joined strings.Builder
		for s := range text.Parts {
			joined.WriteString(s)
		}
		if joined.String() != text.String() {
			t.Errorf("parts %q of %q", joined.String(), text.String())
		}
	})
}

func BenchmarkRender(b *testing.B) {
	template, err := Parse("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}")
	if err != nil {
		b.Fatal(err)
	}
	var items []Value
	for range 20 {
		m := NewDict()
		m.Set(Trusted("role"), User("user"))
		m.Set(Trusted("content"), User(strings.Repeat("word ", 200)))
		items = append(items, m)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := template.Render(map[string]Value{"messages": &List{Items: items}}, present); err != nil {
			b.Fatal(err)
		}
	}
}
