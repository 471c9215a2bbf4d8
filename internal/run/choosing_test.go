package run

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

func public() decode.Method { return &decode.Public{Temperature: 1, Candidates: 10} }

// choosingPlan has the records choose from what a method writes, in three rounds: sets at
// random, variations, and in a last one, with settings of its own, the winners once more.
func choosingPlan(task prompt.Task, m decode.Method) plan.Plan {
	p := planFor(task, m)
	p.Choose = &plan.Choose{
		Choice: choose.Choice{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.2}, Rounds: 2, Range: 1, Utility: choose.Hard},
		Last: &plan.Last{
			Choice:    choose.Choice{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.4}, Rounds: 1, Range: 1.5, Utility: choose.Hard},
			Finalists: 2,
		},
		First: 3, Next: 2, ExplorationRounds: 1, Shots: 1, MaxShots: 2, Work: 1,
		Measure: &measure.Measure{Draw: perText(), Scale: 2, Prompts: 1, Grade: measure.Right},
	}
	return p
}

// newChoosingPlace is a place of runs in which records choose.
func newChoosingPlace(t testing.TB) *place {
	p := newPlace(t)
	made := choosingPlan(tickets(), public())
	p.made = &made
	return p
}

// winnersOf returns the winners in a folder's journal, which has to be one.
func winnersOf(t testing.TB, dir string) (winners []search.Point, lost int) {
	t.Helper()
	entries, _, err := readJournal(filepath.Join(dir, journalFile))
	must(t, err)
	state, err := fold(entries)
	must(t, err)
	for _, e := range entries {
		if e.Lost {
			lost++
		}
	}
	return state.winners, lost
}

// TestChoosing: a run in which records choose is charged once, with the event of its plan,
// and what it releases is the last winner.
func TestChoosing(t *testing.T) {
	p := newChoosingPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	var seen []env.Progress
	o.Env.Observe = func(e env.Progress) { seen = append(seen, e) }
	result := p.finish(t, o)
	winners, _ := winnersOf(t, o.Dir)
	if len(winners) != 3 {
		t.Fatalf("%d winners of three rounds", len(winners))
	}
	r := p.runner(o, osDisk{})
	again, err := r.do(t.Context())
	must(t, err)
	want := r.space().Prompt(winners[2])
	at := expect.At(t, "the result")
	expect.True(at, "again.Finished", again.Finished)
	if result.Prompt == nil {
		at.Fatalf("result.Prompt: got none")
	}
	expect.True(at, "result.Prompt equal to want", reflect.DeepEqual(*result.Prompt, want), *result.Prompt, want)
	expect.True(at, "again.Prompt equal to result.Prompt", reflect.DeepEqual(again.Prompt, result.Prompt), again.Prompt, result.Prompt)
	if len(result.Examples) != len(want.Examples) {
		t.Errorf("%d examples of a prompt that has %d", len(result.Examples), len(want.Examples))
	}
	got := charges(t, o)
	expect.Len(t, "charges", got, 1)
	expect.Equal(t, "got[0].Event", got[0].Event, o.Plan.Event().String())
	expect.Contains(t, "got[0].Event", got[0].Event, "boundedrange")
	charged := slices.IndexFunc(seen, func(e env.Progress) bool { return e.Kind == env.Reserved })
	judged := slices.IndexFunc(seen, func(e env.Progress) bool { return e.Kind == env.Judged })
	if charged < 0 || judged < charged {
		t.Errorf("charged at %d, and records were read at %d", charged, judged)
	}
	p.keepsSecrets(t, o.Dir)
}

// TestChoosingIsCertified goes all the way with the real accountants and ledger.
func TestChoosingIsCertified(t *testing.T) {
	p := newChoosingPlace(t)
	made := p.plan()
	costs, err := accountant.Auto{}.Epsilon(made.Event(), made.Adjacency, made.Delta)
	must(t, err)
	made.Epsilon = 1.01 * costs.Upper
	o := p.options(t, made, newHashModel())
	l, err := ledger.Open(t.Context(), filepath.Join(p.dir, "ledger.db"), ledger.Options{Create: true})
	must(t, err)
	defer l.Close()
	o.Env.Ledger = l
	result, err := Do(t.Context(), o)
	must(t, err)
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}, Strict: true})
	must(t, err)
	if !report.OK {
		t.Fatalf("the certificate does not hold: %+v", report.Failures())
	}
	c := report.Predicate
	if !slices.Equal(c.Events, []string{made.Event().String()}) || !slices.Contains(c.Samplers, certificate.Sampler(made.Choose.Draw.Kind)) {
		t.Errorf("events %v, samplers %v", c.Events, c.Samplers)
	}
	at := expect.At(t, "the certificate")
	expect.Equal(at, "c.Method", c.Method, "choose")
	if c.Model == nil {
		at.Fatalf("c.Model: got none")
	}
	expect.Equal(at, "c.Model.Name", c.Model.Name, "hash")
	expect.Equal(at, "c.Adjacency", c.Adjacency, privacy.AddRemove)
	expect.Equal(at, "c.Epsilon.Upper", c.Epsilon.Upper, result.Guarantee.Epsilon.Upper)
	expect.Max(at, "c.Epsilon.Upper", c.Epsilon.Upper, made.Epsilon)
	at = expect.At(t, "of known draws")
	if c.Drawn == nil {
		at.Fatalf("c.Drawn: got none")
	}
	expect.Equal(at, "c.Drawn.Event", c.Drawn.Event, privacy.Unsampled(made.Event()).String())
	if result.Drawn == nil {
		at.Fatalf("result.Drawn: got none")
	}
	expect.Equal(at, "c.Drawn.Epsilon.Upper", c.Drawn.Epsilon.Upper, result.Drawn.Epsilon.Upper)
	if len(c.Sizes) != 2 || c.Sizes[0].Records != 20 {
		t.Errorf("sizes %v", c.Sizes)
	}
	// The budget was for one run.
	m := newHashModel()
	second := withDir(o, "second")
	second.Env.Model = m.trusted()
	if _, err := Do(t.Context(), second); !errors.As(err, new(*ledger.RefusedError)) {
		t.Errorf("a second run on a budget for one: %v", err)
	}
	if left, err := os.ReadDir(second.Dir); m.steps != 0 || err == nil && len(left) != 0 {
		t.Errorf("a run that was refused asked the model %d times and left %v", m.steps, left)
	}
}

// TestCoveredRound: a round that ran otherwise than the plan pays for is not released. Each
// case changes what the run is to pay for, or what the round says that it did.
func TestCoveredRound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*runner)
		at     int64
	}{
		"a larger rate":  {change: func(r *runner) { r.plan.Choose.Draw.Rate = 0.1 }},
		"a larger range": {change: func(r *runner) { r.plan.Choose.Range = 0.5 }},
		"another adjacency": {change: func(r *runner) {
			r.plan.Choose.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 8, Of: 40}
		}},
		"a round too many":    {change: func(*runner) {}, at: 3},
		"fewer rounds":        {change: func(r *runner) { r.plan.Choose.Rounds, r.plan.Choose.Last = 2, nil }, at: 2},
		"another last round":  {change: func(*runner) {}, at: 2},
		"smaller counts only": {change: func(r *runner) { r.exec.progress.sizes = []int64{400, 400} }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newChoosingPlace(t)
			r := p.runner(p.options(t, p.plan(), newHashModel()), osDisk{})
			_, err := r.do(t.Context())
			must(t, err)
			ran := choose.Outcome{Event: privacy.Canonical(r.plan.Choose.Draw.Event(r.plan.Choose.Step(), 1))}
			if err := r.coveredRound(0, ran); err != nil {
				t.Errorf("before the change: %v", err)
			}
			last := choose.Outcome{Event: r.plan.Choose.Last.Event()}
			if err := r.coveredRound(2, last); err != nil {
				t.Errorf("the last round: %v", err)
			}
			for _, at := range []int64{0, 1, 3} {
				if r.coveredRound(at, last) == nil {
					t.Errorf("what the last round costs is released as round %d", at+1)
				}
			}
			c.change(r.runner)
			if err := r.coveredRound(c.at, ran); err == nil {
				t.Errorf("%s is released", name)
			}
		})
	}
}

// TestLastRoundDraws: the last round has a draw of its own, which none of the rounds before it had, though it
// is counted from 0 like the first; what the model does shows who was asked.
func TestLastRoundDraws(t *testing.T) {
	p := newChoosingPlace(t)
	r := p.runner(p.options(t, p.plan(), newHashModel()), osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	r.exec.key = noise.KeyFromSeed(5) // that of the run is gone
	prompts := r.space().Prompts([]search.Point{{}, {Set: []int{0}}})
	var asked [3][]int64
	for _, rate := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} {
		r.plan.Choose.Draw.Rate, r.plan.Choose.Last.Draw.Rate = rate, rate
		for i, at := range []struct {
			last  bool
			round int64
		}{{false, 0}, {false, 1}, {true, 0}} {
			c, err := r.chooser(t.Context(), at.last)
			must(t, err)
			before := r.reader.usage.Computed
			_, err = c.Round(t.Context(), at.round, prompts)
			must(t, err)
			asked[i] = append(asked[i], r.reader.usage.Computed-before)
		}
	}
	if len(asked[0]) == 0 || asked[0][8] == 0 {
		t.Fatal("the model was not asked")
	}
	for i := range 2 {
		if slices.Equal(asked[i], asked[2]) {
			t.Errorf("the last round asks what round %d asked: %v", i+1, asked[2])
		}
	}
}

// TestPlantedRound: a run whose rounds cost something else than it was charged for ends
// before a winner is in its journal.
func TestPlantedRound(t *testing.T) {
	p := newChoosingPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	r := p.runner(o, osDisk{})
	r.exec.env.Observe = func(e env.Progress) {
		if e.Kind == env.Judged {
			r.plan.Choose.Range = 0.5 // as if that was charged, and not what runs
		}
	}
	_, err := r.do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "which the plan does not pay for") {
		t.Fatalf("a round that is not paid for: %v", err)
	}
	if winners, _ := winnersOf(t, o.Dir); len(winners) != 0 {
		t.Errorf("its winner is released: %+v", winners)
	}
}

// TestRoundRates: counted sizes make rates smaller, and never larger.
func TestRoundRates(t *testing.T) {
	p := newChoosingPlace(t)
	r := p.runner(p.options(t, p.plan(), newHashModel()), osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	sampling := r.plan.Choose.Draw
	for _, c := range []struct {
		counted []int64
		want    float64
	}{{nil, 0.2}, {[]int64{20, 20}, 0.2}, {[]int64{1, 0}, 0.2}, {[]int64{40, 40}, 0.1}, {[]int64{80}, 0.1}} {
		r.exec.progress.sizes = c.counted
		if got := r.rate(sampling).Rate; got != c.want {
			t.Errorf("counted %v: a rate of %v, want %v", c.counted, got, c.want)
		}
	}
}

// TestChoosingCounts: a run that counts first draws no more often than it is charged for.
func TestChoosingCounts(t *testing.T) {
	p := newPlace(t)
	made := choosingPlan(tickets(), public())
	made.Count = &plan.Count{Epsilon: 10, MinSize: 5}
	for i := range made.Parts {
		made.Parts[i].Size = 5
	}
	o := p.options(t, made, newHashModel())
	r := p.runner(o, osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	expect.Min(t, "number of r.exec.progress.sizes", len(r.exec.progress.sizes), 1)
	expect.Min(t, "r.units()", r.units(), 30)
	rate := r.rate(made.Choose.Draw).Rate
	expect.True(t, "a rate below 0.1", rate < 0.1, rate)
	if got := charges(t, o); len(got) != 1 || got[0].Event != made.Event().String() {
		t.Errorf("charged %+v", got)
	}
	p.keepsSecrets(t, o.Dir)
}

// TestChoosingKinds: ways to draw, units and pools, each with its charge and certificate.
func TestChoosingKinds(t *testing.T) {
	plain := func() plan.Plan { return choosingPlan(tickets(), public()) }
	fixed := plain()
	fixed.Adjacency = privacy.ReplaceOne
	fixed.Choose.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 8, Of: 40}
	fixed.Choose.Last.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 20, Of: 40}
	fixed.Choose.Measure.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 8, Of: 40}
	users := plain()
	users.Unit = "user:who"
	soft := plain()
	soft.Choose.Utility, soft.Choose.Last.Utility = choose.Soft, choose.Soft
	without := plain()
	without.Choose.Rounds, without.Choose.Last = 3, nil
	own := plain()
	own.Shots, own.Choose.Examples = 0, []prompt.Example{{Input: "one", Output: "red"}, {Input: "two", Output: "blue"}}
	instructed := plain()
	instructed.Choose.Instructions = []string{"Say red or blue."}
	for name, c := range map[string]struct {
		made   plan.Plan
		method string
	}{
		"fixed size":         {fixed, "choose"},
		"users":              {users, "choose"},
		"soft":               {soft, "choose"},
		"no last round":      {without, "choose"},
		"own examples alone": {own, "choose"},
		"instructions":       {instructed, "choose"},
		"open labels":        {choosingPlan(phrases(), public()), "choose"},
		"paid texts":         {choosingPlan(tickets(), clipped()), "clipped, choose"},
		"paid, open labels":  {choosingPlan(phrases(), gaussian()), "gaussian, choose"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			m := newHashModel()
			o := p.options(t, c.made, m)
			result := p.finish(t, o)
			got := charges(t, o)
			expect.Len(t, "charges", got, 1)
			expect.Equal(t, "got[0].Event", got[0].Event, c.made.Event().String())
			expect.Equal(t, "got[0].State", got[0].State, ledger.Committed)
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
			must(t, err)
			at := expect.At(t, "the certificate")
			expect.True(at, "report.OK", report.OK, report.Failures())
			expect.Equal(at, "report.Predicate.Method", report.Predicate.Method, c.method)
			expect.Equal(at, "report.Predicate.Adjacency", report.Predicate.Adjacency, c.made.Adjacency)
			expect.Equal(at, "report.Predicate.Unit", report.Predicate.Unit, c.made.Unit)
			winners, _ := winnersOf(t, o.Dir)
			expect.Len(t, "winners", winners, 3)
			if result.Prompt == nil {
				t.Fatalf("result.Prompt: got none")
			}
			expect.NoError(t, result.Prompt.Check(c.made.Task))
			p.keepsSecrets(t, o.Dir)
		})
	}
}

// TestChoosingSeeded: a seed repeats the winners, and nobody may take it for a private run.
func TestChoosingSeeded(t *testing.T) {
	p := newChoosingPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	seed := uint64(7)
	o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
	result := p.finish(t, o)
	notPrivate(t, result)
	p.finish(t, withDir(o, "again"))
	one, _ := winnersOf(t, o.Dir)
	two, _ := winnersOf(t, withDir(o, "again").Dir)
	if !reflect.DeepEqual(one, two) {
		t.Errorf("the same seed chose %v and %v", one, two)
	}
}

// TestNoExamplesChosen: the prompt without examples is a candidate, and where it wins the
// files say so and can be used.
func TestNoExamplesChosen(t *testing.T) {
	p := newChoosingPlace(t)
	made := p.plan()
	made.Choose.Rounds, made.Choose.Last = 1, nil
	m := newHashModel()
	o := p.options(t, made, m)
	stop := errors.New("stop")
	r := p.runner(o, osDisk{})
	m.fail = func(int) error {
		if r.exec.progress != nil && r.exec.progress.done() == 3 {
			return stop
		}
		return nil
	}
	if _, err := r.do(t.Context()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	appendEntry(t, o.Dir, entry{State: won, Round: 1, Point: &search.Point{Calibrated: true}})
	m.fail = nil
	result := p.finish(t, o)
	if result.Prompt == nil {
		t.Fatalf("result.Prompt: got none")
	}
	expect.Len(t, "result.Prompt.Examples", result.Prompt.Examples, 0)
	expect.Len(t, "result.Examples", result.Examples, 0)
	files := tree(t, o.Dir)
	if got, want := files["prompt.txt"], "Sort the tickets.\n"; got != want {
		t.Errorf("prompt.txt is %q, want %q", got, want)
	}
	for _, name := range []string{"demos.jsonl", "finetune.jsonl"} {
		if content, there := files[name]; there {
			t.Errorf("%s was written, with %q", name, content)
		}
		if strings.Contains(files["README.md"], "`"+name+"`") || strings.Contains(files["report.html"], name) {
			t.Errorf("%s is listed, and not there", name)
		}
	}
	for name, words := range map[string][]string{
		"README.md":   {"a prompt without examples", "An instruction and no examples: private records chose it", "Sort the tickets.", "calibrated: ", "**Nothing was gained from examples: the records chose a prompt without any"},
		"prompt.json": {`"nothing_gained": {`, `"over": "no_examples"`},
		"report.html": {"Nothing was gained from examples", "There are no examples: the records chose the instruction alone.", "Sort the tickets."},
		"chat.json":   {`"content": "Sort the tickets."`}, "dspy.json": {`"demos": []`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range words {
				if !strings.Contains(files[name], w) {
					t.Errorf("%s does not say %q:\n%s", name, w, files[name])
				}
			}
		})
	}
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
	must(t, err)
	if !report.OK {
		t.Errorf("%+v", report.Failures())
	}
}
