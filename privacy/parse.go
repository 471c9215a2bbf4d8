package privacy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limits on an expression, so that text from outside cannot exhaust memory or
// the stack.
const (
	maxExpression = 1 << 20
	maxDepth      = 64
)

// SyntaxError reports where an expression is not a valid event.
type SyntaxError struct {
	Expr   string
	Offset int // in bytes
	Msg    string
}

// Error names the position and shows it.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("column %d: %s%s", e.Offset+1, e.Msg, pointer(e.Expr, e.Offset))
}

// pointer shows the part of an expression at an offset.
func pointer(expr string, offset int) string {
	const span = 24
	lo, hi := max(0, offset-span), min(len(expr), offset+span)
	before, after := strings.ToValidUTF8(expr[lo:offset], "?"), strings.ToValidUTF8(expr[offset:hi], "?")
	if lo > 0 {
		before = "…" + before
	}
	if hi < len(expr) {
		after += "…"
	}
	return fmt.Sprintf(" (at ⟨here⟩ in %q)", before+"⟨here⟩"+after)
}

// Parse reads an event and validates it. Errors are a [*SyntaxError] or a
// [*ParameterError], with the position in expr.
func Parse(expr string) (Event, error) {
	p := parser{expr: expr}
	return p.parse()
}

// Template is an expression with one unknown number x, such as
//
//	repeat(100, poisson(20/30000, gaussian(x)))
//
// x may stand for any number, also within a fraction (x/30000), and may occur
// more than once.
type Template struct {
	expr    string
	integer bool
}

// ParseTemplate reads an expression with an unknown x.
func ParseTemplate(expr string) (Template, error) {
	// Each slot has its own domain. Try values such that every domain holds one, and report
	// the first error of the others.
	var first error
	for _, x := range []float64{1, 0.5, 2, 1e6} {
		p := parser{expr: expr, x: &x}
		if _, err := p.parse(); err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if p.uses == 0 {
			return Template{}, &SyntaxError{expr, len(expr), "no unknown x in the expression: write x for the number to solve for"}
		}
		return Template{expr: expr, integer: p.integerX}, nil
	}
	return Template{}, first
}

// At returns the event with x replaced by a number.
func (t Template) At(x float64) (Event, error) {
	p := parser{expr: t.expr, x: &x}
	return p.parse()
}

// Integer reports whether x stands where only whole numbers may.
func (t Template) Integer() bool { return t.integer }

// String returns the expression as it was given.
func (t Template) String() string { return t.expr }

type parser struct {
	expr     string
	pos      int
	depth    int
	x        *float64 // value of the unknown; nil when none is allowed
	uses     int
	integerX bool
}

// arity of each node: how many numbers (and which are whole), then events;
// events < 0 means any number of them.
var nodes = map[string]struct {
	numbers string // one letter a number: f real, i whole
	events  int
	make    func(n []float64, e []Event) Event
}{
	"gaussian":     {"f", 0, func(n []float64, _ []Event) Event { return Gaussian{n[0]} }},
	"laplace":      {"f", 0, func(n []float64, _ []Event) Event { return Laplace{n[0]} }},
	"pure":         {"f", 0, func(n []float64, _ []Event) Event { return Pure{n[0]} }},
	"approx":       {"ff", 0, func(n []float64, _ []Event) Event { return Approx{n[0], n[1]} }},
	"boundedrange": {"f", 0, func(n []float64, _ []Event) Event { return BoundedRange{n[0]} }},
	"rr":           {"fi", 0, func(n []float64, _ []Event) Event { return RandomizedResponse{n[0], int64(n[1])} }},
	"zcdp":         {"f", 0, func(n []float64, _ []Event) Event { return ZCDP{n[0]} }},
	"compose":      {"", -1, func(_ []float64, e []Event) Event { return Compose{e} }},
	"repeat":       {"i", 1, func(n []float64, e []Event) Event { return Repeat{int64(n[0]), e[0]} }},
	"poisson":      {"f", 1, func(n []float64, e []Event) Event { return Poisson{n[0], e[0]} }},
	"fixedsize":    {"ii", 1, func(n []float64, e []Event) Event { return FixedSize{int64(n[0]), int64(n[1]), e[0]} }},
	"parallel":     {"", -1, func(_ []float64, e []Event) Event { return Parallel{e} }},
	"nonprivate":   {"", 0, func([]float64, []Event) Event { return NonPrivate{} }},
}

func nodeNames() string { return strings.Join(slices.Sorted(maps.Keys(nodes)), ", ") }

func (p *parser) parse() (Event, error) {
	if len(p.expr) > maxExpression {
		return nil, &SyntaxError{"", 0, fmt.Sprintf("the expression has %d bytes, at most %d are read; use repeat(n, e) for repetition", len(p.expr), maxExpression)}
	}
	e, err := p.event()
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.expr) {
		return nil, p.fail("the expression should end here")
	}
	return e, nil
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{p.expr, p.pos, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.pos < len(p.expr) && strings.IndexByte(" \t\r\n", p.expr[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) accept(c byte) bool {
	if p.space(); p.pos < len(p.expr) && p.expr[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) word() string {
	p.space()
	start := p.pos
	for p.pos < len(p.expr) && (p.expr[p.pos] >= 'a' && p.expr[p.pos] <= 'z') {
		p.pos++
	}
	return p.expr[start:p.pos]
}

func (p *parser) event() (Event, error) {
	p.space()
	start := p.pos
	name := p.word()
	node, ok := nodes[name]
	if !ok {
		p.pos = start
		if name == "" {
			return nil, p.fail("an event should stand here: one of %s", nodeNames())
		}
		return nil, p.fail("unknown event %q: known are %s", name, nodeNames())
	}
	if p.depth++; p.depth > maxDepth {
		p.pos = start
		return nil, p.fail("events are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	if !p.accept('(') {
		return nil, p.fail("%s needs its parameters in parentheses", name)
	}
	numbers := make([]float64, 0, len(node.numbers))
	for i, kind := range node.numbers {
		if i > 0 && !p.accept(',') {
			return nil, p.fail("%s takes %s; a comma should stand here", name, takes(node.numbers, node.events))
		}
		v, err := p.number(kind == 'i')
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, v)
	}
	events, err := p.events(name, len(node.numbers) > 0, node.events)
	if err != nil {
		return nil, err
	}
	if !p.accept(')') {
		return nil, p.fail("%s takes %s; a closing parenthesis should stand here", name, takes(node.numbers, node.events))
	}
	e := node.make(numbers, events)
	if err := e.check(); err != nil {
		err.Expr, err.Offset = p.expr, start
		return nil, err
	}
	return e, nil
}

// events reads the events among a node's parameters; want < 0 reads any number.
func (p *parser) events(name string, after bool, want int) ([]Event, error) {
	var events []Event
	for want != 0 && len(events) != want {
		if p.space(); want < 0 && len(events) == 0 && p.pos < len(p.expr) && p.expr[p.pos] == ')' {
			break
		}
		if (after || len(events) > 0) && !p.accept(',') {
			if want < 0 {
				break
			}
			return nil, p.fail("%s needs an event as its last parameter; a comma should stand here", name)
		}
		e, err := p.event()
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func takes(numbers string, events int) string {
	what := []string{"no parameters", "one number", "two numbers"}[len(numbers)]
	switch {
	case events < 0:
		return "any number of events"
	case events > 0 && numbers != "":
		return what + " and an event"
	}
	return what
}

// number reads a decimal, a fraction of two, or the unknown x in either place.
func (p *parser) number(whole bool) (float64, error) {
	p.space()
	start := p.pos
	used := p.uses
	v, err := p.term()
	if err != nil {
		return 0, err
	}
	if p.accept('/') {
		p.space()
		at := p.pos
		d, err := p.term()
		if err != nil {
			return 0, err
		}
		if v /= d; d == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			p.pos = at
			return 0, p.fail("this fraction has no finite value")
		}
	}
	if whole {
		p.integerX = p.integerX || p.uses > used
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			p.pos = start
			return 0, p.fail("a whole number of at most 2^53 should stand here")
		}
	}
	return v, nil
}

func (p *parser) term() (float64, error) {
	p.space()
	start := p.pos
	if p.pos < len(p.expr) && p.expr[p.pos] == 'x' {
		if p.x == nil {
			return 0, p.fail("the unknown x is for calibration; a number should stand here")
		}
		p.pos++
		p.uses++
		return *p.x, nil
	}
	for p.pos < len(p.expr) && strings.IndexByte("0123456789.eE+-", p.expr[p.pos]) >= 0 {
		p.pos++
	}
	v, err := strconv.ParseFloat(p.expr[start:p.pos], 64)
	if err != nil {
		lit := p.expr[start:p.pos]
		p.pos = start
		if errors.Is(err, strconv.ErrRange) {
			return 0, p.fail("the number %s is out of range", lit)
		}
		return 0, p.fail("a number should stand here")
	}
	return v, nil
}
