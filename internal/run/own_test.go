package run

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// besidePlan has a pool of texts from records and model-generated ones.
func besidePlan(task prompt.Task) plan.Plan {
	p := choosingPlan(task, clipped())
	p.Choose.Own = &plan.OwnTexts{Texts: 4, Method: *public().(*decode.Public)}
	return p
}

// TestOwnTextsAreBeside: model-generated texts join the pool, after those from records, and
// the charge is for those from records alone.
func TestOwnTextsAreBeside(t *testing.T) {
	for _, task := range []prompt.Task{tickets(), phrases()} {
		p := newPlace(t)
		made := besidePlan(task)
		alone := made
		choose := *made.Choose
		choose.Own, alone.Choose = nil, &choose
		if made.Event().String() != alone.Event().String() {
			t.Errorf("model-generated texts cost %s, and without them it is %s", made.Event(), alone.Event())
		}
		o := p.options(t, made, newHashModel())
		r := p.runner(o, osDisk{})
		_, err := r.do(t.Context())
		must(t, err)
		if len(r.exec.progress.texts) != made.Shots+4 || r.exec.progress.done() != made.Texts() {
			t.Fatalf("%d of %d texts, %d were asked for", r.exec.progress.done(), len(r.exec.progress.texts), made.Texts())
		}
		for i := range r.exec.progress.texts {
			if own := i >= made.Shots; r.own(i) != own || (r.method(i).Scheme().Kind == "") != own {
				t.Errorf("text %d of %d is written by %s", i+1, len(r.exec.progress.texts), r.method(i).Name())
			}
		}
		if n := len(r.space().Pool); n <= made.Shots {
			t.Errorf("%d texts are in the pool", n)
		}
		if got := charges(t, o); len(got) != 1 || got[0].Event != made.Event().String() {
			t.Errorf("charged %+v", got)
		}
		p.keepsSecrets(t, o.Dir)
	}
}

// TestOwnTextsReadNobody: one that would be written from records is not released.
func TestOwnTextsReadNobody(t *testing.T) {
	p := newPlace(t)
	made := besidePlan(tickets())
	r := p.runner(p.options(t, made, newHashModel()), osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	r.exec.key = noise.KeyFromSeed(1) // the run's own is erased
	w, err := r.writer()
	must(t, err)
	methods := r.methods()
	for name, method := range map[string]decode.Method{"as planned": nil, "from records": methods[0], "another": gaussian()} {
		t.Run(name, func(t *testing.T) {
			job := r.job(made.Shots, methods)
			if method != nil {
				job.Method = method
			}
			var released error
			must(t, w.Write(t.Context(), []decode.Job{job}, func(j decode.Job, out private.Output) error {
				released = r.covered(j, out)
				return nil
			}))
			if (released == nil) != (method == nil) {
				t.Errorf("%v", released)
			}
		})
	}
}

// TestTextsTooMany: a journal that names more texts than the plan has is refused, with model-generated
// texts and without.
func TestTextsTooMany(t *testing.T) {
	alone := choosingPlan(tickets(), clipped())
	for _, made := range []plan.Plan{alone, besidePlan(tickets())} {
		p := newPlace(t)
		r := p.runner(p.options(t, made, newHashModel()), osDisk{})
		_, err := r.do(t.Context())
		must(t, err)
		methods := r.methods()
		for range 40 {
			r.exec.progress.texts = append(r.exec.progress.texts, text{condition: r.exec.progress.conditions[0]})
			r.exec.progress.conditions = append(r.exec.progress.conditions, r.exec.progress.conditions[0])
		}
		if r.placed(r.job(len(r.exec.progress.texts)-1, methods)) == nil {
			t.Errorf("a text that the plan does not have is written (%d texts of %d)", len(r.exec.progress.texts), made.Texts())
		}
	}
}

// TestOwnTextsAreNotPaidAgain: a model-generated text that was begun and lost costs
// nothing, with a model that does not repeat itself.
func TestOwnTextsAreNotPaidAgain(t *testing.T) {
	p := newPlace(t)
	made := besidePlan(tickets())
	o := p.options(t, made, newHashModel())
	r := p.runner(o, osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	before := charges(t, o)
	must(t, r.recharge(t.Context(), made.Shots))
	if after := charges(t, o); len(after) != len(before) {
		t.Errorf("charged %+v", after[len(before):])
	}
	entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
	must(t, err)
	for _, e := range entries {
		if strings.Contains(string(e.State), "recharged") {
			t.Errorf("the journal says %+v", e)
		}
	}
}
