// Command gpu runs evaluation suites with a model on a GPU, many cells at once: everything is the Go program except
// the forward pass, which is PyTorch's (see package torch).
//
//	go run ./lab/bench/gpu -python P -suite NAME -data DIR -out OUT -cache CACHE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/gpu/torch"
	"github.com/sotto-dp/sotto/lm/models"
)

// settings of a run.
type settings struct {
	model   string
	options torch.Options

	other                   string
	suite, data, out, cache string
	datasets, methods       string
	epsilon, queries        string
	seeds, items            int
	parallel, texts         int
	questions               int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("gpu", flag.ExitOnError)
	s.options.Log, s.options.Verbose = os.Stderr, true
	flags.StringVar(&s.model, "model", models.Default, "a model, as `sotto model list` names it, or a path")
	flags.StringVar(&s.options.Python, "python", "python3", "a Python that has PyTorch")
	flags.StringVar(&s.options.Device, "device", "", "in PyTorch's words; default: cuda where there is one")
	flags.StringVar(&s.options.DType, "dtype", "float16", "float16, bfloat16 or float32")
	flags.Float64Var(&s.options.CacheGiB, "cache-gib", 1, "memory of keys and values")
	flags.IntVar(&s.options.PassTokens, "pass", 65536, "most tokens of a pass")
	flags.DurationVar(&s.options.Grace, "grace", time.Millisecond, "how long the queue must be quiet before waiting steps are computed")
	flags.StringVar(&s.suite, "suite", "", "the name of a built-in one, or a file")
	flags.StringVar(&s.data, "data", "", "the folder that {data}/ stands for")
	flags.StringVar(&s.out, "out", "", "a folder for rows")
	flags.StringVar(&s.cache, "cache", "", "a folder for what was written and answered")
	flags.StringVar(&s.other, "other", "", "a second model; each writes or chooses, and both answer")
	flags.StringVar(&s.datasets, "datasets", "", "only these, separated by commas")
	flags.StringVar(&s.methods, "methods", "", "only these, separated by commas")
	flags.StringVar(&s.epsilon, "epsilon", "", "only these, separated by commas")
	flags.StringVar(&s.queries, "queries", "", "only these numbers of answers for an ε, separated by commas")
	flags.IntVar(&s.seeds, "seeds", 0, "sets of each kind; default: the suite's")
	flags.IntVar(&s.items, "items", 0, "questions of each data set; default: the suite's")
	flags.IntVar(&s.parallel, "parallel", 48, "cells at once")
	flags.IntVar(&s.texts, "texts", 50, "texts of a set, or answers of a cell, at once; 0: as in the library")
	flags.IntVar(&s.questions, "questions", 0, "tokens of a cell's questions at once; default: as in the library")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := checkSweep(s); err != nil {
		return err
	}
	path, _, err := models.Find(s.model)
	if err != nil {
		return err
	}
	s.model = path
	if s.other != "" {
		if s.other, _, err = models.Find(s.other); err != nil {
			return err
		}
	}
	return sweep(ctx, s)
}
