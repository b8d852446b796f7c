package cache

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// UserDataHeader marks a request that holds data of a person: its answer is not
// kept at all.
const UserDataHeader = "X-Llmctl-User-Data"

// Bypass is why a request does not use a cache. The list is closed: the values
// are metric labels. The empty one says that it does.
type Bypass string

// Reasons to bypass a cache.
const (
	BypassUserData    Bypass = "user_data"
	BypassNoStore     Bypass = "no_store"    // the client's Cache-Control
	BypassPath        Bypass = "path"        // not a completion
	BypassTemperature Bypass = "temperature" // not 0, or not given
	BypassBody        Bypass = "body"        // too large, too deep, or not UTF-8

	BypassTools   Bypass = "tools"     // semantic only, like all that follow
	BypassTurns   Bypass = "turns"     // more than one message of the user
	BypassContent Bypass = "content"   // images, or no text to compare
	BypassTime    Bypass = "time"      // the answer depends on when it is asked
	BypassChoices Bypass = "choices"   // more than one
	BypassEmbed   Bypass = "embedding" // the embedding endpoint did not answer
)

// Control is what a client's headers say about caches.
type Control struct {
	NoStore bool          // neither look up nor keep
	NoCache bool          // do not look up
	MaxAge  time.Duration // of an answer; negative: any
	User    bool          // the request holds data of a person
}

// ControlOf reads Cache-Control and UserDataHeader. Directives for other caches
// and malformed ones are ignored, as RFC 9111 says; a UserDataHeader that is not
// clearly off counts as on.
func ControlOf(h http.Header) Control {
	c := Control{MaxAge: -1}
	for _, line := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(name) {
			case "no-store":
				c.NoStore = true
			case "no-cache":
				c.NoCache = true
			case "max-age":
				if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil && n >= 0 {
					c.MaxAge = time.Duration(n) * time.Second
				}
			}
		}
	}
	switch strings.ToLower(strings.TrimSpace(h.Get(UserDataHeader))) {
	case "", "false", "0", "no":
	default:
		c.User = true
	}
	return c
}

// Accepts tells whether the client takes an answer of that age.
func (c Control) Accepts(age time.Duration) bool {
	return !c.NoCache && (c.MaxAge < 0 || age <= c.MaxAge)
}

// completions are the paths whose answers this package understands.
var completions = []string{"/v1/chat/completions", "/v1/completions"}

// bypass is what keeps a request out of both caches.
func (c Control) bypass(path string) Bypass {
	switch {
	case c.User:
		return BypassUserData
	case c.NoStore:
		return BypassNoStore
	case !slices.Contains(completions, path):
		return BypassPath
	}
	return ""
}

// Exact says why a request can not be answered by an equal one's answer, or "":
// only with a temperature of 0, given as such, does a model mean to answer the
// same again.
func (c Control) Exact(path string, body map[string]gjson.Result) Bypass {
	if reason := c.bypass(path); reason != "" {
		return reason
	}
	if t := body["temperature"]; t.Type != gjson.Number || t.Num != 0 {
		return BypassTemperature
	}
	return ""
}
