package jinja

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mark writes a text's origin beside it: upper case for the user's.
func mark(t Text) string {
	var b strings.Builder
	for s, trusted := range t.Parts {
		if !trusted {
			s = "«" + s + "»"
		}
		b.WriteString(s)
	}
	return b.String()
}

func TestEveryFilterKeepsTheOriginOfText(t *testing.T) {
	variables := map[string]Value{"u": User("  a<b>, c  "), "l": &List{Items: []Value{User("x"), User("y")}}, "n": int64(7)}
	d := NewDict()
	d.Set(User("k"), int64(1))
	variables["d"] = d
	for _, tc := range []struct{ source, want string }{
		{"<{{ u }}>", "<«  a<b>, c  »>"},
		{"{{ u | trim }}", "«a<b>, c»"},
		{"{{ '<' + u.strip() ~ '>' }}", "<«a<b>, c»>"},
		{"{{ ('[' + u + ']')[1:5] }}", "«  a<»"},
		{"{{ ('<s>' + u | trim + '</s>') | upper }}", "<S>«A<B>, C»</S>"},
		{"{{ u.split(',')[1] }}", "« c  »"},
		{"{{ (u.split('<') | first) ~ '|' }}", "«  a»|"},
		{"{{ u | replace('<', '&') }}", "«  a»&«b>, c  »"},
		{"{{ 'a-b'.replace('-', u | trim) }}", "a«a<b>, c»b"},
		{"{{ l | join('<s>') }}", "«x»<s>«y»"},
		{"{{ l }}", "«['x', 'y']»"},
		{"{{ l | tojson }}", `«["x", "y"]»`},
		{"{{ d | tojson }}", `«{"k": 1}»`},
		{"{{ d }}", `«{'k': 1}»`},
		{"{% for k in d %}{{ k }}{% endfor %}", "«k»"},
		{"{{ '<%s>' % l[0] }}{{ '<{}>'.format(l[1]) }}", "<«x»><«y»>"},
		{"{{ u | title }}", "«  A<B>, C  »"},
		{"{% set b %}<{{ l[0] }}>{% endset %}{{ b }}", "<«x»>"},
		{"{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(l[0]) }}", "<«x»>"},
		{"{{ u | list | last ~ 'z' }}", "« »z"},
		{"{{ l[0] * 2 }}{{ n }}", "«xx»7"},
		{"{{ 'x' if l[0] == 'x' else 'z' }}{{ 'a<b' in u }}", "xTrue"},
		{"{{ ('a\n' + l[0]) | indent(1) }}", "a\n «x»"},
		{"{{ l[0] | e }}{{ missing | default(l[1]) }}", "«xy»"},
	} {
		template, err := Parse(tc.source)
		if err != nil {
			t.Fatal(err)
		}
		text, err := template.Render(variables, present)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
		} else if got := mark(text); got != tc.want {
			t.Errorf("%s: %s, expected %s", tc.source, got, tc.want)
		}
	}
}

// TestTextOperationsAgreeWithPlainStrings: the same result as the strings alone, and
// every byte keeps its origin: here the user's bytes are capitals, and stay so.
func TestTextOperationsAgreeWithPlainStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text Text
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "user") {
				text = concat(text, User(rapid.StringMatching("[A-C ]{0,4}").Draw(t, "text")))
			} else {
				text = concat(text, Trusted(rapid.StringMatching("[a-cé]{0,4}").Draw(t, "text")))
			}
		}
		sep := rapid.StringMatching("[a-cA-C]{1,2}").Draw(t, "separator")
		check := func(name string, got Text, want string) {
			if got.s != want {
				t.Fatalf("%s of %q: %q, expected %q", name, text.s, got.s, want)
			}
			for s, trusted := range got.Parts {
				if trusted && strings.ContainsAny(s, "ABC ") || !trusted && strings.ContainsAny(s, "abcé") {
					t.Fatalf("%s of %s lost the origin: %s", name, mark(text), mark(got))
				}
			}
		}
		check("trim", text.trim(true, true, isSpace), strings.TrimSpace(text.s))
		check("replace", text.replace(Trusted(sep), User("A"), -1), strings.ReplaceAll(text.s, sep, "A"))
		var joined []Text
		for _, v := range text.split(sep, -1) {
			joined = append(joined, v.(Text))
		}
		check("split", concat(joined...), strings.ReplaceAll(text.s, sep, ""))
		lo := rapid.IntRange(0, len(text.s)).Draw(t, "lo")
		hi := rapid.IntRange(lo, len(text.s)).Draw(t, "hi")
		check("slice", text.slice(lo, hi), text.s[lo:hi])
	})
}
