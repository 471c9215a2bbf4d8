package measure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// toy is a model whose tokens are bytes. Where a prompt says "oracle", it answers an article
// with the label that this has in brackets; else it answers World.
type toy struct{ mute bool }

func (m toy) trusted(t testing.TB) lm.TrustedScorer {
	t.Helper()
	trusted, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

const end = 256

func (m toy) Info() lm.Info {
	return lm.Info{
		Name: "toy", Backend: "test", Capacity: lm.Capacity{Context: 4096, Vocabulary: end + 1},
		Deterministic: true, BatchInvariant: true, Can: lm.Capabilities{Candidates: true, All: true},
	}
}

func (toy) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errors.New("the toy answers for tokens only")
}

func (toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("the toy answers for tokens only")
}
func (toy) Usage() lm.Usage         { return lm.Usage{} }
func (toy) Close() error            { return nil }
func (toy) Tokenizer() lm.Tokenizer { return letters{} }

func (m toy) Open(context.Context) (lm.Session, error) {
	if m.mute {
		return nil, errors.New("the toy is mute")
	}
	return &session{sequences: map[lm.Sequence][]byte{}}, nil
}

type letters struct{}

func (letters) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out, nil
}

func (letters) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var out []byte
	for _, t := range tokens {
		out = append(out, byte(t))
	}
	return string(out), nil
}
func (letters) Size() int                   { return end + 1 }
func (letters) Beginning() (lm.Token, bool) { return 0, false }
func (letters) Control(t lm.Token) bool     { return t == end }
func (letters) Ends() []lm.Token            { return []lm.Token{end} }

type session struct {
	last      lm.Sequence
	sequences map[lm.Sequence][]byte
}

func (s *session) New() (lm.Sequence, error) { return s.Fork(0) }

func (s *session) Fork(from lm.Sequence) (lm.Sequence, error) {
	s.last++
	s.sequences[s.last] = slices.Clone(s.sequences[from])
	return s.last, nil
}

func (s *session) Drop(q lm.Sequence) error {
	delete(s.sequences, q)
	return nil
}
func (s *session) Len(q lm.Sequence) (int, error) { return len(s.sequences[q]), nil }
func (s *session) Usage() lm.Usage                { return lm.Usage{} }
func (s *session) Close() error                   { return nil }

func (s *session) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		for _, t := range step.Tokens {
			s.sequences[step.Sequence] = append(s.sequences[step.Sequence], byte(t))
		}
		all := scores(string(s.sequences[step.Sequence]))
		switch {
		case step.Ask.All:
			out[i].LogProbs = all
		case len(step.Ask.Candidates) > 0:
			out[i].Tokens = step.Ask.Candidates
			for _, t := range step.Ask.Candidates {
				out[i].LogProbs = append(out[i].LogProbs, all[t])
			}
			out[i].LogProbs = lm.LogSoftmax(out[i].LogProbs)
		}
	}
	return out, nil
}

// scores give the wanted byte four fifths or so of the probability.
func scores(text string) []float64 {
	question, typed := text, ""
	if at := strings.LastIndex(text, "Answer:"); at >= 0 {
		question, typed = text[:at], text[at+len("Answer:"):]
	}
	want := " World"
	if strings.Contains(text, "oracle") {
		open, shut := strings.LastIndex(question, "("), strings.LastIndex(question, ")")
		if open >= 0 && shut > open {
			want = " " + question[open+1:shut]
		}
	}
	logits := make([]float64, end+1)
	if next := strings.TrimPrefix(want, typed); next != want || typed == "" {
		if next != "" {
			logits[next[0]] = 7
		}
	}
	return lm.LogSoftmax(logits)
}

// pool are records in parts.
type pool [][]seal.Record

func init() { seal.Admit[pool]() }

func (p pool) Size(part int) seal.Count { return seal.NewCount(len(p[part])) }

func (p pool) Choose(part, unit int, _ *noise.Stream) (seal.Ref, error) {
	return seal.NewRef(int64(part), int64(unit)), nil
}

func (p pool) Fetch(_ context.Context, refs []seal.Ref) ([]seal.Record, error) {
	out := make([]seal.Record, len(refs))
	for i, r := range refs {
		part, unit := seal.Place(r)
		out[i] = p[part][unit]
	}
	return out, nil
}
