package evidence_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// some is evidence for three labels and vectors of two numbers.
func some() *evidence.Evidence {
	return &evidence.Evidence{
		Encoder: "toy@0", Labels: []string{"up", "right", "down"}, Sums: 1, Sigma: 2,
		Vectors: [][]float64{{0, 3}, {3, 0}, {0, -3}},
	}
}

// toy is an encoder of texts that it knows.
type toy struct {
	known map[string][]float32
	name  string
	width int
	fails error
}

func compass() *toy {
	return &toy{name: "toy@0", width: 2, known: map[string][]float32{
		"north": {0, 1}, "east": {1, 0}, "northeast": {0.6, 0.8}, "": {0, -1}, "nowhere": {float32(math.NaN()), 0}, "far": {float32(math.Inf(1)), 0}, "flat": {1},
	}}
}

func (e *toy) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.fails != nil {
		return nil, e.fails
	}
	var out [][]float32
	for _, text := range texts {
		switch v, ok := e.known[text]; {
		case text == "twice":
			out = append(out, []float32{1, 0}, []float32{1, 0})
		case ok:
			out = append(out, v)
		}
	}
	return out, nil
}
func (e *toy) Dimension() int { return e.width }
func (e *toy) Name() string   { return e.name }
func (e *toy) Close() error   { return nil }

// TestCheck: what is wrong with evidence is found, and said.
func TestCheck(t *testing.T) {
	if err := some().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says   string
		change func(*evidence.Evidence)
	}{
		{"does not name its encoder", func(e *evidence.Evidence) { e.Encoder = "" }},
		{"3 vectors for 0 labels", func(e *evidence.Evidence) { e.Labels = nil }},
		{"3 vectors for 2 labels", func(e *evidence.Evidence) { e.Labels = e.Labels[:2] }},
		{"0 vectors for 3 labels", func(e *evidence.Evidence) { e.Vectors = nil }},
		{"1 vectors for 1 labels", func(e *evidence.Evidence) { e.Labels, e.Vectors = e.Labels[:1], e.Vectors[:1] }},
		{"empty", func(e *evidence.Evidence) { e.Vectors = make([][]float64, 3) }},
		{"differ in length", func(e *evidence.Evidence) { e.Vectors[1] = []float64{1} }},
		{"differ in length", func(e *evidence.Evidence) { e.Vectors[2] = []float64{1, 2, 3} }},
		{`"up" twice`, func(e *evidence.Evidence) { e.Labels[2] = "up" }},
		{"too large or none", func(e *evidence.Evidence) { e.Vectors[1][1] = math.NaN() }},
		{"too large or none", func(e *evidence.Evidence) { e.Vectors[1][1] = math.Inf(-1) }},
		{"too large or none", func(e *evidence.Evidence) { e.Vectors[2][0] = 1.1e6 }},
		{"too large or none", func(e *evidence.Evidence) { e.Vectors[2][0] = -1.1e6 }},
		{"number of sums", func(e *evidence.Evidence) { e.Sums = -1 }},
		{"noise of no scale", func(e *evidence.Evidence) { e.Sigma = -1 }},
		{"noise of no scale", func(e *evidence.Evidence) { e.Sigma = math.NaN() }},
		{"noise of no scale", func(e *evidence.Evidence) { e.Sigma = math.Inf(1) }},
	} {
		e := some()
		c.change(e)
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, which does not say %q", err, c.says)
		}
		if _, err := e.Encode(); err == nil {
			t.Errorf("%q: it is written", c.says)
		}
		if _, err := evidence.Open(e, compass()); err == nil {
			t.Errorf("%q: it is opened", c.says)
		}
	}
}

// TestManyLabels: as many as a task may have, and no more.
func TestManyLabels(t *testing.T) {
	e := &evidence.Evidence{Encoder: "toy@0"}
	for i := range 1000 {
		e.Labels, e.Vectors = append(e.Labels, fmt.Sprint(i)), append(e.Vectors, []float64{1})
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
	e.Labels, e.Vectors = append(e.Labels, "one more"), append(e.Vectors, []float64{1})
	if err := e.Check(); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Error(err)
	}
}

// TestFile: what is written is read, from a file too, and small.
func TestFile(t *testing.T) {
	data, err := some().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"encoder":"toy@0","labels":["up","right","down"],"sums":1,"sigma":2,"vectors":[[0,3],[3,0],[0,-3]]}` + "\n"; string(data) != want {
		t.Errorf("%s", data)
	}
	path := filepath.Join(t.TempDir(), evidence.File)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := evidence.Read(path); err != nil || !reflect.DeepEqual(e, some()) {
		t.Errorf("%+v, %v", e, err)
	}
	if err := os.WriteFile(path, data[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := evidence.Read(path)
	expect.True(t, "e is nil", e == nil, e)
	expect.Contains(t, "err", fmt.Sprint(err), path)
	if _, err := evidence.Read(path + ".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "null", "[]", "{}", `{"encoder":3}`, strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		if e, err := evidence.Decode([]byte(bad)); e != nil || err == nil {
			t.Errorf("%q is evidence: %v", bad, err)
		}
	}
}

// FuzzDecode: what is read can be used and is written as it was.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"encoder":"toy@0","labels":["up","down"],"sums":1,"sigma":2,"vectors":[[0,3],[3,0]]}`))
	f.Add([]byte(`{"encoder":"x","labels":["a","a"],"vectors":[[1],[1]]}`))
	f.Add([]byte(`{"encoder":"x","labels":["a","b"],"vectors":[[1],null]}`))
	f.Add([]byte(`{"encoder":"x","labels":["a","b"],"vectors":[[1e400],[1]]}`))
	f.Add([]byte(`{"encoder":"x","labels":[],"vectors":[]}`))
	f.Add([]byte(`{"encoder":"x","labels":["a","b"],"sigma":-1,"vectors":[[1e6],[-1e6]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := evidence.Decode(data)
		if err != nil {
			if e != nil {
				t.Fatal("an error comes with evidence")
			}
			return
		}
		vector := make([]float32, len(e.Vectors[0]))
		vector[0] = 1
		logs, err := e.Logs(vector)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.
		for _, x := range logs {
			sum += math.Exp(x)
		}
		if math.Abs(sum-1) > 1e-6 || e.Said(logs) == "" {
			t.Fatalf("probabilities add up to %v", sum)
		}
		again, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := evidence.Decode(again); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%v", err)
		}
	})
}

// TestOpenRefuses: vectors of different encoders are not comparable.
func TestOpenRefuses(t *testing.T) {
	if _, err := evidence.Open(some(), compass()); err != nil {
		t.Fatal(err)
	}
	other, narrow := compass(), compass()
	other.name, narrow.width = "toy@1", 3
	for name, encoder := range map[string]evidence.Encodes{"another encoder": other, "another dimension": narrow} {
		t.Run(name, func(t *testing.T) {
			if _, err := evidence.Open(some(), encoder); err == nil || !strings.Contains(err.Error(), "not comparable") {
				t.Errorf("%v", err)
			}
		})
	}
	for name, open := range map[string]func() (*evidence.Reader, error){
		"no evidence":        func() (*evidence.Reader, error) { return evidence.Open(nil, compass()) },
		"no encoder":         func() (*evidence.Reader, error) { return evidence.Open(some(), nil) },
		"no trusted encoder": func() (*evidence.Reader, error) { return evidence.Open(some(), lm.TrustedEmbedder{}) },
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := open(); err == nil || r != nil {
				t.Errorf("%s is opened", name)
			}
		})
	}
	trusted, err := lm.TrustEmbedder(compass(), lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.Open(some(), trusted); err != nil {
		t.Error(err)
	}
}

// TestSuits: labels are compared in their order.
func TestSuits(t *testing.T) {
	for _, c := range []struct {
		labels []string
		ok     bool
	}{
		{[]string{"up", "right", "down"}, true},
		{[]string{"up", "down", "right"}, false},
		{[]string{"up", "right"}, false},
		{nil, false},
	} {
		if err := some().Suits(c.labels); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.labels, err)
		}
	}
}

// TestLogs: log-probabilities are those of a slow computation with numbers of 200 bits.
func TestLogs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{2, 3, 50} {
		for _, far := range []float64{0.1, 10, 700, 1e6} {
			e := &evidence.Evidence{Encoder: "x"}
			vector := make([]float32, 384)
			for i := range vector {
				vector[i] = float32(random.NormFloat64() / 20)
			}
			odds := make([]float64, k)
			for l := range k {
				v, sum := make([]float64, len(vector)), new(big.Float).SetPrec(200)
				for i := range v {
					v[i] = max(-1e6, min(1e6, far*random.NormFloat64()/20))
					sum.Add(sum, new(big.Float).SetPrec(200).Mul(big.NewFloat(v[i]), big.NewFloat(float64(vector[i]))))
				}
				e.Labels, e.Vectors = append(e.Labels, fmt.Sprint(l)), append(e.Vectors, v)
				odds[l], _ = sum.Float64()
			}
			got, err := e.Logs(vector)
			if err != nil {
				t.Fatal(err)
			}
			highest, all := slices.Max(odds), 0.
			for _, x := range odds {
				all += math.Exp(x - highest)
			}
			for l, x := range odds {
				if want := x - highest - math.Log(all); math.Abs(got[l]-want) > 1e-9*max(1, math.Abs(want)) {
					t.Errorf("%d labels, numbers of %v: %v, not %v", k, far, got[l], want)
				}
			}
		}
	}
	for _, bad := range [][]float32{nil, {1}, {1, 2, 3}, {float32(math.NaN()), 0}, {0, float32(math.Inf(1))}} {
		if logs, err := some().Logs(bad); err == nil {
			t.Errorf("%v has %v", bad, logs)
		}
	}
}

// TestSaid: the best label with its share, and the second from a tenth on.
func TestSaid(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   string
	}{
		{[]float64{0.7, 0.2, 0.1}, "up 70%, right 20%"},
		{[]float64{0.05, 0.05, 0.9}, "down 90%"},
		{[]float64{0.0001, 0.9998, 0.0001}, "right 100%"},
		{[]float64{0.3, 0.3, 0.4}, "down 40%, up 30%"},
		{[]float64{1. / 3, 1. / 3, 1. / 3}, "up 33%, right 33%"},
		{[]float64{0.9, 0.1, 0}, "up 90%, right 10%"},
		{[]float64{0.901, 0.099, 0}, "up 90%"},
	} {
		var logs []float64
		for _, p := range c.shares {
			logs = append(logs, math.Log(p)+1e-12)
		}
		if got := some().Said(logs); got != c.want {
			t.Errorf("%v: %q, not %q", c.shares, got, c.want)
		}
	}
}

// TestHinted: texts and examples have the hint of their own text, in the wording that is asked for; empty ones
// too.
func TestHinted(t *testing.T) {
	r, err := evidence.Open(some(), compass())
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"north", "east", "northeast", ""}
	hinted, err := r.Hinted(t.Context(), 0, texts)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"north (similar texts: up 95%)", "east (similar texts: right 91%)",
		"northeast (similar texts: up 64%, right 35%)", " (similar texts: down 95%)",
	}
	if !slices.Equal(hinted, want) {
		t.Errorf("%q", hinted)
	}
	examples, err := r.Examples(t.Context(), 1, []prompt.Example{{Input: "east", Output: "right"}, {Input: "north", Output: "up"}})
	if err != nil || !slices.Equal(examples, []prompt.Example{{Input: "east [probably right 91%]", Output: "right"}, {Input: "north [probably up 95%]", Output: "up"}}) {
		t.Errorf("%q, %v", examples, err)
	}
	if none, err := r.Examples(t.Context(), 0, nil); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// TestTextsThatFail: an encoder that does not have one usable vector for each text is an error, which holds none of
// them.
func TestTextsThatFail(t *testing.T) {
	for _, texts := range [][]string{{"nowhere"}, {"far"}, {"flat"}, {"north", "a text that it does not know"}, {"twice"}} {
		r, err := evidence.Open(some(), compass())
		if err != nil {
			t.Fatal(err)
		}
		last := texts[len(texts)-1]
		if got, err := r.Texts(t.Context(), texts); err == nil || strings.Contains(err.Error(), last) {
			t.Errorf("%q: %v, %v", texts, got, err)
		}
		if got, err := r.Hinted(t.Context(), 0, texts); err == nil {
			t.Errorf("%q: %q", texts, got)
		}
		if got, err := r.Examples(t.Context(), 0, []prompt.Example{{Input: last}}); err == nil {
			t.Errorf("%q: %q", texts, got)
		}
	}
	broken := compass()
	broken.fails = errors.New("the encoder is closed")
	r, err := evidence.Open(some(), broken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Texts(t.Context(), []string{"north"}); !errors.Is(err, broken.fails) {
		t.Errorf("%v", err)
	}
}
