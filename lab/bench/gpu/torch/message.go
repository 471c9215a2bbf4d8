package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/sotto-dp/sotto/lm"
)

// The asks of worker.py.
const (
	askNothing = iota
	askCandidates
	askBest
	askAll
	askGiven
)

// request is a session's step on its way through the worker.
type request struct {
	steps []lm.Step
	grown []*growth
	stop  func() error // the error of the session's context
	raw   [][]byte     // the answer to each step
	err   error
	done  chan struct{}
}

// message collects requests in the layout of worker.py.
type message struct {
	from, to                       []int32 // copies
	start, count, pages, state     []int32
	ask, arguments                 []int32
	tokens, table, lengths, listed []int32
	lists                          map[listKey]int32
}

// listKey distinguishes lists of candidates by where they lie: methods ask all sequences
// of a text with one list.
type listKey struct {
	first *lm.Token
	n     int
}

func (m *message) add(r *request) {
	for i, s := range r.steps {
		g := r.grown[i]
		if g.copies {
			m.from, m.to = append(m.from, g.copied[0]), append(m.to, g.copied[1])
		}
		m.start = append(m.start, int32(g.of.length))
		m.count = append(m.count, int32(len(s.Tokens)))
		m.state = append(m.state, g.state)
		m.tokens = append(m.tokens, asInts(s.Tokens)...)
		pages := g.pages
		if len(s.Tokens) == 0 {
			pages = nil
		}
		m.pages = append(m.pages, int32(len(pages)))
		m.table = append(m.table, pages...)
		m.ask, m.arguments = append(m.ask, kindOf(s.Ask)), append(m.arguments, m.argument(s.Ask))
	}
}

// kindOf returns the kind of an ask.
func kindOf(a lm.Ask) int32 {
	switch {
	case a.Candidates != nil:
		return askCandidates
	case a.Top > 0:
		return askBest
	case a.All:
		return askAll
	case a.Given > 0:
		return askGiven
	}
	return askNothing
}

// argument returns what belongs to an ask: its list, or how many tokens it is about.
func (m *message) argument(a lm.Ask) int32 {
	if a.Candidates != nil {
		key := listKey{&a.Candidates[0], len(a.Candidates)}
		at, ok := m.lists[key]
		if !ok {
			at = int32(len(m.lists))
			m.lists[key] = at
			m.lengths = append(m.lengths, int32(len(a.Candidates)))
			m.listed = append(m.listed, asInts(a.Candidates)...)
		}
		return at
	}
	return int32(max(a.Top, a.Given))
}

// asInts sees tokens, which are int32, as such.
func asInts(tokens []lm.Token) []int32 {
	return unsafe.Slice((*int32)(unsafe.SliceData(tokens)), len(tokens))
}

func (m *message) bytes() []byte {
	head := []int32{int32(len(m.from)), int32(len(m.start)), int32(len(m.tokens)), int32(len(m.table)), int32(len(m.lengths)), int32(len(m.listed))}
	parts := [][]int32{head, m.from, m.to, m.start, m.count, m.pages, m.state, m.ask, m.arguments, m.tokens, m.table, m.lengths, m.listed}
	n := 0
	for _, p := range parts {
		n += 4 * len(p)
	}
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+n), uint64(n))
	for _, p := range parts {
		for _, v := range p {
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		}
	}
	return out
}

// answerBytes returns the length of the reply to an ask.
func answerBytes(a lm.Ask, vocabulary int) int {
	if a.All {
		return 4 * vocabulary
	}
	return 4*len(a.Candidates) + 8*(a.Top+a.Given)
}

// share gives each request its part of the reply: candidates of all steps come first,
// then best tokens, then whole rows, then given tokens.
func share(reply []byte, requests []*request, vocabulary int) error {
	at := 0
	for _, kind := range []int32{askCandidates, askBest, askAll, askGiven} {
		for _, r := range requests {
			if r.raw == nil {
				r.raw = make([][]byte, len(r.steps))
			}
			for i, s := range r.steps {
				if kindOf(s.Ask) != kind {
					continue
				}
				n := answerBytes(s.Ask, vocabulary)
				if at+n > len(reply) {
					return errors.New("the worker's reply is shorter than what was asked: are worker.py and this program of one version?")
				}
				r.raw[i] = reply[at : at+n]
				at += n
			}
		}
	}
	if at != len(reply) {
		return errors.New("the worker's reply is longer than what was asked: are worker.py and this program of one version?")
	}
	return nil
}

// scores reads the answer to a step.
func scores(step lm.Step, raw []byte) (lm.Scores, error) {
	var s lm.Scores
	a := step.Ask
	switch {
	case a.IsZero():
		return s, nil
	case a.Candidates != nil:
		s.Tokens = slices.Clone(a.Candidates)
	case a.Top > 0:
		s.Tokens = make([]lm.Token, a.Top)
		for i := range s.Tokens {
			s.Tokens[i] = lm.Token(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		}
		raw = raw[4*a.Top:]
	case a.Given > 0:
		s.Tokens = slices.Clone(step.Tokens[len(step.Tokens)-a.Given:])
		s.Best, raw = apart(raw)
	}
	s.LogProbs = make([]float64, len(raw)/4)
	for i := range s.LogProbs {
		// Rounding may leave a hair above zero.
		l := min(0, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))))
		if math.IsNaN(l) {
			return s, fmt.Errorf("the worker computed a score that is not a number: use another --dtype")
		}
		s.LogProbs[i] = l
	}
	if a.Top > 0 {
		sortEqual(s)
	}
	return s, nil
}

// apart takes pairs of a token and a score apart.
func apart(raw []byte) (tokens []lm.Token, scores []byte) {
	for pair := range slices.Chunk(raw, 8) {
		tokens = append(tokens, lm.Token(int32(binary.LittleEndian.Uint32(pair))))
		scores = append(scores, pair[4:]...)
	}
	return tokens, scores
}

// sortEqual puts tokens of equal score in ascending order.
func sortEqual(s lm.Scores) {
	for from := 0; from < len(s.Tokens); {
		to := from + 1
		for to < len(s.Tokens) && s.LogProbs[to] == s.LogProbs[from] {
			to++
		}
		slices.Sort(s.Tokens[from:to])
		from = to
	}
}
