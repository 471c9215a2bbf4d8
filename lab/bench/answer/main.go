// Command answer measures what one draw an answer saves: questions are answered from
// private records with a draw for every answer, whose prompts stay in the model's cache,
// and with a draw for every token, as published. All sides have the same engine, the same
// questions and the same ε.
//
//	go run ./bench/answer -out docs/bench-answer.md
//	go run ./bench/answer -data DIR -datasets samsum,e2e,wikilarge
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
)

// settings of a run.
type settings struct {
	model    string
	data     string
	datasets string
	// items are questions whose answers are scored, timed those that are timed.
	items, timed int
	seeds        int
	parallel     int
	records      int
	shots        int
	epsilon      float64
	answers      int64
	tokens       int
}

func main() {
	var s settings
	flag.StringVar(&s.model, "model", models.Default, "name or path of the model")
	flag.StringVar(&s.data, "data", "", "a folder of data sets, each with train.jsonl.gz and test.jsonl.gz; empty: only chats that are made up")
	flag.StringVar(&s.datasets, "datasets", "", "data sets, separated by commas; default: chats, with -data also samsum, e2e and wikilarge")
	flag.IntVar(&s.items, "items", 8, "questions of each data set whose answers are scored")
	flag.IntVar(&s.timed, "timed", 2, "how many of them are timed, as published too, which takes long")
	flag.IntVar(&s.parallel, "parallel", 8, "answers that are written at once to be scored")
	flag.IntVar(&s.seeds, "seeds", 1, "times that every answer is scored, with other randomness")
	flag.IntVar(&s.records, "records", 15000, "how many chats to make up")
	flag.IntVar(&s.shots, "shots", 4, "records of a draw on average, as published")
	flag.Float64Var(&s.epsilon, "epsilon", 4, "ε of all answers together")
	flag.Int64Var(&s.answers, "answers", 100, "how many answers that ε is for")
	flag.IntVar(&s.tokens, "tokens", 0, "most tokens of an answer; default: the task's")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error { return run(ctx, s, *out) })
}

// names of the data sets.
func (s settings) names() []string {
	switch {
	case s.datasets != "":
		return strings.Split(s.datasets, ",")
	case s.data != "":
		return []string{made, "samsum", "e2e", "wikilarge"}
	}
	return []string{made}
}

func run(ctx context.Context, s settings, out string) error {
	if min(s.items, s.timed, s.seeds, s.parallel, s.records, s.shots) < 1 || s.timed > s.items {
		return fmt.Errorf("items, seeds, parallel, records and shots are to be positive, and timed from 1 to items")
	}
	path, _, err := models.Find(s.model)
	if err != nil {
		return err
	}
	model, err := backend.Trusted(ctx, backend.Spec{Model: path})
	if err != nil {
		return err
	}
	defer model.Close()
	text, err := measure(ctx, s, model)
	if err != nil {
		return err
	}
	return harness.Write(out, text)
}

// bench is a run.
type bench struct {
	settings
	model lm.TrustedScorer
	dir   string
}

// measure returns a run from its settings to its report.
func measure(ctx context.Context, s settings, model lm.TrustedScorer) (string, error) {
	dir, err := os.MkdirTemp("", "sotto-bench-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	b := &bench{settings: s, model: model, dir: dir}
	r := &report{settings: s, model: model.Info().Name, machine: harness.Here()}
	for _, name := range s.names() {
		t, err := b.table(ctx, name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		r.tables = append(r.tables, t)
	}
	return r.text()
}
