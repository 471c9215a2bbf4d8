package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/eval/suite"
)

// load reads the suite and puts what the flags say in its place.
func (s *suiteRun) load(ref string) (err error) {
	for name, n := range map[string]int{"seeds": s.seeds, "items": s.items, "parallel": s.parallel} {
		if s.asked(name) && n < 1 {
			return usage("--%s is %d, it should be positive", name, n)
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
		return usage("--%s has %q, and the suite has %s", unlisted.What, unlisted.Name, strings.Join(unlisted.Have, ", "))
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
		return usage("%w", err)
	}
	if s.out == "" {
		s.out = filepath.Join("sotto-eval", s.suite.Name)
	}
	if s.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return usage("there is no place for a cache: name one with --cache: %w", err)
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
				return usage("--data is missing: the folder that \"{data}/\" stands for in the suite, which has %s", rest)
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
				return usage("there is no %s, which the data set %s needs: %s", path, d.Name, fix)
			}
		}
	}
	return nil
}
