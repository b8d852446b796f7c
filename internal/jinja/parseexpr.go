package jinja

import (
	"math"
	"strconv"
	"strings"
)

// The grammar and its precedences are those of jinja2's Parser:
//
//	expression = or [ "if" or [ "else" expression ] ]
//	or         = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | compare
//	compare    = sum { ("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in") sum }
//	sum        = concat { ("+" | "-") concat }
//	concat     = product { "~" product }
//	product    = power { ("*" | "/" | "//" | "%") power }
//	power      = unary { "**" unary }
//	unary      = ("-" | "+") unary | primary { postfix } { filter | test | call }
func (p *parser) expression() expr {
	p.enter()
	defer p.leave()
	x := p.or()
	for p.skipName("if") {
		c := condExpr{then: x, test: p.or()}
		if p.skipName("else") {
			c.other = p.expression()
		}
		x = c
	}
	return x
}

// tuple is an expression, or several with commas between them. Without conditions,
// an "if" after it belongs to someone else.
func (p *parser) tuple(conditions bool) expr {
	one := p.expression
	if !conditions {
		one = p.or
	}
	x := one()
	if !p.isOp(",") {
		return x
	}
	items := []expr{x}
	for p.skipOp(",") {
		if k := p.peek().kind; k == tokVarEnd || k == tokBlockEnd || p.isOp(")") {
			break
		}
		items = append(items, one())
	}
	return listExpr{items, true}
}

func (p *parser) or() expr {
	x := p.and()
	for p.skipName("or") {
		x = logicExpr{false, x, p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.skipName("and") {
		x = logicExpr{true, x, p.not()}
	}
	return x
}

func (p *parser) not() expr {
	line := p.peek().line
	if p.skipName("not") {
		p.enter()
		defer p.leave()
		return unaryExpr{"not", p.not(), line}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	c := compareExpr{first: p.sum(), line: p.peek().line}
	for {
		t := p.peek()
		switch {
		case t.kind == tokOp && strings.Contains(" == != < <= > >= ", " "+t.text+" "):
			p.at++
			c.ops = append(c.ops, t.text)
		case p.skipName("in"):
			c.ops = append(c.ops, "in")
		case p.isName("not") && p.tokens[p.at+1].kind == tokName && p.tokens[p.at+1].text == "in":
			p.at += 2
			c.ops = append(c.ops, "not in")
		case len(c.ops) == 0:
			return c.first
		default:
			return c
		}
		c.rest = append(c.rest, p.sum())
	}
}

func (p *parser) binary(ops string, operand func() expr) expr {
	x := operand()
	for {
		t := p.peek()
		if t.kind != tokOp || !strings.Contains(ops, " "+t.text+" ") {
			return x
		}
		p.at++
		x = binaryExpr{t.text, x, operand(), t.line}
	}
}

func (p *parser) sum() expr { return p.binary(" + - ", p.concat) }

func (p *parser) concat() expr {
	x := p.product()
	if !p.isOp("~") {
		return x
	}
	items := []expr{x}
	for p.skipOp("~") {
		items = append(items, p.product())
	}
	return concatExpr{items}
}

func (p *parser) product() expr { return p.binary(" * / // % ", p.power) }

func (p *parser) power() expr { return p.binary(" ** ", func() expr { return p.unary(true) }) }

func (p *parser) unary(filters bool) expr {
	p.enter()
	defer p.leave()
	t := p.peek()
	var x expr
	if p.skipOp("-") || p.skipOp("+") {
		x = unaryExpr{t.text, p.unary(false), t.line}
	} else {
		x = p.postfix(p.primary())
	}
	for filters {
		t := p.peek()
		switch {
		case p.skipOp("|"):
			x = p.filter(x)
		case p.skipName("is"):
			x = p.test(x)
		case p.isOp("("):
			x = callExpr{x, p.arguments(), t.line}
		default:
			return x
		}
	}
	return x
}

func (p *parser) primary() expr {
	t := p.take()
	switch t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return literal{true}
		case "false", "False":
			return literal{false}
		case "none", "None":
			return literal{nil}
		}
		return variable{t.text, t.line}
	case tokString:
		text := t.text
		for p.peek().kind == tokString {
			text += p.take().text
		}
		return literal{Trusted(text)}
	case tokInt:
		n, err := strconv.ParseInt(t.text, 0, 64)
		if err != nil {
			if n, err = strconv.ParseInt(strings.ReplaceAll(t.text, "_", ""), 10, 64); err != nil {
				fail("line %d: number %s is out of range", t.line, t.text)
			}
		}
		return literal{n}
	case tokFloat:
		f, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
		if err != nil && !math.IsInf(f, 0) {
			fail("line %d: bad number %s", t.line, t.text)
		}
		return literal{f}
	case tokOp:
		switch t.text {
		case "(":
			if p.skipOp(")") {
				return listExpr{tuple: true}
			}
			x := p.tuple(true)
			p.needOp(")")
			return x
		case "[":
			return listExpr{items: p.list("]")}
		case "{":
			return p.dict()
		}
	}
	if t.kind != tokEOF {
		p.at--
	}
	p.fail("expected an expression, found %s", p.seen())
	return nil
}

func (p *parser) list(end string) (items []expr) {
	for !p.skipOp(end) {
		items = append(items, p.expression())
		if !p.isOp(end) {
			p.needOp(",")
		}
	}
	return items
}

func (p *parser) dict() expr {
	var d dictExpr
	for !p.skipOp("}") {
		d.keys = append(d.keys, p.expression())
		p.needOp(":")
		d.values = append(d.values, p.expression())
		if !p.isOp("}") {
			p.needOp(",")
		}
	}
	return d
}

func (p *parser) postfix(x expr) expr {
	for {
		t := p.peek()
		switch {
		case p.skipOp("."):
			if k := p.peek(); k.kind == tokInt {
				x = itemExpr{x, p.primary(), t.line}
				continue
			}
			x = attrExpr{x, p.name(), t.line}
		case p.skipOp("["):
			x = p.subscript(x, t.line)
		case p.isOp("("):
			x = callExpr{x, p.arguments(), t.line}
		default:
			return x
		}
	}
}

// subscript parses what follows an opening bracket, a slice or an index.
func (p *parser) subscript(of expr, line int) expr {
	var parts [3]expr
	n := 0
	for ; n < 3; n++ {
		if !p.isOp(":") && !p.isOp("]") {
			parts[n] = p.expression()
		}
		if n == 2 || !p.skipOp(":") {
			break
		}
	}
	if n == 0 && parts[0] == nil {
		p.fail("expected an index, found %s", p.seen())
	}
	p.needOp("]")
	if n == 0 {
		return itemExpr{of, parts[0], line}
	}
	return sliceExpr{of, parts[0], parts[1], parts[2], line}
}

func (p *parser) arguments() (a arguments) {
	p.needOp("(")
	for !p.skipOp(")") {
		if p.peek().kind == tokName && p.tokens[p.at+1].kind == tokOp && p.tokens[p.at+1].text == "=" {
			a.names = append(a.names, p.name())
			p.at++
			a.named = append(a.named, p.expression())
		} else {
			if len(a.names) > 0 {
				p.fail("argument without a name after one with")
			}
			a.list = append(a.list, p.expression())
		}
		if !p.isOp(")") {
			p.needOp(",")
		}
	}
	return a
}

func (p *parser) filter(x expr) filterExpr {
	f := filterExpr{x: x, line: p.peek().line, name: p.name()}
	if p.isOp("(") {
		f.args = p.arguments()
	}
	return f
}

func (p *parser) test(x expr) expr {
	t := testExpr{x: x, line: p.peek().line, not: p.skipName("not")}
	t.name = p.name()
	next := p.peek()
	switch {
	case p.isOp("("):
		t.args = p.arguments()
	case next.kind == tokName && next.text != "else" && next.text != "or" && next.text != "and" && next.text != "if" && next.text != "is" && next.text != "in" && next.text != "not",
		next.kind == tokString, next.kind == tokInt, next.kind == tokFloat, p.isOp("["), p.isOp("{"):
		t.args.list = []expr{p.postfix(p.primary())}
	}
	return t
}
