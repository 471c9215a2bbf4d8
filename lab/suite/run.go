package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/tabular"
	"github.com/sotto-dp/sotto/lm"
)

// Options say with what and where a suite is run.
type Options struct {
	// Data is the folder that "{data}/" stands for in paths of the suite.
	Data string
	// Open gives the model of a name, "" for the default one, to write with, and to answer
	// with unless OpenAnswerer is set. It is called once for each name, and the model stays
	// open: it is the caller's. Required.
	Open func(ctx context.Context, name string) (lm.TrustedScorer, error)
	// OpenAnswerer gives models that answer, which need not give scores. They are shown all
	// demonstrations, which have no privacy guarantee here, and real records among them: it must not
	// give one that may not see records.
	OpenAnswerer func(ctx context.Context, name string) (lm.Model, error)
	// Cache is a folder for what was written and answered, so that it is not done twice. It
	// holds texts that have no privacy guarantee. Required.
	Cache string
	// Out is the folder for rows.jsonl and rows.parquet. Required.
	Out string
	// Parallel is how many cells are worked on at once, default 1: the embedded engine
	// uses all processors for one. Texts is how many texts of a set, or answers online, are
	// written at once; default as for [sotto.Client.Synthesize].
	Parallel, Texts int
	// PassTokens is as in [sotto/icl.Options].
	PassTokens int
	// Encoder, if set, also measures texts that answers are by the likeness of their tokens.
	// It is shown answers that have no privacy guarantee: it must run in this program, or where records
	// may be seen.
	Encoder metric.Encoder
	// Sentences is for the method embedding, which opens one if it is missing.
	Sentences lm.TrustedEmbedder
	// Observe, if set, receives progress, one report after the other.
	Observe func(Progress)
	// Version of the program. Required.
	Version string
}

// Kind says what a [Progress] is about.
type Kind string

// The kinds there are.
const (
	// Begun: cells are known.
	Begun Kind = "begun"
	// Written: a demonstration set is there.
	Written Kind = "written"
	// Answered: the test items are answered with a set.
	Answered Kind = "answered"
	// Finished: a cell is done, and its Rows are on disk.
	Finished Kind = "finished"
	// Failed: a cell could not be done, for Err; the others continue.
	Failed Kind = "failed"
)

// Progress reports how far a suite is.
type Progress struct {
	Kind Kind
	Cell Cell
	// Cached: it was done before.
	Cached bool
	// Tokens went through the model for it.
	Tokens int64
	// Rows of a cell that is done.
	Rows []result.Row
	Err  error
	// Done of Cells are done or have failed.
	Done, Cells int
}

// by adds what it took, which is nothing if it was done before.
func (e Progress) by(u lm.Usage, cached bool) Progress {
	if e.Cached = cached; !cached {
		e.Tokens = u.Computed
	}
	return e
}

// Result of a suite.
type Result struct {
	// Rows are sorted, as they are in the files.
	Rows []result.Row
	// Cells were asked for; of their sets and answers, these were not in the cache.
	Cells, Written, Answered int
	// Reused sets and answers were in the cache.
	ReusedSets, ReusedAnswers int
	// Tokens went through models in this run.
	Tokens  int64
	Seconds float64
}

// FailedError says which cells could not be done. The others were.
type FailedError struct {
	Failures []Failure
	Cells    int
}

// Failure of a cell.
type Failure struct {
	Cell Cell
	Err  error
}

func (e *FailedError) Error() string {
	const shown = 10
	cells := map[string][]Cell{} // by what is wrong
	var reasons []string
	for _, f := range e.Failures {
		reason := f.Err.Error()
		if cells[reason] == nil {
			reasons = append(reasons, reason)
		}
		cells[reason] = append(cells[reason], f.Cell)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d cells failed; the rows of the others are written, and the next run tries these again", len(e.Failures), e.Cells)
	for i, reason := range reasons {
		if i == shown {
			fmt.Fprintf(&b, "\n  and %d more reasons", len(reasons)-shown)
			break
		}
		others := ""
		if n := len(cells[reason]) - 1; n > 0 {
			others = fmt.Sprintf(" (and %d more)", n)
		}
		fmt.Fprintf(&b, "\n  %s%s: %s", cells[reason][0], others, reason)
	}
	return b.String()
}

// Unwrap returns the errors of the cells.
func (e *FailedError) Unwrap() []error {
	var all []error
	for _, f := range e.Failures {
		all = append(all, f.Err)
	}
	return all
}

// InterruptedError says that a suite stopped on its way, and resumes by the same call.
type InterruptedError struct {
	Done, Cells int
	Err         error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("interrupted after %d of %d cells (%v): the same call resumes from there", e.Done, e.Cells, e.Err)
}

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.Err }

// runner is a suite under way.
type runner struct {
	Options
	suite    Suite
	store    store
	log      *result.Log
	build    func() (string, error)
	models   once[model]
	answerer once[model]
	datasets once[*dataset]
	plans    once[*sharedPlan[plan.Plan]]
	sets     once[*set]

	plansOnline   once[*sharedPlan[plan.Answers]]
	distributions once[*tabular.Distribution]
	globals       once[*tabular.Global]

	mu       sync.Mutex
	result   Result
	done     int
	failures []Failure
}

// Run works through a suite. What is in the cache is not done again, so that a suite that
// was interrupted resumes where it stopped. Rows are added to Out/rows.jsonl as they come;
// at the end rows.jsonl and rows.parquet hold the rows of this suite, sorted. Errors:
// *[InterruptedError] if the context ended, *[FailedError] if cells failed, with a Result.
func Run(ctx context.Context, s Suite, o Options) (*Result, error) {
	if o.Open == nil || o.Cache == "" || o.Out == "" || o.Version == "" {
		return nil, errors.New("a suite needs models, folders for its cache and its results, and the version of the program")
	}
	s, err := s.In(o.Data)
	if err != nil {
		return nil, err
	}
	if s, err = s.WithInputs(); err != nil {
		return nil, err
	}
	cells, err := Cells(s)
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, suite: s, build: sync.OnceValues(hashProgram), result: Result{Cells: len(cells)}}
	if r.store, err = openStore(o.Cache); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for results: %w", err)
	}
	if r.log, err = result.OpenLog(r.rows("jsonl")); err != nil {
		return nil, err
	}
	began := time.Now()
	r.report(Progress{Kind: Begun})
	err = r.all(ctx, cells)
	r.result.Seconds = time.Since(began).Seconds()
	if err := errors.Join(err, r.log.Close()); err != nil {
		return nil, err
	}
	if len(r.result.Rows) == 0 && len(r.failures) > 0 {
		// What an earlier run has written is better than nothing.
		return &r.result, &FailedError{Failures: r.failures, Cells: len(cells)}
	}
	r.result.Rows = result.Tidy(r.result.Rows)
	for _, kind := range []string{"jsonl", "parquet"} {
		if err := result.WriteRows(r.rows(kind), r.result.Rows); err != nil {
			return nil, err
		}
	}
	if len(r.failures) > 0 {
		return &r.result, &FailedError{Failures: r.failures, Cells: len(cells)}
	}
	return &r.result, nil
}

func (r *runner) rows(kind string) string { return filepath.Join(r.Out, "rows."+kind) }

// all works on cells, several at once. Only the end of the context ends it early.
func (r *runner) all(ctx context.Context, cells []Cell) error {
	var group errgroup.Group
	group.SetLimit(max(1, r.Parallel))
	for _, c := range cells {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			defer fault.Watch()
			rows, err := r.cell(ctx, c)
			if err == nil || ctx.Err() == nil {
				r.finish(c, rows, err)
			}
			return nil
		})
	}
	_ = group.Wait() // cells do not fail the group
	// A context that ended after the last cell interrupts nothing.
	if r.done == len(cells) {
		return nil
	}
	return &InterruptedError{Done: r.done, Cells: len(cells), Err: context.Cause(ctx)}
}

// finish notes what became of a cell.
func (r *runner) finish(c Cell, rows []result.Row, err error) {
	if err == nil {
		err = r.log.Add(rows...)
	}
	e := Progress{Kind: Finished, Cell: c, Rows: rows, Err: err}
	if err != nil {
		e.Kind, e.Rows = Failed, nil
	}
	r.report(e)
}

// report counts, and passes progress on.
func (r *runner) report(e Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Tokens += e.Tokens
	count := map[Kind][2]*int{
		Written: {&r.result.Written, &r.result.ReusedSets}, Answered: {&r.result.Answered, &r.result.ReusedAnswers},
	}
	if by, ok := count[e.Kind]; ok {
		if e.Cached {
			*by[1]++
		} else {
			*by[0]++
		}
	}
	switch e.Kind {
	case Finished:
		r.done++
		r.result.Rows = append(r.result.Rows, e.Rows...)
	case Failed:
		r.done++
		r.failures = append(r.failures, Failure{e.Cell, e.Err})
	}
	if r.Observe != nil {
		e.Done, e.Cells = r.done, r.result.Cells
		r.Observe(e)
	}
}

// cell makes the rows of a cell.
func (r *runner) cell(ctx context.Context, c Cell) ([]result.Row, error) {
	d, err := r.dataset(c)
	if err != nil {
		return nil, err
	}
	e := entry{cell: c, listed: c, data: d, set: &set{}}
	switch {
	case c.Online:
		e.cell.Queries = cmp.Or(c.Queries, int64(len(d.items)))
		err = r.online(ctx, &e)
	case c.Dataset.table():
		err = r.tabular(ctx, &e)
	default:
		err = r.offline(ctx, &e)
	}
	if err != nil {
		return nil, err
	}
	return r.describe(ctx, e)
}

// offline writes demonstrations, if there are to be any, and answers with them.
func (r *runner) offline(ctx context.Context, e *entry) (err error) {
	learns := e.cell.Learns() // no model takes part
	if !learns {
		if e.answerer, err = r.answererOf(ctx, e.cell.Answerer); err != nil {
			return err
		}
		e.writer = e.answerer
	}
	if e.cell.Method != "zero" {
		if !learns {
			if e.writer, err = r.model(ctx, e.cell.Model); err != nil {
				return err
			}
		}
		if e.planned, err = r.plan(ctx, e.cell, e.writer); err != nil {
			return err
		}
		if e.set, err = r.set(ctx, e.cell, e.planned, e.writer, e.data); err != nil {
			return err
		}
	}
	e.answers, err = r.answers(ctx, e)
	return err
}
