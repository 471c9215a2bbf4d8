package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/bench/choose/trial"
	"github.com/sotto-dp/sotto/bench/gpu/torch"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/lm"
)

// choosing tries settings of the search for a prompt, many at once. A line of JSON for each
// goes to the output folder.
func choosing(ctx context.Context, s settings) error {
	raw, err := os.ReadFile(s.suite)
	if err != nil {
		return err
	}
	var list []trial.Settings
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	model, err := torch.Open(s.model, s.options)
	if err != nil {
		return err
	}
	defer model.Close()
	trusted, err := lm.Trust(model, lm.Declared)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(s.out, "trials.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	var mu sync.Mutex
	began := time.Now()
	keep := func(r *trial.Result, err error) error {
		mu.Lock()
		defer mu.Unlock()
		took := time.Since(began).Seconds()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%6.1f s FAILED %v\n", took, err)
			return nil
		}
		last := 0.
		if n := len(r.History); n > 0 {
			last = r.History[n-1].Score
		}
		fmt.Fprintf(os.Stderr, "%6.1f s %s seed %d %s: %.1f (%.1f M tokens/s)\n", took, r.Dataset, r.Seed, r.Name, last, float64(model.Usage().Computed)/1e6/took)
		return json.NewEncoder(file).Encode(r)
	}
	var group errgroup.Group
	group.SetLimit(s.parallel)
	for _, name := range strings.Split(s.datasets, ",") {
		d, err := trial.Load(ctx, s.data, name, s.items, filepath.Join(s.cache, name))
		if err != nil {
			return err
		}
		train, err := eval.ReadItems(filepath.Join(s.data, name, "train.jsonl.gz"), d.Task)
		if err != nil {
			return err
		}
		for seed := range s.seeds {
			group.Go(func() error {
				defer fault.Watch()
				return keep(trial.Baselines(ctx, trusted, d, train, 4, d.Task.Limits.Shots, uint64(seed)+1, s.questions))
			})
			for _, what := range list {
				group.Go(func() error {
					defer fault.Watch()
					return keep(trial.Run(ctx, trusted, d, what.For(d.Task), uint64(seed)+1, s.questions))
				})
			}
		}
	}
	return group.Wait()
}
