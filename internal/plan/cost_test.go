package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// flat is a model that likes all letters alike and counts what it is asked. Its tokens
// are bytes.
type flat struct{ usage lm.Usage }

func (*flat) Info() lm.Info {
	return lm.Info{
		Name: "flat", Backend: "test", Deterministic: true, BatchInvariant: true,
		Capacity: lm.Capacity{Context: 4096, Vocabulary: 256},
		Can:      lm.Capabilities{Candidates: true, Top: true, All: true, SharedPrefix: true},
	}
}
func (m *flat) Usage() lm.Usage       { return m.usage }
func (*flat) Close() error            { return nil }
func (*flat) Tokenizer() lm.Tokenizer { return bytesOnly{} }

func (*flat) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errors.New("not for tests")
}

func (*flat) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("not for tests")
}

func (m *flat) Open(context.Context) (lm.Session, error) {
	return &flatSession{model: m, lengths: map[lm.Sequence]int{}}, nil
}

type bytesOnly struct{}

func (bytesOnly) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for i := range len(text) {
		out = append(out, lm.Token(text[i]))
	}
	return out, nil
}

func (bytesOnly) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte(byte(t))
	}
	return b.String(), nil
}

func (bytesOnly) Size() int                   { return 256 }
func (bytesOnly) Beginning() (lm.Token, bool) { return 1, true }
func (bytesOnly) Control(t lm.Token) bool     { return t < 2 }
func (bytesOnly) Ends() []lm.Token            { return []lm.Token{0} }

type flatSession struct {
	model   *flat
	next    lm.Sequence
	lengths map[lm.Sequence]int
	usage   lm.Usage
}

func (s *flatSession) New() (lm.Sequence, error) { return s.Fork(0) }

func (s *flatSession) Fork(of lm.Sequence) (lm.Sequence, error) {
	s.next++
	s.lengths[s.next] = s.lengths[of]
	return s.next, nil
}

func (s *flatSession) Drop(q lm.Sequence) error {
	delete(s.lengths, q)
	return nil
}

func (s *flatSession) Len(q lm.Sequence) (int, error) { return s.lengths[q], nil }
func (s *flatSession) Usage() lm.Usage                { return s.usage }
func (s *flatSession) Close() error                   { return nil }

func (s *flatSession) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		s.lengths[step.Sequence] += len(step.Tokens)
		s.usage.Computed += int64(len(step.Tokens))
		s.model.usage.Computed += int64(len(step.Tokens))
		if step.Ask.IsZero() {
			continue
		}
		tokens := step.Ask.Candidates
		if step.Ask.All || step.Ask.Top > 0 {
			for t := range 256 {
				tokens = append(tokens, lm.Token(t))
			}
		}
		logits := make([]float64, len(tokens))
		for k, t := range tokens {
			if t < 'a' || t > 'z' {
				logits[k] = -50
			}
		}
		out[i] = lm.Scores{LogProbs: lm.LogSoftmax(logits)}
		if !step.Ask.All {
			out[i].Tokens = tokens[:min(len(tokens), max(step.Ask.Top, len(step.Ask.Candidates)))]
			out[i].LogProbs = out[i].LogProbs[:len(out[i].Tokens)]
		}
	}
	return out, nil
}

// enrol writes n records a label, all with texts of one length.
func enrol(t *testing.T, task prompt.Task, labels []string, n int) (*record.Data, string) {
	t.Helper()
	dir := t.TempDir()
	text := strings.Repeat("x", 30)
	var b strings.Builder
	for range n {
		for _, l := range labels {
			fmt.Fprintf(&b, "{\"text\":%q,\"label\":%q}\n", text, l)
		}
	}
	path := filepath.Join(dir, "data.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := record.Open(t.Context(), path, record.Options{
		Text: "text", Condition: "label", Labels: task.Labels, OneLine: true, Private: filepath.Join(dir, "private"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, text
}

// TestPlainCostIsWhatTheLoopUses: the predicted tokens are those that went through the
// model: exactly where draws have a fixed size, and on the average of many texts
// elsewhere. Draws are seeded, so the test gives the same answer every time.
func TestPlainCostIsWhatTheLoopUses(t *testing.T) {
	closed := prompt.Task{
		Name: "test", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"one", "two"},
		Generate: prompt.Generation{Instruction: "Write a text."}, Limits: prompt.Limits{RecordTokens: 40},
	}.WithDefaults()
	open := closed
	open.Kind, open.Labels, open.Conditions = prompt.Extract, nil, []string{"one", "two"}
	const n, tokens = 400, 7
	for name, c := range map[string]struct {
		task      prompt.Task
		request   plan.Request
		published bool
		// within is the relative error allowed.
		within float64
	}{
		"clipped, fixed size":  {open, plan.Request{Sampler: scheme.FixedSize, Shots: 6, Settings: method.Values{"batch": 16}}, false, 1e-12},
		"clipped, poisson":     {closed, plan.Request{Shots: 60, Settings: method.Values{"batch": 16}}, false, 0.02},
		"clipped, disjoint":    {open, plan.Request{Sampler: scheme.Disjoint, Shots: 40, Settings: method.Values{"batch": 16}}, false, 0.05},
		"public":               {closed, plan.Request{Method: "public", Shots: 6}, false, 1e-12},
		"gaussian":             {closed, plan.Request{Method: "gaussian", Shots: 100, Settings: method.Values{"prompts": 5, "per_prompt": 2}}, false, 0.04},
		"gaussian, fixed size": {open, plan.Request{Method: "gaussian", Sampler: scheme.FixedSize, Shots: 60, Settings: method.Values{"prompts": 5, "per_prompt": 2}}, false, 0.02},
		"gaussian, few":        {closed, plan.Request{Method: "gaussian", Shots: 100, Settings: method.Values{"prompts": 8, "per_prompt": 1}}, false, 0.02},
		"mixing, per token":    {open, plan.Request{Method: "mixing", Shots: 60, Settings: method.Values{"batch": 4, "per": scheme.PerToken}}, false, 0.02},
		"mixing, published":    {open, plan.Request{Method: "mixing-published", Shots: 6}, false, 1e-12},
		"gaussian, published":  {closed, plan.Request{Method: "gaussian", Shots: 60, Settings: method.Values{"prompts": 4, "per_prompt": 6}}, true, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.request
			r.Task, r.Tokens, r.Rules = c.task, tokens, &decode.Rules{MinTokens: tokens}
			r.Epsilon, r.Size, r.Delta = 8, 2*n, 1e-6
			p := uncalibrated(t, r)
			d, text := enrol(t, c.task, []string{"one", "two"}, n)
			model := &flat{}
			shape, err := plan.ShapeOf(t.Context(), bytesOnly{}, c.task, []string{"one", "two"})
			if err != nil {
				t.Fatal(err)
			}
			shape.Record = float64(len(c.task.GenerationDemo("one", text)))
			write(t, p, d, model, c.published)
			cost := p.Cost(shape, plan.Speed{})
			want := cost.Cached.Tokens
			if c.published {
				want = cost.Uncached.Tokens
			}
			got := float64(model.usage.Computed)
			if math.Abs(got-want) > c.within*got {
				t.Errorf("predicted %.1f tokens, used %.0f: %+.2f %%", want, got, 100*(want/got-1))
			}
			t.Logf("predicted %.1f, used %.0f, uncached %.1f, sequences %.2f", want, got, cost.Uncached.Tokens, cost.Sequences)
		})
	}
}

// uncalibrated is the plan of a request, except for its noise, which has no part in costs
// and takes long to find.
func uncalibrated(t *testing.T, r plan.Request) plan.Plan {
	t.Helper()
	if r.Method != "" {
		p, err := plan.New(r)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan.Plan{Task: r.Task, Shots: r.Shots, Tokens: r.Tokens, Rules: *r.Rules, Conditions: r.Task.Conditions}
	parts := max(1, len(r.Task.Labels))
	for i := range parts {
		part := plan.Part{Size: r.Size / int64(parts), Texts: int64(r.Shots)}
		if len(r.Task.Labels) > 0 {
			part.Label = r.Task.Labels[i]
		}
		sampling := scheme.Scheme{Kind: r.Sampler, Per: scheme.PerText}
		switch b := int64(r.Settings.Int("batch", 0)); r.Sampler {
		case scheme.FixedSize:
			sampling.Take, sampling.Of = b, part.Size
		case scheme.Disjoint:
			sampling.Batches = part.Size / b
		default:
			sampling.Kind, sampling.Rate = scheme.Poisson, float64(b)/float64(part.Size)
		}
		part.Method = decode.Settings{Method: &decode.Clipped{Draw: sampling, Expected: float64(r.Settings.Int("batch", 0)), Range: 1, Temperature: 1, Candidates: 20}}
		p.Parts = append(p.Parts, part)
	}
	return p
}

// write carries out all texts of a plan.
func write(t *testing.T, p plan.Plan, d *record.Data, model *flat, published bool) {
	t.Helper()
	trusted, err := lm.Trust(model, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	w, err := decode.NewWriter(decode.Options{
		Model: trusted, Task: p.Task, Pool: d, Key: noise.KeyFromSeed(7), Tokens: p.Tokens, Rules: p.Rules, Parallel: 4, Published: published,
	})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []decode.Job
	for i := range p.Shots {
		at := i % len(p.Parts)
		condition := p.Parts[at].Label
		if condition == "" {
			condition = p.Conditions[i%len(p.Conditions)]
		}
		jobs = append(jobs, decode.Job{
			Text:      draw.Text{Index: uint64(i), Part: at, Place: int64(i / len(p.Parts))},
			Condition: condition, Method: p.Parts[at].Method,
		})
	}
	if err := w.Write(t.Context(), jobs, func(decode.Job, private.Output) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestShape: a record at its limit is as long as the shape says.
func TestShape(t *testing.T) {
	for _, name := range prompt.Builtins() {
		task := builtin(t, name)
		limit := task.Limits.RecordTokens
		condition := "abc"
		s, err := plan.ShapeOf(t.Context(), bytesOnly{}, task, []string{condition})
		if err != nil {
			t.Fatal(err)
		}
		own := condition
		if task.Kind == prompt.Generate { // a record's input may be as long as its limit
			own = strings.Repeat("y", task.Limits.InputTokens)
		}
		demo := len(task.GenerationDemo(own, strings.Repeat("x", limit)))
		// The space before a text is a token of its own here, but not in a tokeniser
		// that joins it to the word.
		at := expect.At(t, "%s", name)
		expect.Equal(at, "s.Record", int(s.Record), demo-1)
		expect.Equal(at, "s.Head", int(s.Head), len(task.GenerationHead(condition)))
		expect.Equal(at, "s.Instruction", s.Instruction, len(task.GenerationPrefix())+1)
	}
	task := builtin(t, "samsum")
	task.Limits.RecordTokens = 10
	s, err := plan.ShapeOf(t.Context(), bytesOnly{}, task, []string{strings.Repeat("y", 500)})
	if want := float64(len(task.GenerationDemo("", "")) + task.Limits.InputTokens + 10); err != nil || math.Abs(s.Record-want) > 2 {
		t.Errorf("a long input is cut: %v, want about %v; %v", s.Record, want, err)
	}
}

// TestCachesSave: caches never cost more, and times follow from the tokens.
func TestCachesSave(t *testing.T) {
	agnews := builtin(t, "agnews")
	plans := map[string]plan.Plan{"clipped": uncalibrated(t, plan.Request{Task: agnews, Size: 120000, Shots: 4, Tokens: 60, Rules: &decode.Rules{}, Settings: method.Values{"batch": 16}})}
	for _, method := range []string{"gaussian", "public"} {
		plans[method] = uncalibrated(t, plan.Request{Task: agnews, Size: 120000, Epsilon: 1, Method: method})
	}
	rapid.Check(t, func(t *rapid.T) {
		s := plan.Shape{
			Instruction: rapid.IntRange(0, 200).Draw(t, "instruction"),
			Head:        rapid.Float64Range(1, 100).Draw(t, "head"),
			Record:      rapid.Float64Range(1, 400).Draw(t, "record"),
		}
		v := plan.Speed{Prefill: 500, Step: 0.02, Each: 0.002}
		for name, p := range plans {
			c := p.Cost(s, v)
			if !(c.Cached.Tokens > 0 && c.Cached.Tokens <= c.Uncached.Tokens+float64(s.Instruction)) || c.Cached.Seconds <= 0 {
				t.Fatalf("%s: %+v", name, c)
			}
			fast := p.Cost(s, plan.Speed{Prefill: 1000, Step: 0.01, Each: 0.001})
			if math.Abs(fast.Cached.Seconds*2-c.Cached.Seconds) > 1e-9*c.Cached.Seconds {
				t.Fatalf("%s: twice the speed takes %v instead of %v", name, fast.Cached.Seconds, c.Cached.Seconds)
			}
		}
	})
	if real := (plan.Plan{Parts: []plan.Part{{Method: decode.Settings{Method: &decode.Real{}}}}}); real.Cost(plan.Shape{Instruction: 5}, plan.Speed{}) != (plan.Cost{}) {
		t.Error("copying records asks the model")
	}
}

func TestMeasure(t *testing.T) {
	v, err := plan.Measure(t.Context(), &flat{})
	expect.NoError(t, err)
	expect.True(t, "v.Prefill above 0", v.Prefill > 0, v.Prefill)
	expect.True(t, "v.Step above 0", v.Step > 0, v.Step)
	expect.Min(t, "v.Each", v.Each, 0)
}

func TestWords(t *testing.T) {
	for method, want := range map[string][2]string{
		"clipped":  {"C = ", "16 a text"},
		"gaussian": {"σ = ", "10 × 2 a token"},
		"noisymax": {"ε = ", "10 × 2 a token"},
		"radius":   {"σ₁ = ", "10 × 2 a token"},
		"public":   {"none", "nobody"},
	} {
		t.Run(method, func(t *testing.T) {
			p, err := plan.New(plan.Request{Task: builtin(t, "agnews"), Size: 120000, Epsilon: 1, Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if noise, draws := p.Noise(), p.Draws(); !strings.HasPrefix(noise, want[0]) || draws != want[1] {
				t.Errorf("%s, %s", noise, draws)
			}
		})
	}
	p, err := plan.New(plan.Request{Task: builtin(t, "agnews"), Sizes: map[string]int64{"World": 500}, Size: 90500, Epsilon: 1, Method: "gaussian"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Noise(), "–") {
		t.Errorf("parts of different sizes have one noise: %s", p.Noise())
	}
}
