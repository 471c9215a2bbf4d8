package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/bench/gpu/torch"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// countingEncoder is an encoder of one number, the length of a text, that counts its work.
type countingEncoder struct {
	lm.Embedder
	asked []string
	err   error
}

func (c *countingEncoder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.asked = append(c.asked, texts...)
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{float32(len(t))}
	}
	return out, nil
}

func TestMemory(t *testing.T) {
	c := &countingEncoder{}
	m := remember(c)
	for _, texts := range [][]string{{"a", "bb", "a"}, {"bb", "ccc"}, {}, {"a"}} {
		got, err := m.Embed(t.Context(), texts)
		if err != nil || len(got) != len(texts) {
			t.Fatalf("%v: %v, %v", texts, got, err)
		}
		for i, v := range got {
			if len(v) != 1 || v[0] != float32(len(texts[i])) {
				t.Errorf("%q: %v", texts[i], v)
			}
		}
	}
	if !slices.Equal(c.asked, []string{"a", "bb", "ccc"}) {
		t.Errorf("encoded %q", c.asked)
	}
	c.err = errors.New("broken")
	if _, err := m.Embed(t.Context(), []string{"a", "new"}); !errors.Is(err, c.err) {
		t.Errorf("an error became %v", err)
	}
	c.err = nil
	if got, err := m.Embed(t.Context(), []string{"new"}); err != nil || got[0][0] != 3 {
		t.Errorf("after an error: %v, %v", got, err)
	}
}

func TestFewer(t *testing.T) {
	full := fmt.Errorf("a cell: %w", torch.ErrFull)
	failed := func(errs ...error) error {
		f := &suite.FailedError{}
		for _, err := range errs {
			f.Failures = append(f.Failures, suite.Failure{Err: err})
		}
		return f
	}
	for _, test := range []struct {
		err            error
		parallel, want int
	}{
		{nil, 8, 0},
		{full, 8, 0}, // not of a cell
		{failed(errors.New("other")), 8, 0},
		{failed(errors.New("other"), full), 8, 4},
		{failed(full), 1, 0},
	} {
		if got := fewer(test.err, test.parallel); got != test.want {
			t.Errorf("%v with %d at once: %d, want %d", test.err, test.parallel, got, test.want)
		}
	}
}

func TestNarrow(t *testing.T) {
	what := suite.Suite{
		Epsilon: []float64{1, 2, 4}, Queries: []int64{10, 100},
		Datasets: []suite.Dataset{{Name: "samsum", Epsilon: []float64{8}}, {Name: "e2e"}},
		Methods:  []suite.Method{{Method: "mixing"}, {Method: "clipped", Queries: []int64{100, 1000}}, {Method: "zero"}},
	}
	what, err := narrow(what, settings{epsilon: "2,4", queries: "100", datasets: "samsum", methods: "mixing,clipped"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(what.Epsilon, []float64{2, 4}) || !slices.Equal(what.Queries, []int64{100}) {
		t.Errorf("ε %v, queries %v", what.Epsilon, what.Queries)
	}
	if len(what.Datasets) != 1 || !slices.Equal(what.Datasets[0].Epsilon, []float64{2, 4}) {
		t.Errorf("%+v", what.Datasets)
	}
	expect.Len(t, "what.Methods", what.Methods, 2)
	expect.True(t, "no what.Methods[0].Queries", what.Methods[0].Queries == nil, what.Methods[0].Queries)
	expect.True(t, "what.Methods[1].Queries equal to []int64{100}", slices.Equal(what.Methods[1].Queries, []int64{100}), what.Methods[1].Queries)
	for flag, ok := range map[string]bool{"": true, "1,2": true, "0.3": true, "x": false, "-1": false, "1,,2": true} {
		if err := checkSweep(settings{suite: "s", out: "o", cache: "c", epsilon: flag}); (err == nil) != ok {
			t.Errorf("-epsilon %q: %v", flag, err)
		}
	}
}
