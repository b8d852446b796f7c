package jinja

import (
	"errors"
	"fmt"
	"strings"
)

// maxSource is the largest template, maxNesting how deep its tags and brackets may
// lie. Those of models are below 64 KiB, and a dozen deep.
const (
	maxSource  = 1 << 20
	maxNesting = 100
)

// Template is a template that can be rendered. It is safe for concurrent use.
type Template struct{ body []stmt }

// Parse reads a template. Filters and tests that there are not are errors when they
// are used: templates ask for those of other programs in branches never taken.
func Parse(source string) (t *Template, err error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("template of %d bytes, expected %d at most", len(source), maxSource)
	}
	defer recoverFailure(&err)
	p := &parser{tokens: lex(source)}
	return &Template{p.body()}, nil
}

func recoverFailure(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

type parser struct {
	tokens []token
	at     int
	depth  int
	loops  int // that enclose the current place
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != tokEOF {
		p.at++
	}
	return t
}

func (p *parser) fail(format string, args ...any) {
	fail("line %d: %s", p.peek().line, fmt.Sprintf(format, args...))
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.fail("nested more than %d deep", maxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

// isOp and isName report whether a given word comes next; skipOp and skipName take
// it if so, and needOp and needName fail if not.
func (p *parser) isOp(op string) bool     { t := p.peek(); return t.kind == tokOp && t.text == op }
func (p *parser) isName(name string) bool { t := p.peek(); return t.kind == tokName && t.text == name }

func (p *parser) skipOp(op string) bool {
	if p.isOp(op) {
		p.at++
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.at++
		return true
	}
	return false
}

func (p *parser) needOp(op string) {
	if !p.skipOp(op) {
		p.fail("expected %q, found %s", op, p.seen())
	}
}

func (p *parser) needName(name string) {
	if !p.skipName(name) {
		p.fail("expected %q, found %s", name, p.seen())
	}
}

func (p *parser) name() string {
	if p.peek().kind != tokName {
		p.fail("expected a name, found %s", p.seen())
	}
	return p.take().text
}

func (p *parser) seen() string {
	if t := p.peek(); t.kind != tokEOF {
		return fmt.Sprintf("%q", t.text)
	}
	return "the end of the template"
}

func (p *parser) blockEnd() {
	if p.peek().kind != tokBlockEnd {
		p.fail("expected %q, found %s", "%}", p.seen())
	}
	p.at++
}

// body parses statements up to a block that begins with one of the names, which is
// left for the caller with the tag's opening taken; without names, up to the end.
func (p *parser) body(ends ...string) []stmt {
	p.enter()
	defer p.leave()
	var out []stmt
	for {
		switch t := p.take(); t.kind {
		case tokData:
			out = append(out, dataStmt{Trusted(t.text)})
		case tokVarBegin:
			out = append(out, outputStmt{p.tuple(true)})
			if p.peek().kind != tokVarEnd {
				p.fail("expected %q, found %s", "}}", p.seen())
			}
			p.at++
		case tokBlockBegin:
			for _, end := range ends {
				if p.isName(end) {
					return out
				}
			}
			if s := p.statement(); s != nil {
				out = append(out, s)
			}
		default:
			if len(ends) > 0 {
				p.fail("expected {%% %s %%}, found %s", strings.Join(ends, " or "), p.seen())
			}
			return out
		}
	}
}

// until parses a body and takes the whole tag that ends it.
func (p *parser) until(end string) []stmt {
	body := p.body(end)
	p.at++
	if end == "endmacro" || end == "endblock" {
		if p.peek().kind == tokName {
			p.at++
		}
	}
	p.blockEnd()
	return body
}

func (p *parser) statement() stmt {
	line := p.peek().line
	switch name := p.name(); name {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement(line)
	case "set":
		return p.setStatement(line)
	case "macro":
		return p.macro(p.name(), "endmacro")
	case "call":
		return p.callStatement(line)
	case "filter":
		filters := p.filters()
		p.blockEnd()
		return filterStmt{filters, p.until("endfilter")}
	case "with":
		return p.with()
	case "break", "continue":
		if p.loops == 0 {
			p.fail("%s outside of a loop", name)
		}
		p.blockEnd()
		if name == "break" {
			return jumpStmt{breakLoop}
		}
		return jumpStmt{continueLoop}
	case "generation":
		p.blockEnd()
		return withStmt{body: p.until("endgeneration")}
	default:
		fail("line %d: unknown tag %q", line, name)
		return nil
	}
}

func (p *parser) ifStatement() stmt {
	var s ifStmt
	for {
		s.tests = append(s.tests, p.tuple(true))
		p.blockEnd()
		s.bodies = append(s.bodies, p.body("elif", "else", "endif"))
		switch p.take().text {
		case "elif":
			continue
		case "else":
			p.blockEnd()
			s.other = p.until("endif")
		default:
			p.blockEnd()
		}
		return s
	}
}

// targets parses the names that a for or a set assigns.
func (p *parser) targets() (names []string, tuple bool) {
	paren := p.skipOp("(")
	for {
		names = append(names, p.name())
		if !p.skipOp(",") {
			break
		}
		tuple = true
		if p.peek().kind != tokName || p.isName("in") {
			break
		}
	}
	if paren {
		p.needOp(")")
	}
	return names, tuple
}

func (p *parser) forStatement(line int) stmt {
	s := forStmt{line: line}
	s.targets, s.tuple = p.targets()
	p.needName("in")
	s.in = p.tuple(false)
	if p.skipName("if") {
		s.test = p.expression()
	}
	s.recursive = p.skipName("recursive")
	p.blockEnd()
	p.loops++
	s.body = p.body("else", "endfor")
	p.loops--
	if p.take().text == "else" {
		p.blockEnd()
		s.other = p.until("endfor")
	} else {
		p.blockEnd()
	}
	return s
}

func (p *parser) setStatement(line int) stmt {
	s := setStmt{line: line}
	s.targets, s.tuple = p.targets()
	if p.skipOp(".") {
		s.space, s.targets = s.targets[0], []string{p.name()}
	}
	if p.skipOp("=") {
		s.x = p.tuple(true)
		p.blockEnd()
		return s
	}
	if s.tuple || s.space != "" {
		p.fail("expected %q, found %s", "=", p.seen())
	}
	block := setBlock{name: s.targets[0]}
	if p.skipOp("|") {
		block.filters = p.filters()
	}
	p.blockEnd()
	block.body = p.until("endset")
	return block
}

// filters parses name(args) | name | …, the first bar taken.
func (p *parser) filters() (out []filterExpr) {
	for {
		out = append(out, p.filter(nil))
		if !p.skipOp("|") {
			return out
		}
	}
}

// macro parses parameters, body and end.
func (p *parser) macro(name, end string) macroStmt {
	s := macroStmt{name: name}
	if p.skipOp("(") {
		for !p.skipOp(")") {
			s.params = append(s.params, p.name())
			if p.skipOp("=") {
				s.defaults = append(s.defaults, p.expression())
			} else if len(s.defaults) > 0 {
				p.fail("parameter %s without a default after one with", s.params[len(s.params)-1])
			}
			if !p.isOp(")") {
				p.needOp(",")
			}
		}
	}
	loops := p.loops
	p.loops = 0
	if end == "endmacro" {
		p.blockEnd()
		s.body = p.until(end)
	}
	p.loops = loops
	return s
}

func (p *parser) callStatement(line int) stmt {
	caller := p.macro("caller", "")
	call, ok := p.expression().(callExpr)
	if !ok {
		fail("line %d: %s", line, errors.New("expected a call in the tag call"))
	}
	p.blockEnd()
	loops := p.loops
	p.loops = 0
	caller.body = p.until("endcall")
	p.loops = loops
	return callStmt{call, caller}
}

func (p *parser) with() stmt {
	var s withStmt
	for p.peek().kind != tokBlockEnd {
		s.names = append(s.names, p.name())
		p.needOp("=")
		s.values = append(s.values, p.expression())
		if p.peek().kind != tokBlockEnd {
			p.needOp(",")
		}
	}
	p.blockEnd()
	s.body = p.until("endwith")
	return s
}
