package mock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/profiles"
)

// scriptFile is a script as people write it. Durations are like 50ms.
type scriptFile struct {
	Status int               `yaml:"status"`
	Header map[string]string `yaml:"header"`
	Raw    bool              `yaml:"raw"`
	Pieces []struct {
		At     time.Duration `yaml:"at"`
		Data   string        `yaml:"data"`
		Event  *string       `yaml:"event"`
		Cut    int           `yaml:"cut"`
		Gap    time.Duration `yaml:"gap"`
		Repeat int           `yaml:"repeat"`
		Every  time.Duration `yaml:"every"`
	} `yaml:"pieces"`
	End   string        `yaml:"end"`
	Every time.Duration `yaml:"every"`
}

// Limits of what a script may hold when its pieces are repeated and cut.
const (
	maxScriptPieces = 1 << 20
	maxScriptBytes  = 256 << 20
)

// ParseScript reads a script in YAML or JSON:
//
//	status: 200                      # the default
//	header: { X-Team: search }
//	raw: false                       # true: the pieces are the whole response
//	pieces:
//	  - { at: 50ms, event: '{"choices":[{"delta":{"content":"a"}}]}' }
//	  - { at: 60ms, data: "data: [DONE]\n\n", cut: 3, gap: 1ms }
//	end: close                       # abort, hang, reset, drop, repeat (with every: 10ms)
//
// event is data without the frame of an event. cut makes writes of at most so
// many bytes, gap apart. repeat sends a piece so many times, every so often.
func ParseScript(text []byte) (*Script, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var f scriptFile
	if err := decoder.Decode(&f); errors.Is(err, io.EOF) {
		return nil, errors.New("the script is empty, expected pieces")
	} else if err != nil {
		return nil, userfile.YAMLError(err)
	}
	if err := userfile.SecondDocument(decoder); err != nil {
		return nil, err
	}
	s := &Script{Status: f.Status, Raw: f.Raw, Every: f.Every, Header: http.Header{}}
	for name, value := range f.Header {
		if strings.ContainsAny(name+value, "\r\n") || strings.ContainsAny(name, " :\t") || name == "" {
			return nil, fmt.Errorf("header %q: expected a name and a value on one line", name)
		}
		s.Header.Set(name, value)
	}
	if f.End != "" {
		end := slices.Index(endNames, f.End)
		if end < 0 {
			return nil, fmt.Errorf("unknown end %q, expected one of %s%s", f.End, strings.Join(endNames, ", "), profiles.DidYouMean(f.End, endNames))
		}
		s.End = End(end)
	}
	if err := f.addPieces(s); err != nil {
		return nil, err
	}
	return s, s.check()
}

func (f *scriptFile) addPieces(s *Script) error {
	last, size := time.Duration(0), 0
	for i, p := range f.Pieces {
		data := p.Data
		if p.Event != nil {
			data = Event(*p.Event)
		}
		switch {
		case (p.Event != nil) == (p.Data != ""):
			return fmt.Errorf("piece %d: expected either data or event", i+1)
		case p.At < last:
			return fmt.Errorf("piece %d: at %s is before the piece before it, at %s", i+1, p.At, last)
		case p.Cut < 0 || p.Gap < 0 || p.Repeat < 0 || p.Every < 0:
			return fmt.Errorf("piece %d: cut, gap, repeat and every must not be negative", i+1)
		case p.Gap > 0 && p.Cut == 0:
			return fmt.Errorf("piece %d: gap has no effect without cut", i+1)
		case p.Every > 0 && p.Repeat < 2:
			return fmt.Errorf("piece %d: every has no effect without repeat: 2 or more", i+1)
		}
		last = p.At
		times, each := max(p.Repeat, 1), 1
		if p.Cut > 0 {
			each = (len(data) + p.Cut - 1) / p.Cut
		}
		size += times * len(data)
		if times > maxScriptPieces || each*times > maxScriptPieces-len(s.Pieces) || size > maxScriptBytes {
			return fmt.Errorf("piece %d: the script has more than %d writes or %d bytes", i+1, maxScriptPieces, maxScriptBytes)
		}
		for n := range times {
			piece := Piece{p.At + time.Duration(n)*p.Every, data}
			if p.Cut == 0 {
				s.Pieces = append(s.Pieces, piece)
				continue
			}
			s.Pieces = append(s.Pieces, piece.apart(p.Cut, p.Gap)...)
		}
		last = max(last, s.Pieces[len(s.Pieces)-1].At)
	}
	return nil
}
