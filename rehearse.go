package sotto

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/rehearsal"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// RehearseOptions say what to rehearse, and on what.
type RehearseOptions struct {
	// Request of the real run, as for [Client.Synthesize]. Required.
	Request Request
	// StandIn are public records in place of the private ones. Default: the model invents some.
	StandIn []prompt.Example
	// Invent is how many records the model invents. Default: [DefaultInvented], and fewer where Time is short.
	Invent int
	// Items is how many records are held out, to measure on. Default: [DefaultItems], a third of all at most, and fewer
	// where Time is short.
	Items int
	// Sets is how many sets of examples to compare with. Default: [DefaultSets], and fewer where Time is short.
	Sets int
	// Out is a folder for what came out, which must be new or empty. Default: none; all files
	// are removed in the end.
	Out string
	// Parallel is as in [SynthesizeOptions].
	Parallel int
	// PassTokens is as in [SynthesizeOptions].
	PassTokens int
	// Pool is as in [SynthesizeOptions].
	Pool Pool
	// Time is about how long all of the rehearsal may take, with inventing records and measuring. Where records
	// choose, the rehearsed run has half of it, or 0.7 where records need not be invented: the real run, which has
	// all of it, has more records choose, as a rule. Default: five minutes.
	Time time.Duration
	// Seed repeats a rehearsal. Default: drawn.
	Seed *uint64
	// Observe, if set, is called with how it goes.
	Observe func(Progress)
}

// What a rehearsal takes by default.
const (
	DefaultInvented = 300
	DefaultItems    = 100
	DefaultSets     = 3
)

// maxStandIn is how many lines are written at most; a larger declared size is rehearsed as
// this one, with a little more noise.
const maxStandIn = 200_000

// Kinds of examples that a rehearsal compares.
const (
	// RehearsedNone is no examples, RehearsedOwn model-generated ones, RehearsedRun those of the
	// rehearsed run, RehearsedReal the stand-in records themselves, and RehearsedAlone the run's evidence
	// without a language model.
	RehearsedNone  = rehearsal.None
	RehearsedOwn   = rehearsal.Own
	RehearsedRun   = rehearsal.Run
	RehearsedReal  = rehearsal.Real
	RehearsedAlone = rehearsal.Alone
	// RehearsedCommonest is the commonest label of the stand-in records, always.
	RehearsedCommonest = rehearsal.Commonest
)

// RehearsedRow is what one kind of examples is worth on held-out records.
type RehearsedRow = rehearsal.Row

// RehearsedGain is what the run's examples are worth more than others, on the same records.
type RehearsedGain = rehearsal.Gain

// Rehearsal is what came out of one. Nothing of it is private or was charged.
type Rehearsal struct {
	// Run is the rehearsed one; its Dir is Out, or "" if that was not asked for.
	Run
	// Invented: the model made the stand-in records up. Records is how many different ones
	// there were, Items of which were held out. Copies is how many records the run was given:
	// they are repeated up to the declared size, so that as many are drawn, and the noise is
	// as large, as in the real run.
	Invented       bool
	Records, Items int
	Copies         int64
	// Rows say what each kind of examples is worth on the held-out records, Gains what the
	// run's own are worth more than the others.
	Rows  []RehearsedRow
	Gains []RehearsedGain
	// Total is how long all of it took, in seconds. The real run takes between RunLow and
	// RunHigh: as long as the rehearsed one, or longer if records are as long as they may be, and
	// where records choose longer by the Share of the time that the rehearsed one had.
	Total, RunLow, RunHigh float64
	Share                  float64
}

// Rehearse carries out a whole run on records that stand in for the private ones, and
// measures on others of them what comes out. It takes no private data, no ledger and no key:
// its folder is a temporary one, nothing is charged, and nothing is signed. Errors are as
// those of [Client.Synthesize].
func (c *Client) Rehearse(ctx context.Context, o RehearseOptions) (result *Rehearsal, err error) {
	began := time.Now()
	asked := RehearseOptions{Invent: o.Invent, Items: o.Items, Sets: o.Sets}
	if err := o.fill(); err != nil {
		return nil, err
	}
	r := &trial{options: o, began: began, asked: asked, call: c.call(Use{Observe: o.Observe}), key: noise.KeyFromSeed(*o.Seed)}
	if r.dir, err = os.MkdirTemp("", "sotto-rehearse-"); err != nil { // for its owner alone
		return nil, fmt.Errorf("make a folder for the rehearsal: %w", err)
	}
	defer func() { err = errors.Join(err, r.call.close(), os.RemoveAll(r.dir)) }()
	for _, step := range []func(context.Context) error{r.open, r.settle, r.standIn, r.carryOut, r.compare, r.keep} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	r.result.Total = time.Since(began).Seconds()
	return &r.result, nil
}

// fill sets what was left open and checks the rest.
func (o *RehearseOptions) fill() error {
	for _, n := range []struct {
		value   *int
		usually int
	}{{&o.Invent, DefaultInvented}, {&o.Items, DefaultItems}, {&o.Sets, DefaultSets}} {
		if *n.value = cmp.Or(*n.value, n.usually); *n.value < 1 {
			return wrong("a rehearsal needs records, some of them held out, and sets of examples to compare with: %d, %d and %d", o.Invent, o.Items, o.Sets)
		}
	}
	invents := len(o.StandIn) == 0
	switch {
	case invents && o.Request.Task.Kind == prompt.Generate:
		return wrongAbout("StandIn", "outputs that the model invents are what it answers anyhow, so that they show nothing: give public inputs and outputs")
	case invents && o.Request.Task.Open() && len(o.Request.Conditions) == 0 && len(o.Request.Task.Conditions) == 0:
		return wrongAbout("StandIn", "the model needs labels to invent records for: give a public list of them, or public records")
	case invents && o.Request.Count:
		return wrongAbout("StandIn", "invented records cannot be counted in place of yours: say about how many there are, or give public records")
	case invents && o.Invent < rehearsal.MinRecords:
		return wrong("%d records are too few to choose by and to measure on: ask for at least %d", o.Invent, rehearsal.MinRecords)
	}
	for _, e := range o.StandIn {
		if err := (prompt.Prompt{Examples: []prompt.Example{e}}).Check(o.Request.Task); err != nil {
			return wrong("a stand-in record cannot be used: %v", err)
		}
	}
	if err := vacant(o.Out); err != nil {
		return err
	}
	if o.Seed == nil {
		var b [8]byte
		rand.Read(b[:])
		seed := binary.LittleEndian.Uint64(b[:])
		o.Seed = &seed
	}
	return nil
}

// vacant finds a folder that holds something.
func vacant(dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrong("the folder of the rehearsal: %v", err)
	}
	if len(entries) > 0 {
		return wrong("%s holds something already: name a new folder for the rehearsal", dir)
	}
	return nil
}

// trial holds what the steps share.
type trial struct {
	options RehearseOptions
	call    *call
	// client has its state in dir.
	client *Client
	key    noise.Key
	dir    string
	// real is the plan of the real run, and run what is carried out.
	real Plan
	run  SynthesizeOptions
	// began is when all of it began, and asked what the caller asked for, 0 where it is left open.
	began time.Time
	asked RehearseOptions
	// records choose and held are measured on; own are model-generated examples.
	records, held, own []prompt.Example
	result             Rehearsal
	// saved, if set, is how much longer the real run encodes than this one.
	saved func() time.Duration
}

func (r *trial) path(name string) string { return filepath.Join(r.dir, name) }

func (r *trial) open(ctx context.Context) (err error) {
	if err = r.call.openModel(ctx, false); err == nil { // what is sent to it stands in for records
		r.client, err = Open(r.dir, &Options{Trusted: r.call.model})
	}
	return err
}

// settle makes the plan of the real run.
func (r *trial) settle(ctx context.Context) (err error) {
	if n := r.options.Request.Size; n > maxStandIn && len(r.options.Request.Sizes) == 0 {
		r.options.Request.Size = maxStandIn
		r.call.note("%d records are rehearsed as %d: the real run has a little less noise", n, maxStandIn)
	}
	r.run = r.alone("release", 0, r.options.Request)
	// Whether its own model is on a server decides how much work there is.
	r.run.Pool = r.options.Pool
	s := &synthesis{options: r.run, request: r.run.Request.internal(), call: r.call}
	s.options.Source.Location = r.dir // a model that writes the pool is asked for something that has records
	r.result.Share = 1
	if c := r.options.Request.Choosing; c != nil && c.Work == 0 {
		r.result.Share = standInShare
		if len(r.options.StandIn) == 0 {
			r.result.Share = inventedShare
		}
	}
	s.options.Time = time.Duration(r.result.Share * float64(r.whole()))
	for _, step := range []func(context.Context) error{s.precheck, s.invent, s.encode, s.suit} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.call.encoder.Valid() { // few records stand in for many: each is encoded once
		r.client.encoder, r.saved = r.call.encoder.Once()
	}
	if r.real, err = plan.New(s.request); err != nil {
		return err
	}
	r.run.Plan = &r.real
	switch {
	case !r.real.Private() || r.real.Claim() != "":
		return wrong("the method %s has no guarantee: rehearse one that has", r.real.Method())
	case !r.real.Reads():
		return wrong("the method %s reads no records, and costs nothing: there is nothing to rehearse", r.real.Method())
	case r.real.Units() > 2*maxStandIn:
		return wrong("at most %d records can be stood in for: declare smaller sizes of labels, in the same proportions", 2*maxStandIn)
	}
	return nil
}

// How the time of a rehearsal is divided: the rehearsed run's share where records stand in, and where they are invented
// first; inventing has at most a quarter. What is left is for measuring. All of it is public, so that the clock
// may decide.
const (
	standInShare  = 0.7
	inventedShare = 0.5
	inventing     = 0.25
)

// whole is how long all of it may take.
func (r *trial) whole() time.Duration { return cmp.Or(max(r.options.Time, 0), plan.DefaultTime) }

// left is how much of that is left.
func (r *trial) left() time.Duration { return r.whole() - time.Since(r.began) }

// alone are options of a run in the temporary folder. A seed keeps it from ledger and keys;
// each run has another one, so that no two write the same texts.
func (r *trial) alone(name string, of uint64, request Request) SynthesizeOptions {
	seed := r.key.Stream("rehearse", of).Uint64()
	return SynthesizeOptions{
		Use:     Use{Seed: &seed, Observe: r.options.Observe},
		Request: request, Out: r.path(name), Parallel: r.options.Parallel, PassTokens: r.options.PassTokens,
	}
}

// standIn finds records, holds some of them out, and writes the others in place of the
// private ones.
func (r *trial) standIn(ctx context.Context) error {
	all := r.options.StandIn
	if r.result.Invented = len(all) == 0; r.result.Invented {
		var err error
		if all, err = r.inventAll(ctx); err != nil {
			return err
		}
	}
	var err error
	if r.records, r.held, err = rehearsal.Split(r.key, r.options.Request.Task, all, r.options.Items); err != nil {
		return err
	}
	r.result.Records, r.result.Items = len(r.records)+len(r.held), len(r.held)
	if r.result.Invented {
		r.own = r.records // in the model's own words as they are
	}
	q := r.options.Request
	source := rehearsal.Source{Task: q.Task, Unit: q.Unit, Plan: r.real, Size: q.Size, ByLabel: len(q.Sizes) > 0, Counted: q.Count}
	r.result.Copies, err = source.Write(r.path("records.jsonl"), r.records)
	return err
}

// inventAll has the model write records, as many as there is time for unless their number is given.
func (r *trial) inventAll(ctx context.Context) (all []prompt.Example, err error) {
	if r.asked.Invent > 0 {
		r.call.note("the model invents %d records, which stand in for yours", r.options.Invent)
		return r.invent(ctx, "invented", 1, r.options.Invent)
	}
	r.call.note("the model invents up to %d records, which stand in for yours", r.options.Invent)
	until := time.Now().Add(time.Duration(inventing * float64(r.whole())))
	minimum := max(3*rehearsal.MinRecords, 3*len(r.options.Request.Task.Labels))
	for at := uint64(0); len(all) < r.options.Invent && (len(all) < minimum || time.Now().Before(until)) && at < inventedRuns; at++ {
		some, err := r.invent(ctx, fmt.Sprintf("invented %d", at), inventedRuns+at, min(max(inventedAtOnce, len(r.options.Request.Task.Labels)), r.options.Invent-len(all)))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

const (
	// inventedAtOnce is how many records are invented before the clock is looked at.
	inventedAtOnce = 20
	// inventedRuns bounds how often, and is apart from the numbers of other runs.
	inventedRuns = 1000
)

// invent has the model write examples by itself, and drops what it wrote twice.
func (r *trial) invent(ctx context.Context, name string, run uint64, n int) ([]prompt.Example, error) {
	request := Request{
		Task: r.options.Request.Task, Method: "public", Shots: n, Tokens: r.options.Request.Tokens, Conditions: r.options.Request.Conditions, Rules: r.options.Request.Rules,
		Size: int64(max(1, len(r.options.Request.Task.Labels))),
	}
	done, err := r.client.Synthesize(ctx, r.alone(name, run, request))
	if err != nil {
		return nil, alsoGone(err)
	}
	return done.Examples, nil
}

// carryOut does what the real run would do.
func (r *trial) carryOut(ctx context.Context) error {
	r.run.Source = Source{Location: r.path("records.jsonl"), SkipMalformed: r.result.Invented}
	done, err := r.client.Synthesize(ctx, r.run)
	if err != nil {
		return alsoGone(err)
	}
	r.result.Run = *done
	r.result.RunLow, r.result.RunHigh = done.Seconds, done.Seconds
	if used := done.Usage.Computed; used > 0 && done.Planned > used {
		r.result.RunHigh = done.Seconds * float64(done.Planned) / float64(used)
	}
	r.result.RunLow, r.result.RunHigh = r.result.RunLow/r.result.Share, r.result.RunHigh/r.result.Share
	if r.result.Share < 1 { // the real run is planned for the whole time with the longest records there may be
		r.result.RunHigh = max(r.result.RunLow, min(r.result.RunHigh, 1.25*r.whole().Seconds()))
	}
	if r.saved != nil {
		encoding := r.saved().Seconds()
		r.result.RunLow += encoding
		r.result.RunHigh += encoding
	}
	return nil
}

// compare asks the held-out questions with each kind of examples.
func (r *trial) compare(ctx context.Context) (err error) {
	c := &rehearsal.Comparison{
		Task: r.options.Request.Task, Model: r.call.model.Public(), Encoder: r.call.encoder, Shots: r.real.Shots, Sets: r.options.Sets, Evidence: r.result.Evidence,
		Records: r.records, Held: r.held, Invented: r.result.Invented,
		FixedSets: r.asked.Sets > 0, FixedHeld: r.asked.Items > 0, Left: r.left, PassTokens: r.options.PassTokens, Key: r.key,
		Begin: func(held int) {
			r.call.note("%d records that were held out are asked, with each kind of examples", held)
		},
	}
	if chosen := r.real.Choose; chosen != nil {
		c.Form, c.Shots = chosen.Form, chosen.Shots
	}
	c.Chosen = rehearsal.Plain(c.Task, c.Form)
	c.Chosen.Examples = r.result.Examples
	if r.result.Prompt != nil {
		c.Chosen = *r.result.Prompt
	}
	// The model writes examples of its own, unless it invented the records, or labels are discovered: then there is
	// nothing that it could write for.
	if r.own == nil && !(c.Task.Open() && len(r.options.Request.Conditions) == 0 && len(c.Task.Conditions) == 0) {
		if r.own, err = r.invent(ctx, "own", 2, r.options.Sets*c.Shots); err != nil {
			return err
		}
	}
	c.Own = r.own
	r.result.Rows, r.result.Gains, err = c.Run(ctx)
	r.result.Items = len(c.Held)
	return err
}

// alsoGone is the cause of an interruption: a rehearsal does not continue.
func alsoGone(err error) error {
	if stopped, ok := errors.AsType[*InterruptedError](err); ok && stopped.Err != nil {
		return stopped.Err
	}
	return err
}

// rehearsalNote is written beside what came out.
const rehearsalNote = `# A rehearsal

What is in this folder came out of records that stand in for private ones, with random
numbers from a seed. Nothing was charged, nothing is signed, and there is no certificate:
do not use it in place of the real run's.
`

// keep copies what came out, if that was asked for.
func (r *trial) keep(context.Context) error {
	r.result.Dir = r.options.Out
	if r.options.Out == "" {
		r.result.Files = nil
		return nil
	}
	if err := os.MkdirAll(r.options.Out, 0o700); err != nil {
		return fmt.Errorf("keep the rehearsal: %w", err)
	}
	if err := os.CopyFS(r.options.Out, os.DirFS(r.path("release"))); err != nil {
		return fmt.Errorf("keep the rehearsal: %w", err)
	}
	const note = "REHEARSAL.md"
	if err := os.WriteFile(filepath.Join(r.options.Out, note), []byte(rehearsalNote), 0o644); err != nil {
		return fmt.Errorf("keep the rehearsal: %w", err)
	}
	r.result.Files = append(r.result.Files, note)
	return nil
}
