package decode_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// toy is a model whose tokens are bytes and whose scores are a hash of the sequence: any
// other byte in a prompt gives other scores. It can be made to fail.
type toy struct {
	context int
	// top, if set, is how many tokens it tells of at most, as servers do.
	top int
	// fail is asked before each piece of work: "open", "step", "new", "fork", "drop",
	// "encode" and "decode", with how often that was done before.
	fail  func(what string, times int) error
	times map[string]int
	usage lm.Usage
}

const end = 256

func newToy() *toy { return &toy{context: 4096, times: map[string]int{}} }

func (m *toy) try(what string) error {
	n := m.times[what]
	m.times[what]++
	if m.fail == nil {
		return nil
	}
	return m.fail(what, n)
}

func (m *toy) Info() lm.Info {
	return lm.Info{
		Name: "toy", Backend: "test", Capacity: lm.Capacity{Context: m.context, Vocabulary: end + 1, Top: m.top},
		Deterministic: true, BatchInvariant: true, Can: lm.Capabilities{Candidates: true, All: m.top == 0, Top: m.top > 0},
	}
}

func (m *toy) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, fmt.Errorf("the toy does not write by itself")
}

func (m *toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, fmt.Errorf("the toy does not chat")
}

func (m *toy) Usage() lm.Usage         { return m.usage }
func (m *toy) Close() error            { return nil }
func (m *toy) Tokenizer() lm.Tokenizer { return toyTokens{m} }

func (m *toy) Open(context.Context) (lm.Session, error) {
	return &toySession{toy: m, sequences: map[lm.Sequence][]lm.Token{}}, m.try("open")
}

func (m *toy) trusted(t testing.TB) lm.TrustedScorer {
	t.Helper()
	trusted, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

type toyTokens struct{ *toy }

func (m toyTokens) Encode(_ context.Context, text string) ([]lm.Token, error) {
	return bytesOf(text), m.try("encode")
}

func bytesOf(text string) []lm.Token {
	var out []lm.Token
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out
}

func (m toyTokens) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var out []byte
	for _, t := range tokens {
		if t < end {
			out = append(out, byte(t))
		}
	}
	return string(out), m.try("decode")
}

func (m toyTokens) Size() int                   { return end + 1 }
func (m toyTokens) Beginning() (lm.Token, bool) { return end, true }
func (m toyTokens) Control(t lm.Token) bool     { return t == end }
func (m toyTokens) Ends() []lm.Token            { return []lm.Token{end} }

type toySession struct {
	*toy
	last      lm.Sequence
	sequences map[lm.Sequence][]lm.Token
	spent     lm.Usage
}

func (s *toySession) New() (lm.Sequence, error) {
	s.last++
	s.sequences[s.last] = []lm.Token{}
	return s.last, s.try("new")
}

func (s *toySession) Fork(from lm.Sequence) (lm.Sequence, error) {
	tokens, ok := s.sequences[from]
	if !ok {
		return 0, lm.ErrUnknownSequence
	}
	s.last++
	s.sequences[s.last] = slices.Clone(tokens)
	return s.last, s.try("fork")
}

func (s *toySession) Drop(q lm.Sequence) error {
	if _, ok := s.sequences[q]; !ok {
		return lm.ErrUnknownSequence
	}
	delete(s.sequences, q)
	return s.try("drop")
}

func (s *toySession) Len(q lm.Sequence) (int, error) { return len(s.sequences[q]), nil }
func (s *toySession) Usage() lm.Usage                { return s.spent }
func (s *toySession) Close() error                   { return nil }

func (s *toySession) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := s.try("step"); err != nil {
		return nil, err
	}
	err := lm.CheckSteps(s.Info(), steps, func(q lm.Sequence) (int, bool) {
		tokens, ok := s.sequences[q]
		return len(tokens), ok
	})
	if err != nil {
		return nil, err
	}
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		s.sequences[step.Sequence] = append(s.sequences[step.Sequence], step.Tokens...)
		all := toyScores(s.sequences[step.Sequence])
		switch {
		case step.Ask.All:
			out[i].LogProbs = lm.LogSoftmax(all)
		case len(step.Ask.Candidates) > 0:
			var chosen []float64
			for _, t := range step.Ask.Candidates {
				chosen = append(chosen, all[t])
			}
			out[i] = lm.Scores{Tokens: step.Ask.Candidates, LogProbs: lm.LogSoftmax(chosen)}
		case step.Ask.Top > 0:
			all = lm.LogSoftmax(all)
			best := lm.Best(all, step.Ask.Top)
			out[i].Tokens = best
			for _, t := range best {
				out[i].LogProbs = append(out[i].LogProbs, all[t])
			}
		}
	}
	return out, nil
}

// toyScores are logits after a sequence.
func toyScores(sequence []lm.Token) []float64 {
	h := fnv.New64a()
	for _, t := range sequence {
		h.Write(binary.LittleEndian.AppendUint16(nil, uint16(t)))
	}
	x := h.Sum64()
	out := make([]float64, end+1)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float64(x>>40)/(1<<24)*8 - 4
		if i < end && (i < 'a' || i > 'z') && i != ' ' {
			out[i] -= 20
		}
	}
	return out
}

// task is one of two labels whose texts are short.
func task(t testing.TB) prompt.Task {
	t.Helper()
	out, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	out.Limits.RecordTokens, out.Limits.MaxTokens = 30, 8
	return out
}

// tickets are a pool of n records in each of two parts.
func tickets(n int) pool {
	p := make(pool, 2)
	for part := range p {
		for i := range n {
			p[part] = append(p[part], seal.NewRecord(int64(part*n+i+1), "World", fmt.Sprintf("record %d of part %d", i, part)))
		}
	}
	return p
}

// write runs jobs and returns texts by index.
func write(t testing.TB, o decode.Options, jobs []decode.Job) map[uint64]string {
	t.Helper()
	w, err := decode.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]string{}
	err = w.Write(t.Context(), jobs, func(j decode.Job, r seal.Output) error {
		out[j.Index] = fmt.Sprint(r.Steps(), " ", r.Text())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// methodsOn are all methods with settings for n records: of those that are not listed here,
// the ones that they plan with.
func methodsOn(n int) map[string]decode.Method {
	each := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 6 / float64(n), Prompts: 3, PerPrompt: 2}
	text := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 4 / float64(n)}
	all := map[string]decode.Method{
		"gaussian":          &decode.Gaussian{Draw: each, Candidates: 20, Sigma: 0.2},
		"gaussian, all":     &decode.Gaussian{Draw: each, Sigma: 0.2},
		"gaussian, sample":  &decode.Gaussian{Draw: each, Candidates: 20, Sigma: 0.2, Choose: decode.Sample},
		"gaussian, nucleus": &decode.Gaussian{Draw: each, Candidates: 20, Sigma: 0.2, Choose: decode.Nucleus},
		"noisymax":          &decode.NoisyMax{Draw: each, Candidates: 20, Epsilon: 3},
		"radius":            &decode.Radius{Draw: each, Candidates: 20, Sigma0: 1, Sigma1: 0.2, Sigma2: 1, Lambda: 0.1, Rounds: 2},
		"clipped":           &decode.Clipped{Draw: text, Expected: 4, Range: 3, Temperature: 0.7, Candidates: 20},
		"clipped, fixed":    &decode.Clipped{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 4, Of: int64(n)}, Expected: 4, Range: 3, Temperature: 0.7, Candidates: 20},
		"clipped, disjoint": &decode.Clipped{Draw: scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 5}, Expected: 4, Range: 3, Temperature: 0.7, Candidates: 20},
		"mixing":            &decode.Mixing{Draw: text, Expected: 4, Range: 3, Temperature: 0.7, Candidates: 20},
		"mixing, token":     &decode.Mixing{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 4 / float64(n)}, Expected: 4, Range: 3, Temperature: 0.25, Candidates: 20},
		"mixing, published": &decode.PublishedMixing{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: int64(n)}, Order: 8, Beta: 0.2, Candidates: 20},
		"public":            &decode.Public{Temperature: 1, Candidates: 20},
		"nonprivate":        &decode.NonPrivate{Draw: each, Candidates: 20},
		"real":              &decode.Real{Draw: text},
	}
	listed := map[string]bool{}
	for _, m := range all {
		listed[m.Name()] = true
	}
	for _, name := range method.Names(method.List(method.Texts)) {
		if !listed[name] {
			m, err := planned(name, n)
			if err != nil {
				panic(err)
			}
			all[name] = m
		}
	}
	return all
}

// planned is a method as it plans itself for n records, with a number of 3 where it asks for
// one.
func planned(name string, n int) (decode.Method, error) {
	spec, err := method.Find(name, method.Texts)
	if err != nil {
		return nil, err
	}
	sampler := spec.Sampler
	if sampler == "" {
		sampler = scheme.Poisson
	}
	return method.Plan[decode.Method](name, method.Texts, method.Ask{
		Task: prompt.Task{}, Epsilon: 1, Delta: 1e-6, Size: int64(n), Texts: 1, Tokens: 9, Sampler: sampler,
		Values: method.Values{"batch": 4, "prompts": 3, "per_prompt": 2, "candidates": 20},
		Solve:  func(accountant.Accountant, func(float64) method.Method) (float64, error) { return 3, nil },
	})
}

// TestMethodsPlanThemselves: what every method plans is right by its own check, and takes
// other draws.
func TestMethodsPlanThemselves(t *testing.T) {
	for _, name := range method.Names(method.List(method.Texts)) {
		m, err := planned(name, 4000)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = m.Check()
		at := expect.At(t, "%s", name)
		expect.NoError(at, err)
		expect.Equal(at, "m.Name", m.Name(), name)
		expect.True(at, "decode.Genuine(m) is nil", decode.Genuine(m) == nil, decode.Genuine(m))
		sampling := m.Scheme()
		if sampling.Kind == "" {
			continue
		}
		if sampling.Expected(4000) > 4000 || sampling.Check() != nil {
			t.Errorf("%s draws by %+v", name, sampling)
		}
		sampling.Rate /= 2
		other := decode.WithScheme(m, sampling)
		at = expect.At(t, "%s", name)
		expect.Equal(at, "other.Scheme", other.Scheme(), sampling)
		if m.Scheme() == sampling {
			expect.Equal(at, "sampling.Rate", sampling.Rate, 0)
		}
		expect.Equal(at, "other.Name", other.Name(), name)
		expect.True(at, "decode.Genuine(other) is nil", decode.Genuine(other) == nil, decode.Genuine(other))
	}
}

func jobsOf(m decode.Method, labels []string) []decode.Job {
	var jobs []decode.Job
	for i := range uint64(5) {
		part := int(i % 2)
		jobs = append(jobs, decode.Job{Text: draw.Text{Index: i, Part: part, Place: int64(i / 2)}, Condition: labels[part], Method: m})
	}
	return jobs
}

func optionsFor(t testing.TB, m *toy, p draw.Pool, key noise.Key) decode.Options {
	t.Helper()
	return decode.Options{Model: m.trusted(t), Task: task(t), Pool: p, Key: key, Rules: decode.Rules{MinTokens: 3, Penalty: 0.5, NoRepeat: 3}}
}
