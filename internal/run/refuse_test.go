package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// interrupt leaves a run with one text of three.
func (p *place) interrupt(t *testing.T, o Options) {
	t.Helper()
	released := 0
	stop := errors.New("enough")
	m := o.Env.Model.Public().(*hashModel)
	o.Env.Observe = func(e env.Progress) {
		if e.Kind == env.Released {
			released++
		}
	}
	m.fail = func(int) error {
		if released > 0 {
			return stop
		}
		return nil
	}
	if _, err := p.runner(o, osDisk{}).do(t.Context()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	m.fail = nil
}

// TestOtherRuns: a folder continues with what it began with, and nothing else; what is
// refused changes nothing.
func TestOtherRuns(t *testing.T) {
	seed := uint64(1)
	for _, c := range []struct {
		name   string
		change func(*testing.T, *place, *Options)
		want   string
	}{
		{"plan", func(_ *testing.T, _ *place, o *Options) { o.Plan.Tokens++ }, "another plan"},
		{"method", func(_ *testing.T, _ *place, o *Options) { o.Plan = planFor(tickets(), gaussian()) }, "another plan"},
		{"data", func(t *testing.T, p *place, o *Options) {
			p.writeData(t, 21)
			o.Data = p.open(t, o.Plan)
		}, "data is not what"},
		{"weights", func(_ *testing.T, _ *place, o *Options) {
			m := newHashModel()
			m.info.Fingerprint = "sha256:4567"
			o.Env.Model = m.trusted()
		}, "model"},
		{"promises of the model", func(_ *testing.T, _ *place, o *Options) { o.Env.Model = restless().trusted() }, "model"},
		{"version", func(_ *testing.T, _ *place, o *Options) { o.Env.Version = "next" }, "version"},
		{"seed", func(_ *testing.T, _ *place, o *Options) { o.Env.Seed = &seed }, "seed"},
		{"labels", func(_ *testing.T, _ *place, o *Options) { o.Env.Labels = map[string]string{"team": "risk"} }, "labels"},
		{"ledger", func(t *testing.T, _ *place, o *Options) {
			o.Env.Ledger = memoryLedger(t)
			sum := o.Data.Fingerprint()
			f, err := ledger.NewFingerprint(sum[:])
			must(t, err)
			_, err = o.Env.Ledger.Init(t.Context(), ledger.InitRequest{Dataset: f, Budget: ledger.Budget{Epsilon: 100}})
			must(t, err)
		}, "another ledger"},
		{"forfeited", func(t *testing.T, _ *place, o *Options) {
			_, err := o.Env.Ledger.Forfeit(t.Context(), ledger.ForfeitRequest{Charge: charges(t, *o)[0].ID, Reason: "test"})
			must(t, err)
		}, "forfeited"},
		{"key gone", func(t *testing.T, _ *place, o *Options) {
			must(t, os.Remove(filepath.Join(o.Dir, privateDir, keyFile)))
		}, "key is gone"},
		{"private part gone", func(t *testing.T, _ *place, o *Options) {
			must(t, os.RemoveAll(filepath.Join(o.Dir, privateDir)))
		}, "key is gone"},
		{"key damaged", func(t *testing.T, _ *place, o *Options) {
			must(t, os.WriteFile(filepath.Join(o.Dir, privateDir, keyFile), []byte("x"), 0o600))
		}, "not an exported noise key"},
		{"key of a seed", func(t *testing.T, _ *place, o *Options) {
			known := noise.KeyFromSeed(1)
			data, err := known.Export()
			must(t, err)
			must(t, os.WriteFile(filepath.Join(o.Dir, privateDir, keyFile), data, 0o600))
		}, "made from a seed"},
		{"private part open", func(t *testing.T, _ *place, o *Options) {
			must(t, os.Chmod(filepath.Join(o.Dir, privateDir), 0o755))
		}, "chmod 700"},
		{"journal damaged", func(t *testing.T, _ *place, o *Options) {
			name := filepath.Join(o.Dir, journalFile)
			data, err := os.ReadFile(name)
			must(t, err)
			must(t, os.WriteFile(name, []byte(strings.Replace(string(data), `"test"`, `"best"`, 1)), 0o644))
		}, "damaged"},
		{"format", func(t *testing.T, _ *place, o *Options) {
			text, _, err := line(entry{State: planned, Header: &header{Format: format + 1, Version: "future"}}, "")
			must(t, err)
			must(t, os.WriteFile(filepath.Join(o.Dir, journalFile), text, 0o644))
		}, "future"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, planFor(tickets(), clipped()), newHashModel())
			p.interrupt(t, o)
			changed := o
			c.change(t, p, &changed)
			before := outcome(t, o.Dir)
			_, err := p.runner(changed, osDisk{}).do(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want an error about %q", err, c.want)
			}
			for name, content := range outcome(t, o.Dir) {
				if old, known := before[name]; known && old != content {
					t.Errorf("%s was changed by a run that was refused", name)
				}
			}
			if got := charges(t, o); len(got) != 1 {
				t.Errorf("charges %+v", got)
			}
		})
	}
}

// TestUnusableFolders: what is not a run's folder is left alone.
func TestUnusableFolders(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"file", func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o644)) }, "not a folder"},
		{"other files", func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644))
		}, "thesis.tex"},
		{"link", func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.Symlink(t.TempDir(), filepath.Join(dir, privateDir)))
		}, "not a folder"},
		{"above is a file", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Dir(dir)))
			must(t, os.WriteFile(filepath.Dir(dir), nil, 0o644))
		}, "can be written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, planFor(tickets(), clipped()), newHashModel())
			o.Dir = filepath.Join(t.TempDir(), "above", "out")
			must(t, os.Mkdir(filepath.Dir(o.Dir), 0o755))
			c.make(t, o.Dir)
			_, err := p.runner(o, osDisk{}).do(t.Context())
			expect.Contains(t, "error", fmt.Sprint(err), c.want)
			expect.Len(t, "charges", charges(t, o), 0)
		})
	}
}

// TestWrongOptions: what cannot be carried out is refused before anything is written.
func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no folder", func(o *Options) { o.Dir = "" }, "folder"},
		{"no version", func(o *Options) { o.Env.Version = "" }, "version"},
		{"no plan", func(o *Options) { o.Plan = plan.Plan{} }, "plan"},
		{"no model", func(o *Options) { o.Env.Model = lm.TrustedScorer{} }, "model"},
		{"no data", func(o *Options) { o.Data = nil }, "no data"},
		{"no ledger", func(o *Options) { o.Env.Ledger = nil }, "ledger"},
		{"no signer", func(o *Options) { o.Env.Signer = nil }, "sign"},
		{"other unit", func(o *Options) { o.Plan.Unit = "user:who" }, "unit"},
		{"other labels", func(o *Options) { o.Plan.Parts[0].Label = "green" }, "labels"},
		{"counts of exchanged units", func(o *Options) {
			fixed := *clipped().(*decode.Clipped)
			fixed.Draw.Kind, fixed.Draw.Take, fixed.Draw.Of = "fixed-size", 4, 40
			o.Plan = planFor(phrases(), &fixed)
			o.Plan.Discover = &plan.Discover{Epsilon: 1, Delta: 1e-6, MaxLabels: 5}
		}, string(privacy.AddRemove)},
		{"one column", func(o *Options) { o.Plan.Task.Text = o.Plan.Task.Label }, "rename them"},
		{"no guarantee to sign", func(o *Options) { o.Plan.Delta = 2 }, "δ"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, planFor(tickets(), clipped()), newHashModel())
			dir := o.Dir
			c.change(&o)
			_, err := p.runner(o, osDisk{}).do(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error about %q", err, c.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a folder was made")
			}
		})
	}
}

// TestBudgetOfAnotherKind: a charge that the data set's budgets cannot hold is no run
// that continues.
func TestBudgetOfAnotherKind(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), newHashModel())
	fingerprint, err := fingerprintOf(o)
	must(t, err)
	_, err = p.ledger.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Budget: ledger.Budget{Epsilon: 9, Delta: 1e-3, Unit: "user:who"}})
	must(t, err)
	_, err = p.runner(o, osDisk{}).do(t.Context())
	var stopped *InterruptedError
	expect.True(t, "no *InterruptedError", !errors.As(err, &stopped), err)
	expect.Contains(t, "error", fmt.Sprint(err), "--unit")
	expect.Len(t, "charges", charges(t, o), 0)
}

// TestContextThatIsTooShort is found before anything is charged or written.
func TestContextThatIsTooShort(t *testing.T) {
	p := newPlace(t)
	of := planFor(tickets(), clipped())
	shape, err := plan.ShapeOf(t.Context(), byteTokens{}, of.Task, of.Task.Labels[:1])
	must(t, err)
	longest := shape.Instruction + int(shape.Head+shape.Record) + of.Tokens
	for _, room := range []int{longest - 10, longest + 10} {
		fits := room > longest
		m := newHashModel()
		m.info.Context = room
		o := p.options(t, of, m)
		_, err := p.runner(o, osDisk{}).do(t.Context())
		var input *plan.InputError
		if fits && err != nil || !fits && (!errors.As(err, &input) || !strings.Contains(err.Error(), "context")) {
			t.Errorf("with a context of %d: %v", room, err)
		}
		if _, err := os.Stat(o.Dir); !fits && err == nil {
			t.Error("a folder was made")
		}
	}
}

// TestMemoryThatIsTooSmall is found before anything is charged or written, from what is
// public: the sizes of the plan, not who is drawn.
func TestMemoryThatIsTooSmall(t *testing.T) {
	p := newPlace(t)
	of := planFor(tickets(), clipped())
	shape, err := plan.ShapeOf(t.Context(), byteTokens{}, of.Task, of.Task.Labels[:1])
	must(t, err)
	const perToken = 1000
	// At the least, one sequence for each prompt that is expected.
	minimum := int64(of.Parts[0].Prompts()*(shape.Head+shape.Record+float64(of.Tokens))) * perToken
	for _, free := range []int64{minimum, 100 * minimum, 0} {
		m := newHashModel()
		m.perToken = perToken
		o := p.options(t, of, m)
		r := p.runner(o, osDisk{})
		r.free = func() int64 { return free }
		_, err := r.do(t.Context())
		at := expect.At(t, "with %d bytes free", free)
		if free != minimum {
			expect.NoError(at, err)
		} else {
			memory := expect.As[*lm.MemoryError](at, err)
			expect.Min(at, "memory.Need", memory.Need, free+1)
			expect.Contains(at, "err", err.Error(), "nothing was charged")
		}
		if _, err := os.Stat(o.Dir); free == minimum && err == nil {
			t.Error("a folder was made")
		}
	}
}

// TestMemoryOfJudges: so is that of records which choose or measure, apart from that of
// texts.
func TestMemoryOfJudges(t *testing.T) {
	const perToken = 1000
	refused := func(err error, what string) int64 {
		t.Helper()
		at := expect.At(t, "with a byte free")
		memory := expect.As[*lm.MemoryError](at, err)
		expect.Equal(at, "memory.What", memory.What, what)
		expect.Contains(at, "error", fmt.Sprint(err), "nothing was charged")
		return memory.Need
	}
	// What is held at once of prompts, without the questions that are asked.
	held := func(examples int, task prompt.Task) int64 {
		return int64(8*examples*task.WithDefaults().Limits.RecordTokens) * perToken
	}

	c := newChoosingPlace(t)
	m := newHashModel()
	m.perToken = perToken
	o := c.options(t, c.plan(), m)
	r := c.runner(o, osDisk{})
	r.free = func() int64 { return 1 }
	if need := refused(r.checkChoosing(t.Context()), "choosing"); need < held(o.Plan.Choose.MaxShots, o.Plan.Task) {
		t.Errorf("choosing is said to take %d bytes", need)
	}
	if _, err := r.do(t.Context()); err == nil {
		t.Error("the run began")
	}

	p := newPlace(t)
	w := newMeasurer(p.measureOptions(t, m), osDisk{})
	w.free = func() int64 { return 1 }
	e := newEngine(w, w.exec)
	_, err := e.do(t.Context())
	if need := refused(err, "the measurement"); need < 2048*perToken {
		t.Errorf("measuring is said to take %d bytes", need)
	}
	if _, err := os.Stat(w.options.Dir); err == nil {
		t.Error("a folder was made")
	}
}

// TestSizeOfFixedDraws: a number of records that is public by its adjacency, and is
// declared wrongly, is found before anything is charged.
func TestSizeOfFixedDraws(t *testing.T) {
	for of, fits := range map[int64]bool{40: true, 39: false, 41: false} {
		p := newPlace(t)
		fixed := *clipped().(*decode.Clipped)
		fixed.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 4, Of: of}
		o := p.options(t, planFor(phrases(), &fixed), newHashModel())
		_, err := p.runner(o, osDisk{}).do(t.Context())
		var input *plan.InputError
		if fits && err != nil || !fits && (!errors.As(err, &input) || len(charges(t, o)) != 0) {
			t.Errorf("%d declared of 40: %v", of, err)
		}
	}
}
