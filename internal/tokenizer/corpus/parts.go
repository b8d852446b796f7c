package corpus

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// kinds write one part of a line each.
var kinds = []func(*strings.Builder, *rand.Rand){
	of(prose, " "), of(prose, " "), of(prose, " "), of(scripts, " "), of(scripts, ""), of(code, "\n"),
	of(emoji, ""), of(white, ""), of(control, ""), of(broken, ""), of(apostrophes, " "),
	number, letters, mixed,
}

// of draws a few pieces of a list.
func of(list []string, between string) func(*strings.Builder, *rand.Rand) {
	return func(b *strings.Builder, r *rand.Rand) {
		for range 1 + r.IntN(6) {
			b.WriteString(list[r.IntN(len(list))])
			b.WriteString(between)
		}
	}
}

func number(b *strings.Builder, r *rand.Rand) {
	switch r.IntN(4) {
	case 0:
		b.WriteString(strconv.FormatUint(r.Uint64()>>r.IntN(64), 10))
	case 1:
		b.WriteString(strconv.FormatFloat(r.NormFloat64()*1e4, 'g', -1, 64))
	case 2:
		b.WriteString("0x" + strconv.FormatUint(r.Uint64(), 16))
	default:
		b.WriteString([]string{"1,234,567.89", "٣٤٥", "१२३", "Ⅻ", "½", "①②③", "１２３", "²³", "2026-11-30T18:10:13Z", "10%", "$5", "1e-9"}[r.IntN(12)])
	}
}

// letters writes letters that make no word, in one case or mixed.
func letters(b *strings.Builder, r *rand.Rand) {
	for range 1 + r.IntN(40) {
		c := byte('a' + r.IntN(26))
		if r.IntN(5) == 0 {
			c -= 'a' - 'A'
		}
		b.WriteByte(c)
	}
}

// mixed writes characters from anywhere in the planes that had been assigned by
// Unicode 13, so that tables of different age agree.
func mixed(b *strings.Builder, r *rand.Rand) {
	ranges := [][2]rune{{0x20, 0x7E}, {0xA0, 0x17F}, {0x391, 0x3A1}, {0x410, 0x44F}, {0x5D0, 0x5EA}, {0x905, 0x939}, {0x2010, 0x2027}, {0x2190, 0x21FF}, {0x3041, 0x3096}, {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3}, {0x1F600, 0x1F64F}, {0x20000, 0x2A6D6}}
	for range 1 + r.IntN(12) {
		p := ranges[r.IntN(len(ranges))]
		b.WriteRune(p[0] + r.Int32N(p[1]-p[0]+1))
	}
}

var prose = strings.Fields(`The quick brown fox jumps over the lazy dog. However, throughput doubled; latency did not:
"why?" she asked (twice) -- nobody knew... internationalization, naïve café façade Ünïcödé Straße smørrebrød
I'd you've they're it's we'll DON'T CAN'T e.g. i.e. well-known state-of-the-art https://example.com/a?b=c&d=e#f
user@example.org snake_case camelCase SCREAMING_CASE kebab-case C++ C# .NET node.js #hashtag @mention 50/50 and/or`)

var scripts = strings.Fields(`Привет мир Большой Ελληνικά κόσμε שלום עולם مرحبا بالعالم नमस्ते दुनिया こんにちは世界 カタカナ
你好世界 繁體中文 안녕하세요 세계 สวัสดีชาวโลก Xin chào Việt Nam გამარჯობა Բարեւ አማርኛ தமிழ் বাংলা ខ្មែរ မြန်မာ ไทย日本語한국어
ﷺ ǅ İstanbul ıi ﬁne Å é ệ Z͑ͫ̓ͪ̂ͫ̽a̴l̵g̸o`)

var code = strings.Split(`func main() { fmt.Println("hi") }|	if x != nil && *x >= 0 {|		return err|def f(self, *args, **kwargs):|
    pass  # comment|for (int i = 0; i < n; ++i) a[i] <<= 2;|SELECT * FROM t WHERE a='b';--|<div class="x">&nbsp;</div>|
{"key": [1, 2.5, null, true], "\u00e9": "\\n"}|#!/bin/sh -e|x = y ? z : !w;|/* ... */|///////|=====|std::vector<std::pair<int,int>>|
$ curl -sS -H 'A: b' http://127.0.0.1:8000/v1/models | jq .|λ x → x ∘ x|\begin{align} a &= b \\ \end{align}|r"^\s*(\w+)\s*$"`, "|")

var emoji = strings.Fields(`🙂 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 🇯🇵 ❤️ ☺ ✈︎ 🤷🏿‍♀️ 🧑‍🚀 1️⃣ #️⃣ 🫠 𝔘𝔫𝔦 𝟙𝟚 🀄 ‼️ ™ © ½`)

var white = []string{" ", "  ", "   ", "        ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", " \t \n\n  ", "\v", "\f",
	"\u0085", "\u00a0", "\u1680", "\u2003\u2003", "\u2009", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff"}

var control = []string{"\x00", "\x01", "\x07\x08", "\x1b[31m", "\x1f", "\x7f", "\u0080", "\u009f", "\u00ad", "\u200d", "\u200e", "\u202e", "\ufe0f", "\U000e0041"}

// broken looks like bytes that went wrong, or like markers.
var broken = []string{"\ufffd", "\ufffd\ufffd", "Ã©", "â€™", "ï»¿", "\ufffe", "\uffff", "\U0010ffff", "\ue000", "\u0301", "\u0300a", "<s", "<|", "|>", "<0x0A>", "<unk", "[INST", "▁", "▁▁a", "Ġ", "Ċ"}

var apostrophes = []string{"it's", "IT'S", "'s", "'S", "'re", "'RE", "'rE", "'ll", "'Ll", "''", "'", "a'b", "'d'", "’s", "'ve\n", "'m1", "' s", "'t\t"}
