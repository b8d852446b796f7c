package mock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// A Fault is one way in which servers, or what stands before them, break or bend
// the protocol.
type Fault struct {
	Name  string
	About string
	// Fatal says that no client can call the answer a success.
	Fatal bool
	make  func(s *Server, r *Request) *Script
}

// A Share is a fault and the part of requests that has it.
type Share struct {
	Fault *Fault
	Part  float64 // 0 to 1
}

// Faults are all faults, in the order in which they are listed.
var Faults = slices.Concat(framingFaults, contentFaults, endFaults, httpFaults, refusalFaults)

// FindFault finds a fault by its name.
func FindFault(name string) (*Fault, error) {
	names := make([]string, len(Faults))
	for i := range Faults {
		if Faults[i].Name == name {
			return &Faults[i], nil
		}
		names[i] = Faults[i].Name
	}
	return nil, fmt.Errorf("unknown fault %q%s", name, profiles.DidYouMean(name, names))
}

// ParseFaults reads faults like http_503=0.1: a name and the part of requests
// that has it. Those that name no part share what the others leave.
func ParseFaults(texts []string) ([]Share, error) {
	var shares []Share
	open, left := 0, 1.0
	for _, text := range texts {
		name, part, given := strings.Cut(text, "=")
		f, err := FindFault(name)
		if err != nil {
			return nil, err
		}
		share := Share{Fault: f, Part: -1}
		if given {
			percent := strings.HasSuffix(part, "%")
			v, err := strconv.ParseFloat(strings.TrimSuffix(part, "%"), 64)
			if percent {
				v /= 100
			}
			if err != nil || !(v > 0 && v <= 1) {
				return nil, fmt.Errorf("fault %q: expected a part above 0 and up to 1, as in %s=0.1 or %s=10%%", text, name, name)
			}
			share.Part = v
			left -= v
		} else {
			open++
		}
		shares = append(shares, share)
	}
	const rounding = 1e-9
	if left < -rounding || open > 0 && left < rounding {
		return nil, fmt.Errorf("faults %s: their parts are more than all requests", strings.Join(texts, ", "))
	}
	for i := range shares {
		if shares[i].Part < 0 {
			shares[i].Part = left / float64(open)
		}
	}
	return shares, nil
}

// fault decides by the seed which fault a request has, if any.
func (s *Server) fault(index int64) *Fault {
	if len(s.Faults) == 0 {
		return nil
	}
	const purpose = 0xfa // keeps these numbers apart from those of the jitter
	u := rand.New(rand.NewPCG(s.Seed^purpose<<56, uint64(index))).Float64()
	for _, share := range s.Faults {
		if u -= share.Part; u < 0 {
			return share.Fault
		}
	}
	return nil
}

// script is the faultless answer as a script, streamed whatever was asked, for a
// fault to change. The events of the end are pieces of their own.
func (s *Server) script(r *Request, changes ...func(*stream)) *Script {
	st := s.stream(r, r.Words(), 0)
	for _, change := range changes {
		change(st)
	}
	script := new(Script)
	for p, ok := st.piece(0); ok; p, ok = st.piece(0) {
		for event := range strings.SplitAfterSeq(string(p.data), "\n\n") {
			if event != "" {
				script.Pieces = append(script.Pieces, Piece{p.at, event})
			}
		}
		if p.tokens > 0 {
			script.tokens = len(script.Pieces)
		}
	}
	return script
}

// middle is where a script is broken: after half of its tokens.
func (s *Script) middle() int { return (s.tokens + 1) / 2 }

// insert puts data before the piece at i, at that piece's time.
func (s *Script) insert(i int, data string) *Script {
	at := Piece{Data: data}
	if i < len(s.Pieces) {
		at.At = s.Pieces[i].At
	}
	s.Pieces = slices.Insert(s.Pieces, i, at)
	return s
}

// upTo ends a script after n pieces, in some way.
func (s *Script) upTo(n int, end End) *Script {
	s.Pieces, s.End = s.Pieces[:n], end
	return s
}
