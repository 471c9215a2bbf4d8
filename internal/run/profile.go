package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy"
)

// ProfileResult is a finished run of a profile.
type ProfileResult struct {
	Result
	Plan plan.Profile
	// Profile in numbers: a group for each of Examples.
	Profile global.Profile
}

// Profile carries out the plan of a profile. It returns as [Do] does.
func Profile(ctx context.Context, p plan.Profile, o TableOptions) (*ProfileResult, error) {
	w, err := newProfiler(ctx, p, o, osDisk{})
	if err != nil {
		return nil, err
	}
	result, err := newEngine(w, w.exec).do(ctx)
	if err != nil {
		return nil, err
	}
	profile, err := w.released()
	if err != nil {
		return nil, err
	}
	return &ProfileResult{Result: *result, Plan: w.plan, Profile: *profile}, nil
}

// profiler is a run of a profile.
type profiler struct {
	source    source
	exec      *execution
	plan      plan.Profile
	mechanism *global.Mechanism
	outcome   *global.Profile
}

func newProfiler(ctx context.Context, p plan.Profile, o TableOptions, d disk) (*profiler, error) {
	w := &profiler{plan: p}
	var err error
	w.exec, err = w.source.open(ctx, o, d)
	return w, err
}

func (w *profiler) planFile() any { return w.plan }

func (w *profiler) describe() spec {
	return spec{
		Engine: w.source.elsewhere(),
		Name:   w.plan.Schema.Name + " profile", Private: w.plan.Private(), Event: w.plan.Event(),
		Adjacency: w.plan.Adjacency(), Unit: w.plan.Unit, Epsilon: w.plan.Epsilon, Delta: w.plan.Delta,
	}
}

func (*profiler) modelHeader() model { return model{} }

func (*profiler) spent(context.Context) (privacy.Event, error) { return nil, nil }

func (w *profiler) check() (err error) {
	if w.plan, err = plan.Checked(w.plan); err != nil {
		return err
	}
	task, err := w.plan.Schema.Task()
	if err != nil {
		return err
	}
	if err := release.CheckTask(task); err != nil {
		return &plan.InputError{Reason: err.Error()}
	}
	if privacy.Sampled(w.plan.Event()) && w.plan.Size == 0 {
		return &plan.InputError{Reason: "rows are sampled, and nothing is said of how many there are: declare about how many, for anyone who reads the certificate"}
	}
	if w.mechanism, err = global.New(w.plan.Schema, w.plan.Settings); err != nil {
		return fmt.Errorf("the plan: %w", err)
	}
	return w.source.fitting(w.plan.Schema, w.plan.Unit, false)
}

func (w *profiler) preflight(ctx context.Context) error {
	return w.source.usable(ctx, w.mechanism.Columns())
}

func (w *profiler) stages() []func(context.Context) error {
	return []func(context.Context) error{w.collect}
}

// repeats: the journal has the profile, or it would come out the same from the same file.
func (w *profiler) repeats() bool { return w.exec.progress.tabled != nil || !w.source.placed() }

// collect adds the table up, adds noise, and notes what may be seen of it. Nothing of it
// is anywhere before that, so that a run that dies on the way has released nothing.
func (w *profiler) collect(ctx context.Context) error {
	if w.exec.progress.tabled != nil {
		return nil
	}
	sums, err := w.addUp(ctx)
	if err != nil {
		return fmt.Errorf("add up the table: %w", err)
	}
	out, err := w.mechanism.Release(sums, w.exec.key)
	if err != nil {
		return err
	}
	if err := w.covered(out); err != nil {
		return err
	}
	data, err := json.Marshal(out.Profile())
	if err != nil {
		return fmt.Errorf("encode the profile: %w", err)
	}
	return w.exec.announce(entry{State: profiled, Profile: data}, env.Progress{Kind: env.Averaged})
}

// addUp has the engine add up, or does so here.
func (w *profiler) addUp(ctx context.Context) (*global.Sums, error) {
	if w.source.by != nil {
		return w.source.by.Sums(ctx, w.mechanism, w.exec.key)
	}
	return w.mechanism.Collect(ctx, w.source.data, w.exec.key, w.source.workers)
}

// covered makes sure that what ran is what the plan pays for, before it is released.
func (w *profiler) covered(out global.Release) error {
	if got, paid := out.Event().String(), w.plan.Event().String(); got != paid || w.exec.certified() && !out.Private() {
		return fmt.Errorf("the profile was made by %s, which the plan does not pay for: this is an internal error; nothing of it is released", got)
	}
	return nil
}

// released reads the profile off the journal.
func (w *profiler) released() (*global.Profile, error) {
	if w.outcome == nil {
		var p global.Profile
		if err := bounded.UnmarshalJSON(w.exec.progress.tabled, bounded.Huge, &p); err != nil {
			return nil, w.exec.folder.refuse("its journal holds no profile: %v; start again in another folder", err)
		}
		w.outcome = &p
	}
	return w.outcome, nil
}

func (w *profiler) caution() { w.exec.warnOfClaim(w.plan.Delta, w.plan.Size) }
