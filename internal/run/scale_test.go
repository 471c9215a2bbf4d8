package run

import (
	"context"
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// drawnAtScale is how many records a round draws on average, however many there are.
const drawnAtScale = 12

// runCost is what a run of n records did, in events: it does not depend on the machine.
type runCost struct {
	steps   int   // calls of the model
	asked   int64 // prompts and questions that the model was asked
	encoded int64 // texts that the encoder was asked for
	charges int
	rows    int64 // of the ledger
	entries int   // of the journal
}

// countingModel is a model that counts what it is asked.
type countingModel struct {
	*hashModel
	asked atomic.Int64
}

func (m *countingModel) Open(ctx context.Context) (lm.Session, error) {
	s, err := m.hashModel.Open(ctx)
	return &askingSession{s, m}, err
}

type askingSession struct {
	lm.Session
	of *countingModel
}

func (s *askingSession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	s.of.asked.Add(int64(len(steps)))
	return s.Session.Step(ctx, steps)
}

// countingEncoder is an encoder that counts texts.
type countingEncoder struct {
	*hashEncoder
	texts atomic.Int64
}

func (e *countingEncoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.texts.Add(int64(len(texts)))
	return e.hashEncoder.Embed(ctx, texts)
}

// runAtScale carries out the plan of all that is done to records, with n of them: texts by the model alone, sums over
// all records, rounds that draw the same number of records, and a measurement.
func runAtScale(t *testing.T, n int) (s runCost) {
	t.Helper()
	p := newEvidencePlace(t)
	p.writeData(t, n/2)
	p.made.Evidence.Size = int64(n)
	rate := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: drawnAtScale / float64(n)}
	p.made.Choose.Draw, p.made.Choose.Last.Draw = rate, rate
	p.made.Choose.Measure.Draw.Rate = rate.Rate
	for i := range p.made.Parts {
		p.made.Parts[i].Size = int64(n / len(p.made.Parts))
	}
	model, encoder := &countingModel{hashModel: newHashModel()}, &countingEncoder{hashEncoder: p.encoder}
	o := p.options(t, p.plan(), model.hashModel)
	var err error
	o.Env.Model, err = lm.Trust(model, lm.InProcess)
	must(t, err)
	o.Env.Encoder, err = lm.TrustEmbedder(encoder, lm.InProcess)
	must(t, err)
	p.finish(t, o)
	s.steps, s.asked, s.encoded = model.steps, model.asked.Load(), encoder.texts.Load()
	s.charges = len(charges(t, o))
	report, err := p.ledger.Check(t.Context(), ledger.CheckOptions{})
	must(t, err)
	s.rows = report.Rows
	entries, _, err := readJournal(filepath.Join(o.Dir, journalFile))
	must(t, err)
	s.entries = len(entries)
	return s
}

// largestDraw is a number of records that a draw of so many on average has more of with probability below 1e-9: the
// bound of Chernoff.
func largestDraw(mean float64) int64 {
	k := mean
	for k-mean-k*math.Log(k/mean) > math.Log(1e-9) {
		k++
	}
	return int64(math.Ceil(k))
}

// checkScale compares a run of n records with what the drawn records of its plan explain.
func checkScale(t *testing.T, n int, s, small runCost) {
	t.Helper()
	const (
		looks  = 4  // three rounds and a measurement
		asks   = 16 // for a record in each, at most: its question and parts of labels, by each prompt
		around = 400
	)
	drawn := looks * largestDraw(drawnAtScale)
	expect.Max(t, "what the model is asked", s.asked, around+drawn*asks)
	expect.Max(t, "calls of the model", int64(s.steps), around)
	expect.Within(t, "texts that are encoded", s.encoded, int64(n), int64(n)+around+drawn)
	expect.Equal(t, "charges", s.charges, 1)
	expect.Equal(t, "rows of the ledger", s.rows, small.rows)
	expect.Equal(t, "entries of the journal", s.entries, small.entries)
}

// TestScale: with a hundred times as many records a run asks its model no more than the records that are drawn
// explain, encodes each record once, and writes as much to ledger and journal.
func TestScale(t *testing.T) {
	small := runAtScale(t, 1000)
	checkScale(t, 1000, small, small)
	for _, n := range []int{10_000, 100_000} {
		if t.Failed() {
			return // more records would take as much longer
		}
		s := runAtScale(t, n)
		t.Logf("%d records: %+v", n, s)
		checkScale(t, n, s, small)
	}
}

// TestLongScale is TestScale with a million records.
func TestLongScale(t *testing.T) {
	if testing.Short() {
		t.Skip("a million records are read")
	}
	s := runAtScale(t, 1_000_000)
	t.Logf("%+v", s)
	checkScale(t, 1_000_000, s, runAtScale(t, 1000))
}
