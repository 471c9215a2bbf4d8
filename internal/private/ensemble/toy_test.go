package ensemble

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// toy is a model whose tokens are bytes and whose scores are a hash of the sequence: any
// other byte in a prompt gives other scores. It can be made to fail.
type toy struct {
	context int
	all     bool // tells whole distributions instead of the best tokens
	// still makes all texts the same, hasty ends them as soon as it may.
	still, hasty bool
	// fail is the number of the call that fails, counted from 1.
	fail, calls int
	// longest is the longest sequence that was ever made, open what is not dropped.
	longest, open, sessions int
	// seen are the sequences of all steps.
	seen []string
}

const end = 256

func newToy() *toy { return &toy{context: 4096} }

func (m *toy) try() error {
	if m.calls++; m.calls == m.fail {
		return fmt.Errorf("the toy failed")
	}
	return nil
}

func (m *toy) Info() lm.Info {
	return lm.Info{
		Name: "toy", Backend: "test", Capacity: lm.Capacity{Context: m.context, Vocabulary: end + 1},
		Deterministic: true, BatchInvariant: true, Can: lm.Capabilities{Candidates: true, All: m.all, Top: !m.all},
	}
}

func (m *toy) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, fmt.Errorf("the toy does not write by itself")
}

func (m *toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, fmt.Errorf("the toy does not chat")
}

func (m *toy) Usage() lm.Usage         { return lm.Usage{} }
func (m *toy) Close() error            { return nil }
func (m *toy) Tokenizer() lm.Tokenizer { return m }

func (m *toy) Open(context.Context) (lm.Session, error) {
	if err := m.try(); err != nil {
		return nil, err
	}
	m.sessions++
	return &toySession{toy: m, sequences: map[lm.Sequence][]lm.Token{}}, nil
}

func (m *toy) trusted(t testing.TB) lm.TrustedScorer {
	t.Helper()
	trusted, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

func (m *toy) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out, m.try()
}

func (m *toy) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	return spell(tokens), m.try()
}

func spell(tokens []lm.Token) string {
	var out []byte
	for _, t := range tokens {
		if t < end {
			out = append(out, byte(t))
		}
	}
	return string(out)
}

func (m *toy) Size() int                   { return end + 1 }
func (m *toy) Beginning() (lm.Token, bool) { return end, true }
func (m *toy) Control(t lm.Token) bool     { return t == end }
func (m *toy) Ends() []lm.Token            { return []lm.Token{end} }

type toySession struct {
	*toy
	last      lm.Sequence
	sequences map[lm.Sequence][]lm.Token
	computed  int64
}

func (s *toySession) New() (lm.Sequence, error) {
	if err := s.try(); err != nil {
		return 0, err
	}
	s.last++
	s.sequences[s.last] = []lm.Token{}
	s.open++
	return s.last, nil
}

func (s *toySession) Fork(from lm.Sequence) (lm.Sequence, error) {
	if err := s.try(); err != nil {
		return 0, err
	}
	tokens, ok := s.sequences[from]
	if !ok {
		return 0, lm.ErrUnknownSequence
	}
	s.last++
	s.sequences[s.last] = slices.Clone(tokens)
	s.open++
	return s.last, nil
}

func (s *toySession) Drop(q lm.Sequence) error {
	if _, ok := s.sequences[q]; !ok {
		return lm.ErrUnknownSequence
	}
	delete(s.sequences, q)
	s.open--
	return s.try()
}

func (s *toySession) Len(q lm.Sequence) (int, error) { return len(s.sequences[q]), nil }
func (s *toySession) Usage() lm.Usage                { return lm.Usage{Computed: s.computed} }

func (s *toySession) Close() error {
	s.open -= len(s.sequences)
	s.sessions--
	return nil
}

func (s *toySession) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := s.try(); err != nil {
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
		tokens := append(s.sequences[step.Sequence], step.Tokens...)
		s.sequences[step.Sequence] = tokens
		s.computed += int64(len(step.Tokens))
		s.longest = max(s.longest, len(tokens))
		s.seen = append(s.seen, spell(tokens))
		all := s.scores(tokens)
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
			out[i].Tokens = lm.Best(all, step.Ask.Top)
			for _, t := range out[i].Tokens {
				out[i].LogProbs = append(out[i].LogProbs, all[t])
			}
		}
	}
	return out, nil
}

// scores are logits after a sequence: letters, spaces and now and then the end.
func (m *toy) scores(sequence []lm.Token) []float64 {
	h := fnv.New64a()
	for _, t := range sequence {
		h.Write(binary.LittleEndian.AppendUint16(nil, uint16(t)))
	}
	x := h.Sum64()
	out := make([]float64, end+1)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float64(x>>40)/(1<<24)*8 - 4
		if i < end && (i < 'a' || i > 'e') && i != ' ' {
			out[i] -= 20
		}
	}
	if m.still {
		out['a'] = 1e3
	}
	if m.hasty {
		out[end], out['\n'], out[' '] = 1e4, 2e4, 3e4
	}
	return out
}

// encoder puts texts somewhere on a circle.
type encoder struct{ calls []string }

func (e *encoder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.calls = append(e.calls, texts...)
	var out [][]float32
	for _, text := range texts {
		v := []float32{1, float32(len(text)), float32(strings.Count(text, "a"))}
		out = append(out, v)
	}
	return out, nil
}
func (*encoder) Dimension() int { return 3 }
func (*encoder) Name() string   { return "toy" }
func (*encoder) Close() error   { return nil }

// pool holds records in memory, counts what is read, and can fail.
type pool struct {
	records []seal.Record
	read    []int64
	err     error
}

func init() { seal.Admit[*pool]() }

func (p *pool) Size(int) seal.Count { return seal.NewCount(len(p.records)) }

func (p *pool) Choose(_, unit int, _ *noise.Stream) (seal.Ref, error) {
	return seal.NewRef(int64(unit+1), int64(unit)), nil
}

func (p *pool) Fetch(_ context.Context, refs []seal.Ref) ([]seal.Record, error) {
	out := make([]seal.Record, len(refs))
	for i, r := range refs {
		ordinal, place := seal.Place(r)
		p.read = append(p.read, ordinal)
		out[i] = p.records[place]
	}
	return out, p.err
}

// canary is in every record, and must be in no error.
const canary = "canary-4711"

func tickets(task prompt.Task, n int) *pool {
	p := &pool{}
	for i := range n {
		text := fmt.Sprintf("%s of record %d", canary, i)
		condition := fmt.Sprintf("input %s %d", canary, i)
		if listed(task) {
			condition = task.Labels[i%len(task.Labels)]
		}
		p.records = append(p.records, seal.NewRecord(int64(i+1), condition, text))
	}
	return p
}

func builtin(t testing.TB, name string) prompt.Task {
	t.Helper()
	out, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	out.Limits.InputTokens, out.Limits.RecordTokens, out.Limits.AnswerTokens = 60, 40, 8
	return out
}

// scene is a method with all that it needs.
type scene struct {
	task    prompt.Task
	method  Method
	toy     *toy
	encoder *encoder
	pool    *pool
	options Options
}

// scenes are all methods on tasks that they serve.
func scenes(t testing.TB) map[string]*scene {
	t.Helper()
	out := map[string]*scene{}
	one := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.3}
	many := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.3, Prompts: 3, PerPrompt: 2}
	for name, m := range map[string]Method{
		"agnews vote":            &Vote{Draw: one, Range: 2, Calibrate: true},
		"agnews vote, several":   &Vote{Draw: many, Range: 2},
		"agnews gaussian":        &Vote{Draw: one, Noise: Gaussian, Sigma: 0.5},
		"agnews threshold":       &Vote{Draw: fresh(one), Noise: Threshold, Sigma: 0.5, CheckSigma: 0.5, Threshold: 1},
		"agnews soft":            &Vote{Draw: one, Ballot: Soft, Range: 2, Expected: 4, Temperature: 0.3, Calibrate: true},
		"agnews product":         &Product{Draw: one, Range: 2, Clip: 2, Calibrate: true},
		"agnews product, many":   &Product{Draw: many, Range: 2, Clip: 2},
		"samsum embedding":       &Embedding{Draw: one, Sigma: 0.5, Candidates: 6},
		"samsum embedding, many": &Embedding{Draw: many, Sigma: 0.5, Candidates: 6},
		"mit-g keyword":          &Keyword{Draw: one, Keywords: 2, Range: 3, Candidates: 4},
		"samsum ptr":             &Keyword{Draw: many, Select: Test, Keywords: 1, Sigma: 0.1, Failure: 0.3},
	} {
		s := &scene{method: m, toy: newToy(), encoder: &encoder{}}
		s.task = builtin(t, strings.Fields(name)[0])
		s.pool = tickets(s.task, 12)
		s.options = Options{Model: s.toy.trusted(t), Task: s.task, Pool: s.pool, Key: noise.KeyFromSeed(7)}
		encoder, err := lm.TrustEmbedder(s.encoder, lm.InProcess)
		if err != nil {
			t.Fatal(err)
		}
		s.options.Encoder = encoder
		out[name] = s
	}
	return out
}

const asked = "What is this about?"

// answer asks one question.
func (s *scene) answer(t testing.TB, index uint64) (seal.Output, error) {
	t.Helper()
	a, err := NewAnswerer(s.options)
	if err != nil {
		t.Fatal(err)
	}
	return a.Answer(t.Context(), Job{Text: draw.Text{Index: index}, Input: asked, Method: s.method})
}
