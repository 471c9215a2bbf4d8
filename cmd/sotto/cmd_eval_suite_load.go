package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/internal/ui"
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
		return suiteError(err)
	}
	if s.suite, err = suite.Find(ref); err != nil {
		return suiteError(err)
	}
	if s.seeds > 0 {
		s.suite.Seeds = s.seeds
	}
	if s.asked("model") || s.asked("url") {
		s.suite.Models, s.suite.Answerers = nil, nil
	}
	if err := s.narrow(); err != nil {
		return err
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

// narrow leaves the data sets and methods that are asked for.
func (s *suiteRun) narrow() error {
	var datasets, methods []string
	for _, d := range s.suite.Datasets {
		datasets = append(datasets, d.Name)
	}
	for _, m := range s.suite.Methods {
		methods = append(methods, methodName(m), m.Method)
	}
	for _, c := range []struct {
		flag        string
		asked, have []string
	}{{"datasets", s.datasets, datasets}, {"methods", s.methods, methods}} {
		for _, name := range c.asked {
			if !slices.Contains(c.have, name) {
				slices.Sort(c.have)
				return usage("--%s has %q, and the suite has %s", c.flag, name, strings.Join(slices.Compact(c.have), ", "))
			}
		}
	}
	if len(s.datasets) > 0 {
		s.narrowTo(func(dataset string) bool { return slices.Contains(s.datasets, dataset) })
	}
	if len(s.methods) > 0 {
		s.suite.Methods = slices.DeleteFunc(s.suite.Methods, func(m suite.Method) bool {
			return !slices.Contains(s.methods, methodName(m)) && !slices.Contains(s.methods, m.Method)
		})
	}
	return nil
}

// methodName is what reports call a method.
func methodName(m suite.Method) string {
	if m.Name != "" {
		return m.Name
	}
	return m.Method
}

// narrowTo leaves some data sets, and what is about them.
func (s *suiteRun) narrowTo(keep func(dataset string) bool) {
	other := func(dataset string) bool { return !keep(dataset) }
	s.suite.Datasets = slices.DeleteFunc(s.suite.Datasets, func(d suite.Dataset) bool { return other(d.Name) })
	s.suite.Published = slices.DeleteFunc(s.suite.Published, func(v suite.Published) bool { return other(v.Dataset) })
	var methods []suite.Method
	for _, m := range s.suite.Methods {
		some := len(m.Datasets) > 0
		m.Datasets = slices.DeleteFunc(m.Datasets, other)
		maps.DeleteFunc(m.On, func(d string, _ suite.Settings) bool { return other(d) })
		if !some || len(m.Datasets) > 0 {
			methods = append(methods, m)
		}
	}
	s.suite.Methods = methods
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

// suiteError makes of what is wrong with a suite an error of usage.
func suiteError(err error) error {
	if ui.Is[*suite.InvalidError](err) || ui.Is[*suite.UnknownError](err) || errors.Is(err, os.ErrNotExist) {
		return usage("%w", err)
	}
	return taskError(err)
}
