package privacy

import (
	"math"
	"strconv"
	"strings"
)

// printer writes an event and remembers where each node begins, so that an
// error about a node can point into the text.
type printer struct {
	strings.Builder
	// at is called with each node before it is written; nil to print only.
	at func(e Event, offset int)
}

func (p *printer) event(e Event) {
	if p.at != nil {
		p.at(e, p.Len())
	}
	if e == nil {
		p.WriteString("<nil>")
		return
	}
	e.print(p)
}

func (p *printer) call(name string, args ...any) {
	p.WriteString(name)
	p.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			p.WriteString(", ")
		}
		switch a := a.(type) {
		case float64:
			p.WriteString(FormatNumber(a))
		case int64:
			p.WriteString(strconv.FormatInt(a, 10))
		case Event:
			p.event(a)
		case nil:
			p.event(nil)
		case []Event:
			for j, e := range a {
				if j > 0 {
					p.WriteString(", ")
				}
				p.event(e)
			}
		}
	}
	p.WriteByte(')')
}

func (e Gaussian) print(p *printer)           { p.call(e.Node(), e.Sigma) }
func (e Laplace) print(p *printer)            { p.call(e.Node(), e.B) }
func (e Pure) print(p *printer)               { p.call(e.Node(), e.Epsilon) }
func (e Approx) print(p *printer)             { p.call(e.Node(), e.Epsilon, e.Delta) }
func (e BoundedRange) print(p *printer)       { p.call(e.Node(), e.C) }
func (e RandomizedResponse) print(p *printer) { p.call(e.Node(), e.Epsilon, e.K) }
func (e ZCDP) print(p *printer)               { p.call(e.Node(), e.Rho) }
func (e Compose) print(p *printer)            { p.call(e.Node(), e.Events) }
func (e Repeat) print(p *printer)             { p.call(e.Node(), e.N, e.Event) }
func (e Poisson) print(p *printer)            { p.call(e.Node(), e.Q, e.Event) }
func (e FixedSize) print(p *printer)          { p.call(e.Node(), e.N, e.M, e.Event) }
func (e Parallel) print(p *printer)           { p.call(e.Node(), e.Events) }
func (e NonPrivate) print(p *printer)         { p.call(e.Node()) }

// Walk visits every node of e in the order of its text, with the byte offset at
// which the node begins in e.String(). It stops at the first error.
func Walk(e Event, visit func(node Event, offset int) error) error {
	var err error
	p := printer{at: func(n Event, offset int) {
		if err == nil {
			err = visit(n, offset)
		}
	}}
	p.event(e)
	return err
}

func text(e Event) string {
	var p printer
	p.event(e)
	return p.String()
}

// String implements [Event], here and below.
func (e Gaussian) String() string           { return text(e) }
func (e Laplace) String() string            { return text(e) }
func (e Pure) String() string               { return text(e) }
func (e Approx) String() string             { return text(e) }
func (e BoundedRange) String() string       { return text(e) }
func (e RandomizedResponse) String() string { return text(e) }
func (e ZCDP) String() string               { return text(e) }
func (e Compose) String() string            { return text(e) }
func (e Repeat) String() string             { return text(e) }
func (e Poisson) String() string            { return text(e) }
func (e FixedSize) String() string          { return text(e) }
func (e Parallel) String() string           { return text(e) }
func (e NonPrivate) String() string         { return text(e) }

// maxDenominator bounds the fractions that FormatNumber looks for.
const maxDenominator = 1_000_000_000

// FormatNumber prints a number so that [Parse] reads back the same float64. A
// number whose shortest decimal is long but which is a short fraction, such as
// 20/30000, is printed as that fraction in lowest terms.
func FormatNumber(v float64) string {
	dec := strconv.FormatFloat(v, 'g', -1, 64)
	if len(dec) < 12 || math.IsInf(v, 0) || math.IsNaN(v) {
		return dec
	}
	num, den, ok := fraction(v)
	switch {
	case ok && den == 1:
		return strconv.FormatInt(num, 10)
	case ok && num < maxDenominator*1000/den:
		// Both small: no accident.
		if s := strconv.FormatInt(num, 10) + "/" + strconv.FormatInt(den, 10); len(s) < len(dec) {
			return s
		}
	}
	return dec
}

// fraction finds the simplest num/den that rounds to v, by continued fractions.
func fraction(v float64) (num, den int64, ok bool) {
	if !(v > 0) || v > maxDenominator {
		return 0, 0, false
	}
	p0, q0, p1, q1 := int64(0), int64(1), int64(1), int64(0)
	for x, i := v, 0; i < 40; i++ {
		a := math.Floor(x)
		if a > maxDenominator {
			return 0, 0, false
		}
		p0, p1 = p1, int64(a)*p1+p0
		q0, q1 = q1, int64(a)*q1+q0
		if q1 > maxDenominator || p1 > 1<<53 {
			return 0, 0, false
		}
		if float64(p1)/float64(q1) == v {
			return p1, q1, true
		}
		x = 1 / (x - a)
	}
	return 0, 0, false
}
