// Command gpu runs experiments with a model on a GPU: everything is the Go program except
// the forward pass, which is PyTorch's (see package torch).
//
//	go run ./bench/gpu compare -python P -model M.gguf   how far its scores are from the embedded engine's
//	go run ./bench/gpu suite -python P -suite NAME …     an evaluation suite, many cells at once
//	go run ./bench/gpu cost -measured F -price P         what measured work costs, as a table
package main

import (
	"context"
	"errors"
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
	text    string
	prompts int

	other                   string
	suite, data, out, cache string
	datasets, methods       string
	epsilon, queries        string
	seeds, items            int
	parallel, texts         int
	questions               int

	measured, currency string
	price              float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

var verbs = map[string]func(context.Context, settings) error{"compare": compare, "suite": sweep, "cost": cost}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || verbs[args[0]] == nil {
		return errors.New("say what to do: compare, suite or cost")
	}
	var s settings
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	s.options.Log, s.options.Verbose = os.Stderr, true
	flags.StringVar(&s.model, "model", models.Default, "a model, as `sotto model list` names it, or a path")
	flags.StringVar(&s.options.Python, "python", "python3", "a Python that has PyTorch")
	flags.StringVar(&s.options.Device, "device", "", "in PyTorch's words; default: cuda where there is one")
	flags.StringVar(&s.options.DType, "dtype", "float16", "float16, bfloat16 or float32")
	flags.Float64Var(&s.options.CacheGiB, "cache-gib", 1, "memory of keys and values")
	flags.IntVar(&s.options.PassTokens, "pass", 65536, "most tokens of a pass")
	flags.DurationVar(&s.options.Grace, "grace", time.Millisecond, "how long the queue must be quiet before waiting steps are computed")
	flags.StringVar(&s.text, "text", "README.md", "compare: a text file to cut prompts from")
	flags.IntVar(&s.prompts, "prompts", 50, "compare: how many prompts")
	flags.StringVar(&s.suite, "suite", "", "suite: the name of a built-in one, or a file")
	flags.StringVar(&s.data, "data", "", "suite: the folder that {data}/ stands for")
	flags.StringVar(&s.out, "out", "", "suite: a folder for rows; cost: a file for the table")
	flags.StringVar(&s.cache, "cache", "", "suite: a folder for what was written and answered")
	flags.StringVar(&s.other, "other", "", "suite: a second model; each writes or chooses, and both answer")
	flags.StringVar(&s.datasets, "datasets", "", "suite: only these, separated by commas")
	flags.StringVar(&s.methods, "methods", "", "suite: only these, separated by commas")
	flags.StringVar(&s.epsilon, "epsilon", "", "suite: only these, separated by commas")
	flags.StringVar(&s.queries, "queries", "", "suite: only these numbers of answers for an ε, separated by commas")
	flags.IntVar(&s.seeds, "seeds", 0, "suite: sets of each kind; default: the suite's")
	flags.IntVar(&s.items, "items", 0, "suite: questions of each data set; default: the suite's")
	flags.IntVar(&s.parallel, "parallel", 48, "suite: cells at once")
	flags.IntVar(&s.texts, "texts", 50, "suite: texts of a set, or answers of a cell, at once; 0: as in the library")
	flags.IntVar(&s.questions, "questions", 0, "suite: tokens of a cell's questions at once; default: as in the library")
	flags.StringVar(&s.measured, "measured", "", "cost: what lab/bench/gpu/cost.py wrote")
	flags.Float64Var(&s.price, "price", 0, "cost: what an hour of the GPU costs")
	flags.StringVar(&s.currency, "currency", "USD", "cost: of the price")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "suite" {
		if err := checkSweep(s); err != nil {
			return err
		}
	}
	if args[0] == "cost" {
		return cost(ctx, s) // without a model
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
	return verbs[args[0]](ctx, s)
}
