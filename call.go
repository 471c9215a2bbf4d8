package sotto

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Use says how a use of private data is charged, and what is called with its progress.
type Use struct {
	// Dataset is what people call the data, if the ledger does not know it yet.
	Dataset string
	// Labels are those of the charge, for scoped budgets. Default: none.
	Labels map[string]string
	// Known refuses data that the ledger does not know, instead of giving it a budget of what is
	// asked for: its owner does that.
	Known bool
	// Approval is the plan that was approved before, if that has to be the one: another is refused.
	Approval *Approval
	// NonPrivate allows methods without a guarantee, for comparisons.
	NonPrivate bool
	// Seed is for tests and simulations: what comes out is NOT PRIVATE, nothing is charged
	// and nothing is signed.
	Seed *uint64
	// Observe, if set, is called with how it goes.
	Observe func(Progress)
}

// Result of a run: its folder, examples, guarantee and charge.
type Result struct {
	// Dir has the Files.
	Dir   string
	Files []string
	// Run is its name, in the journal and the ledger.
	Run string
	// Model is what people call it, if one reads records.
	Model string
	// LeftOut is how many records could not be used. It depends on them: do not publish it.
	LeftOut int64 `json:"-"`
	// Examples are what was written, in the order of the files, or those of the Prompt that the records chose.
	Examples []prompt.Example
	Prompt   *prompt.Prompt
	// Ending is what most records end with, if the plan had it found and there is such.
	Ending string
	// Evidence is what all records say about labels, if they were added up.
	Evidence *Evidence
	// Worth is what the prompt was measured to be on the records, if it was.
	Worth *Worth
	// Private says that there is a Guarantee, of Event. Drawn is what is left of it, over all that was released, against
	// someone who knows whose records were drawn; nil where nothing is sampled, or nothing is left. Certificate says that
	// it is signed.
	Private     bool
	Event       privacy.Event
	Guarantee   privacy.Guarantee
	Drawn       *privacy.Guarantee
	Certificate bool
	// Charge in the ledger, and those of texts that were paid for again.
	Charge    ledger.ChargeID
	Recharges []ledger.ChargeID
	// Planned is how many tokens the plan puts through the model, on average over who is drawn; 0 where there is none.
	Planned int64
	// Usage and Seconds count this call, not calls before it. They depend on the records that were drawn: do not publish
	// them.
	Usage   lm.Usage `json:"-"`
	Seconds float64  `json:"-"`
	// Resumed: an earlier call began the run. Finished: it also ended it, and this one did nothing.
	Resumed, Finished bool
	Warnings          []string
}

// Words states what is guaranteed, in sentences; nil if nothing is.
func (r *Result) Words() []string { return (*run.Result)(r).Words() }

// Run is a finished one.
type Run struct {
	Result
	// Plan that was carried out.
	Plan Plan
}

// Worth is the quality of a prompt as measured on the private records, with noise: a Value from 0 to 1, with its interval.
type Worth = release.Worth

// InterruptedError says that a run stopped on its way and resumes by the same call.
type InterruptedError = run.InterruptedError

// FolderError says why a folder cannot be used for a run.
type FolderError = run.FolderError

// call is one use of a client, with what it has open.
type call struct {
	client *Client
	use    Use
	// base is what all notices say.
	base  Progress
	model lm.TrustedScorer
	// name is what people call the model.
	name string
	// encoder of sentences, opened where records are added up.
	encoder lm.TrustedEmbedder
	closes  bool // it
	ledger  *ledger.Ledger
	signer  *certificate.Signer
	data    *record.Data
	// table, and the engine that computes on it, if it is not this process.
	table    *table.Data
	computed compute.Table
}

func (c *Client) call(u Use) *call {
	return &call{client: c, use: u, base: Progress{Kind: Notice}}
}

// environment is what a run or a session works with.
func (c *call) environment() env.Environment {
	e := env.Environment{
		Signer: c.signer, Dataset: c.use.Dataset, Known: c.use.Known, Labels: c.use.Labels, Model: c.model, ModelName: c.name, Encoder: c.encoder,
		Version: version.String(), Seed: c.use.Seed, Observe: c.use.Observe,
	}
	if c.ledger != nil { // else the interface would not be nil
		e.Ledger = c.ledger
	}
	return e
}

// note reports a message for people, once.
func (c *call) note(format string, args ...any) {
	if c.use.Observe == nil {
		return
	}
	p := c.base
	p.Message = fmt.Sprintf(format, args...)
	c.use.Observe(p)
}

func (c *call) close() error {
	var all []error
	if c.ledger != nil {
		all = append(all, c.ledger.Close())
	}
	if c.closes && c.encoder.Valid() {
		all = append(all, c.encoder.Close())
	}
	if c.data != nil {
		all = append(all, c.data.Close())
	}
	if c.table != nil {
		all = append(all, c.table.Close())
	}
	return errors.Join(all...)
}

// openModel opens the client's model. It says first where records will go, if it reads any.
func (c *call) openModel(ctx context.Context, reads bool) (err error) {
	if c.model.Valid() {
		return nil
	}
	if to := c.client.destination(); to != "" && reads {
		c.note("%s", to)
	}
	if c.model, err = c.client.open(ctx); err != nil {
		return err
	}
	c.name = models.NameOf(c.model.Info())
	return nil
}

// openEncoder opens the encoder of a table's rows, or that of sentences, in this process, unless the client was
// given one.
func (c *call) openEncoder(of *schema.Schema) (err error) {
	if c.encoder.Valid() {
		return nil
	}
	if of != nil {
		c.encoder, err = rows.Trusted(*of)
		return err
	}
	if c.encoder = c.client.encoder; !c.encoder.Valid() {
		c.encoder, err = backend.TrustedEncoder(c.client.spec.Encoder)
		c.closes = true
	}
	return err
}

// withEncoder opens the encoder where records are added up as evidence, or get the nearest examples, names it in the
// request, and measures it if a speed is to be had. Evidence that nobody asked for is left out where the encoder was
// never fetched.
func (c *call) withEncoder(ctx context.Context, r plan.Request, v *plan.Speed) (plan.Request, error) {
	if l := r.Learning; l != nil && l.Encoder == "" {
		if err := c.openEncoder(l.Schema); err != nil {
			return r, err
		}
		own := *l
		own.Encoder, r.Learning = c.encoder.Name(), &own
		return r, nil
	}
	asked := r.Choosing
	if asked == nil || asked.Encoder != "" || r.Evident() == 0 && asked.Nearest <= 0 {
		return r, nil
	}
	own := *asked
	r.Choosing = &own
	err := c.openEncoder(asked.Schema)
	if _, missing := errors.AsType[*models.MissingError](err); missing && asked.Evidence == 0 && asked.Nearest <= 0 {
		own.Evidence = -1
		c.note("records are not added up as evidence for labels: the encoder of sentences is not here, and sotto model pull minilm fetches it")
		return r, nil
	}
	if err != nil {
		return r, err
	}
	own.Encoder = c.encoder.Name()
	if v != nil && v.Encode == 0 {
		if v.Encode, err = plan.MeasureEncoder(ctx, c.encoder); err != nil {
			return r, fmt.Errorf("measure the encoder: %w", err)
		}
	}
	return r, nil
}

func (c *call) openData(ctx context.Context, from Source, t prompt.Task, unit privacy.Unit, together bool) (err error) {
	if c.data != nil {
		return nil
	}
	if c.data, err = c.client.records(ctx, from, t, unit, together); err != nil {
		return err
	}
	if left := c.data.Problems(); left.Count > 0 {
		c.note("left out: %s", left.In("malformed", "record"))
	}
	return nil
}

// openRun opens what a run needs: the model, the records if it reads them, and what charges
// and signs if it gets a certificate.
func (c *call) openRun(ctx context.Context, from Source, t prompt.Task, unit privacy.Unit, together, reads, certifies bool) error {
	if err := c.openModel(ctx, reads); err != nil {
		return err
	}
	return c.openRecords(ctx, from, t, unit, together, reads, certifies)
}

// openRecords is openRun where no language model takes part.
func (c *call) openRecords(ctx context.Context, from Source, t prompt.Task, unit privacy.Unit, together, reads, certifies bool) error {
	if reads && certifies {
		if err := c.openLedger(ctx); err != nil {
			return err
		}
	}
	if reads {
		if err := c.openData(ctx, from, t, unit, together); err != nil {
			return err
		}
	}
	if certifies {
		return c.openKeys()
	}
	return nil
}

// findLedger opens the ledger, if it is there: one that is missing at its usual place is made by openLedger.
func (c *call) findLedger(ctx context.Context) (err error) {
	if c.ledger != nil {
		return nil
	}
	c.ledger, err = ledger.Open(ctx, c.client.ledger, ledger.Options{})
	if !errors.Is(err, ledger.ErrMissing) {
		return err
	}
	if !c.client.creates {
		return fmt.Errorf("%w. If it should be new, make it first: sotto ledger init --ledger %s", err, withoutPassword(c.client.ledger))
	}
	return nil
}

// openLedger opens the ledger. One that is missing is made only at its usual place, and if
// the private folder has no fingerprint key: a key without its ledger means that the ledger
// was lost or moved, and a new one would give everybody's data a fresh budget.
//
// It comes before the data is opened, which makes the key. So anyone who sees a key at the
// first use of a place, made by another process, finds the ledger of that process too.
func (c *call) openLedger(ctx context.Context) error {
	if err := c.findLedger(ctx); err != nil || c.ledger != nil {
		return err
	}
	at := c.client.ledger
	used, err := folder.HasKey(c.client.private)
	if err != nil {
		return fmt.Errorf("look for the key of the private folder: %w", err)
	}
	if used {
		if c.ledger, err = ledger.Open(ctx, at, ledger.Options{}); !errors.Is(err, ledger.ErrMissing) {
			return err
		}
		return fmt.Errorf("%w. The fingerprint key %s shows that private data was used before: its ledger was lost or moved. Restore it, or name it. Only if nothing was ever charged to it, or to start anew and forget all charges: sotto ledger init", err, folder.KeyPath(c.client.private))
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return fmt.Errorf("make a place for the ledger: %w", err)
	}
	if c.ledger, err = ledger.Open(ctx, at, ledger.Options{Create: true}); err != nil {
		return err
	}
	c.note("there was no ledger: %s is a NEW one, which knows of no use of any data before. If you have used private data before, stop and name its ledger", at)
	return nil
}

// withoutPassword returns an address that may be shown.
func withoutPassword(address string) string {
	if !isURL(address) {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "URL"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// openKeys opens the key that signs; the first use makes it.
func (c *call) openKeys() (err error) {
	dir, made := c.client.keys, false
	c.signer, made, err = certificate.OpenSigner(dir)
	if made {
		c.note("there was no key to sign with: %s has a new one; give verifiers its public half, signer.pub.pem", dir)
	}
	return err
}

// allowed refuses methods without a proof, unless they are allowed explicitly.
func allowed(u Use, private bool, claim, method string) error {
	switch {
	case u.NonPrivate:
		return nil
	case claim != "":
		return wrongAbout("NonPrivate", "%s; it is for comparisons, and has to be allowed explicitly", claim)
	case !private:
		return wrongAbout("NonPrivate", "the method %s has no privacy guarantee: it is for comparisons, and has to be allowed explicitly", method)
	}
	return nil
}
