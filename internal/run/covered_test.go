package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestCovered: a text that was written otherwise than the plan pays for is not released.
// Each case changes what a run is to pay for after its texts were planned.
func TestCovered(t *testing.T) {
	for name, change := range map[string]func(*runner, *decode.Job){
		"more tokens":       func(r *runner, _ *decode.Job) { r.plan.Tokens-- },
		"a larger rate":     func(r *runner, j *decode.Job) { j.Method = withRate(0.3) },
		"another mechanism": func(r *runner, j *decode.Job) { j.Method = gaussian() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			o := p.options(t, planFor(tickets(), clipped()), newHashModel())
			r := p.runner(o, osDisk{})
			_, err := r.do(t.Context())
			must(t, err)
			r.exec.key = noise.KeyFromSeed(1) // the run's own is erased
			w, err := r.writer()
			must(t, err)
			methods := r.methods()
			job := r.job(0, methods)
			write := func() (err error) {
				must(t, w.Write(t.Context(), []decode.Job{job}, func(j decode.Job, out private.Output) error {
					err = r.covered(j, out)
					return nil
				}))
				return err
			}
			if err := write(); err != nil {
				t.Errorf("before the change: %v", err)
			}
			change(r.runner, &job)
			if err := write(); err == nil {
				t.Errorf("%s is released", name)
			}
		})
	}
}

func withRate(rate float64) decode.Method {
	m := *clipped().(*decode.Clipped)
	m.Draw.Rate = rate
	return &m
}

// TestPaid: a mechanism that ran with less noise than was paid for releases nothing.
func TestPaid(t *testing.T) {
	planned := func(e privacy.Event) bool { return e == privacy.Laplace{B: 2} }
	if err := paid(privacy.Parallel{Events: []privacy.Event{privacy.Laplace{B: 2}, privacy.Laplace{B: 2}}}, planned); err != nil {
		t.Error(err)
	}
	for _, ran := range []privacy.Event{
		privacy.Laplace{B: 1},
		privacy.Parallel{Events: []privacy.Event{privacy.Laplace{B: 2}, privacy.Laplace{B: 1}}},
		privacy.Compose{Events: []privacy.Event{privacy.Laplace{B: 2}, privacy.Laplace{B: 2}}},
	} {
		if err := paid(ran, planned); err == nil {
			t.Errorf("%s is released", ran)
		}
	}
}

// TestRules: texts are shaped by the rules of the plan. The model's tokens are bytes.
func TestRules(t *testing.T) {
	repeats := map[float64]int{}
	for _, penalty := range []float64{0, 1000} {
		for seed := range uint64(10) {
			p := newPlace(t)
			made := planFor(tickets(), clipped())
			made.Rules = decode.Rules{Penalty: penalty}
			o := p.options(t, made, newHashModel())
			o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
			for _, e := range p.finish(t, o).Examples {
				bytes := []byte(e.Input)
				slices.Sort(bytes)
				if len(slices.Compact(bytes)) < len(e.Input) {
					repeats[penalty]++
				}
			}
		}
	}
	if repeats[0] == 0 || repeats[1000] != 0 {
		t.Errorf("texts of 30 that have a token twice, by its penalty: %v", repeats)
	}
}

// TestFreshKeys: every run has a key of its own, which the operating system drew: two
// that are equal come once in 2^256 times.
func TestFreshKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"one", "two", "three"} {
		p := newPlace(t)
		o := withDir(p.options(t, planFor(tickets(), clipped()), newHashModel()), name)
		o.Env.Observe = func(e env.Progress) {
			if e.Kind != env.Reserved {
				return
			}
			key, err := os.ReadFile(filepath.Join(o.Dir, privateDir, keyFile))
			must(t, err)
			if seen[string(key)] {
				t.Error("two runs have the same key")
			}
			seen[string(key)] = true
		}
		_, err := Do(t.Context(), o)
		must(t, err)
	}
	if len(seen) != 3 {
		t.Errorf("%d keys of 3 runs", len(seen))
	}
}

// TestPlaced: texts are written from the part of their label, each of a part from a place
// of its own, as many as the plan pays for.
func TestPlaced(t *testing.T) {
	for _, task := range []prompt.Task{tickets(), phrases()} {
		p := newPlace(t)
		o := p.options(t, planFor(task, clipped()), newHashModel())
		r := p.runner(o, osDisk{})
		_, err := r.do(t.Context())
		must(t, err)
		methods := r.methods()
		seen := map[draw.Text]bool{}
		for i := range r.exec.progress.texts {
			job := r.job(i, methods)
			if !task.Open() && r.plan.Parts[job.Part].Label != r.exec.progress.texts[i].condition {
				t.Errorf("a text for %s is written from the records of %s", r.exec.progress.texts[i].condition, r.plan.Parts[job.Part].Label)
			}
			if at := (draw.Text{Part: job.Part, Place: job.Place}); seen[at] {
				t.Errorf("two texts are at %+v", at)
			} else {
				seen[at] = true
			}
			must(t, r.placed(job))
			job.Place = r.plan.Parts[job.Part].Texts
			if r.placed(job) == nil {
				t.Error("more texts than the plan pays for are written")
			}
			job = r.job(i, methods)
			if job.Condition += "?"; !task.Open() && r.placed(job) == nil {
				t.Error("a text is written from the records of another label")
			}
		}
	}
}

// TestReleasedSizes: files say what was declared, or counted with noise, and have no other
// source.
func TestReleasedSizes(t *testing.T) {
	p := newPlace(t)
	r := p.runner(p.options(t, countingPlan(clipped()), newHashModel()), osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	for _, c := range []struct{ counted, want []int64 }{{nil, []int64{5, 5}}, {[]int64{33, 2}, []int64{33, 5}}} {
		r.exec.progress.sizes = c.counted
		content, err := r.content(t.Context())
		must(t, err)
		for i, size := range content.Sizes {
			if size.Units != c.want[i] {
				t.Errorf("counted %v, and the files say %+v", c.counted, content.Sizes)
			}
		}
	}
}
