package sotto_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// pointer is an encoder for tests: a text points to where its first label is.
type pointer struct{}

func (pointer) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = []float32{1, 0}
		if strings.Contains(text, task().Labels[0]) {
			out[i] = []float32{0, 1}
		}
	}
	return out, nil
}
func (pointer) Dimension() int { return 2 }
func (pointer) Name() string   { return "pointer 1" }
func (pointer) Close() error   { return nil }

// chosen are options of a run in which records choose.
func chosen(t *testing.T) synthesis {
	o := options(t)
	o.Request = sotto.Request{
		Task: task(), Size: 200, Epsilon: 4, Tokens: 3,
		Choosing: &sotto.ChooseRequest{First: 3, Next: 2, Rounds: 2, Records: 8, Work: 20000},
	}
	return o
}

// TestEvidenceByDefault: a run in which records choose among labels adds all of them up, with the encoder that the
// client has, and leaves the caller's request as it is.
func TestEvidenceByDefault(t *testing.T) {
	o := chosen(t)
	var err error
	if o.Encoder, err = lm.TrustEmbedder(pointer{}, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	done, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if done.Evidence == nil || done.Evidence.Encoder != "pointer 1" {
		t.Fatalf("the run has the evidence %+v", done.Evidence)
	}
	if _, err := os.Stat(filepath.Join(o.Out, "evidence.json")); err != nil {
		t.Error(err)
	}
	if o.Request.Choosing.Encoder != "" {
		t.Error("the caller's request was changed")
	}
}

// TestEvidenceNeedsItsEncoder: where the encoder was never fetched, a run that did not ask for evidence says so and
// has none, then and when it continues with the encoder there; one that asked for it is refused, and nothing is
// charged.
func TestEvidenceNeedsItsEncoder(t *testing.T) {
	t.Setenv("SOTTO_MODELS", t.TempDir())
	o := chosen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := ""
	o.Observe = func(e sotto.Progress) {
		if e.Kind == sotto.Notice {
			said += e.Message + "\n"
		}
		if e.Kind == sotto.Chose {
			cancel()
		}
	}
	if _, err := synthesize(ctx, o); err == nil {
		t.Fatal("it was not interrupted")
	}
	if !strings.Contains(said, "sotto model pull minilm") {
		t.Errorf("it says %q", said)
	}
	o.Observe = nil
	var err error
	if o.Encoder, err = lm.TrustEmbedder(pointer{}, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	done, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !done.Resumed || done.Evidence != nil {
		t.Errorf("resumed: %v, with the evidence %+v", done.Resumed, done.Evidence)
	}

	asked := chosen(t)
	asked.Request.Choosing.Evidence = 0.5
	_, err = synthesize(t.Context(), asked)
	if _, missing := errors.AsType[*models.MissingError](err); !missing {
		t.Errorf("a run that asks for evidence without an encoder: %v", err)
	}
	if _, err := os.Stat(asked.Out); err == nil {
		t.Error("it began all the same")
	}
}
