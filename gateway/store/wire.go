package store

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
)

// keysOf are the Redis keys of a tenant. The braces make a cluster keep all of
// them in one slot; a name is escaped so that it can hold none itself.
func keysOf(tenant string) []string {
	prefix := "llmctl:limits:{" + url.PathEscape(tenant) + "}"
	return []string{prefix, prefix + ":expiry", prefix + ":open"}
}

// field is the account's own scope in the tenant's hash.
func (a Account) field() string {
	if a.Key == "" {
		return "tenant"
	}
	return "key:" + url.PathEscape(a.Key)
}

// billion is how many parts a dollar has. The scripts count dollars and parts
// apart, since doubles hold no more than nine million dollars in parts.
const billion = 1_000_000_000

func appendMoney(args []any, m limit.Money) []any {
	return append(args, int64(m/billion), int64(m%billion))
}

func appendUse(args []any, u limit.Use) []any {
	return appendMoney(append(args, u.Input, u.Output), u.Cost)
}

func appendScope(args []any, s Scope) []any {
	args = append(args, s.field(), s.RPM, s.InputTPM, s.OutputTPM, s.Concurrent)
	return appendMoney(appendMoney(args, s.Day), s.Month)
}

// reply is what reserve.lua and look.lua answer.
type reply struct {
	fits    bool
	at      time.Duration // since 1970, by Redis's clock
	granted limit.Use     // by reserve.lua: output and cost
	birth   string        // of the tenant's counters
	states  []limit.State
}

var errReply = errors.New("an answer of a limits script makes no sense")

func parseReply(v any, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	list, ok := v.([]any)
	if !ok || len(list) < 3 {
		return reply{}, errReply
	}
	fits, ok := list[0].(int64)
	if !ok {
		return reply{}, errReply
	}
	r := reply{fits: fits == 1}
	if r.birth, ok = list[2].(string); !ok {
		return reply{}, errReply
	}
	for i, item := range slices.Concat(list[1:2], list[3:]) {
		text, ok := item.(string)
		if !ok {
			return reply{}, errReply
		}
		n, err := parseNumbers(text)
		switch {
		case err != nil:
			return reply{}, err
		case i == 0 && len(n) == 1:
			r.at = time.Duration(n[0]) * time.Microsecond
		case i == 0 && len(n) == 4:
			r.at = time.Duration(n[0]) * time.Microsecond
			r.granted = limit.Use{Tokens: limit.Tokens{Output: n[1]}, Cost: limit.Money(n[2]*billion + n[3])}
		case i > 0 && len(n) == stateNumbers:
			r.states = append(r.states, stateOf(n))
		default:
			return reply{}, errReply
		}
	}
	return r, nil
}

func parseNumbers(text string) ([]int64, error) {
	numbers := make([]int64, 0, stateNumbers)
	for word := range strings.FieldsSeq(text) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errReply, err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

const stateNumbers = 19

// stateOf reads a packed scope. The scripts count parts of a token in 1/60,000,000,
// by microseconds; the policy in 1/60,000,000,000, by nanoseconds.
func stateOf(n []int64) limit.State {
	bucket := func(i int) limit.Bucket { return limit.Bucket{Level: n[i+1], Carry: uint64(n[i+2]) * 1000} }
	money := func(i int) limit.Money { return limit.Money(n[i]*billion + n[i+1]) }
	return limit.State{
		At:       time.Duration(n[0]) * time.Microsecond,
		Requests: bucket(1), Input: bucket(4), Output: bucket(7),
		Open: n[10], Held: money(11),
		Day:   limit.Window{Index: n[13], Spent: money(14)},
		Month: limit.Window{Index: n[16], Spent: money(17)},
	}
}
