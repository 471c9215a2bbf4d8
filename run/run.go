package run

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"sotto/lm"
	"sotto/plan"
	"sotto/privacy"
	"sotto/privacy/accountant"
	"sotto/privacy/certificate"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/purse"
	"sotto/privacy/noise"
	"sotto/private/record"
	"sotto/release"
)

// Options of a run.
type Options struct {
	// Dir is the run folder. It is made if it is missing; a run of the same plan on the
	// same data that did not end goes on. Required.
	Dir string
	// Plan is required.
	Plan plan.Plan
	// Data is opened by the caller. Required unless the plan reads no record.
	Data *record.Data
	// Model is required. ModelName is how certificates call it; that of the model itself
	// by default.
	Model     lm.Trusted
	ModelName string
	// Ledger pays. Required for plans with a guarantee that read records, unless seeded.
	Ledger *ledger.Ledger
	// Dataset is the name under which a data set that the ledger does not know gets a
	// budget of just this run. Default: none.
	Dataset string
	// Labels of the charge, for scoped budgets.
	Labels map[string]string
	// Signer signs the certificate. Required for plans with a guarantee, unless seeded.
	Signer *certificate.Signer
	// Version of the program. Required.
	Version string
	// Seed is for tests and simulations: all files say NOT PRIVATE, and there is neither
	// a charge nor a certificate.
	Seed *uint64
	// Parallel is how many texts are written at once; 0 means 1.
	Parallel int
	// Observe, if set, is told how the run goes.
	Observe func(Event)
}

// Result of a run that is complete.
type Result struct {
	// Dir has the Files.
	Dir   string
	Files []string
	// Run is its name, in the journal and the ledger.
	Run string
	// Examples are what was written, in the order of the files.
	Examples []release.Example
	// Private says that there is a Guarantee, which is that of Event. Certificate says
	// that it is signed.
	Private     bool
	Event       privacy.Event
	Guarantee   privacy.Guarantee
	Inner       []privacy.Guarantee
	Certificate bool
	// Charge in the ledger, and those of texts that were paid for again.
	Charge    ledger.ChargeID
	Recharges []ledger.ChargeID
	// Usage and Seconds are those of this call, not of calls before it. They depend on
	// the records that were drawn: do not publish them.
	Usage   lm.Usage
	Seconds float64
	// Resumed: an earlier call began the run. Finished: it also ended it, and this one
	// did nothing.
	Resumed, Finished bool
	Warnings          []string
}

// Do carries out a plan. It returns when the run is complete; after an error that is an
// [*InterruptedError] the same call goes on where it stopped. A run that the budget does
// not allow is a [*ledger.RefusedError], and nothing is charged.
func Do(ctx context.Context, o Options) (*Result, error) {
	r := &runner{
		Options: o, folder: folder{dir: o.Dir, disk: osDisk{}},
		drawKey: noise.NewKey, name: newName, evaluator: &memo{of: accountant.Auto{}},
	}
	if o.Ledger != nil {
		r.ledger = o.Ledger
	}
	return r.do(ctx)
}

// runner is a run under way.
type runner struct {
	Options
	folder
	ledger    book
	drawKey   func() (noise.Key, error)
	name      func() string
	evaluator certificate.Evaluator

	journal *journal
	*progress
	key      noise.Key
	asked    bool
	usage    lm.Usage
	resumed  bool
	warnings []string
}

// book is what a run needs of a ledger.
type book interface {
	purse.Ledger
	Commit(context.Context, ledger.CommitRequest) (ledger.Charge, error)
	Checkpoint(context.Context) (ledger.Checkpoint, error)
}

// newName draws the name of a run.
func newName() string { return rand.Text() }

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// certified reports whether the run gets a certificate.
func (r *runner) certified() bool { return r.Plan.Private() && r.Seed == nil }

// mode is that of files with texts: those that protect nobody are for their owner.
func (r *runner) mode() fs.FileMode {
	if r.certified() {
		return 0o644
	}
	return 0o600
}

// charged reports whether the run needs the ledger. What reads no record does not.
func (r *runner) charged() bool {
	terms, err := privacy.Terms(r.Plan.Event())
	return r.certified() && (err != nil || len(terms) > 0)
}

func (r *runner) do(ctx context.Context) (*Result, error) {
	start := time.Now()
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.certified() {
		if _, err := r.statement([]certificate.Subject{{Name: planFile, Digest: certificate.Digest{SHA256: hexSum(nil)}}}); err != nil {
			return nil, fmt.Errorf("the plan cannot have a certificate: %w", err)
		}
	}
	done, err := r.finished()
	if err != nil {
		return nil, err
	}
	if !done {
		if err := r.fits(ctx); err != nil {
			return nil, err
		}
		if err := r.carryOut(ctx); err != nil {
			return nil, err
		}
	}
	result, err := r.result()
	if err != nil {
		return nil, err
	}
	result.Finished = done
	result.Seconds = time.Since(start).Seconds()
	return result, nil
}

// finished reports whether the folder holds this run, complete. It takes no lock and
// writes nothing: so a folder can be read that is read-only.
func (r *runner) finished() (bool, error) {
	if private, err := r.exists(privateDir); err != nil || private {
		return false, err
	}
	entries, _, err := readJournal(r.path(journalFile))
	if err != nil {
		return false, r.refuse("%v; start again in another folder", err)
	}
	if len(entries) == 0 {
		return false, nil
	}
	if err := r.take(entries); err != nil {
		return false, err
	}
	if !r.closed() {
		return false, nil
	}
	certificate, err := r.exists(certificate.FileName)
	return err == nil && (certificate || !r.certified()), err
}

// take folds a journal and makes sure that it is that of this run.
func (r *runner) take(entries []entry) (err error) {
	if r.progress, err = fold(entries); err != nil {
		return r.refuse("%v; start again in another folder", err)
	}
	if len(entries) == 0 {
		return nil
	}
	want, err := r.headerFor(r.header.Run)
	if err != nil {
		return err
	}
	r.resumed = true
	return r.same(want)
}

// headerFor is what the journal of a run of this name begins with.
func (r *runner) headerFor(name string) (header, error) {
	_, sum, err := encodePlan(r.Plan)
	if err != nil {
		return header{}, err
	}
	info := r.Model.Info()
	h := header{
		Format: format, Run: name, Plan: sum, Version: r.Version, Scope: maps.Clone(r.Labels), Seed: r.Seed, NotPrivate: !r.certified(),
		Model: model{
			Name: or(r.ModelName, info.Name), Backend: info.Backend, Fingerprint: info.Fingerprint, Version: info.Version,
			Deterministic: info.Deterministic, BatchInvariant: info.BatchInvariant,
		},
	}
	if r.Data != nil {
		fingerprint := r.Data.Fingerprint()
		h.Data = hexSum(append([]byte(name+"\n"), fingerprint[:]...))
	}
	return h, nil
}

// same compares what the folder is about with what was asked for.
func (r *runner) same(want header) error {
	const instead = "choose another folder for another run"
	h := r.header
	if h.Model.Fingerprint != "" {
		want.Model.Name = h.Model.Name // the same weights may be called otherwise
	}
	switch {
	case h.Format != want.Format:
		return r.refuse("it is of format %d, and this program works with %d; use the version that made it, %s", h.Format, want.Format, h.Version)
	case h.Plan != want.Plan:
		return r.refuse("it holds a run with another plan (see %s): repeat the call with which it began, or %s", planFile, instead)
	case h.Data != want.Data:
		return r.refuse("the data is not what the run began with: records or key have changed. Restore it, or %s; what was charged stays", instead)
	case h.Model != want.Model:
		return r.refuse("the model is not the one that the run began with (%s on %s): use that, or %s", h.Model.Name, h.Model.Backend, instead)
	case h.Version != want.Version:
		return r.refuse("version %s of the program began it, and this is %s, which may write other texts: use that version, or %s", h.Version, want.Version, instead)
	case (h.Seed == nil) != (want.Seed == nil) || h.Seed != nil && *h.Seed != *want.Seed:
		return r.refuse("it began with another seed: use that, or %s", instead)
	case !maps.Equal(h.Scope, want.Scope):
		return r.refuse("it began with other labels for the ledger: use those, or %s", instead)
	}
	return nil
}

// carryOut takes the run from where it is to its end.
func (r *runner) carryOut(ctx context.Context) (err error) {
	if err := r.prepare(); err != nil {
		return err
	}
	defer func() {
		if closing := r.unlock(); err == nil && closing != nil {
			err = closing
		}
	}()
	defer func() {
		r.key.Erase()
		if r.journal != nil {
			_ = r.journal.close() // every line is synced
		}
	}()
	if err := r.openRun(); err != nil {
		return r.interrupted(err)
	}
	if r.resumed {
		r.tell(Event{Kind: Resumed, Message: fmt.Sprintf("this run began before, and goes on: %d of %d texts are done", r.done(), r.Plan.Shots)})
	}
	r.caution()
	for _, step := range []func(context.Context) error{r.secure, r.reserve, r.count, r.discover, r.choose, r.writeTexts, r.writeFiles, r.commit, r.certify} {
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
	if err := r.complete(); err != nil {
		return r.interrupted(err)
	}
	r.tell(Event{Kind: Completed})
	return nil
}

// openRun reads the journal, or begins one.
func (r *runner) openRun() error {
	entries, data, err := readJournal(r.path(journalFile))
	if err != nil {
		return r.refuse("%v; start again in another folder", err)
	}
	if err := r.take(entries); err != nil {
		return err
	}
	if err := r.leftovers(); err != nil {
		return err
	}
	if err := r.savePlan(r.Plan); err != nil {
		return err
	}
	if r.journal, err = openJournal(r.disk, r.path(journalFile), data, r.mode()); err != nil || len(entries) > 0 {
		return err
	}
	h, err := r.headerFor(r.name())
	if err != nil {
		return err
	}
	return r.note(entry{State: planned, Header: &h})
}

// note adds to the journal, and to what is known.
func (r *runner) note(e entry) error {
	if err := r.journal.append(e); err != nil {
		return err
	}
	return r.progress.add(e)
}

// secure has the key on disk before anything is charged for it.
func (r *runner) secure(context.Context) (err error) {
	switch {
	case r.closed():
		return nil
	case r.Seed != nil:
		r.key = noise.KeyFromSeed(*r.Seed)
		return nil
	case r.keyed:
		r.key, err = r.readKey()
	default:
		r.key, err = r.newKey(r.drawKey)
	}
	if err != nil {
		return err
	}
	if !r.key.Private() {
		return r.refuse("its key was made from a seed, so that what it draws protects nobody; start again in another folder")
	}
	if r.keyed {
		return nil
	}
	return r.note(entry{State: keyed})
}
