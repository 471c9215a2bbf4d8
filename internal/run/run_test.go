package run

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// finish carries a run out, and fails the test if it does not end well.
func (p *place) finish(t testing.TB, o Options) *Result {
	t.Helper()
	result, err := p.runner(o, osDisk{}).do(context.Background())
	must(t, err)
	return result
}

// notPrivate checks that every file says so, and that nobody signed.
func notPrivate(t testing.TB, result *Result) {
	t.Helper()
	files := tree(t, result.Dir)
	_, signed := files[certificate.FileName]
	at := expect.At(t, "a run without a guarantee has a certificate or a charge: %+v", result)
	expect.True(at, "not signed", !signed)
	expect.True(at, "not result.Certificate", !result.Certificate)
	expect.True(at, "not result.Private", !result.Private)
	expect.Equal(at, "result.Charge", result.Charge, "")
	for _, name := range append([]string{journalFile}, result.Files...) {
		if !strings.Contains(files[name], release.Mark) && !strings.Contains(files[name], "not_private") {
			t.Errorf("%s does not say %s", name, release.Mark)
		}
		if info, err := os.Stat(filepath.Join(result.Dir, name)); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s, which has no privacy guarantee: %v %v", name, info.Mode(), err)
		}
	}
}

// TestCertificate goes all the way with the real accountants and ledger, and verifies
// what comes out as anybody would.
func TestCertificate(t *testing.T) {
	p := newPlace(t)
	made := planFor(phrases(), &decode.NoisyMax{Draw: perToken(), Candidates: 10, Epsilon: 0.2})
	made.Epsilon = 0.33
	o := p.options(t, made, newHashModel())
	l, err := ledger.Open(t.Context(), filepath.Join(p.dir, "ledger.db"), ledger.Options{Create: true})
	must(t, err)
	defer l.Close()
	o.Env.Ledger = l
	result, err := Do(t.Context(), o)
	must(t, err)
	evaluator := &memo{of: accountant.Auto{}}
	verify := func() *certificate.Report {
		report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: evaluator, Strict: true})
		must(t, err)
		return report
	}
	report := verify()
	if !report.OK {
		t.Fatalf("the certificate does not hold: %+v", report.Failures())
	}
	c := report.Predicate
	at := expect.At(t, "the certificate")
	expect.Max(at, "c.Epsilon.Upper", c.Epsilon.Upper, 0.33)
	expect.Min(at, "c.Epsilon.Lower", c.Epsilon.Lower, 0.32)
	expect.Equal(at, "c.Epsilon.Upper", c.Epsilon.Upper, result.Guarantee.Epsilon.Upper)
	expect.Equal(at, "c.Ledger.Charge", c.Ledger.Charge, string(result.Charge))
	// Fifteen tokens, each with a draw of its own: by hand 15·0.2 at most, and more than one of them.
	at = expect.At(t, "of known draws")
	if c.Drawn == nil {
		at.Fatalf("c.Drawn: got none")
	}
	expect.Equal(at, "c.Drawn.Event", c.Drawn.Event, "repeat(15, pure(0.2))")
	expect.Within(at, "c.Drawn.Epsilon.Upper", c.Drawn.Epsilon.Upper, 2, 3.001)
	checkpoint, err := ledger.ParseCheckpoint(c.Ledger.Head)
	must(t, err)
	_, err = l.Check(t.Context(), ledger.CheckOptions{Checkpoints: []ledger.Checkpoint{checkpoint}})
	must(t, err)
	for name, content := range tree(t, o.Dir) {
		path := filepath.Join(o.Dir, name)
		must(t, os.WriteFile(path, []byte(strings.Replace(content, content[len(content)/2:len(content)/2+1], "\x01", 1)), 0o644))
		if verify().OK {
			t.Errorf("the certificate holds with a changed %s", name)
		}
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
	if !verify().OK {
		t.Error("the certificate does not hold with all bytes restored")
	}
	if _, err := Do(t.Context(), withDir(o, "second")); !errors.As(err, new(*ledger.RefusedError)) {
		t.Errorf("a second run on a budget for one: %v", err)
	}
}

func withDir(o Options, name string) Options {
	o.Dir = filepath.Join(filepath.Dir(o.Dir), name)
	return o
}

// TestEveryMethodAndScheme: each is charged and certified with the events of its plan.
func TestEveryMethodAndScheme(t *testing.T) {
	fixed := scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 4, Of: 40}
	disjoint := scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 4}
	for name, made := range map[string]plan.Plan{
		"clipped poisson":  planFor(tickets(), clipped()),
		"clipped open":     planFor(phrases(), clipped()),
		"clipped disjoint": planFor(tickets(), &decode.Clipped{Draw: disjoint, Expected: 5, Range: 1, Temperature: 1, Candidates: 10}),
		"clipped fixed":    planFor(phrases(), &decode.Clipped{Draw: fixed, Expected: 4, Range: 1, Temperature: 1, Candidates: 10}),
		"gaussian":         planFor(tickets(), gaussian()),
		"noisymax":         planFor(phrases(), &decode.NoisyMax{Draw: perToken(), Candidates: 10, Epsilon: 1}),
		"radius":           planFor(phrases(), &decode.Radius{Draw: perToken(), Candidates: 10, Sigma0: 10, Sigma1: 1, Sigma2: 3, Lambda: 0.2, Rounds: 1}),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, made, newHashModel())
			result := p.finish(t, o)
			got := charges(t, o)
			expect.Len(t, "charges", got, 1)
			expect.Equal(t, "got[0].Event", got[0].Event, made.Event().String())
			expect.Equal(t, "got[0].State", got[0].State, ledger.Committed)
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
			must(t, err)
			if !report.OK || !slices.Equal(report.Predicate.Events, []string{made.Event().String()}) {
				t.Errorf("the certificate: %+v, events %v", report.Failures(), report.Predicate.Events)
			}
			if len(result.Examples) != 3 || result.Examples[0].Input == "" {
				t.Errorf("examples %+v", result.Examples)
			}
			p.keepsSecrets(t, o.Dir)
		})
	}
}

// TestUsers: the unit of the plan is also that of the charge, of the certificate and of what
// people read.
func TestUsers(t *testing.T) {
	p := newPlace(t)
	made := planFor(phrases(), clipped())
	made.Unit = "user:who"
	o := p.options(t, made, newHashModel())
	result := p.finish(t, o)
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
	must(t, err)
	expect.True(t, "report.OK", report.OK)
	expect.Equal(t, "report.Predicate.Unit", report.Predicate.Unit, made.Unit)
	expect.Equal(t, "result.Guarantee.Unit", result.Guarantee.Unit, made.Unit)
	files := tree(t, o.Dir)
	for _, name := range []string{"README.md", "report.html"} {
		if !strings.Contains(html.UnescapeString(files[name]), release.Sentence(result.Guarantee)) || !strings.Contains(files[name], "who") {
			t.Errorf("%s does not say for whom the guarantee is", name)
		}
	}
}

// TestSeeded: a seed repeats a run, and nobody may take it for a private one.
func TestSeeded(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	seed := uint64(7)
	o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
	result := p.finish(t, o)
	notPrivate(t, result)
	again := p.finish(t, withDir(o, "again"))
	if !slices.Equal(result.Examples, again.Examples) {
		t.Errorf("the same seed wrote %v and %v", result.Examples, again.Examples)
	}
	other := uint64(8)
	o.Env.Seed = &other
	if different := p.finish(t, withDir(o, "other")); slices.Equal(result.Examples, different.Examples) {
		t.Errorf("another seed wrote the same %v", different.Examples)
	}
	o.Env.Ledger = p.ledger
	if got := charges(t, o); len(got) != 0 {
		t.Errorf("seeded runs are charged: %+v", got)
	}
}

// TestBaselines: methods without a guarantee run without ledger and signer, and say so.
func TestBaselines(t *testing.T) {
	for name, m := range map[string]decode.Method{
		"nonprivate": &decode.NonPrivate{Draw: perToken(), Candidates: 10},
		// Of 20 records none is drawn once in 1e20 times.
		"real": &decode.Real{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.9}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, planFor(tickets(), m), newHashModel())
			o.Env.Ledger, o.Env.Signer = nil, nil
			notPrivate(t, p.finish(t, o))
		})
	}
}

// TestPublic: who reads no record needs neither data nor budget, and may say ε = 0.
func TestPublic(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), &decode.Public{Temperature: 1, Candidates: 10}), newHashModel())
	o.Env.Ledger, o.Data = nil, nil
	result, err := Do(t.Context(), o)
	must(t, err)
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}, Strict: true})
	must(t, err)
	expect.True(t, "report.OK", report.OK, report.Failures())
	expect.Equal(t, "report.Predicate.Epsilon.Upper", report.Predicate.Epsilon.Upper, 0)
	expect.True(t, "no report.Predicate.Model", report.Predicate.Model == nil, report.Predicate.Model)
	expect.Equal(t, "result.Guarantee.Epsilon.Upper", result.Guarantee.Epsilon.Upper, 0)
}

// watchedLedger reports when a charge is asked for.
type watchedLedger struct {
	account.Ledger
	asked func()
}

func (b watchedLedger) Reserve(ctx context.Context, r ledger.ReserveRequest) (ledger.Charge, error) {
	b.asked()
	return b.Ledger.Reserve(ctx, r)
}

// TestRefused: a budget that is too small is left alone, and so is the folder: it is
// free for the same run, when there is more, and for another.
func TestRefused(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	fingerprint, err := fingerprintOf(o)
	must(t, err)
	_, err = p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Budget: ledger.Budget{Epsilon: 1, Delta: 1e-3}})
	must(t, err)
	key := filepath.Join(o.Dir, privateDir, keyFile)
	r := p.runner(o, osDisk{})
	r.exec.env.Ledger = watchedLedger{p.ledger, func() {
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key is not stored before the charge: %v %v", info, err)
		}
	}}
	_, err = r.do(t.Context())
	refused := expect.As[*ledger.RefusedError](t, err)
	expect.Equal(t, "refused.Needed", refused.Needed, 2)
	expect.Len(t, "charges", charges(t, o), 0)
	if _, err := os.Lstat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that was refused leaves a folder: %v", err)
	}
	other := o
	other.Plan.Tokens++
	if _, err = p.runner(other, osDisk{}).do(t.Context()); !errors.As(err, &refused) {
		t.Errorf("another plan in the folder of a refused run: %v", err)
	}
	_, err = p.ledger.Grant(t.Context(), ledger.GrantRequest{Dataset: string(fingerprint), Epsilon: 1, Reason: "test"})
	must(t, err)
	if result := p.finish(t, o); result.Resumed || len(charges(t, o)) != 1 {
		t.Errorf("after a grant: %+v", result)
	}
}

// TestImplicitBudget: the first use of a data set makes a budget and says so; a name that
// other data has is not taken over.
func TestImplicitBudget(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	var seen []env.Progress
	o.Env.Observe = func(e env.Progress) { seen = append(seen, e) }
	p.finish(t, o)
	if !slices.ContainsFunc(seen, func(e env.Progress) bool { return e.Kind == env.Budgeted && strings.Contains(e.Message, "tickets") }) {
		t.Errorf("the budget was not reported: %+v", seen)
	}
	d, err := p.ledger.Balance(t.Context(), "tickets")
	must(t, err)
	b := d.Budgets[0]
	at := expect.At(t, "the budget")
	expect.Equal(at, "b.Epsilon", b.Epsilon, 100)
	expect.Equal(at, "b.Delta", b.Delta, 1e-3)
	expect.Equal(at, "b.Spent", b.Spent, 2)
	// A row more is the same data set: what is left of its budget counts.
	p.writeData(t, 21)
	changed := p.options(t, o.Plan, newHashModel())
	changed.Dir += "2"
	seen = nil
	changed.Env.Observe = func(e env.Progress) { seen = append(seen, e) }
	r := p.runner(changed, osDisk{})
	r.engine.name = func() string { return "OTHER" }
	result, err := r.do(t.Context())
	must(t, err)
	if !slices.ContainsFunc(seen, func(e env.Progress) bool {
		return strings.Contains(e.Message, `this is data set "tickets", saved anew`)
	}) {
		t.Errorf("it was not reported that the data is known: %+v", seen)
	}
	if slices.ContainsFunc(result.Warnings, func(w string) bool { return strings.Contains(w, "new rows") }) {
		t.Errorf("the result, which is kept, has numbers of records: %q", result.Warnings)
	}
	if d, err := p.ledger.Balance(t.Context(), "tickets"); err != nil || d.Budgets[0].Spent != 4 {
		t.Errorf("%+v, %v", d.Budgets, err)
	}
	// Other data does not take over the name.
	lines, err := os.ReadFile(p.data)
	must(t, err)
	must(t, os.WriteFile(p.data, []byte(strings.ReplaceAll(string(lines), marker, marker+" else")), 0o600))
	other := p.options(t, o.Plan, newHashModel())
	other.Dir += "3"
	r = p.runner(other, osDisk{})
	r.engine.name = func() string { return "THIRD" }
	_, err = r.do(t.Context())
	if !errors.As(err, new(*ledger.ExistsError)) || !strings.Contains(err.Error(), "name") {
		t.Errorf("other data under the name: %v", err)
	}
}

// TestFilter: under an adaptive budget, steps that texts did not need are handed back;
// the certificate keeps to the worst case.
func TestFilter(t *testing.T) {
	for _, composition := range []ledger.Composition{ledger.Adaptive, ledger.Sums} {
		p := newPlace(t)
		made := planFor(phrases(), &decode.Gaussian{Draw: perToken(), Candidates: 2, Sigma: 1})
		made.Tokens = 30
		m := newHashModel()
		m.ends = true // the chance that no text ends in 90 steps is below 1e-9
		o := p.options(t, made, m)
		fingerprint, err := fingerprintOf(o)
		must(t, err)
		_, err = p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Budget: ledger.Budget{Epsilon: 100, Delta: 1e-3, Composition: composition}})
		must(t, err)
		r := p.runner(o, osDisk{})
		result, err := r.do(t.Context())
		must(t, err)
		steps := r.exec.progress.steps(r.plan.Shots)
		if steps >= 90 || steps < 3 {
			t.Fatalf("the texts have %d tokens, so that nothing is tested", steps)
		}
		want := ledger.Epsilon(90)
		if composition == ledger.Adaptive {
			want = ledger.Epsilon(steps)
		}
		d, err := p.ledger.Balance(t.Context(), string(fingerprint))
		must(t, err)
		if d.Budgets[0].Spent != want {
			t.Errorf("%s: %v of 90 steps are charged, %d were taken", composition, d.Budgets[0].Spent, steps)
		}
		if result.Event.String() != made.Event().String() {
			t.Errorf("%s: the guarantee is of %s", composition, result.Event)
		}
	}
}

// TestParallel: what is written does not depend on how many texts are written at once.
func TestParallel(t *testing.T) {
	p := newPlace(t)
	want, _ := p.reference(t)
	for _, n := range []int{2, 3, 8} {
		q := p.fresh(t)
		o := q.options(t, planFor(tickets(), clipped()), newHashModel())
		o.Parallel = n
		q.finish(t, o)
		if got := outcome(t, o.Dir); got["demos.jsonl"] != want["demos.jsonl"] || got["report.html"] != want["report.html"] {
			t.Errorf("%d at once write\n%s\nnot\n%s", n, got["demos.jsonl"], want["demos.jsonl"])
		}
	}
}

// TestCautions: what weakens a guarantee is reported.
func TestCautions(t *testing.T) {
	p := newPlace(t)
	made := planFor(tickets(), clipped())
	made.Delta = 0.1
	o := p.options(t, made, restless())
	o.Env.ModelName = "called otherwise"
	result := p.finish(t, o)
	all := strings.Join(result.Warnings, "\n")
	if !strings.Contains(all, "1/40") || !strings.Contains(all, "nobody else uses the server") {
		t.Errorf("warnings %q", result.Warnings)
	}
	o.Env.ModelName = "and again"
	if !p.finish(t, o).Finished {
		t.Error("the same weights under another name are another model")
	}
	if !strings.Contains(tree(t, o.Dir)["report.html"], "called otherwise") {
		t.Error("the report does not name the model")
	}
}

// TestEventsAreJSON: front ends print them as they are.
func TestEventsAreJSON(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	var kinds []string
	o.Env.Observe = func(e env.Progress) {
		data, err := json.Marshal(e)
		must(t, err)
		if strings.Contains(string(data), marker) {
			t.Errorf("%s holds content of a record", data)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != string(e.Kind) {
			kinds = append(kinds, string(e.Kind))
		}
	}
	p.finish(t, o)
	if got := strings.Join(kinds, " "); got != "budget reserved token text token text token text written committed certified completed" {
		t.Errorf("events %s", got)
	}
}
