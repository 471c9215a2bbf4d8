// Command choose tells what choosing by the records costs and brings, round after round:
// tokens through the model, time, and what the winner is worth on test items.
//
//	go run ./bench/choose -data DIR -datasets agnews,trec
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"sotto/bench/choose/trial"
	"sotto/lm/backend"
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, *data, strings.Split(*datasets, ","), *items, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s trial.Settings, data string, names []string, items int, seed uint64) error {
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
	for _, name := range names {
		d, err := trial.Load(ctx, data, name, items, private)
		if err != nil {
			return err
		}
		r, err := trial.Run(ctx, model, d, s.For(d.Task), seed, 0)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
	return nil
}
