package lm

import (
	"context"
	"fmt"
	"strings"
)

// Isolation names how it is ensured that a prompt's scores depend on that prompt alone, bit
// for bit. Every proof of a private method needs it: where the scores of one record move
// when another joins the batch, a record's influence is unbounded.
type Isolation string

// The ways to ensure it.
const (
	// ByConstruction: the engine runs in this process and computes each result in one
	// order, whatever else it computes.
	ByConstruction Isolation = "by construction"
	// OneSequence: each prompt is scored alone, and the server has room for one sequence
	// only, so nobody else's can be beside it.
	OneSequence Isolation = "alone, on a server of one sequence"
	// Watched: each prompt is scored alone, and the server's own counters show that no
	// other requests ran at the time; other scores are discarded.
	Watched Isolation = "alone, by the server's counters"
	// Exclusive: each prompt is scored alone, and the operator declares that nobody else
	// uses the server.
	Exclusive Isolation = "alone, by the operator's word"
	// The same for all prompts of one record at a time: see [IsolateRecords].
	RecordsOneSequence Isolation = "one record at a time, on a server of one sequence"
	RecordsWatched     Isolation = "one record at a time, by the server's counters"
	RecordsExclusive   Isolation = "one record at a time, by the operator's word"
)

// ByRecord reports that prompts are kept apart by record: what one call asks may be about one
// record only.
func (i Isolation) ByRecord() bool {
	return i == RecordsOneSequence || i == RecordsWatched || i == RecordsExclusive
}

// Declared reports that the operator's word is part of it.
func (i Isolation) Declared() bool {
	return strings.Contains(string(i), "by the operator's word")
}

// And is the isolation of a run that reads records in two ways.
func (i Isolation) And(j Isolation) Isolation {
	if i == "" || i == j || i == ByConstruction {
		return j
	}
	if j == "" || j == ByConstruction {
		return i
	}
	return i + "; " + j
}

// SoloScorer is a scorer whose back-end does not promise independent scores, but can score
// each prompt alone: one sequence per request, one request after the other, and no state
// kept between them that could change a bit.
type SoloScorer interface {
	Scorer
	// Solo returns the same model in that mode, and how it is ensured that nobody else's
	// sequence is computed beside this program's. A *[NotIsolatedError] reports what is
	// missing.
	Solo(context.Context) (Scorer, Isolation, error)
}

// IsolatedScorer is a trusted model whose scores of a prompt are known to depend on that prompt
// alone, or, where its isolation is by record, on that record and what is public. Only
// [Isolate] and [IsolateRecords] make one, and only with one is anything charged as proven
// or certified.
type IsolatedScorer struct {
	model TrustedScorer
	how   Isolation
}

// Valid reports whether the value came from [Isolate] or [IsolateRecords].
func (i IsolatedScorer) Valid() bool { return i.model.Valid() && i.how != "" }

// Model returns the model, in the mode in which it was checked.
func (i IsolatedScorer) Model() TrustedScorer { return i.model }

// Isolation returns how the independence of its scores is ensured.
func (i IsolatedScorer) Isolation() Isolation { return i.how }

// Isolate ensures that a prompt's scores depend on that prompt alone. Call it at the start
// of every run, before anything is charged, and show records only to the model that it
// returns.
//
// A model in this process that promises it is believed: its tests compare bits. Any other
// must score each prompt alone, and is tried out on made-up texts ([Compare]). An error is
// a *[NotIsolatedError] unless the model failed.
func Isolate(ctx context.Context, t TrustedScorer) (IsolatedScorer, error) {
	if !t.Valid() {
		return IsolatedScorer{}, fmt.Errorf("records may only be shown to a trusted model, and there is none")
	}
	if err := t.NeedScores(); err != nil {
		return IsolatedScorer{}, err
	}
	info := t.Info()
	if t.constructed() {
		return IsolatedScorer{t, ByConstruction}, nil
	}
	s, can := t.scorer.(SoloScorer)
	if !can {
		return IsolatedScorer{}, &NotIsolatedError{Backend: info.Backend, Why: "it cannot score prompts one by one", Do: "use the embedded engine"}
	}
	alone, how, err := s.Solo(ctx)
	if err != nil {
		return IsolatedScorer{}, err
	}
	c, err := Compare(ctx, alone)
	if err != nil {
		return IsolatedScorer{}, fmt.Errorf("try out whether scores depend on their prompt alone: %w", err)
	}
	if c.Different > 0 {
		return IsolatedScorer{}, &NotIsolatedError{
			Backend: info.Backend,
			Why:     fmt.Sprintf("though each prompt was scored alone, %d of %d scores came out otherwise after other prompts, by up to %.2g", c.Different, c.Scores, c.MaxDifference),
			Do:      "start the server with settings that docs/models.md lists as passing, or use the embedded engine",
		}
	}
	return IsolatedScorer{TrustedScorer{alone, t.basis}, how}, nil
}

// constructed reports whether each result depends on its sequence alone by construction: a model
// in this process that promises it is believed.
func (t TrustedScorer) constructed() bool { return t.basis == InProcess && t.Info().BatchInvariant }

// NotIsolatedError reports that a prompt's scores may depend on other prompts, so that no
// guarantee can be proven.
type NotIsolatedError struct {
	Backend string
	// Why it is so, and what to Do about it.
	Why, Do string
}

func (e *NotIsolatedError) Error() string {
	return fmt.Sprintf("%s does not keep a record's scores apart from the other records', which every proof needs: %s; %s", e.Backend, e.Why, e.Do)
}
