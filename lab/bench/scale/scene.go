package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

const (
	// recordBytes is about how long a record is, as a line of the file.
	recordBytes = 200
	// width is the dimension of the default encoder.
	width = 384
)

// scene is made-up data of n records, and what reads it.
type scene struct {
	dir, data string
	n         int64
	records   *record.Data
	plan      plan.Plan
}

// desks is a task with a closed list of labels.
func desks() prompt.Task {
	return prompt.Task{
		Name: "desks", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"heating", "doors", "water", "network"},
		Generate: prompt.Generation{Instruction: "Write a message."},
		Answer:   prompt.AnswerLayout{Instruction: "Name the desk."},
	}.WithDefaults()
}

// write writes the records, and returns the size of the file.
func (s *scene) write() (int64, error) {
	f, err := os.Create(s.data)
	if err != nil {
		return 0, err
	}
	w, labels := bufio.NewWriterSize(f, 1<<20), desks().Labels
	for i := range s.n {
		fmt.Fprintf(w, `{"text":"Message %09d: since this morning the %s in building %d, floor %d, does not work as it should, and two of us are waiting for somebody to come and look at it.","label":%q}`+"\n",
			i, labels[i%4], i%97, i%13, labels[(i/7)%4])
	}
	err = errors.Join(w.Flush(), f.Close())
	info, stat := os.Stat(s.data)
	if err = errors.Join(err, stat); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// open enrols the records, or takes the index of an earlier time.
func (s *scene) open(ctx context.Context) (err error) {
	t := desks()
	s.records, err = record.Open(ctx, s.data, record.Options{
		Text: t.Text, Condition: t.Label, Labels: t.Labels, Together: true, OneLine: true, Private: filepath.Join(s.dir, "private"),
	})
	return err
}

// close lets go of the records.
func (s *scene) close() error {
	if s.records == nil {
		return nil
	}
	err := s.records.Close()
	s.records = nil
	return err
}

// index is the size of the index.
func (s *scene) index() (sum int64, err error) {
	names, err := filepath.Glob(filepath.Join(s.dir, "private", "index", "*.index"))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}

// planned plans choosing with evidence, as runs do by default.
func (s *scene) planned() (err error) {
	s.plan, err = plan.New(plan.Request{Task: desks(), Epsilon: 1, Size: s.n, Choosing: &plan.ChooseRequest{Encoder: instant{}.Name()}})
	return err
}

// draw draws the records of the first round, and reads them.
func (s *scene) draw(ctx context.Context) (int, error) {
	d := draw.NewDrawer(s.records, noise.KeyFromSeed(1))
	sample, err := d.DrawStep(s.plan.Choose.Draw, draw.Text{}, 0)
	if err != nil {
		return 0, err
	}
	for _, some := range sample.Prompts {
		if _, err := d.Fetch(ctx, some); err != nil {
			return 0, err
		}
	}
	return len(sample.Prompts), nil
}

// addUp adds all records up, so often.
func (s *scene) addUp(ctx context.Context, n int64) error {
	if n < 1 {
		return nil
	}
	encoder, err := lm.TrustEmbedder(instant{}, lm.InProcess)
	if err != nil {
		return err
	}
	of := sums.Sums{Encoder: encoder.Name(), Sums: n, Sigma: 8, Size: s.n, Adjacency: privacy.AddRemove, Each: 1}
	if n > 1 {
		of.Step = 100
	}
	summer, err := sums.New(sums.Options{Encoder: encoder, Task: desks(), Pool: s.records, Key: noise.KeyFromSeed(2), Sums: of})
	if err != nil {
		return err
	}
	_, err = summer.Evidence(ctx)
	return err
}

// charge reserves and commits the plan's event in a ledger of its own.
func (s *scene) charge(ctx context.Context) (err error) {
	l, err := ledger.Open(ctx, filepath.Join(s.dir, "ledger.db"), ledger.Options{Create: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	sum := s.records.Fingerprint()
	fingerprint, err := ledger.NewFingerprint(sum[:])
	if err != nil {
		return err
	}
	budget := ledger.Budget{Epsilon: 4, Delta: s.plan.Delta}
	if _, err := l.Init(ctx, ledger.InitRequest{Dataset: fingerprint, Name: "desks", Budget: budget}); err != nil {
		return err
	}
	charged, err := l.Reserve(ctx, ledger.ReserveRequest{
		Dataset: "desks", Run: "choose", Key: "run 1", Proof: ledger.Proven,
		Adjacency: s.plan.Adjacency, Unit: s.plan.Unit, Event: s.plan.Event(),
	})
	if err != nil {
		return err
	}
	_, err = l.Commit(ctx, ledger.CommitRequest{Charge: charged.ID})
	return err
}

// instant is an encoder that takes next to no time: its vectors have two numbers that are not 0.
type instant struct{}

func (instant) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out, room := make([][]float32, len(texts)), make([]float32, width*len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // never fails
		sum := h.Sum64()
		sin, cos := math.Sincos(float64(sum%1000) / 1000 * 2 * math.Pi)
		out[i] = room[i*width : (i+1)*width]
		out[i][sum%(width/2)], out[i][width/2+sum>>32%(width/2)] = float32(sin), float32(cos)
	}
	return out, nil
}

func (instant) Dimension() int { return width }
func (instant) Name() string   { return "instant" }
func (instant) Close() error   { return nil }
