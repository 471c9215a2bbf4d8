package ensemble

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

func TestBadOptions(t *testing.T) {
	s := scenes(t)["agnews vote"]
	for want, change := range map[string]func(*Options){
		"trusted model":      func(o *Options) { o.Model = lm.TrustedScorer{} },
		"no records":         func(o *Options) { o.Pool = nil },
		"at least one token": func(o *Options) { o.Tokens = -1 },
	} {
		o := s.options
		change(&o)
		if _, err := NewAnswerer(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	a, err := NewAnswerer(s.options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Answer(t.Context(), Job{Input: asked}); err == nil {
		t.Error("no method, and an answer")
	}
	if _, err := a.Answer(t.Context(), Job{Input: asked, Method: &Vote{}}); err == nil {
		t.Error("a method without settings answers")
	}
	if _, err := a.Answer(t.Context(), Job{Input: asked, Method: scenes(t)["samsum embedding"].method}); err == nil || !strings.Contains(err.Error(), "use vote") {
		t.Errorf("sentences for labels: %v", err)
	}
	other := scenes(t)["samsum embedding"]
	other.options.Encoder = lm.TrustedEmbedder{}
	_, err = other.answer(t, 1)
	at := expect.At(t, "without an encoder")
	expect.Contains(at, "err", fmt.Sprint(err), "trusted encoder")
	expect.Equal(at, "len(other.pool.read)", len(other.pool.read), 0)
	if err := (&Vote{}).Serves(prompt.Task{Name: "x", Kind: prompt.Generate}); err == nil {
		t.Error("a vote serves a task without labels")
	}
}

// TestSettings: what is written is read back, and what is wrong is refused.
func TestSettings(t *testing.T) {
	for name, c := range trials() {
		data, err := json.Marshal(Settings{c.Method})
		if err != nil {
			t.Fatal(err)
		}
		var again Settings
		if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(again.Method, c.Method) {
			t.Errorf("%s: %s is read as %+v, %v", name, data, again.Method, err)
		}
	}
	if data, err := json.Marshal(Settings{}); err != nil || string(data) != "null" {
		t.Errorf("no method is %s, %v", data, err)
	}
	for want, m := range map[string]Method{
		"positive range":             &Vote{Draw: each},
		"positive range, not NaN":    &Vote{Draw: each, Range: nan()},
		"positive noise":             &Vote{Draw: each, Noise: Gaussian},
		"unknown ballot":             &Vote{Draw: each, Range: 1, Ballot: "secret"},
		"unknown noise":              &Vote{Draw: each, Range: 1, Noise: "loud"},
		"leave out the noise":        &Vote{Draw: each, Range: 1, Ballot: Soft, Noise: Gaussian},
		"needs a positive":           &Vote{Draw: each, Range: 1, Ballot: Soft},
		"draw per token":             &Vote{Draw: each, Noise: Threshold, Sigma: 1, CheckSigma: 1},
		"for its check":              &Vote{Draw: fresh(each), Noise: Threshold, Sigma: 1},
		"looks once":                 &Vote{Draw: fresh(each), Range: 1},
		"sampling rate":              &Vote{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText}, Range: 1},
		"product needs a positive r": &Product{Draw: each, Clip: 2},
		"positive clip in nats":      &Product{Draw: each, Range: 1},
		"positive clip in nats, suc": &Product{Draw: each, Range: 1, Clip: math.Inf(1)},
		"less than 2^-20 nats":       &Product{Draw: each, Range: 1, Clip: 1e-9},
		"product looks once":         &Product{Draw: fresh(each), Range: 1, Clip: 2},
		"at least one public":        &Embedding{Draw: each, Sigma: 1},
		"positive noise multiplier,": &Embedding{Draw: each, Candidates: 1},
		"between 1 and":              &Keyword{Draw: each, Range: 1, Candidates: 1},
		"a joint choice":             &Keyword{Draw: each, Keywords: 1, Candidates: 1},
		"public answers that":        &Keyword{Draw: each, Keywords: 1, Range: 1},
		"probability of failure":     &Keyword{Draw: each, Keywords: 1, Select: Test, Sigma: 1},
		"unknown way":                &Keyword{Draw: each, Keywords: 1, Select: "best"},
	} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if _, err := method.New[Method]("magic", method.Answers); err == nil || !strings.Contains(err.Error(), "embedding, keyword, product, vote") {
		t.Errorf("an unknown method: %v", err)
	}
}

func nan() float64 { return math.NaN() }

// FuzzSettings: no text crashes the reader, and what it takes is valid.
func FuzzSettings(f *testing.F) {
	f.Add(`{"method":"vote","settings":{"draw":{"kind":"poisson","per":"text","rate":0.1},"range":1}}`)
	f.Add(`{"method":"keyword","settings":{"keywords":1e9}}`)
	f.Add(`{"method":"product","settings":{"draw":{"kind":"poisson","per":"text","rate":0.1},"range":1e-300,"clip":1e300}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		var s Settings
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Method == nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s is read, and wrong: %v", text, err)
		}
		if err := privacy.Validate(s.Event()); err != nil {
			t.Errorf("%s has the event %v: %v", text, s.Event(), err)
		}
	})
}
