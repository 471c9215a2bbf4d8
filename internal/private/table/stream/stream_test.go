package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// answers is a schema of two questions.
func answers() schema.Schema {
	return schema.Schema{
		Name: "answers", Label: "smokes",
		Columns: []schema.Column{
			{Name: "age", Kind: schema.Numeric, Low: 0, High: 100, Edges: []float64{40}, Values: []string{"young", "old"}},
			{Name: "smokes", Kind: schema.Categorical, Values: []string{"yes", "no", "a, \"bit\""}},
		},
		Template: "Somebody is {age}.", Question: "Do they smoke?",
	}.WithDefaults()
}

func options(t *testing.T, epsilon float64) Options {
	t.Helper()
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Schema: answers(), Key: key, Format: reconstruct.CSV,
		Settings: local.Settings{Domains: []int{2, 3}, Epsilons: []float64{epsilon, epsilon}},
	}
}

// TestRowsComeOutInOrder: with a large ε every value is kept, so that what comes out says
// what went in. Columns are found by their names, and others are not read. At ε = 50 a
// value is exchanged with a probability below 1e-21.
func TestRowsComeOutInOrder(t *testing.T) {
	for _, in := range []string{
		"other,smokes,age\nx,yes,7\n,no,41.5\n1,\"a, \"\"bit\"\"\",40\n",
		"\ufeffage,other,smokes\r\n7,x,yes\r\n41.5,,no\r\n40,1,\"a, \"\"bit\"\"\"",
	} {
		var out bytes.Buffer
		n, err := Perturb(t.Context(), strings.NewReader(in), &out, options(t, 50))
		if err != nil || n != 3 {
			t.Fatalf("%d rows: %v", n, err)
		}
		if want := "age,smokes\nyoung,yes\nold,no\nold,\"a, \"\"bit\"\"\"\n"; out.String() != want {
			t.Errorf("%s", out.String())
		}
	}
}

// TestRate: values are kept as often as the settings say. With 4000 rows the share that
// is kept is off by 0.06 with a probability below 2·exp(−2·4000·0.06²) < 1e-12
// (Hoeffding); the chances of another ε are found.
func TestRate(t *testing.T) {
	const rows = 4000
	o := options(t, 1)
	in := "age,smokes\n" + strings.Repeat("7,no\n", rows)
	var out bytes.Buffer
	n, err := Perturb(t.Context(), strings.NewReader(in), &out, o)
	if err != nil || n != rows {
		t.Fatalf("%d rows: %v", n, err)
	}
	keep, more := o.Settings.Channel().Keep, options(t, 2).Settings.Channel().Keep
	for i, word := range []string{"young,", ",no"} {
		share := float64(strings.Count(out.String(), word)) / rows
		if share < keep[i]-0.06 || share > keep[i]+0.06 {
			t.Errorf("column %d keeps %.3f of its values, want %.3f", i+1, share, keep[i])
		}
		if share > more[i]-0.06 {
			t.Errorf("column %d keeps as many as at ε = 2", i+1)
		}
	}
}

// TestEachAtOnce: a row is out before the next one is asked for.
func TestEachAtOnce(t *testing.T) {
	var out bytes.Buffer
	lines := []string{"age,smokes\n", "7,yes\n", "8,yes\n"}
	in := readerFunc(func(p []byte) (int, error) {
		if done := 3 - len(lines); done > 1 && strings.Count(out.String(), "\n") != done {
			t.Errorf("after %d lines the output has %q", done, out.String())
		}
		if len(lines) == 0 {
			return 0, errors.New("end")
		}
		n := copy(p, lines[0])
		lines = lines[1:]
		return n, nil
	})
	if n, err := Perturb(t.Context(), in, &out, options(t, 1)); n != 2 || err == nil {
		t.Errorf("%d rows: %v", n, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestRefused: what cannot be used is named by its place.
func TestRefused(t *testing.T) {
	const secret = "zebra4711"
	for in, want := range map[string]string{
		"":                                 "no header row",
		"\"" + secret:                      "header row cannot be read",
		"age,age,smokes\n":                 "twice",
		"age,smoke\n7,yes\n":               "smokes",
		"age,smokes\n7,yes\n7," + secret:   `row 2, column "smokes"`,
		"age,smokes\n" + secret + ",yes\n": `row 1, column "age"`,
		"age,smokes\n7,yes,8\n":            "row 1: more or fewer",
		"age,smokes\n7,\"yes" + secret:     "row 1: quotes",
		"age,smokes\n101,yes\n":            "does not allow",
	} {
		var out bytes.Buffer
		_, err := Perturb(t.Context(), strings.NewReader(in), &out, options(t, 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) || strings.Contains(out.String(), secret) {
			t.Errorf("%q: content is shown: %v", in, err)
		}
	}
	o := options(t, 1)
	o.Settings.Domains = []int{2, 2}
	if _, err := Perturb(t.Context(), strings.NewReader("age,smokes\n"), &bytes.Buffer{}, o); err == nil {
		t.Error("settings of another schema are used")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Perturb(ctx, strings.NewReader("age,smokes\n7,yes\n"), &bytes.Buffer{}, options(t, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that was stopped: %v", err)
	}
}

func ExamplePerturb() {
	key, err := noise.NewKey()
	if err != nil {
		fmt.Println(err)
		return
	}
	var out bytes.Buffer
	rows, err := Perturb(context.Background(), strings.NewReader("age,smokes\n33,no\n"), &out, Options{
		Schema: answers(), Key: key, Settings: local.Settings{Domains: []int{2, 3}, Epsilons: []float64{1, 1}},
	})
	fmt.Println(rows, err, strings.Count(out.String(), "\n"))
	// Output: 1 <nil> 2
}
