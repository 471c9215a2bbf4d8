package grader

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/internal/vectors"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Source is what the records of a [Sampler] are drawn from.
type Source struct {
	Pool draw.Pool
	// Parts is the number of parts of the pool, 1 by default; records are drawn from all of
	// them alike.
	Parts int
	// Key decides the draws of Scheme.
	Key    noise.Key
	Scheme scheme.Scheme
}

// Sampler is a grader of records that are drawn anew for each round. It is for one goroutine at
// a time.
type Sampler struct {
	*Grader
	source Source
	drawer *draw.Drawer
	// bound are the prompts that a round was asked about, by their hash.
	bound map[int64][sha256.Size]byte
}

// NewSampler checks the options. No record is read.
func NewSampler(ctx context.Context, s Source, o Options) (*Sampler, error) {
	if s.Pool == nil {
		return nil, errors.New("there are no records to judge by")
	}
	if err := draw.Genuine(s.Pool); err != nil {
		return nil, err
	}
	if s.Parts = max(1, s.Parts); s.Parts > 1 && s.Scheme.Kind == scheme.FixedSize {
		return nil, errors.New("draws of a fixed size are from all records together, and these are in parts by label: an exchanged record may be in another part")
	}
	j, err := New(ctx, o)
	if err != nil {
		return nil, err
	}
	j.kept, _ = s.Pool.(vectors.Keeper)
	return &Sampler{j, s, draw.NewDrawer(s.Pool, s.Key), map[int64][sha256.Size]byte{}}, nil
}

// Grades draws the records of a round, counted from 0, and returns their grades on
// prompts. Asked again for a round, it refuses other prompts: a round looks once.
func (p *Sampler) Grades(ctx context.Context, round int64, prompts []prompt.Prompt) ([][]int64, error) {
	if err := p.check(prompts); err != nil {
		return nil, err
	}
	data, err := json.Marshal(prompts)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if known, ok := p.bound[round]; ok && known != sum {
		return nil, fmt.Errorf("round %d was asked about other prompts before: each round looks once", round+1)
	}
	p.bound[round] = sum
	records, err := p.Records(ctx, round)
	if err != nil {
		return nil, err
	}
	return p.Judge(ctx, prompts, records)
}

// Labels returns the label of each record of a round, as its place on the task's list; -1 for one that is not on it.
func (p *Sampler) Labels(ctx context.Context, round int64) ([]int, error) {
	records, err := p.Records(ctx, round)
	if err != nil {
		return nil, err
	}
	out := slices.Repeat([]int{-1}, len(records))
	for _, c := range p.cases(records) {
		out[c.record] = c.label
	}
	return out, nil
}

// Records returns the records of a round.
func (p *Sampler) Records(ctx context.Context, round int64) ([]seal.Record, error) {
	var refs []seal.Ref
	for part := range p.source.Parts {
		// A round is a step: its draw has streams of its own.
		sample, err := p.drawer.DrawStep(p.source.Scheme, draw.Text{Index: uint64(part), Part: part}, round)
		if err != nil {
			return nil, err
		}
		for _, some := range sample.Prompts {
			refs = append(refs, some...)
		}
	}
	return p.drawer.Fetch(ctx, refs)
}
