package labels_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/labels"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// toy has bytes for tokens, and logits that are a hash of the sequence. One text has no
// tokens.
type toy struct {
	sequences map[lm.Sequence][]lm.Token
	last      lm.Sequence
	calls     int
	fail      int
}

var errToy = errors.New("the toy failed")

func (m *toy) try() error {
	if m.calls++; m.calls == m.fail {
		return errToy
	}
	return nil
}

func (m *toy) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for _, b := range []byte(text) {
		if b < 128 && text != " \x01" {
			out = append(out, lm.Token(b))
		}
	}
	return out, nil
}

func (m *toy) Decode(context.Context, []lm.Token) (string, error) { return "", nil }
func (m *toy) Size() int                                          { return 128 }
func (m *toy) Beginning() (lm.Token, bool)                        { return 0, false }
func (m *toy) Control(lm.Token) bool                              { return false }
func (m *toy) Ends() []lm.Token                                   { return nil }

func (m *toy) New() (lm.Sequence, error) {
	m.last++
	m.sequences[m.last] = nil
	return m.last, m.try()
}

func (m *toy) Fork(from lm.Sequence) (lm.Sequence, error) {
	if err := m.try(); err != nil {
		return 0, err
	}
	m.last++
	m.sequences[m.last] = slices.Clone(m.sequences[from])
	return m.last, nil
}

func (m *toy) Drop(q lm.Sequence) error {
	delete(m.sequences, q)
	return m.try()
}
func (m *toy) Len(q lm.Sequence) (int, error) { return len(m.sequences[q]), nil }
func (m *toy) Usage() lm.Usage                { return lm.Usage{} }
func (m *toy) Close() error                   { return nil }

func logits(sequence []lm.Token) []float64 {
	h := fnv.New64a()
	for _, t := range sequence {
		h.Write([]byte{byte(t)})
	}
	x := h.Sum64()
	out := make([]float64, 128)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float64(x>>40) / (1 << 22)
	}
	return out
}

func (m *toy) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := m.try(); err != nil {
		return nil, err
	}
	out := make([]lm.Scores, len(steps))
	for i, s := range steps {
		m.sequences[s.Sequence] = append(m.sequences[s.Sequence], s.Tokens...)
		all := lm.LogSoftmax(logits(m.sequences[s.Sequence]))
		switch {
		case s.Ask.All:
			out[i].LogProbs = all
		case s.Ask.Top > 0:
			out[i].Tokens = lm.Best(all, s.Ask.Top)
			for _, t := range out[i].Tokens {
				out[i].LogProbs = append(out[i].LogProbs, all[t])
			}
		default:
			var chosen []float64
			for _, t := range s.Ask.Candidates {
				chosen = append(chosen, all[t])
			}
			out[i] = lm.Scores{Tokens: s.Ask.Candidates, LogProbs: lm.LogSoftmax(chosen)}
		}
	}
	return out, nil
}

var list = []string{"red", "read", "green", "grey", "g"}

// TestScores compares with the product of probabilities over the whole vocabulary, token
// by token; a constant may be missing. Each label and question is scored alone there.
func TestScores(t *testing.T) {
	for name, o := range map[string]labels.Options{
		"best":       {Can: lm.Capabilities{Candidates: true, Top: true}},
		"all":        {Can: lm.Capabilities{Candidates: true, All: true}},
		"whole":      {Can: lm.Capabilities{Candidates: true, Top: true}, Whole: true},
		"one by one": {Can: lm.Capabilities{Candidates: true, Top: true}, Sequences: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := &toy{sequences: map[lm.Sequence][]lm.Token{}}
			l, err := labels.New(t.Context(), m, list)
			if err != nil {
				t.Fatal(err)
			}
			stem, err := m.New()
			if err != nil {
				t.Fatal(err)
			}
			var questions []labels.Prompt
			texts := []string{"what?", "who", "x"}
			for _, q := range texts {
				tokens, _ := m.Encode(t.Context(), q)
				questions = append(questions, labels.Prompt{From: stem, Tokens: tokens})
			}
			got, err := l.Scores(t.Context(), m, questions, o)
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range questions {
				want := make([]float64, len(list))
				for j, label := range list {
					sequence := slices.Clone(q.Tokens)
					tokens, _ := m.Encode(t.Context(), " "+label)
					for _, token := range tokens {
						want[j] += lm.LogSoftmax(logits(sequence))[token]
						sequence = append(sequence, token)
					}
				}
				constant := got[i][0] - want[0]
				if o.Whole && math.Abs(constant) > 1e-9 {
					t.Errorf("%s: a constant of %v is missing", name, constant)
				}
				for j := range list {
					if math.Abs(got[i][j]-want[j]-constant) > 1e-9 {
						t.Errorf("%s: %q after %q has %v, want %v", name, list[j], texts[i], got[i][j]-constant, want[j])
					}
				}
			}
			if len(m.sequences) != 1 || len(m.sequences[stem]) != 0 {
				t.Errorf("%s: %d sequences are left, %d tokens in the questions' one", name, len(m.sequences), len(m.sequences[stem]))
			}
		})
	}
}

// TestFaults: whatever fails, there are no scores.
func TestFaults(t *testing.T) {
	for fail := 1; ; fail++ {
		m := &toy{sequences: map[lm.Sequence][]lm.Token{}, fail: fail + 1}
		l, err := labels.New(t.Context(), m, list)
		if err != nil {
			t.Fatal(err)
		}
		stem, err := m.New()
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Scores(t.Context(), m, []labels.Prompt{{From: stem, Tokens: []lm.Token{'a'}}, {From: stem, Tokens: []lm.Token{'b'}}}, labels.Options{Can: lm.Capabilities{Candidates: true, Top: true}})
		if m.calls <= fail {
			if err != nil || fail < 10 {
				t.Errorf("%d calls: %v", m.calls, err)
			}
			return
		}
		if !errors.Is(err, errToy) || got != nil {
			t.Errorf("call %d failed: %v, %v", fail, got, err)
		}
	}
}

func TestLists(t *testing.T) {
	m := &toy{}
	if _, err := labels.New(t.Context(), m, []string{"a", "\x01"}); err == nil {
		t.Error("a label without tokens is accepted")
	}
	l, err := labels.New(t.Context(), m, list)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "depth", l.Depth(), 6)
	expect.Equal(t, "uneven lengths", l.UnevenLengths(), true)
	expect.Equal(t, "first length", l.Length(0), 4)
	flat, err := labels.New(t.Context(), m, []string{""})
	if err != nil {
		t.Fatal(err)
	}
	var lacking *lm.UnsupportedError
	for _, c := range []struct {
		list  *labels.List
		can   lm.Capabilities
		whole bool
		ok    bool
	}{
		{l, lm.Capabilities{}, false, false},
		{l, lm.Capabilities{Candidates: true}, false, false},
		{l, lm.Capabilities{Candidates: true, All: true}, true, true},
		{flat, lm.Capabilities{Candidates: true}, false, true},
		{flat, lm.Capabilities{Candidates: true}, true, false},
	} {
		err := c.list.Check(lm.Info{Can: c.can}, c.whole)
		if (err == nil) != c.ok || err != nil && !errors.As(err, &lacking) {
			t.Errorf("%+v, whole %v: %v", c.can, c.whole, err)
		}
	}
}
