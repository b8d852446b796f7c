package hf

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/llmctl/llmctl/internal/userfile"
)

// normalizer changes a text before it is split.
type normalizer func(text string) string

// readNormalizers reads one normalizer or a sequence of them.
func readNormalizers(part json.RawMessage) ([]normalizer, error) {
	if absent(part) {
		return nil, nil
	}
	var file struct {
		Type        string            `json:"type"`
		Normalizers []json.RawMessage `json:"normalizers"`
		Prepend     string            `json:"prepend"`
		Pattern     patternJSON       `json:"pattern"`
		Content     string            `json:"content"`
		Lowercase   *bool             `json:"lowercase"`
		Accents     *bool             `json:"strip_accents"`
		CleanText   *bool             `json:"clean_text"`
		Chinese     *bool             `json:"handle_chinese_chars"`
	}
	if err := json.Unmarshal(part, &file); err != nil {
		return nil, fmt.Errorf("normalizer: %w", userfile.JSONError(err))
	}
	one := func(n normalizer) ([]normalizer, error) { return []normalizer{n}, nil }
	switch file.Type {
	case "Sequence":
		var all []normalizer
		for _, inner := range file.Normalizers {
			n, err := readNormalizers(inner)
			if err != nil {
				return nil, err
			}
			all = append(all, n...)
		}
		return all, nil
	case "NFC":
		return one(norm.NFC.String)
	case "NFD":
		return one(norm.NFD.String)
	case "NFKC":
		return one(norm.NFKC.String)
	case "NFKD":
		return one(norm.NFKD.String)
	case "Lowercase":
		return one(strings.ToLower)
	case "StripAccents":
		return one(stripAccents)
	case "Prepend":
		return one(func(text string) string { return file.Prepend + text })
	case "Replace":
		find, err := file.Pattern.compile()
		if err != nil {
			return nil, fmt.Errorf("normalizer: %w", err)
		}
		return one(func(text string) string { return find.replace(text, file.Content) })
	case "BertNormalizer":
		return bertNormalizers(file.CleanText, file.Chinese, file.Accents, file.Lowercase), nil
	default:
		return nil, fmt.Errorf("normalizer of type %q is not supported", file.Type)
	}
}

// stripAccents removes marks that stand for themselves.
func stripAccents(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
}

// bertNormalizers are the steps of BERT's basic tokenizer. Accents go with
// capitals where it does not say.
func bertNormalizers(clean, chinese, accents, lower *bool) (all []normalizer) {
	on := func(b *bool) bool { return b == nil || *b }
	if on(clean) {
		all = append(all, func(text string) string { return strings.Map(cleaned, text) })
	}
	if on(chinese) {
		all = append(all, func(text string) string { return han.ReplaceAllString(text, " $0 ") })
	}
	if accents != nil && *accents || accents == nil && on(lower) {
		all = append(all, norm.NFD.String, stripAccents)
	}
	if on(lower) {
		all = append(all, strings.ToLower)
	}
	return all
}

// han are the ideographs that BERT takes for words (CJK Unified Ideographs, their
// extensions A to E and the compatibility ones).
var han = regexp.MustCompile(`[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]`)

// cleaned drops control characters and makes white space a space.
func cleaned(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r):
		return ' '
	case r == 0 || r == unicode.ReplacementChar || unicode.Is(unicode.C, r):
		return -1
	default:
		return r
	}
}
