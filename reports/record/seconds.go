package record

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// seconds is a duration that JSON shows as a decimal number of seconds. The
// text is exact to the nanosecond; it never passes through a float64.
type seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s seconds) MarshalJSON() ([]byte, error) { return appendSeconds(nil, time.Duration(s)), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(text []byte) error {
	d, err := parseSeconds(text)
	*s = seconds(d)
	return err
}

// appendSeconds appends d as a decimal number of seconds without trailing
// zeros: 1.5, 0.000000001, -2.
func appendSeconds(dst []byte, d time.Duration) []byte {
	n := uint64(d)
	if d < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = strconv.AppendUint(dst, n/1e9, 10)
	fraction := n % 1e9
	if fraction == 0 {
		return dst
	}
	var digits [10]byte
	digits[0] = '.'
	for i := 9; i > 0; i-- {
		digits[i] = byte('0' + fraction%10)
		fraction /= 10
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(dst, digits[:end]...)
}

// parseSeconds reads a JSON number as seconds. Plain decimals with up to nine
// places, which are all that appendSeconds writes, are read exactly; other
// numbers are rounded to the nanosecond.
func parseSeconds(text []byte) (time.Duration, error) {
	digits := text
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	var n uint64
	places, used, point := 0, 0, false
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9' && used < 18:
			n = n*10 + uint64(c-'0')
			used++
			if point {
				places++
			}
		case c == '.' && !point && used > 0:
			point = true
		default:
			return parseAnySeconds(text)
		}
	}
	if used == 0 || places > 9 || point && places == 0 {
		return parseAnySeconds(text)
	}
	for ; places < 9; places++ {
		if n > math.MaxInt64/10 {
			return parseAnySeconds(text)
		}
		n *= 10
	}
	if negative {
		return -time.Duration(n), nil
	}
	return time.Duration(n), nil
}

func parseAnySeconds(text []byte) (time.Duration, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > math.MaxInt64/1e9 {
		return 0, fmt.Errorf("parsing %q as seconds", text)
	}
	return time.Duration(math.Round(v * 1e9)), nil
}
