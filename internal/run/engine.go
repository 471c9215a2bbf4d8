package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// job is what one kind of run does. Runs of texts and of tables differ in this and in
// nothing else: folder, journal, charge and certificate are the engine's.
type job interface {
	// check finds what is wrong with the options before anything is written. preflight
	// tries the model and the data out, before an unfinished run is charged.
	check() error
	preflight(context.Context) error
	// planFile is what plan.json holds, and describe what that comes to.
	planFile() any
	describe() spec
	// modelHeader is the model that sees records, if one does.
	modelHeader() model
	// stages lie between the reservation and the files. Each finds in the journal what it
	// did before, and does not do it again.
	stages() []func(context.Context) error
	// repeats reports whether what is not released yet comes out the same from the key,
	// in every copy of the folder.
	repeats() bool
	// files are the release, a function of plan and journal: the same bytes come out
	// whenever they are made.
	files(context.Context) ([]release.File, error)
	// spent is what was really done, where less than the worst case may be charged; nil
	// otherwise.
	spent(context.Context) (privacy.Event, error)
	// claim adds to the certificate what is particular to the job.
	claim(*certificate.Claim)
	// caution warns, before the charge, of what is allowed and yet not as it should be.
	caution()
	// fill adds to the result what is particular to the job.
	fill(context.Context, *Result) error
}

// engine takes a job from its plan to its certificate.
type engine struct {
	exec    *execution
	job     job
	drawKey func() (noise.Key, error)
	name    func() string
	now     func() time.Time
	today   time.Time
}

func newEngine(j job, e *execution) *engine {
	return &engine{exec: e, job: j, drawKey: noise.NewKey, name: newName, now: time.Now}
}

// newName draws the name of a run.
func newName() string { return rand.Text() }

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// day is the day of this call, as midnight UTC. It is all that a folder tells of times: how long
// a run takes depends on who is drawn, so a time at its beginning and one at its end, in any two
// of its files, would show that.
func (r *engine) day() time.Time {
	if r.today.IsZero() {
		r.today = certificate.Day(r.now())
	}
	return r.today
}

// ready finds what is missing before anything is written.
func (r *engine) ready() error {
	if r.exec.folder.dir == "" {
		return errors.New("a run needs a folder")
	}
	if r.exec.env.Version == "" {
		return errors.New("a run needs the program's version")
	}
	if err := r.job.check(); err != nil {
		return err
	}
	r.exec.spec = r.job.describe()
	if r.exec.certified() && r.exec.env.Signer == nil {
		return errors.New("a run with a guarantee needs a key to sign its certificate with: make one with sotto keys init")
	}
	if r.exec.charged() && r.exec.env.Ledger == nil {
		return errors.New("a run with a guarantee needs a ledger that pays for it")
	}
	return nil
}

func (r *engine) do(ctx context.Context) (*Result, error) {
	start := time.Now()
	if err := r.ready(); err != nil {
		return nil, err
	}
	done, err := r.finished()
	if err != nil {
		return nil, err
	}
	if !done {
		if err := r.job.preflight(ctx); err != nil {
			return nil, err
		}
		if err := r.certifiable(); err != nil {
			return nil, err
		}
		if err := r.carryOut(ctx); err != nil {
			return nil, err
		}
	}
	result, err := r.result(ctx)
	if err != nil {
		return nil, err
	}
	result.Finished = done
	result.Seconds = time.Since(start).Seconds()
	return result, nil
}

// certifiable makes the claim before anything is charged for it.
func (r *engine) certifiable() error {
	if !r.exec.certified() || r.exec.progress != nil && r.exec.progress.charge != "" {
		return nil
	}
	if _, err := r.statement([]certificate.Subject{{Name: planFile, Digest: certificate.Digest{SHA256: hexSum(nil)}}}); err != nil {
		return fmt.Errorf("the plan cannot have a certificate: %w", err)
	}
	return nil
}

// finished reports whether the folder holds this run, complete. It takes no lock and
// writes nothing: so a folder can be read that is read-only.
func (r *engine) finished() (bool, error) {
	if private, err := r.exec.folder.exists(privateDir); err != nil || private {
		return false, err
	}
	entries, _, err := readJournal(r.exec.folder.path(journalFile))
	if err != nil {
		return false, r.exec.folder.refuse("%v; start again in another folder", err)
	}
	if len(entries) == 0 {
		return false, nil
	}
	if err := r.take(entries); err != nil {
		return false, err
	}
	if !r.exec.progress.closed() {
		return false, nil
	}
	certificate, err := r.exec.folder.exists(certificate.FileName)
	return err == nil && (certificate || !r.exec.certified()), err
}

// take folds a journal and makes sure that it belongs to this run.
func (r *engine) take(entries []entry) (err error) {
	if r.exec.progress, err = fold(entries); err != nil {
		return r.exec.folder.refuse("%v; start again in another folder", err)
	}
	if len(entries) == 0 {
		return nil
	}
	want, err := r.headerFor(r.exec.progress.header.Run)
	if err != nil {
		return err
	}
	r.exec.resumed = true
	return r.same(want)
}

// headerFor is what the journal of a run of this name begins with.
func (r *engine) headerFor(name string) (header, error) {
	_, sum, err := encodePlan(r.job.planFile())
	if err != nil {
		return header{}, err
	}
	h := header{
		Format: format, Run: name, Plan: sum, Version: r.exec.env.Version, Scope: maps.Clone(r.exec.env.Labels), Seed: r.exec.env.Seed, NotPrivate: !r.exec.certified(),
		Model: r.job.modelHeader(), Engine: r.exec.spec.Engine,
	}
	if data, ok := r.exec.identity.fingerprint(); ok {
		h.Data = hexSum(append([]byte(name+"\n"), data[:]...))
	}
	return h, nil
}

// same compares what the folder is about with what was asked for.
func (r *engine) same(want header) error {
	const instead = "choose another folder for another run"
	h := r.exec.progress.header
	if h.Model.Fingerprint != "" {
		want.Model.Name = h.Model.Name // the same weights may be called otherwise
	}
	if want.Model.Isolation == "" {
		want.Model.Isolation = h.Model.Isolation // not known until the model is tried out
	}
	switch {
	case h.Format != want.Format:
		return r.exec.folder.refuse("it is of format %d, and this program works with %d; use the version that made it, %s", h.Format, want.Format, h.Version)
	case h.Plan != want.Plan:
		return r.exec.folder.refuse("it holds a run with another plan (see %s): repeat the call with which it began, or %s", planFile, instead)
	case h.Data != want.Data:
		return r.exec.folder.refuse("the data is not what the run began with: records or key have changed. Restore it, or %s; what was charged stays", instead)
	case h.Model != want.Model:
		return r.exec.folder.refuse("the model is not the one that the run began with (%s on %s): use that, or %s", h.Model.Name, h.Model.Backend, instead)
	case h.Engine != want.Engine:
		return r.exec.folder.refuse("it began %s and would continue %s, which draws in another order: continue as it began, or %s", computing(h.Engine), computing(want.Engine), instead)
	case h.Version != want.Version:
		return r.exec.folder.refuse("version %s of the program began it, and this is %s, which may release something else: use that version, or %s", h.Version, want.Version, instead)
	case (h.Seed == nil) != (want.Seed == nil) || h.Seed != nil && *h.Seed != *want.Seed:
		return r.exec.folder.refuse("it began with another seed: use that, or %s", instead)
	case !maps.Equal(h.Scope, want.Scope):
		return r.exec.folder.refuse("it began with other labels for the ledger: use those, or %s", instead)
	}
	return nil
}

// computing says where the work of a run is done.
func computing(engine string) string {
	return "on " + cmp.Or(engine, "this machine, without an engine")
}

// carryOut takes the run from where it is to its end.
func (r *engine) carryOut(ctx context.Context) (err error) {
	r.day() // before it is known how long this takes
	if err := r.exec.folder.prepare(); err != nil {
		return err
	}
	defer func() {
		if closing := r.exec.folder.unlock(); err == nil && closing != nil {
			err = closing
		}
	}()
	defer func() {
		r.exec.key.Erase()
		if r.exec.journal != nil {
			_ = r.exec.journal.close() // every line is synced
		}
	}()
	if err := r.openRun(); err != nil {
		return r.interrupted(err)
	}
	if r.exec.resumed {
		r.exec.report(env.Progress{Kind: env.Resumed, Message: r.goesOn()})
	}
	r.job.caution()
	steps := append([]func(context.Context) error{r.secure, r.reserve}, r.job.stages()...)
	for _, step := range append(steps, r.writeFiles, r.commit, r.certify) {
		if err := ctx.Err(); err != nil {
			return r.interrupted(err)
		}
		if err := step(ctx); err != nil {
			if r.declined(err) {
				return errors.Join(err, r.abandon())
			}
			return r.interrupted(err)
		}
	}
	if err := r.exec.journal.close(); err != nil {
		return r.interrupted(err)
	}
	r.exec.journal = nil
	r.dateFiles()
	if err := r.exec.folder.complete(); err != nil {
		return r.interrupted(err)
	}
	_ = r.exec.folder.disk.Date(r.exec.folder.dir, r.day()) // anyone who made the folder owns its times
	r.exec.report(env.Progress{Kind: env.Completed})
	return nil
}

// dateFiles gives all files of the run the same day: when each was written tells how long the run
// took, and copies and archives keep that.
func (r *engine) dateFiles() {
	if err := r.exec.folder.date(r.day()); err != nil {
		r.exec.warnOf("the times of its files cannot be set here, and show how long the run took, which depends on who was drawn: copy them without their times before others get them")
	}
}

// goesOn says how far an earlier call came.
func (r *engine) goesOn() string {
	const said = "this run began before, and continues"
	if r.exec.spec.Texts > 0 {
		return fmt.Sprintf("%s: %d of %d texts are done", said, r.exec.progress.done(), r.exec.spec.Texts)
	}
	return said
}

// openRun reads the journal, or begins one.
func (r *engine) openRun() error {
	entries, data, err := readJournal(r.exec.folder.path(journalFile))
	if err != nil {
		return r.exec.folder.refuse("%v; start again in another folder", err)
	}
	if err := r.take(entries); err != nil {
		return err
	}
	if err := r.exec.folder.leftovers(); err != nil {
		return err
	}
	if err := r.exec.folder.savePlan(r.job.planFile()); err != nil {
		return err
	}
	if r.exec.journal, err = openJournal(r.exec.folder.disk, r.exec.folder.path(journalFile), data, r.exec.mode()); err != nil || len(entries) > 0 {
		return err
	}
	h, err := r.headerFor(r.name())
	if err != nil {
		return err
	}
	began := entry{State: planned, Header: &h}
	if r.exec.env.Seed == nil {
		began.Time = r.day()
	}
	return r.exec.note(began)
}

// secure has the key on disk before anything is charged for it.
func (r *engine) secure(context.Context) (err error) {
	switch {
	case r.exec.progress.closed():
		return nil
	case r.exec.env.Seed != nil:
		r.exec.key = noise.KeyFromSeed(*r.exec.env.Seed)
		return nil
	case r.exec.progress.keyed:
		r.exec.key, err = r.exec.folder.readKey()
	default:
		r.exec.key, err = r.exec.folder.newKey(r.drawKey)
	}
	if err != nil {
		return err
	}
	if !r.exec.key.Private() {
		return r.exec.folder.refuse("its key was made from a seed, so that what it draws has no privacy guarantee; start again in another folder")
	}
	if r.exec.progress.keyed {
		return nil
	}
	return r.exec.note(entry{State: keyed})
}
