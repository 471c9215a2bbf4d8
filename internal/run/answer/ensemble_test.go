package answer

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// sorting is a task with a list of labels.
func sorting() prompt.Task {
	t := chats()
	t.Name, t.Kind, t.Text, t.Label, t.Labels = "sorting", prompt.Classify, "chat", "summary", []string{"red", "blue", "green"}
	t.Answer = prompt.AnswerLayout{Instruction: "Name the colour."}
	return t.WithDefaults()
}

// whole is a plan of answers by an ensemble.
func whole(t prompt.Task, m ensemble.Method) plan.Answers {
	of := planFor(nil)
	of.Task, of.Write.Method, of.Ensemble.Method = t, nil, m
	return of
}

func voting() *ensemble.Vote {
	return &ensemble.Vote{Draw: perText(), Range: 1}
}

func threshold(votes float64) *ensemble.Vote {
	sampling := perToken()
	return &ensemble.Vote{Draw: sampling, Noise: ensemble.Threshold, Sigma: 2, CheckSigma: 3, Threshold: votes}
}

// hashes is an encoder.
type hashes struct{}

func (hashes) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		h := fnv.New32a()
		fmt.Fprint(h, s)
		angle := float64(h.Sum32()) / math.MaxUint32 * 2 * math.Pi
		out[i] = []float32{float32(math.Cos(angle)), float32(math.Sin(angle))}
	}
	return out, nil
}
func (hashes) Dimension() int { return 2 }
func (hashes) Name() string   { return "hashes" }
func (hashes) Close() error   { return nil }

func encoder(t testing.TB) lm.TrustedEmbedder {
	t.Helper()
	e, err := lm.TrustEmbedder(hashes{}, lm.InProcess)
	must(t, err)
	return e
}

// TestVotes: labels, each charged; the same with several at once.
func TestVotes(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 7, Delta: 1e-3})
	o := p.options(t, whole(sorting(), voting()), newToy())
	o.Parallel = 3
	s := p.session(t, o)
	n := 0
	must(t, s.All(t.Context(), inputs(7), func(i int, a *Answer) error {
		n++
		expect.True(t, "a.Text in sorting().Labels", slices.Contains(sorting().Labels, a.Text), a.Text)
		expect.Equal(t, "a.Steps", a.Steps, 1)
		expect.True(t, "a.Charge that is not empty", a.Charge != "")
		expect.Max(t, "a.Spent", a.Spent, 7)
		return nil
	}))
	var shown []string
	_, err := s.Answer(t.Context(), "who?", func(s string) { shown = append(shown, s) })
	expect.Equal(t, "n", n, 7)
	expect.As[*ledger.RefusedError](t, err)
	expect.Len(t, "shown", shown, 0)
	expect.Equal(t, "uses", p.uses(t), 7)
	if s.Usage().Computed == 0 {
		t.Error("no model was used")
	}
}

// TestThreshold: a vote that is called off after its first look is charged for that alone,
// by a filter, and in full by sums.
func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		composition ledger.Composition
		votes, want float64
	}{
		{ledger.Adaptive, 1e6, 1}, {ledger.Adaptive, -1e6, 2}, {ledger.Sums, 1e6, 2},
	} {
		p := newPlace(t)
		p.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3, Composition: c.composition})
		a, err := p.session(t, p.options(t, whole(sorting(), threshold(c.votes)), newToy())).Answer(t.Context(), "who?", nil)
		must(t, err)
		if a.Spent != c.want || p.charges(t)[0].State != ledger.Committed {
			t.Errorf("a threshold of %v, %s: %+v", c.votes, c.composition, a)
		}
	}
}

// TestSentences: methods that choose among sentences need their encoder, and answer.
func TestSentences(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3})
	m, err := plan.NewAnswers(plan.Request{Task: chats(), Method: "embedding", Size: 40, Epsilon: 4, Delta: 1e-3, Tokens: 6})
	must(t, err)
	o := p.options(t, m, newToy())
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("sentences are compared without an encoder")
	}
	o.Encoder = encoder(t)
	var shown string
	a, err := p.session(t, o).Answer(t.Context(), "who?", func(s string) { shown = s })
	expect.NoError(t, err)
	expect.True(t, "a.Text that is not empty", a.Text != "")
	expect.Equal(t, "shown", shown, a.Text)
	expect.True(t, "a.Private", a.Private)
	o.Plan = whole(chats(), voting())
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "answers of a list") {
		t.Errorf("a vote without labels: %v", err)
	}
}

// TestLabelsOfAList: a data set in parts is not one to answer from.
func TestLabelsOfAList(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, whole(sorting(), voting()), newToy())
	d, err := record.Open(t.Context(), p.data, record.Options{
		Text: "chat", Condition: "summary", Labels: []string{marker + " says 1", marker + " says 2"}, OnError: record.Skip,
		Private: filepath.Join(filepath.Dir(p.data), "private"),
	})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	o.Data = d
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "2 parts") {
		t.Errorf("answers from one part of two: %v", err)
	}
}
