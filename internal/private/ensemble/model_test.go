package ensemble

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// engine is the default model and the encoder, which the tests of this file share.
var engine = sync.OnceValues(func() (struct {
	model   lm.TrustedScorer
	encoder lm.TrustedEmbedder
}, error,
) {
	var e struct {
		model   lm.TrustedScorer
		encoder lm.TrustedEmbedder
	}
	var err error
	if e.model, err = backend.Trusted(context.Background(), backend.Spec{}); err == nil {
		e.encoder, err = backend.TrustedEncoder("")
	}
	return e, err
})

// TestOnTheDefaultModel answers with the embedded engine and encoder, a sure question
// however prompts are put together.
func TestOnTheDefaultModel(t *testing.T) {
	e, err := engine()
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull (and: go run ./cmd/sotto model pull minilm)", err)
	}
	news := builtin(t, "agnews")
	var articles, facts pool
	for i, text := range []string{"The striker scored twice in the final of the cup", "Shares of the bank fell after its report", "The new phone has a faster chip", "Ministers met at the border for talks"} {
		for range 3 {
			n := int64(len(articles.records) + 1)
			articles.records = append(articles.records, seal.NewRecord(n, []string{"Sports", "Business", "Technology", "World"}[i], text))
			facts.records = append(facts.records, seal.NewRecord(n, fmt.Sprintf("name[Cafe %d], food[soup]", n), fmt.Sprintf("You get good soup at Cafe %d.", n)))
		}
	}
	one := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.2}
	food := builtin(t, "e2e")
	food.Limits.AnswerTokens = 3
	for _, c := range []struct {
		Options
		Job
		sure string
	}{
		{Options{Task: news, Pool: &articles}, Job{Input: "The goalkeeper saved a penalty in the match", Method: &Vote{Draw: one, Range: 50}}, "Sports"},
		{Options{Task: food, Pool: &facts}, Job{Input: "name[The Mill], food[fish]", Method: &Embedding{Draw: one, Sigma: 0.1, Candidates: 2}}, ""},
	} {
		var texts []string
		passes := []int{0}
		if c.sure != "" {
			passes = append(passes, 1) // one prompt at a time
		}
		for _, pass := range passes {
			o := c.Options
			o.Model, o.Encoder, o.Key, o.PassTokens = e.model, e.encoder, noise.KeyFromSeed(5), pass
			a, err := NewAnswerer(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Answer(t.Context(), c.Job)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, got.Text())
		}
		t.Logf("%s: %q", c.Method.Name(), texts[0])
		for _, text := range texts {
			if text == "" || c.sure != "" && text != c.sure {
				t.Errorf("%s: %q, want %s", c.Method.Name(), text, c.sure)
			}
		}
	}
}
