package main

import (
	"context"
	"errors"

	"sotto/eval/suite"
	"sotto/lm"
	"sotto/lm/backend"
)

// openModels opens all that cells name, so that one that is missing is found at once.
func (s *suiteRun) openModels(ctx context.Context, cells []suite.Cell) error {
	for _, c := range cells {
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
func (s *suiteRun) open(ctx context.Context, name string) (lm.Trusted, error) {
	if m, ok := s.models[name]; ok {
		return m, nil
	}
	spec, err := s.specOf(name)
	if err != nil {
		return lm.Trusted{}, err
	}
	m, err := backend.Trusted(ctx, spec)
	if err == nil {
		s.models[name] = m
	}
	return m, err
}

func (s *suiteRun) specOf(name string) (backend.Spec, error) {
	flags := s.modelFlags
	if name != "" {
		flags = modelFlags{model: name, threads: s.threads}
	}
	return s.modelSpec(flags)
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
	if !is[*lm.UnsupportedError](err) {
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

func (s *suiteRun) close() error {
	var all []error
	for _, m := range s.models {
		all = append(all, m.Close())
	}
	for _, m := range s.writers {
		all = append(all, m.Close())
	}
	return errors.Join(all...)
}
