package hf

import "unicode/utf8"

// visible are the characters of bytes: themselves where they can be seen in
// Latin-1, else the 256 characters from U+0100 on in order (encoder.py of GPT-2).
var visible = func() (table [256]string) {
	next := rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			table[b] = string(b)
		} else {
			table[b] = string(next)
			next++
		}
	}
	return table
}()

// hidden are the bytes of visible characters, which end before U+0144, or −1.
var hidden = func() (table [0x144]int16) {
	for i := range table {
		table[i] = -1
	}
	for b, text := range visible {
		r, _ := utf8.DecodeRuneInString(text)
		table[r] = int16(b)
	}
	return table
}()

// seen writes bytes as characters that can be seen.
func seen(text string) string {
	b := make([]byte, 0, len(text)*2)
	for i := range len(text) {
		b = append(b, visible[text[i]]...)
	}
	return string(b)
}

// unseen is the inverse of seen. ok is false where a character stands for no byte.
func unseen(text string) (raw []byte, ok bool) {
	raw = make([]byte, 0, len(text))
	for _, r := range text {
		if int(r) >= len(hidden) || hidden[r] < 0 {
			return nil, false
		}
		raw = append(raw, byte(hidden[r]))
	}
	return raw, true
}
