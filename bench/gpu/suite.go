package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sotto/bench/gpu/torch"
	"sotto/eval/suite"
	"sotto/lm"
)

// sweep runs a suite with the model on the GPU, many cells at once.
func sweep(ctx context.Context, s settings) error {
	what, err := suite.Find(s.suite)
	if err != nil {
		return err
	}
	// There is one model here: it writes and it answers.
	what.Models, what.Answerers = nil, nil
	narrow(&what, s)
	if err := check(what, s.data); err != nil {
		return err
	}
	model, err := torch.Open(s.model, s.options)
	if err != nil {
		return err
	}
	defer model.Close()
	// The worker is a process of this machine that this program started.
	trusted, err := lm.Trust(model, lm.Declared)
	if err != nil {
		return err
	}
	began := time.Now()
	result, err := suite.Run(ctx, what, suite.Options{
		Data: s.data, Out: s.out, Cache: s.cache, Parallel: s.parallel, Texts: s.texts, PassTokens: s.questions, Version: "bench/gpu",
		Open:    func(context.Context, string) (lm.Trusted, error) { return trusted, nil },
		Observe: func(e suite.Event) { report(e, model, began) },
	})
	if result != nil {
		fmt.Printf("%d cells, %d rows, %d tokens in %.1f s\n", result.Cells, len(result.Rows), result.Tokens, result.Seconds)
	}
	return err
}

// check finds what a suite lacks before a model is loaded.
func check(what suite.Suite, data string) error {
	what, err := what.In(data)
	if err != nil {
		return err
	}
	_, err = suite.Cells(what)
	return err
}

// narrow leaves the data sets and methods that are asked for.
func narrow(what *suite.Suite, s settings) {
	if s.seeds > 0 {
		what.Seeds = s.seeds
	}
	if s.items > 0 {
		what.Items = s.items
	}
	wanted := func(list string, names ...string) bool {
		return list == "" || slices.ContainsFunc(strings.Split(list, ","), func(n string) bool { return slices.Contains(names, n) })
	}
	var datasets []suite.Dataset
	for _, d := range what.Datasets {
		if wanted(s.datasets, d.Name) {
			if s.items > 0 {
				d.Items = 0
			}
			datasets = append(datasets, d)
		}
	}
	here := func(name string) bool { return wanted(s.datasets, name) }
	var methods []suite.Method
	for _, m := range what.Methods {
		some := slices.DeleteFunc(slices.Clone(m.Datasets), func(d string) bool { return !here(d) })
		if !wanted(s.methods, m.Name, m.Method) || len(m.Datasets) > 0 && len(some) == 0 {
			continue
		}
		m.Datasets = some
		for d := range m.On {
			if !here(d) {
				delete(m.On, d)
			}
		}
		methods = append(methods, m)
	}
	what.Published = slices.DeleteFunc(what.Published, func(p suite.Published) bool { return !here(p.Dataset) })
	what.Datasets, what.Methods = datasets, methods
}

// report prints a line for each cell, and what the model does by then.
func report(e suite.Event, m *torch.Model, began time.Time) {
	switch e.Kind {
	case suite.Finished, suite.Failed:
		tokens, took := m.Usage().Computed, time.Since(began).Seconds()
		fmt.Fprintf(os.Stderr, "%6.1f s %d/%d %s %s (%.1f M tokens, %.2f M/s)\n", took, e.Done, e.Cells, e.Kind, e.Cell, float64(tokens)/1e6, float64(tokens)/1e6/took)
		if e.Err != nil {
			fmt.Fprintln(os.Stderr, "   ", e.Err)
		}
	}
}

// checkSweep finds flags that are missing.
func checkSweep(s settings) error {
	if s.suite == "" || s.out == "" || s.cache == "" {
		return errors.New("a suite needs -suite (a name or file), -out and -cache (folders)")
	}
	return nil
}
