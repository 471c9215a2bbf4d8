package likelihood_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/internal/likelihood"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// toy has 128 tokens and logits that are a hash of the sequence. It counts calls, and
// fails at one of them.
type toy struct {
	lm.Session
	info      lm.Info
	sequences map[lm.Sequence][]lm.Token
	last      lm.Sequence
	calls     int
	fail      int
	widest    int // sequences of a step
}

var errToy = errors.New("the toy failed")

func newToy(can lm.Capabilities) *toy {
	info := lm.Info{Backend: "toy", Capacity: lm.Capacity{Context: 100, Vocabulary: 128, Top: 128}, Can: can}
	return &toy{info: info, sequences: map[lm.Sequence][]lm.Token{1: {7, 8, 9}, 2: {5}}, last: 2}
}

func (m *toy) try() error {
	if m.calls++; m.calls == m.fail {
		return errToy
	}
	return nil
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

func logits(sequence []lm.Token) []float64 {
	h := fnv.New64a()
	for _, t := range sequence {
		h.Write([]byte{byte(t)})
	}
	x := h.Sum64()
	out := make([]float64, 128)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float64(x >> 61) // few values: the best are often several
	}
	return out
}

func (m *toy) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := m.try(); err != nil {
		return nil, err
	}
	if err := lm.CheckSteps(m.info, steps, func(q lm.Sequence) (int, bool) {
		tokens, ok := m.sequences[q]
		return len(tokens), ok
	}); err != nil {
		return nil, err
	}
	m.widest = max(m.widest, len(steps))
	out := make([]lm.Scores, len(steps))
	for i, s := range steps {
		sequence := slices.Concat(m.sequences[s.Sequence], s.Tokens)
		m.sequences[s.Sequence] = sequence
		all := lm.LogSoftmax(logits(sequence))
		switch {
		case s.Ask.All:
			out[i].LogProbs = all
		case s.Ask.Top > 0:
			out[i].Tokens = lm.Best(all, s.Ask.Top)
			for _, t := range out[i].Tokens {
				out[i].LogProbs = append(out[i].LogProbs, all[t])
			}
		case s.Ask.Given > 0:
			for at := len(sequence) - s.Ask.Given; at < len(sequence); at++ {
				all := lm.LogSoftmax(logits(sequence[:at]))
				out[i].Tokens = append(out[i].Tokens, sequence[at])
				out[i].LogProbs = append(out[i].LogProbs, all[sequence[at]])
				out[i].Best = append(out[i].Best, lm.Best(all, 1)[0])
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

// Outputs of all lengths, one of none.
var questions = []likelihood.Continuation{
	{From: 1, Tokens: []lm.Token{1}, Output: []lm.Token{50, 51, 52}},
	{From: 1, Tokens: []lm.Token{1, 2}, Output: []lm.Token{50}},
	{From: 2, Tokens: []lm.Token{3}},
	{From: 2, Tokens: []lm.Token{3, 4, 5}, Output: []lm.Token{1, 2, 3, 4, 5, 6, 7}},
	{From: 1, Tokens: []lm.Token{1}, Output: []lm.Token{50, 51, 52}},
}

var ways = map[string]lm.Capabilities{
	"one pass": {Given: true},
	"all":      {All: true, Top: true, Candidates: true},
	"beside":   {Top: true, Candidates: true},
}

// TestScore compares with each token's distribution, computed by itself.
func TestScore(t *testing.T) {
	for name, can := range ways {
		for _, sequences := range []int{0, 1, 2} {
			m := newToy(can)
			before := len(m.sequences)
			lines, err := likelihood.Score(t.Context(), m, m.info, questions, sequences)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, q := range questions {
				line := lines[i]
				if len(line.LogProbs) != len(q.Output) || len(line.Best) != len(q.Output) {
					t.Fatalf("%s: line %d has %d scores and %d best tokens for %d tokens", name, i, len(line.LogProbs), len(line.Best), len(q.Output))
				}
				sequence := slices.Concat(m.sequences[q.From], q.Tokens)
				for j, token := range q.Output {
					all := lm.LogSoftmax(logits(sequence))
					tolerance := 0.0
					if name == "beside" {
						tolerance = 1e-12
					}
					if math.Abs(line.LogProbs[j]-all[token]) > tolerance || line.Best[j] != lm.Best(all, 1)[0] {
						t.Errorf("%s: token %d of output %d has %v beside %d, want %v beside %d", name, j, i, line.LogProbs[j], line.Best[j], all[token], lm.Best(all, 1)[0])
					}
					sequence = append(sequence, token)
				}
			}
			expect.Equal(t, name+": sequences", len(m.sequences), before)
			expect.Equal(t, name+": tokens of the first sequence", len(m.sequences[1]), 3)
			expect.Equal(t, name+": tokens of the second sequence", len(m.sequences[2]), 1)
			if sequences > 0 && m.widest > sequences {
				t.Errorf("%s: a step extends %d sequences, not %d", name, m.widest, sequences)
			}
		}
	}
}

// TestLimit: the model's own bound on the sequences of a step is kept.
func TestLimit(t *testing.T) {
	for name, can := range ways {
		m := newToy(can)
		m.info.Sequences = 2
		if _, err := likelihood.Score(t.Context(), m, m.info, questions, 0); err != nil || m.widest != 2 {
			t.Errorf("%s: %d sequences in a step, error %v", name, m.widest, err)
		}
	}
}

// TestFaults: whatever fails, there are no lines and no forks are left.
func TestFaults(t *testing.T) {
	for name, can := range ways {
		for fail := 1; ; fail++ {
			m := newToy(can)
			m.fail = fail
			lines, err := likelihood.Score(t.Context(), m, m.info, questions, 2)
			if m.calls < fail {
				if err != nil || fail < 10 {
					t.Errorf("%s: %d calls: %v", name, m.calls, err)
				}
				break
			}
			if !errors.Is(err, errToy) || lines != nil {
				t.Errorf("%s: call %d failed: %v, %v", name, fail, lines, err)
			}
			if len(m.sequences) != 2 {
				t.Errorf("%s: call %d failed and %d forks are left", name, fail, len(m.sequences)-2)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	m := newToy(lm.Capabilities{Candidates: true})
	var unsupported *lm.UnsupportedError
	if _, err := likelihood.Score(t.Context(), m, m.info, questions, 0); !errors.As(err, &unsupported) {
		t.Errorf("a model of candidates alone: %v", err)
	}
	for name, can := range ways {
		m := newToy(can)
		if _, err := likelihood.Score(t.Context(), m, m.info, []likelihood.Continuation{questions[0], {From: 1, Output: []lm.Token{1}}}, 0); err == nil || m.calls > 0 {
			t.Errorf("%s: a question without tokens: %v after %d calls", name, err, m.calls)
		}
		if lines, err := likelihood.Score(t.Context(), m, m.info, nil, 0); err != nil || len(lines) != 0 {
			t.Errorf("%s: no questions: %v, %v", name, lines, err)
		}
	}
}

// some returns n tokens of the default model's vocabulary.
func some(n, seed int) []lm.Token {
	tokens := make([]lm.Token, n)
	for i := range tokens {
		tokens[i] = lm.Token(20 + (i*i*31+i*7+seed*1009)%40000)
	}
	return tokens
}

// embedded opens a session of the default model with a prefix.
func embedded(t testing.TB, prefix int) (lm.Session, lm.Info, lm.Sequence) {
	t.Helper()
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatal(err)
	}
	m, err := llama.Open(path, llama.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	session, err := m.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root, err := session.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Step(t.Context(), []lm.Step{{Sequence: root, Tokens: some(prefix, 0)}}); err != nil {
		t.Fatal(err)
	}
	return session, m.Info(), root
}

// TestEmbedded: one pass and one token a step give the same bits.
func TestEmbedded(t *testing.T) {
	session, info, root := embedded(t, 20)
	var list []likelihood.Continuation
	for i := range 7 {
		list = append(list, likelihood.Continuation{From: root, Tokens: some(1+3*i, i+1), Output: some(12-2*i, i+100)})
	}
	once, err := likelihood.Score(t.Context(), session, info, list, 0)
	if err != nil {
		t.Fatal(err)
	}
	info.Can.Given = false
	steps, err := likelihood.Score(t.Context(), session, info, list, 3)
	if err != nil {
		t.Fatal(err)
	}
	info.Can.All = false
	beside, err := likelihood.Score(t.Context(), session, info, list, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range once {
		if !slices.Equal(line.Best, steps[i].Best) || !slices.Equal(line.Best, beside[i].Best) {
			t.Errorf("line %d: other best tokens", i)
		}
		for j, l := range line.LogProbs {
			if math.Float64bits(l) != math.Float64bits(steps[i].LogProbs[j]) || math.Abs(l-beside[i].LogProbs[j]) > 1e-9 {
				t.Errorf("line %d, token %d: %v in one pass, %v one token a step, %v beside the best", i, j, l, steps[i].LogProbs[j], beside[i].LogProbs[j])
			}
		}
	}
}

// BenchmarkScore has 64 questions of 40 tokens and outputs of 25 over a prefix of 300.
func BenchmarkScore(b *testing.B) {
	session, info, root := embedded(b, 300)
	var list []likelihood.Continuation
	for i := range 64 {
		list = append(list, likelihood.Continuation{From: root, Tokens: some(40, i+1), Output: some(25, i+100)})
	}
	for _, way := range []string{"one pass", "one token a step"} {
		info.Can.Given = way == "one pass"
		b.Run(way, func(b *testing.B) {
			for b.Loop() {
				if _, err := likelihood.Score(b.Context(), session, info, list, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/64-questions")
		})
	}
}
