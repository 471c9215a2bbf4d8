package evidence_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

// ofRows is evidence about rows of a table, that knows a value for each label: 3 for the first one, 1 for the second,
// and far more for what is not said.
func ofRows(t *testing.T) (schema.Schema, *evidence.Evidence) {
	t.Helper()
	s, err := schema.Find("heart")
	if err != nil {
		t.Fatal(err)
	}
	e, err := rows.New(s)
	if err != nil {
		t.Fatal(err)
	}
	task, err := s.Task()
	if err != nil {
		t.Fatal(err)
	}
	out := &evidence.Evidence{Encoder: e.Name(), Schema: &s, Labels: task.Labels, Sums: 2, Sigma: 1}
	for l := range task.Labels {
		v := make([]float64, e.Dimension())
		v[0], v[rows.Unsaid] = float64(3-2*l), float64(1000*l)
		out.Vectors = append(out.Vectors, v)
	}
	return s, out
}

// TestRowsBringTheirEncoder: evidence about rows is read without any other encoder, from a file too.
func TestRowsBringTheirEncoder(t *testing.T) {
	s, e := ofRows(t)
	data, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := evidence.Decode(data)
	expect.NoError(t, err)
	expect.True(t, "again.Rows()", again.Rows())
	expect.Equal(t, "again.Encoder", again.Encoder, e.Encoder)
	for _, e := range []*evidence.Evidence{e, again} {
		r, err := evidence.Open(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		row := s.Text(s.Example())
		all, err := r.Texts(t.Context(), []string{row, "no row"})
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 / math.Sqrt(float64(len(s.Columns))); math.Abs(all[0][0]-all[0][1]-want) > 1e-6 {
			t.Errorf("the odds are %v, not %v", all[0][0]-all[0][1], want)
		}
		if all[1][0] != all[1][1] {
			t.Errorf("of no row it says %v", all[1])
		}
		if err := r.Reads([]string{row, row}); err != nil {
			t.Error(err)
		}
		err = r.Reads([]string{row, "my own words"})
		not := expect.As[*evidence.NotRowError](t, err)
		expect.Equal(t, "not.Place", not.Place, 1)
		expect.True(t, "no my own words in the error", !strings.Contains(fmt.Sprint(err), "my own words"), fmt.Sprint(err))
		expect.Contains(t, "err", fmt.Sprint(err), "question 2 of 2")
	}
	if r, err := evidence.Open(some(), compass()); err != nil || r.Reads([]string{"any text"}) != nil {
		t.Errorf("texts are refused: %v", err)
	}
}

// TestRowsOfAnotherSchema: evidence is refused with another schema than it was made with, without one, with an encoder of
// sentences, and where only the encoder's name speaks of rows.
func TestRowsOfAnotherSchema(t *testing.T) {
	for what, change := range map[string]func(*evidence.Evidence){
		"another bound":  func(e *evidence.Evidence) { e.Schema.Columns[0].High++ },
		"another value":  func(e *evidence.Evidence) { e.Schema.Columns[1].Values[0] = "X" },
		"another layout": func(e *evidence.Evidence) { e.Schema.Template += " So it is." },
		"no schema":      func(e *evidence.Evidence) { e.Schema = nil },
		"an empty one":   func(e *evidence.Evidence) { e.Schema = &schema.Schema{} },
		"sentences":      func(e *evidence.Evidence) { e.Encoder = "toy@0" },
		"fewer features": func(e *evidence.Evidence) {
			for l := range e.Vectors {
				e.Vectors[l] = e.Vectors[l][1:]
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, e := ofRows(t)
			copied := s.WithDefaults()
			copied.Groups = nil
			e.Schema = &copied
			change(e)
			if _, err := evidence.Open(e, nil); err == nil {
				t.Errorf("%s is taken", what)
			}
		})
	}
	_, e := ofRows(t)
	if _, err := evidence.Open(e, compass()); err == nil {
		t.Error("rows are read by an encoder of sentences")
	}
	if _, err := evidence.Open(some(), nil); err == nil {
		t.Error("texts are read without an encoder")
	}
}
