package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/prompt"
)

// Sets of demonstrations that are no files.
const (
	demosZero = "zero"
	demosReal = "real"
)

// demoSet is a set of demonstrations. That of real records is drawn once the model is
// open, by whose tokens records are cut.
type demoSet struct {
	name       string
	demos      []icl.Demo
	notPrivate bool
	// chosen is the prompt of a folder whose records chose one, without its examples: how to
	// ask, and how labels are read off.
	chosen *prompt.Prompt
}

// readChosen reads what the records of a release's folder chose, if they chose.
func readChosen(dir string) (*prompt.Prompt, error) {
	data, err := bounded.ReadFile(filepath.Join(dir, "prompt.json"), bounded.Large)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usage("the prompt of %s: %w", dir, err)
	}
	p := &prompt.Prompt{}
	if err := bounded.UnmarshalJSON(data, bounded.Large, p); err != nil {
		return nil, usage("the prompt of %s: %w", dir, err)
	}
	p.Examples = nil
	return p, nil
}

// readDemos reads the sets that are files.
func (s *setting) readDemos() ([]demoSet, error) {
	var sets []demoSet
	for _, ref := range s.demos {
		switch ref {
		case demosZero:
			sets = append(sets, demoSet{name: ref})
		case demosReal:
			sets = append(sets, demoSet{name: ref, notPrivate: true})
		default:
			set, err := s.readSet(ref)
			if err != nil {
				return nil, err
			}
			sets = append(sets, set)
		}
	}
	return sets, nil
}

func (s *setting) readSet(ref string) (demoSet, error) {
	set := demoSet{name: ref}
	path := ref
	if info, err := os.Stat(ref); err == nil && info.IsDir() {
		path = filepath.Join(ref, "demos.jsonl")
		there, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return set, usage("%s has no demos.jsonl: name a folder that \"sotto synth\" has finished, or a file", ref)
		}
		if set.chosen, err = readChosen(ref); err != nil {
			return set, err
		}
		if set.chosen != nil && there != nil && there.Size() == 0 { // no examples were chosen
			return set, nil
		}
	} else if errors.Is(err, os.ErrNotExist) {
		return set, usage("there is no folder or file %s of demonstrations; \"zero\" and \"real\" are the two that need none", ref)
	}
	items, err := eval.ReadItems(path, s.target)
	var wrong *eval.ItemError
	if errors.As(err, &wrong) {
		where := path
		if wrong.Record > 0 {
			where = fmt.Sprintf("%s, record %d", path, wrong.Record)
		}
		return set, usage("demonstrations %s: %s", where, wrong.Reason)
	}
	if err != nil {
		return set, err
	}
	if set.notPrivate, err = marked(path); err != nil {
		return set, err
	}
	for _, item := range items {
		set.demos = append(set.demos, icl.Demo{Input: item.Input, Output: item.Output})
	}
	if s.shots > len(set.demos) {
		return set, usage("--shots is %d, and %s has %d demonstrations", s.shots, ref, len(set.demos))
	}
	if s.shots > 0 {
		set.demos = set.demos[:s.shots]
	}
	return set, nil
}

// leastPart is how many records package plan draws at least to choose one of.
const leastPart = 16

// drawReal takes records as they are, through the same door as all other methods.
func (s *setting) drawReal(ctx context.Context) ([]icl.Demo, error) {
	dir, err := os.MkdirTemp("", "sotto-eval-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for real records: %w", err)
	}
	defer os.RemoveAll(dir)
	private, err := s.privateDir()
	if err != nil {
		return nil, err
	}
	seed := uint64(s.seed)
	request := plan.Request{Task: s.target, Method: demosReal, Shots: s.shots, Size: s.size}
	if s.size == 0 {
		// As if there were as few as possible, so that all of them are drawn.
		request.Size = leastPart * int64(max(1, len(s.target.Labels)))
	}
	if s.target.Open() && len(s.target.Conditions) == 0 {
		request.Conditions = []string{"any"} // records come with their own
	}
	done, err := sotto.Synthesize(ctx, sotto.SynthesizeOptions{
		Request: request, Out: filepath.Join(dir, "real"), Trusted: s.trusted, NonPrivate: true, Seed: &seed, Version: thisVersion().Version,
		Source: sotto.Source{Location: s.data, Query: s.query, Private: private},
	})
	if err != nil {
		return nil, err
	}
	var demos []icl.Demo
	for _, e := range done.Examples {
		demos = append(demos, icl.Demo(e))
	}
	return demos, nil
}

// marked reports whether a file of demonstrations says that it is NOT PRIVATE, as those
// of package release do.
func marked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, usage("demonstrations: %w", err)
	}
	defer f.Close()
	var in io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		in, err = gzip.NewReader(f)
	case ".zst":
		in, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	}
	var data []byte
	if err == nil {
		data, err = bounded.Read(in, bounded.Huge)
	}
	if err != nil {
		return false, usage("demonstrations %s: %w", path, err)
	}
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		var mark struct {
			NotPrivate any `json:"not_private"`
		}
		// Other programs may have made 1 or "True" of it.
		if bounded.UnmarshalJSON(line, bounded.Huge, &mark) == nil && mark.NotPrivate != nil && mark.NotPrivate != false {
			return true, nil
		}
	}
	return false, nil
}
