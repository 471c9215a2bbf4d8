// Command choose measures the cost and benefit of choosing by the records, round by round:
// tokens through the model, time, and the winner's score on test items, beside no examples,
// the model's own and real records.
//
//	go run ./bench/choose -data DIR -datasets agnews,trec
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sotto-dp/sotto/bench/choose/trial"
	"github.com/sotto-dp/sotto/bench/machine"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/lm/backend"
)

func main() {
	s := trial.Settings{Name: "bench"}
	data := flag.String("data", "", "a folder of data sets, each with train.jsonl.gz and test.jsonl.gz")
	datasets := flag.String("datasets", "agnews", "data sets, separated by commas")
	items := flag.Int("items", 100, "test items")
	seed := flag.Uint64("seed", 1, "of all randomness: nothing here protects anybody")
	flag.Float64Var(&s.Epsilon, "epsilon", 1, "ε of all rounds together")
	flag.Int64Var(&s.Records, "records", 0, "records of a round, on average; 0 for what the work allows")
	flag.Int64Var(&s.Rounds, "rounds", 0, "rounds; 0 for what the work allows")
	flag.Float64Var(&s.Work, "work", 0, "tokens; 0 for the default")
	path := flag.String("out", "", "a file for the page; default: the screen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := os.Stdout
	if *path != "" {
		file, err := os.Create(*path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer file.Close()
		out = file
	}
	if err := run(ctx, out, s, *data, strings.Split(*datasets, ","), *items, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, s trial.Settings, data string, names []string, items int, seed uint64) error {
	load := machine.Load()
	model, err := backend.Trusted(ctx, backend.Spec{})
	if err != nil {
		return err
	}
	defer model.Close()
	private, err := os.MkdirTemp("", "bench-choose")
	if err != nil {
		return err
	}
	defer os.RemoveAll(private)
	fmt.Fprintf(w, `# What choosing by the records costs and brings

Made by `+"`make bench-choose`"+`: %s, %s, load average before %s, ε = %v, seed %d, the default settings but for
the pool, which is the model's own. Scores are percent right of %d test items; tokens and seconds add up
over the rounds. "Saved" are the tokens that each question with its whole prompt anew would have taken
besides: the ratio is all of them to those that were computed.
`, model.Info().Name, machine.Name(), load, s.Epsilon, seed, items)
	for _, name := range names {
		d, err := trial.Load(ctx, data, name, items, private)
		if err != nil {
			return err
		}
		train, err := eval.ReadItems(filepath.Join(data, name, "train.jsonl.gz"), d.Task)
		if err != nil {
			return err
		}
		beside, err := trial.Baselines(ctx, model, d, train, 3, d.Task.Limits.Shots, seed, 0)
		if err != nil {
			return err
		}
		r, err := trial.Run(ctx, model, d, s.For(d.Task), seed, 0)
		if err != nil {
			return err
		}
		page(w, r, beside)
	}
	return nil
}

// page prints the rounds of a trial beside what there is without choosing.
func page(w io.Writer, r, beside *trial.Result) {
	fmt.Fprintf(w, `
## %s

No examples %.1f; the model's own %.1f and real records %.1f, means of %d sets. About %.0f records judge in a
round.

| round | score | examples | tokens | saved | ratio | seconds |
|---|---|---|---|---|---|---|
`, r.Dataset, beside.Zero, mean(beside.Own), mean(beside.Real), len(beside.Own), r.Drawn)
	for i, h := range r.History {
		fmt.Fprintf(w, "| %d | %.1f | %d | %d | %d | %.1f× | %.0f |\n", i+1, h.Score, h.Shots, h.Tokens, h.Saved, float64(h.Tokens+h.Saved)/float64(h.Tokens), h.Seconds)
	}
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(1, len(list)))
}
