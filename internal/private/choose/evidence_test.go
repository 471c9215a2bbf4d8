package choose

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// TestEvidenceIsChosen: where evidence alone knows the answer and no way of asking does, it wins; without
// evidence such a candidate is refused before a record is read.
func TestEvidenceIsChosen(t *testing.T) {
	choice := Choice{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 1}, Rounds: 1, Range: 1000, Utility: Hard}
	data := of(likes("-"), likes("-"), likes("-"))
	o, _ := scene(t, data, choice)
	candidates := append(ways("01"), prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}})
	if _, err := chooser(t, o).Round(t.Context(), 0, candidates); err == nil || !strings.Contains(err.Error(), "uses evidence") {
		t.Errorf("without evidence: %v", err)
	}
	if len(data.read) > 0 {
		t.Errorf("records %v are read", data.read)
	}
	encoder := &gradertest.Encoder{}
	o.Evidence = encoder.Evidence(toyTask.Labels)
	// The first label is that of all records: their vectors are its vector.
	for i, x := range gradertest.Vector(likes("-")) {
		o.Evidence.Vectors[0][i], o.Evidence.Vectors[1][i] = float64(x), -float64(x)
	}
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "trusted encoder") {
		t.Errorf("without an encoder: %v", err)
	}
	var err error
	if o.Encoder, err = lm.TrustEmbedder(encoder, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	got, err := chooser(t, o).Round(t.Context(), 0, candidates)
	if err != nil {
		t.Fatal(err)
	}
	if got.Winner != 2 {
		t.Errorf("candidate %d wins, want 2", got.Winner)
	}
}
