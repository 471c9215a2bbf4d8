package measure_test

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// TestEvidenceIsMeasured: with hardly any noise the count of evidence alone is what it gets right; without
// evidence such a prompt is refused.
func TestEvidenceIsMeasured(t *testing.T) {
	o := options(t, nearly(2, measure.Right), 1)
	alone := prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}
	m, err := measure.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Counts(t.Context(), []prompt.Prompt{zero, alone}); err == nil || !strings.Contains(err.Error(), "uses evidence") {
		t.Errorf("without evidence: %v", err)
	}
	encoder := &gradertest.Encoder{}
	o.Evidence = encoder.Evidence(o.Task.Labels)
	for l, label := range o.Task.Labels { // what a text says is its label
		for i, x := range gradertest.Vector("an article (" + label + ")") {
			o.Evidence.Vectors[l][i] = 50 * float64(x)
		}
	}
	if o.Encoder, err = lm.TrustEmbedder(encoder, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	got := counts(t, o, zero, alone)
	if want := (measure.Count{Right: 48, Wrong: 12}); got.Counts[1] != want {
		t.Errorf("%+v, want %+v", got.Counts[1], want)
	}
	if want := (measure.Count{Right: 30, Wrong: 30}); got.Counts[0] != want {
		t.Errorf("the other prompt has %+v, want %+v", got.Counts[0], want)
	}
}
