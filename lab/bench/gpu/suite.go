package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/gpu/torch"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// sweep runs a suite with the model on the GPU, many cells at once.
func sweep(ctx context.Context, s settings) error {
	what, err := suite.Find(s.suite)
	if err != nil {
		return err
	}
	// The models here are those of the flags: one that writes and answers, or two that do
	// both for each other.
	what.Models, what.Answerers = nil, nil
	if s.other != "" {
		what.Models = []string{s.model, s.other}
		what.Answerers = what.Models
	}
	if what, err = narrow(what, s); err != nil {
		return err
	}
	// What a suite lacks is found before a model is loaded.
	if what, err = what.In(s.data); err != nil {
		return err
	}
	cells, err := suite.Cells(what)
	if err != nil {
		return err
	}
	model, trusted, err := open(s.model, s.options)
	if err != nil {
		return err
	}
	defer model.Close()
	other := trusted
	if s.other != "" {
		second, t, err := open(s.other, s.options)
		if err != nil {
			return err
		}
		defer second.Close()
		other = t
	}
	encoders, err := newEncoders(cells)
	if err != nil {
		return err
	}
	defer encoders.close()
	began := time.Now()
	for {
		result, err := suite.Run(ctx, what, suite.Options{
			Data: s.data, Out: s.out, Cache: s.cache, Parallel: s.parallel, Texts: s.texts, PassTokens: s.questions, Version: "bench/gpu",
			Open: func(_ context.Context, name string) (lm.TrustedScorer, error) {
				if s.other != "" && name == s.other {
					return other, nil
				}
				return trusted, nil
			},
			Encoder: encoders.tokens, Sentences: encoders.sentences,
			Observe: func(e suite.Progress) { report(e, model, began) },
		})
		if result != nil {
			fmt.Printf("%d cells, %d rows, %d tokens in %.1f s\n", result.Cells, len(result.Rows), result.Tokens, result.Seconds)
		}
		if s.parallel = fewer(err, s.parallel); s.parallel == 0 {
			return err
		}
		fmt.Fprintf(os.Stderr, "memory was short: what failed is done again, %d cells at once\n", s.parallel)
	}
}

// open starts a worker with a model. It is trusted: a process of this machine that this
// program started.
func open(path string, o torch.Options) (*torch.Model, lm.TrustedScorer, error) {
	model, err := torch.Open(path, o)
	if err != nil {
		return nil, lm.TrustedScorer{}, err
	}
	trusted, err := lm.Trust(model, lm.Declared)
	return model, trusted, err
}

// fewer returns how many cells to try at once after an error; 0 if that would not help.
func fewer(err error, parallel int) int {
	var failed *suite.FailedError
	if parallel < 2 || !errors.As(err, &failed) {
		return 0
	}
	if slices.ContainsFunc(failed.Failures, func(f suite.Failure) bool { return errors.Is(f.Err, torch.ErrFull) }) {
		return parallel / 2
	}
	return 0
}

// narrow leaves the data sets and methods that are asked for.
func narrow(what suite.Suite, s settings) (suite.Suite, error) {
	list := func(words string) []string {
		return strings.FieldsFunc(words, func(r rune) bool { return r == ',' })
	}
	what, err := what.Narrow(list(s.datasets), list(s.methods))
	if err != nil {
		return what, err
	}
	what.Seeds = cmp.Or(s.seeds, what.Seeds)
	what.Items = cmp.Or(s.items, what.Items)
	what.Epsilon, what.Queries = only(what.Epsilon, s.epsilon), only(what.Queries, s.queries)
	what.Datasets, what.Methods = slices.Clone(what.Datasets), slices.Clone(what.Methods)
	for i := range what.Datasets {
		d := &what.Datasets[i]
		if s.items > 0 {
			d.Items = 0
		}
		d.Epsilon, d.Queries = only(d.Epsilon, s.epsilon), only(d.Queries, s.queries)
	}
	for i := range what.Methods {
		m := &what.Methods[i]
		m.Epsilon, m.Queries = only(m.Epsilon, s.epsilon), only(m.Queries, s.queries)
	}
	return what, nil
}

// only returns those of a list that are asked for, or all of those if none of it is: an
// empty list would mean another one.
func only[N int64 | float64](list []N, wanted string) []N {
	if wanted == "" || len(list) == 0 {
		return list
	}
	var some, all []N
	for word := range strings.SplitSeq(wanted, ",") {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil {
			continue // checkSweep reported it
		}
		all = append(all, N(x))
		if slices.Contains(list, N(x)) {
			some = append(some, N(x))
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

// report prints a line for each cell, and what the model does by then.
func report(e suite.Progress, m *torch.Model, began time.Time) {
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
	for word := range strings.SplitSeq(s.epsilon+","+s.queries, ",") {
		if x, err := strconv.ParseFloat(word, 64); word != "" && (err != nil || !(x > 0)) {
			return fmt.Errorf("-epsilon and -queries are positive numbers with commas between, not %q", word)
		}
	}
	return nil
}
