package sotto

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/schema"
)

// Source says where private records are.
type Source struct {
	// Location is the path of a file (JSONL, CSV, Parquet; compressed or not), or the
	// address of a database, which needs a Query with an ORDER BY. Required, but for plans
	// that read no record.
	Location string
	Query    string
	// Schema, if set, is that of a table whose rows are the records: each is put into words,
	// for the task that [schema.Schema.Task] returns. Rows that are in words already, in the
	// columns of that task, are read as they are.
	Schema *schema.Schema
	// SkipMalformed leaves out records that cannot be used. Default: any of them is an
	// error.
	SkipMalformed bool
	// Private is a folder for the key by which the ledger knows the data again, and for
	// indexes. Keep it: with another key the same data has another budget. Required with
	// Location.
	Private string
	// Progress, if set, hears how many bytes of how many (0: not known) were read.
	Progress func(read, total int64)
}

// SynthesizeOptions say what to write, from what, and where to.
type SynthesizeOptions struct {
	// Request is what is asked for; its Task is required, and Epsilon and Size for
	// methods with a guarantee. Plan is used instead if it is set: one plan serves many
	// runs.
	Request plan.Request
	Plan    *plan.Plan
	Source  Source
	// Out is the folder of the run. An unfinished run of the same request goes on.
	// Required.
	Out string
	// Model to open; the zero value is the default one, embedded. Trusted is used instead
	// if it is set, and stays open.
	Model   backend.Spec
	Trusted lm.Trusted
	// Ledger is the path of an SQLite file or a PostgreSQL URL. Keys is the directory of a
	// key ring, made if it is missing. Required for methods with a guarantee, unless seeded.
	Ledger string
	Keys   string
	// NewLedger allows making the ledger if it is missing and Source.Private has no key.
	// Default: a ledger that is not there is an error, for a new one has forgotten all
	// charges.
	NewLedger bool
	// Dataset is how people call the data if the ledger does not know it yet, Labels
	// those of the charge.
	Dataset string
	Labels  map[string]string
	// NonPrivate allows methods without a guarantee.
	NonPrivate bool
	// Seed is for tests and simulations: what comes out is NOT PRIVATE.
	Seed *uint64
	// Parallel is how many texts are written at once. Default: 4 where a text keeps its
	// draw, since larger steps use the machine better; 1 where each token reads a draw of
	// its own, or where the model does not repeat itself and lost texts cost again.
	Parallel int
	// PassTokens is about how many tokens of records' questions go through the model at once
	// where they choose. Default 2048, which suits a processor; a GPU wants more.
	PassTokens int
	// Time is about how long records may take to choose, where the request has them choose
	// and does not say how much Work that may be. The model's speed is measured. Default:
	// [plan.DefaultWork], with a model on a server [plan.ServedWork].
	Time time.Duration
	// Pool says who else makes up what prompts are built from, where records choose.
	Pool Pool
	// Version of the program. Required.
	Version string
	// Observe, if set, is told how it goes.
	Observe func(Progress)
}

// Progress reports how a run or a session goes, in numbers and public words.
type Progress = env.Progress

// Kinds of progress that programs look at; the others have a name and a message.
const (
	// Notice reports a message for people, once.
	Notice = env.Noted
	// Cautioned reports what weakens the guarantee, or what the examples are worth.
	Cautioned = env.Cautioned
	// Wrote reports one more token of a text or an answer.
	Wrote = env.Wrote
	// Released reports that a text is complete.
	Released = env.Released
	// Judged reports that some records have judged the prompts of a round.
	Judged = env.Judged
	// Chose reports that the records have chosen a prompt.
	Chose = env.Chose
)

// InterruptedError says that a run stopped on its way and goes on by the same call.
type InterruptedError = run.InterruptedError

// FolderError says why a folder cannot be used for a run.
type FolderError = run.FolderError

// Run is a finished one.
type Run struct {
	run.Result
	// Plan that was carried out.
	Plan plan.Plan
	// Model is what people call it.
	Model string
	// Problems are records that were left out.
	Problems record.Problems
}

// Words say what is guaranteed; nil if nothing is.
func (r *Run) Words() []string {
	if !r.Private {
		return nil
	}
	return release.Words(r.Guarantee, r.Inner...)
}

// Synthesize writes synthetic examples. Errors: *[plan.InputError] for a request that
// cannot be met, *[ledger.RefusedError] if the budget does not allow it (nothing is
// charged), *[InterruptedError] for a run that can go on by the same call.
func Synthesize(ctx context.Context, o SynthesizeOptions) (result *Run, err error) {
	if err := o.invent(ctx); err != nil {
		return nil, err
	}
	if err := o.budgetTime(ctx); err != nil {
		return nil, err
	}
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if err := o.check(p); err != nil {
		return nil, err
	}
	s := &synthesis{SynthesizeOptions: o, plan: p}
	s.tell = s.notice
	defer func() { err = errors.Join(err, s.close()) }()
	for _, step := range []func(context.Context) error{s.openModel, s.openLedger, s.openData, s.openKeys} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	author := &varying{o: &s.SynthesizeOptions, task: p.Task, own: s.model.Public()}
	defer author.close()
	done, err := run.Do(ctx, run.Options{
		Vary: author.vary, Repeats: author.repeats(),
		Environment: s.environment(env.Environment{Dataset: o.Dataset, Labels: o.Labels, Version: o.Version, Seed: o.Seed, Observe: o.Observe}),
		Dir:         o.Out, Plan: p, Data: s.data, Parallel: s.parallel(), PassTokens: o.PassTokens,
	})
	if err != nil {
		return nil, err
	}
	result = &Run{Result: *done, Plan: p, Model: s.name}
	if s.data != nil {
		result.Problems = s.data.Problems()
	}
	return result, nil
}

// budgetTime turns the time that records may take to choose into work. A run that goes on
// has the work that it began with: the speed of a machine is never the same twice.
func (o *SynthesizeOptions) budgetTime(ctx context.Context) error {
	c := o.Request.Choosing
	served := !o.Trusted.Valid() && o.Model.Remote()
	if o.Plan != nil || c == nil || c.Work != 0 || o.Time <= 0 && !served {
		return nil
	}
	own := *c
	o.Request.Choosing = &own
	if begun, ok := planOf(o.Out); ok && begun.Choose != nil {
		own.Work = begun.Choose.Work
		return nil
	}
	if o.Time <= 0 {
		o.Request = o.Request.Served()
		return nil
	}
	scorer := o.Trusted.Public
	if !o.Trusted.Valid() {
		m, err := backend.Scorer(ctx, o.Model)
		if err != nil {
			return err
		}
		defer m.Close()
		scorer = func() lm.Scorer { return m }
	}
	speed, err := plan.Measure(ctx, scorer())
	if err != nil {
		return fmt.Errorf("measure the model: %w", err)
	}
	own.Work = max(1, speed.Prefill*o.Time.Seconds())
	return nil
}

// planOf reads the plan of a run's folder, if there is one.
func planOf(dir string) (p plan.Plan, ok bool) {
	data, err := bounded.ReadFile(filepath.Join(dir, "plan.json"), bounded.Huge)
	if err != nil || bounded.UnmarshalJSON(data, bounded.Huge, &p) != nil {
		return plan.Plan{}, false
	}
	return p, true
}

// plan is what will be carried out.
func (o *SynthesizeOptions) plan() (plan.Plan, error) {
	if o.Plan == nil {
		return plan.New(o.Request)
	}
	if err := o.Plan.Check(); err != nil {
		return plan.Plan{}, &plan.InputError{Reason: fmt.Sprintf("the plan cannot be carried out: %v", err)}
	}
	return *o.Plan, nil
}

// check finds what is missing before anything is opened.
func (o *SynthesizeOptions) check(p plan.Plan) error {
	wrong := func(format string, args ...any) error { return &plan.InputError{Reason: fmt.Sprintf(format, args...)} }
	switch {
	case p.Claim() != "" && !o.NonPrivate:
		return wrong("%s; it is for comparisons, and has to be allowed explicitly (--non-private)", p.Claim())
	case !p.Private() && !o.NonPrivate:
		return wrong("the method %s protects nobody: it is for comparisons, and has to be allowed explicitly (--non-private)", p.Method())
	case o.Out == "":
		return wrong("a folder to write to is missing")
	case p.Reads() && o.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	case p.Reads() && o.Source.Private == "":
		return wrong("a private folder is missing, for the key by which the ledger knows the data again")
	case o.charges(p) && o.Ledger == "":
		return wrong("a ledger is missing: what protects records is that every use of them is charged to a budget")
	case p.Choose != nil && p.Choose.Vary > 0 && !o.Pool.hosted() && o.served():
		return wrong("texts like the winner's are written by a model in this process, or by one that is named for the pool: a server that scores records is asked nothing else meanwhile")
	case o.certifies(p) && o.Keys == "":
		return wrong("a key ring is missing, to sign the certificate with")
	}
	return nil
}

func (o *SynthesizeOptions) certifies(p plan.Plan) bool { return p.Private() && o.Seed == nil }

func (o *SynthesizeOptions) charges(p plan.Plan) bool { return o.certifies(p) && p.Reads() }

// synthesis holds what is open.
type synthesis struct {
	SynthesizeOptions
	opened
	plan plan.Plan
}

// parallel is how many texts to write at once.
func (s *synthesis) parallel() int {
	switch {
	case s.Parallel > 0:
		return s.Parallel
	case !s.model.Info().Deterministic:
		return 1
	case !s.plan.WritesFromRecords():
		return 16 // one short sequence each
	}
	for _, part := range s.plan.Parts {
		if part.Method.Scheme().Per == scheme.PerToken {
			return 1
		}
	}
	return 4
}

// notice tells something once.
func (s *synthesis) notice(format string, args ...any) {
	if s.Observe != nil {
		s.Observe(Progress{Kind: Notice, Texts: s.plan.Texts(), MaxTokens: s.plan.Tokens, Message: fmt.Sprintf(format, args...)})
	}
}

func (s *synthesis) openModel(ctx context.Context) error {
	if s.plan.Reads() {
		s.destined(s.Model, s.Trusted)
	}
	return s.opened.openModel(ctx, s.Model, s.Trusted)
}

func (s *synthesis) openData(ctx context.Context) error {
	if !s.plan.Reads() {
		return nil
	}
	return s.opened.openData(ctx, s.Source, s.plan.Task, s.plan.Unit, !s.plan.WritesFromRecords())
}

func (s *synthesis) openLedger(ctx context.Context) error {
	if !s.charges(s.plan) {
		return nil
	}
	return s.opened.openLedger(ctx, s.Ledger, s.NewLedger, s.Source.Private)
}

func (s *synthesis) openKeys(context.Context) error {
	if !s.certifies(s.plan) {
		return nil
	}
	return s.opened.openKeys(s.Keys)
}

// Verify checks the certificate of a folder against its files, and computes its ε again.
// What is wrong with it is in the report.
func Verify(dir string, trust *certificate.Trust) (*certificate.Report, error) {
	return certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}})
}
