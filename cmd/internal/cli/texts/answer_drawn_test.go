package texts

import (
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// TestPlainKnownDrawsOfAnswers: what is said against someone who knows who was drawn is of all
// tokens and looks of an answer, also where each token has a draw of its own, and says that it is
// of one answer.
func TestPlainKnownDrawsOfAnswers(t *testing.T) {
	news, chats := builtinTask(t, "agnews"), builtinTask(t, "samsum")
	epsilon := func(p plan.Answers, e privacy.Event) float64 {
		got, err := accountant.Auto{}.Epsilon(e, p.Adjacency, p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		return got.Upper
	}
	for name, r := range map[string]plan.Request{
		"vote":             {Task: news},
		"product":          {Task: news, Method: "product"},
		"clipped":          {Task: chats, Method: "clipped"},
		"mixing per token": {Task: chats, Method: "mixing", Settings: method.Values{"per": scheme.PerToken}},
		"keyword":          {Task: chats, Method: "keyword"},
		"embedding":        {Task: chats, Method: "embedding"},
	} {
		r.Size, r.Epsilon, r.Answers = 14732, 2, 10
		p, err := plan.NewAnswers(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		terms, err := newAnswerTerms(t.Context(), p, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		one := p.Event()
		if p.Write.Method != nil { // by hand: every token
			one = privacy.Repeat{N: int64(p.Tokens), Event: p.Write.Step()}
			if single := epsilon(p, p.Write.Step()); terms.drawn < 2*single {
				t.Errorf("%s: ε ≤ %v is stated, and one token alone has %v", name, terms.drawn, single)
			}
		} else {
			one = privacy.Unsampled(one)
		}
		if want := epsilon(p, one); math.Abs(terms.drawn-want) > 1e-6*want {
			t.Errorf("%s: ε ≤ %v is stated, by hand it is %v, of %s", name, terms.drawn, want, p.Event())
		}
		if said := terms.known(); !strings.Contains(said, "for one answer") || !strings.Contains(said, "add up") {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

func builtinTask(t *testing.T, name string) prompt.Task {
	t.Helper()
	task, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}
