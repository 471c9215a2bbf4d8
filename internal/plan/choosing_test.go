package plan_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/prompt"
)

// byItself has the model write the pool, so that choosing is all that costs.
func byItself() *plan.ChooseRequest { return &plan.ChooseRequest{Writing: -1} }

// TestPlainChoosingKeepsToItsEpsilon: whatever is chosen, and however records are drawn, the
// plan's event costs at most what was asked, and not much less; it has what runs in it, and
// comes back from a file as it was.
func TestPlainChoosingKeepsToItsEpsilon(t *testing.T) {
	agnews, genres, chats := builtin(t, "agnews"), builtin(t, "mit-g"), builtin(t, "samsum")
	own := []prompt.Example{{Input: "a race", Output: "Sports"}, {Input: "a bank", Output: "Business"}}
	for name, r := range map[string]plan.Request{
		"default":        {Task: agnews, Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{}},
		"small ε":        {Task: agnews, Size: 27632, Epsilon: 0.1, Choosing: &plan.ChooseRequest{}},
		"by itself":      {Task: agnews, Size: 5000, Epsilon: 1, Choosing: byItself()},
		"few records":    {Task: agnews, Size: 100, Epsilon: 0.3, Choosing: byItself()},
		"a share":        {Task: agnews, Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: 0.3}},
		"open labels":    {Task: genres, Size: 2953, Epsilon: 1, Choosing: byItself()},
		"outputs":        {Task: chats, Size: 14732, Epsilon: 1, Conditions: []string{"one", "two"}, Choosing: byItself()},
		"fixed size":     {Task: agnews, Size: 5000, Epsilon: 1, Sampler: scheme.FixedSize, Choosing: byItself()},
		"users":          {Task: agnews, Size: 5000, Epsilon: 1, Unit: "user:author", Choosing: byItself()},
		"counted":        {Task: agnews, Count: true, MinSize: 4000, Epsilon: 1, Choosing: byItself()},
		"own examples":   {Task: agnews, Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{NoGeneration: true, Examples: own}},
		"rounds":         {Task: agnews, Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: -1, Rounds: 25, Records: 10}},
		"a remainder":    {Task: agnews, Size: 5003, Epsilon: 1, Sampler: scheme.FixedSize, Choosing: byItself()},
		"soft, one pass": {Task: agnews, Size: 400, Epsilon: 2, Choosing: &plan.ChooseRequest{Writing: -1, Utility: choose.Soft, Rounds: 1, Records: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustPlan(t, r)
			got, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper > p.Epsilon || got.Upper < 0.97*p.Epsilon {
				t.Errorf("%s costs ε in [%v, %v], asked was %v", p.Event(), got.Lower, got.Upper, p.Epsilon)
			}
			for _, part := range paidFor(p.Choose) {
				if !strings.Contains(p.Event().String(), part) {
					t.Errorf("the event %s does not have %s", p.Event(), part)
				}
			}
			if l := p.Choose.Last; l != nil {
				n := max(p.Units(), r.Size)
				if weight, other := l.Range*l.Draw.Expected(n), p.Choose.Range*p.Choose.Draw.Expected(n); weight < 1.49*other || l.Draw.Expected(n) < p.Choose.Draw.Expected(n) {
					t.Errorf("the last round has a weight of %v by %v records, the others %v by %v", weight, l.Draw.Expected(n), other, p.Choose.Draw.Expected(n))
				}
				if said := p.Steps(); !strings.Contains(said, "which tells differences of about") {
					t.Errorf("%s does not say what the last round can tell apart", said)
				}
			}
			if want := map[scheme.Kind]privacy.Adjacency{scheme.FixedSize: privacy.ReplaceOne}[r.Sampler]; want != "" && (p.Adjacency != want || p.Choose.Draw.Of != r.Size) {
				t.Errorf("%+v of %d under %s", p.Choose.Draw, r.Size, p.Adjacency)
			}
			if again := reread(t, p); !reflect.DeepEqual(again, p) {
				t.Errorf("a plan read from a file is another one:\n%+v\n%+v", again, p)
			}
			copied, err := plan.Own(p)
			at := expect.At(t, "a copy of one's own")
			expect.NoError(at, err)
			expect.True(at, "copied equal to mustPlan", reflect.DeepEqual(copied, p), copied, p)
			expect.True(at, "copied.Choose other than p.Choose", copied.Choose != p.Choose, copied.Choose)
		})
	}
}

// TestPlainLastRoundIsPaidFor: the event of a plan has the last round, beside the others.
func TestPlainLastRoundIsPaidFor(t *testing.T) {
	p := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Rounds: 5, Records: 50, Measuring: -1}})
	c := p.Choose
	if c.Last == nil {
		t.Fatalf("c.Last: got none")
	}
	expect.Equal(t, "c.AllRounds()", c.AllRounds(), 6)
	expect.Equal(t, "c.Round(4)", c.Round(4), c.Choice)
	expect.Equal(t, "c.Round(5)", c.Round(5), c.Last.Choice)
	want := privacy.Canonical(privacy.Compose{Events: []privacy.Event{
		privacy.Repeat{N: 5, Event: privacy.Poisson{Q: c.Draw.Rate, Event: privacy.BoundedRange{C: c.Range}}},
		privacy.Poisson{Q: c.Last.Draw.Rate, Event: privacy.BoundedRange{C: c.Last.Range}},
	}})
	if p.Event().String() != want.String() {
		t.Errorf("%s is paid for, and %s runs", p.Event(), want)
	}
	if said := p.Steps(); !strings.Contains(said, "choose among the winners and no examples, which tells differences of about") {
		t.Errorf("the plan in words: %s", said)
	}
	p.Choose.Last = nil
	if without, err := (accountant.Auto{}).Epsilon(p.Event(), p.Adjacency, p.Delta); err != nil || without.Upper > 0.97 {
		t.Errorf("without its last round the plan costs %v: %v", without, err)
	}
}

// paidFor are the events of the rounds, and of the last one.
func paidFor(c *plan.Choose) []string {
	all := []string{c.Choice.Event().String()}
	if c.Last != nil {
		all = append(all, c.Last.Event().String())
	}
	return all
}

// TestPlainChoosingGrows: fewer records take no more rounds, and more work is for more records
// and rounds, never for fewer.
func TestPlainChoosingGrows(t *testing.T) {
	task := builtin(t, "agnews")
	var before plan.Plan
	for i, size := range []int64{60, 400, 3000, 27632} {
		p := mustPlan(t, plan.Request{Task: task, Size: size, Epsilon: 0.5, Choosing: byItself()})
		if i > 0 && p.Choose.Rounds < before.Choose.Rounds {
			t.Errorf("%d records take %d rounds, fewer ones %d", size, p.Choose.Rounds, before.Choose.Rounds)
		}
		if size == 60 && p.Choose.Rounds > 2 {
			t.Errorf("%d records have %d rounds", size, p.Choose.Rounds)
		}
		before = p
	}
	for i, work := range []float64{1e4, 1e5, 1e6, 1e7, 1e8} {
		c := byItself()
		c.Work = work
		p := mustPlan(t, plan.Request{Task: task, Size: 27632, Epsilon: 1, Choosing: c})
		records := p.Choose.Draw.Expected(27632)
		if i > 0 && (p.Choose.Rounds < before.Choose.Rounds || p.Choose.Answers(27632) < before.Choose.Answers(27632)) {
			t.Errorf("work of %v has %d rounds of %v records, less work %d of %v", work, p.Choose.Rounds, records, before.Choose.Rounds, before.Choose.Draw.Expected(27632))
		}
		if p.Choose.Rounds > 1 && records < 24 {
			t.Errorf("work of %v has %d rounds of %v records: fewer rounds of more would be better", work, p.Choose.Rounds, records)
		}
		if p.Choose.Work != work || p.Choose.Rounds > 25 {
			t.Errorf("work of %v: %+v", work, p.Choose)
		}
		before = p
	}
}

// TestPlainChoosingIsChecked: a plan that was changed after it was made is refused.
func TestPlainChoosingIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*plan.Plan)
		want   string
	}{
		"adjacency": {func(p *plan.Plan) { p.Adjacency = privacy.ReplaceOne }, "under replace-one adjacency"},
		"fixed size": {func(p *plan.Plan) {
			p.Choose.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 5, Of: 500}
		}, "under add-remove adjacency"},
		"disjoint": {func(p *plan.Plan) {
			p.Choose.Draw = scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 4}
		}, "a draw of its own"},
		"per text":        {func(p *plan.Plan) { p.Choose.Draw.Per = scheme.PerText }, "a draw of its own"},
		"no range":        {func(p *plan.Plan) { p.Choose.Range = 0 }, "positive range"},
		"a range below 0": {func(p *plan.Plan) { p.Choose.Range = -1 }, "positive range"},
		"no rounds":       {func(p *plan.Plan) { p.Choose.Rounds = 0 }, "at least one round"},
		"a rate above 1":  {func(p *plan.Plan) { p.Choose.Draw.Rate = 1.5 }, ""},
		"utility":         {func(p *plan.Plan) { p.Choose.Utility = choose.Written }, "hard or soft"},
		"no utility":      {func(p *plan.Plan) { p.Choose.Utility = "" }, "utility"},
		"no last range":   {func(p *plan.Plan) { p.Choose.Last.Range = 0 }, "the last round: a choice needs a positive range"},
		"two last rounds": {func(p *plan.Plan) { p.Choose.Last.Rounds = 2 }, "the last round is one"},
		"last utility":    {func(p *plan.Plan) { p.Choose.Last.Utility = choose.Soft }, "the last round is one"},
		"last adjacency": {func(p *plan.Plan) {
			p.Choose.Last.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 5, Of: 500}
		}, "the last round is one"},
		"no finalists":  {func(p *plan.Plan) { p.Choose.Last.Finalists = 0 }, "the last round is one"},
		"no sets":       {func(p *plan.Plan) { p.Choose.First = 0 }, "sets of examples"},
		"one set":       {func(p *plan.Plan) { p.Choose.Next = 1 }, "sets of examples"},
		"no examples":   {func(p *plan.Plan) { p.Choose.Shots = 0 }, "sets of examples"},
		"fewer at most": {func(p *plan.Plan) { p.Choose.MaxShots = p.Choose.Shots - 1 }, "sets of examples"},
		"measured under another adjacency": {func(p *plan.Plan) {
			p.Choose.Measure.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 5, Of: 500}
		}, "under the adjacency of the plan"},
		"measured twice": {func(p *plan.Plan) { p.Choose.Measure.Prompts = 2 }, "the chosen prompt is measured in the end"},
		"counted by other labels": {func(p *plan.Plan) {
			p.Choose.Measure = &measure.Measure{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.1}, Scale: 1, Prompts: 1, Grade: measure.Right, Labels: 3}
		}, "by 3 labels"},
		"real records": {func(p *plan.Plan) {
			copied(p, &decode.Real{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.9}})
		}, "a pool has to protect the records: the method real does not"},
		"no protection": {func(p *plan.Plan) {
			copied(p, &decode.NonPrivate{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.2, Prompts: 2, PerPrompt: 2}, Candidates: 10})
		}, "the method nonprivate does not"},
	} {
		t.Run(name, func(t *testing.T) {
			measuring := -1.
			if strings.HasPrefix(name, "measured") {
				measuring = 0
			}
			p := mustPlan(t, plan.Request{Task: builtin(t, "agnews"), Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: -1, Measuring: measuring, Rounds: 3, Last: 2, Records: 50}})
			c.change(&p)
			if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// copied has all parts of a plan written by a method.
func copied(p *plan.Plan, m decode.Method) {
	for i := range p.Parts {
		p.Parts[i].Method = decode.Settings{Method: m}
	}
}

// TestPlainChoosingRefuses: what cannot be planned is refused in words that help.
func TestPlainChoosingRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		r    plan.Request
		want string
	}{
		"no ε":          {plan.Request{Size: 5000, Choosing: byItself()}, "an ε above 0 is needed"},
		"all for texts": {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: 1}}, "the share of ε for writing"},
		"disjoint":      {plan.Request{Size: 5000, Epsilon: 1, Sampler: scheme.Disjoint, Choosing: byItself()}, "a draw of its own"},
		"utility":       {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Utility: choose.Written}}, "hard or soft"},
		"reading":       {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Reading: "loud"}}, "labels are read off"},
		"no pool":       {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{NoGeneration: true}}, "needs examples of your own"},
		"a bare share":  {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{NoGeneration: true, Writing: 0.5}}, "leave one out"},
		"a wrong label": {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Examples: []prompt.Example{{Input: "a", Output: "Nonsense"}}}}, "your own example 1"},
		"rounds":        {plan.Request{Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Rounds: -1}}, "choosing needs"},
		"counted":       {plan.Request{Count: true, Epsilon: 1, Sampler: scheme.FixedSize, Choosing: byItself()}, "poisson"},
	} {
		t.Run(name, func(t *testing.T) {
			c.r.Task = builtin(t, "agnews")
			_, err := plan.New(c.r)
			if input := new(plan.InputError); !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPlainChoosingProperties: of settings at random, every plan is within its ε and says the
// same as the request.
func TestPlainChoosingProperties(t *testing.T) {
	task := builtin(t, "agnews")
	ledgertest.Checks(t, 12)
	rapid.Check(t, func(rt *rapid.T) {
		c := byItself()
		c.Rounds = rapid.Int64Range(1, 30).Draw(rt, "rounds")
		c.Records = rapid.Int64Range(1, 2000).Draw(rt, "records")
		c.Reading = rapid.SampledFrom([]search.Reading{"", search.Raw, search.Calibrated}).Draw(rt, "reading")
		r := plan.Request{
			Task: task, Size: rapid.Int64Range(64, 200_000).Draw(rt, "size"), Epsilon: rapid.Float64Range(0.05, 8).Draw(rt, "ε"), Choosing: c,
			Sampler: rapid.SampledFrom([]scheme.Kind{"", scheme.Poisson, scheme.FixedSize}).Draw(rt, "sampler"),
		}
		p, err := plan.New(r)
		if err != nil {
			rt.Fatal(err)
		}
		ch := p.Choose
		expect.Equal(rt, "ch.Rounds", ch.Rounds, c.Rounds)
		expect.Max(rt, "ch.Draw.Expected(r.Size)", ch.Draw.Expected(r.Size), float64(min(c.Records, r.Size))*(1+1e-9))
		expect.Equal(rt, "ch.Reading", ch.Reading, c.Reading)
		costs, err := accountant.Auto{Tolerance: 0.01}.Epsilon(p.Event(), p.Adjacency, p.Delta)
		if err != nil || costs.Lower > p.Epsilon {
			rt.Errorf("%s costs %+v, asked was %v: %v", p.Event(), costs, p.Epsilon, err)
		}
	})
}

// TestPlainChoosingHasAll: all of ε chooses by default; model-generated texts are beside those from records,
// outputs that are written have wordings, and none of it costs.
func TestPlainChoosingHasAll(t *testing.T) {
	agnews, chats := builtin(t, "agnews"), builtin(t, "samsum")
	full := mustPlan(t, plan.Request{Task: agnews, Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: 0.5, Rounds: 1}})
	less := mustPlan(t, plan.Request{Task: agnews, Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: 0.5, Rounds: 1, Own: -1}})
	expect.True(t, "full.Choose.Own other than nil", full.Choose.Own != nil)
	expect.True(t, "full.Texts() above full.Shots", full.Texts() > full.Shots, full.Shots)
	expect.True(t, "no less.Choose.Own", less.Choose.Own == nil, less.Choose.Own)
	expect.Equal(t, "less.Texts()", less.Texts(), less.Shots)
	expect.Equal(t, "full.Event()", full.Event().String(), less.Event().String())
	if p := mustPlan(t, plan.Request{Task: agnews, Size: 27632, Epsilon: 1, Choosing: byItself()}); p.Choose.Own != nil || len(p.Choose.Instructions) > 0 {
		t.Errorf("%+v of a model-generated pool", p.Choose)
	}
	if p := mustPlan(t, plan.Request{Task: agnews, Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{Rounds: 1}}); p.WritesFromRecords() || p.Shots != plan.OwnPool {
		t.Errorf("by default %d texts are written, from records: %v", p.Shots, p.WritesFromRecords())
	}
	written := mustPlan(t, plan.Request{Task: chats, Size: 14732, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: -1, Rounds: 1, Instructions: []string{"Mine."}}})
	n := len(written.Choose.Instructions)
	expect.Equal(t, "n", n, 1+len(chats.Wordings("")))
	expect.Equal(t, "written.Choose.Shots", written.Choose.Shots, 1)
	expect.Min(t, "written.Choose.MaxShots", written.Choose.MaxShots, 4)
	own := mustPlan(t, plan.Request{Task: chats, Size: 14732, Epsilon: 1, Choosing: &plan.ChooseRequest{Writing: -1, Rounds: 1, OwnWords: true}})
	if len(own.Choose.Instructions) > 0 {
		t.Errorf("%v beside the task's own words", own.Choose.Instructions)
	}
}
