package cache

import (
	"strings"
	"unicode"
)

// word is a run of letters, digits and what joins them inside of a word.
type word struct {
	text, lower string
	opens       bool // the first word of a sentence
}

// words cuts a text into words. Apostrophes of all shapes become ', and marks
// between two letters or digits (3.14, a@b.org, don't, snake_case) stay inside.
func words(text string) []word {
	text = strings.Map(func(r rune) rune {
		if r == '’' || r == 'ʼ' || r == '‘' || r == '`' || r == '´' {
			return '\''
		}
		return r
	}, text)
	runes := []rune(text)
	var out []word
	opens := true
	for i := 0; i < len(runes); {
		if !inWord(runes[i]) {
			if runes[i] == '.' || runes[i] == '!' || runes[i] == '?' || runes[i] == '\n' || runes[i] == ':' {
				opens = true
			}
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && (inWord(runes[end]) || end+1 < len(runes) && strings.ContainsRune("'._-@/:+%#$&", runes[end]) && inWord(runes[end+1])) {
			end++
		}
		w := string(runes[i:end])
		out = append(out, word{text: w, lower: strings.ToLower(w), opens: opens})
		opens, i = false, end
	}
	return out
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func setOf(list ...string) map[string]bool {
	set := map[string]bool{}
	for _, w := range list {
		set[w] = true
	}
	return set
}

// negations turn around what follows them. English contractions are found by
// their ending.
var negations = setOf(
	"not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "except", "unless", "cannot", "cant", "dont", "doesnt",
	"didnt", "wont", "wouldnt", "shouldnt", "couldnt", "isnt", "arent", "wasnt", "werent", "hasnt", "havent", "hadnt", "avoid", "excluding", "instead",
	"nicht", "kein", "keine", "keinen", "keinem", "keiner", "nie", "niemals", "ohne", "ne", "pas", "jamais", "sans", "aucun", "aucune",
	"nunca", "jamás", "sin", "ningún", "ninguna", "não", "sem", "non", "mai", "senza", "niet", "geen", "nooit", "zonder", "inte", "ikke", "nie", "bez", "не", "нет", "без", "никогда",
)

// opposites are words of which texts that mean the contrary differ by one, while
// their embeddings hardly do.
var opposites = setOf(
	"enable", "disable", "on", "off", "add", "remove", "delete", "create", "start", "stop", "begin", "end", "open", "close", "lock", "unlock",
	"increase", "decrease", "raise", "lower", "more", "less", "most", "least", "max", "min", "maximum", "minimum", "high", "low", "higher", "highest", "lowest",
	"before", "after", "above", "below", "over", "under", "up", "down", "left", "right", "first", "last", "next", "previous", "in", "out", "into", "from", "to",
	"buy", "sell", "send", "receive", "import", "export", "upload", "download", "install", "uninstall", "subscribe", "unsubscribe", "log", "login", "logout",
	"accept", "reject", "allow", "deny", "block", "unblock", "approve", "decline", "refund", "charge", "activate", "deactivate", "cancel", "keep", "resume", "pause",
	"true", "false", "yes", "all", "any", "some", "only", "both", "always", "best", "worst", "cheapest", "fastest", "slowest", "oldest", "advantages", "disadvantages",
	"pros", "cons", "safe", "unsafe", "legal", "illegal", "male", "female", "man", "woman", "men", "women", "he", "she", "his", "her", "black", "white", "hot", "cold",
	"with", "against", "for", "encrypt", "decrypt", "encode", "decode", "compress", "decompress", "ascending", "descending", "positive", "negative", "why", "how", "who", "where", "when", "what", "which",
)

// GuardOf is what must be the same, word for word and in this order, in two
// questions before their similarity counts: what is negated, numbers and whatever
// else has a digit or a joining mark in it, quoted text, names (words with a
// capital inside of a sentence), and words that turn a question around. An
// embedding puts "cancel my order" and "don't cancel my order" side by side; the
// guards "cancel" and "not:cancel" are different texts.
//
// It is purely lexical. It knows negations of a dozen European languages and
// opposites of English. In other languages the threshold alone decides.
func GuardOf(question string) string {
	var out []string
	ws := words(question)
	for i, w := range ws {
		switch {
		case isNegation(w.lower):
			follows := ""
			if i+1 < len(ws) {
				follows = ws[i+1].lower
			}
			out = append(out, "not:"+follows)
		case strings.ContainsFunc(w.text, func(r rune) bool { return unicode.IsDigit(r) }), strings.ContainsAny(w.text, "._@/:+%#$&"):
			out = append(out, "="+w.text)
		case !w.opens && isName(w.text):
			out = append(out, "="+w.text)
		case opposites[w.lower]:
			out = append(out, w.lower)
		}
	}
	out = append(out, quoted(question)...)
	return strings.Join(out, " ")
}

func isNegation(lower string) bool {
	return negations[lower] || strings.HasSuffix(lower, "n't")
}

// isName tells a word with a capital; the pronoun I is none.
func isName(text string) bool {
	if text == "I" || strings.HasPrefix(text, "I'") {
		return false
	}
	return strings.ContainsFunc(text, unicode.IsUpper)
}

// quoted are the texts between quotation marks, as they are written.
func quoted(text string) (out []string) {
	for _, pair := range [][2]string{{`"`, `"`}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}, {"`", "`"}} {
		rest := text
		for {
			_, after, found := strings.Cut(rest, pair[0])
			inside, next, closed := strings.Cut(after, pair[1])
			if !found || !closed {
				break
			}
			out = append(out, `"`+inside+`"`)
			rest = next
		}
	}
	return out
}
