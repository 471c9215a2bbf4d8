package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// openModels opens all that cells name, so that one that is missing is found at once.
func (s *suiteRun) openModels(ctx context.Context, cells []suite.Cell) error {
	for _, c := range cells {
		if c.Learns() {
			continue
		}
		if c.Method != "zero" {
			if _, err := s.open(ctx, c.Model); err != nil {
				return err
			}
		}
		if _, err := s.openAnswerer(ctx, c.Answerer); err != nil {
			return err
		}
	}
	return nil
}

// open gives a model that may see records: texts of a suite are not private.
func (s *suiteRun) open(ctx context.Context, name string) (lm.TrustedScorer, error) {
	if m, ok := s.models[name]; ok {
		return m, nil
	}
	spec, err := s.specOf(name)
	if err != nil {
		return lm.TrustedScorer{}, err
	}
	m, err := s.openTrusted(ctx, spec)
	if err == nil {
		s.models[name] = m
	}
	return m, err
}

func (s *suiteRun) specOf(name string) (backend.Spec, error) {
	of := s.Model
	if name != "" {
		of = flags.Model{Name: name, Threads: s.Threads}
	}
	return s.modelSpec(of)
}

// openAnswerer gives a model to answer with. A trusted server that gives no scores can
// still write answers.
func (s *suiteRun) openAnswerer(ctx context.Context, name string) (lm.Model, error) {
	if m, ok := s.writers[name]; ok {
		return m, nil
	}
	t, err := s.open(ctx, name)
	if err == nil {
		return t.Public(), nil
	}
	if !ui.Is[*lm.UnsupportedError](err) {
		return nil, err
	}
	spec, wrong := s.specOf(name)
	if wrong != nil || !spec.Trusted {
		return nil, err
	}
	m, err := backend.Open(ctx, spec)
	if err == nil {
		s.writers[name] = m
	}
	return m, err
}

// openEncoder loads the encoder of sentences where texts are measured: without it, what
// only it can measure is left out.
func (s *suiteRun) openEncoder(cells []suite.Cell, say func(string)) (metric.Encoder, error) {
	if !slices.ContainsFunc(cells, func(c suite.Cell) bool { return c.Task.Kind == prompt.Generate }) {
		return nil, nil
	}
	e, err := backend.Encoder("")
	if ui.Is[*models.MissingError](err) {
		say("without the encoder of sentences answers are measured by their words alone; to have embedding_f1 too: sotto model pull minilm")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.encoders = append(s.encoders, e)
	return metric.EncoderOf(e), nil
}

// openSentences is the same encoder for the method that answers with it.
func (s *suiteRun) openSentences(cells []suite.Cell) (lm.TrustedEmbedder, error) {
	if !slices.ContainsFunc(cells, suite.Cell.Encodes) {
		return lm.TrustedEmbedder{}, nil
	}
	e, err := backend.TrustedEncoder("")
	if err == nil {
		s.encoders = append(s.encoders, e)
	}
	return e, err
}

func (s *suiteRun) close() error {
	var all []error
	for _, e := range s.encoders {
		all = append(all, e.Close())
	}
	for _, m := range s.models {
		all = append(all, m.Close())
	}
	for _, m := range s.writers {
		all = append(all, m.Close())
	}
	return errors.Join(all...)
}

// load reads the suite and puts what the flags say in its place.
func (s *suiteRun) load(ref string) (err error) {
	for name, n := range map[string]int{"seeds": s.seeds, "items": s.items, "parallel": s.parallel} {
		if s.asked(name) && n < 1 {
			return ui.Usage("--%s is %d, it should be positive", name, n)
		}
	}
	s.dir = filepath.Dir(ref)
	if s.source, err = suite.Source(ref); err != nil {
		return documentError(err)
	}
	if s.suite, err = suite.Find(ref); err != nil {
		return documentError(err)
	}
	if s.seeds > 0 {
		s.suite.Seeds = s.seeds
	}
	if s.asked("model") || s.asked("url") {
		s.suite.Models, s.suite.Answerers = nil, nil
	}
	if s.suite, err = s.suite.Narrow(s.datasets, s.methods); err != nil {
		var unlisted *suite.UnlistedError
		errors.As(err, &unlisted) // it is no other
		return ui.Usage("--%s has %q, and the suite has %s", unlisted.What, unlisted.Name, strings.Join(unlisted.Have, ", "))
	}
	if s.items > 0 {
		s.suite.Items = s.items
		for i := range s.suite.Datasets {
			s.suite.Datasets[i].Items = 0
		}
	}
	if err := s.locate(); err != nil {
		return err
	}
	if s.suite, err = s.suite.WithInputs(); err != nil {
		return ui.Usage("%w", err)
	}
	s.out = cmp.Or(s.out, filepath.Join("sotto-eval", s.suite.Name))
	if s.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return ui.Usage("there is no place for a cache: name one with --cache: %w", err)
		}
		s.cache = filepath.Join(dir, "sotto", "eval")
	}
	return nil
}

// locate finds the data before anything is computed.
func (s *suiteRun) locate() error {
	for _, d := range s.suite.Datasets {
		for _, path := range []string{d.Test, d.Train, d.Data} {
			if rest, inside := strings.CutPrefix(path, "{data}/"); inside && s.data == "" {
				return ui.Usage("--data is missing: the folder that \"{data}/\" stands for in the suite, which has %s", rest)
			}
		}
	}
	if s.data != "" {
		var err error
		if s.suite, err = s.suite.In(s.data); err != nil {
			return err
		}
	}
	for _, d := range s.suite.Datasets {
		for _, path := range []string{d.Train, d.Test, d.Inputs, d.Data} {
			fix := "is --data the right folder?"
			if path == "" {
				continue
			}
			if !filepath.IsAbs(path) {
				path, fix = filepath.Join(s.dir, filepath.FromSlash(path)), "correct its path in the suite's file"
			}
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
				return ui.Usage("there is no %s, which the data set %s needs: %s", path, d.Name, fix)
			}
		}
	}
	return nil
}
