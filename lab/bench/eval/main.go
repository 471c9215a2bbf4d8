// Command eval measures how fast questions are answered with demonstrations: labels of
// made-up news after four examples, with what all questions begin with computed once,
// the same without, and llama.cpp's server with its cache of prompts on the same file.
//
//	lab/bench/eval/server.sh build
//	go run ./bench/eval -server .venv/llama-server/bin/llama-server -out docs/bench-eval.md
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lab/bench/llamaserver"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// settings of a run.
type settings struct {
	server  string
	model   string
	items   int
	shots   int
	turns   int
	threads int
	tuned   bool
}

func main() {
	var s settings
	flag.StringVar(&s.server, "server", "", "llama.cpp's server; empty leaves it out")
	flag.StringVar(&s.model, "model", models.Default, "name or path of the model")
	flag.IntVar(&s.items, "items", 200, "questions of a turn")
	flag.IntVar(&s.shots, "shots", 4, "demonstrations")
	flag.IntVar(&s.turns, "turns", 3, "times that each side is measured")
	flag.IntVar(&s.threads, "threads", runtime.NumCPU(), "threads of each side")
	flag.BoolVar(&s.tuned, "tune", true, "look for the server's fastest settings first")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error { return run(ctx, s, *out) })
}

func run(ctx context.Context, s settings, out string) error {
	if min(s.items, s.shots+1, s.turns, s.threads) < 1 {
		return fmt.Errorf("items, turns and threads are to be positive, and shots not negative")
	}
	path, _, err := models.Find(s.model)
	if err != nil {
		return err
	}
	r := &report{settings: s, file: filepath.Base(path), machine: harness.Here()}
	model, err := backend.Scorer(ctx, backend.Spec{Model: path, Threads: s.threads})
	if err != nil {
		return err
	}
	defer model.Close()
	w, err := s.work(ctx, model)
	if err != nil {
		return err
	}
	r.prefix, r.question = len(w.prefix), w.mean()
	var peer *server
	if s.server != "" {
		if r.version, err = llamaserver.Version(s.server); err != nil {
			return err
		}
		if peer, err = s.tune(ctx, w, path); err != nil {
			return err
		}
		defer peer.Stop()
		r.setup = peer.setup.String()
	}
	if err := s.measure(ctx, w, model, peer, r); err != nil {
		return err
	}
	return harness.Write(out, r.text())
}

// measure lets the sides take turns. What a side does first, before its turns, is not
// measured: a server then has what all questions begin with in its cache.
func (s settings) measure(ctx context.Context, w *work, model lm.Scorer, peer *server, r *report) error {
	sides := []func() (sideResult, error){
		func() (sideResult, error) { return w.shared(ctx, model) },
		func() (sideResult, error) { return w.inFull(ctx, model) },
	}
	if peer != nil {
		sides = append(sides, func() (sideResult, error) { return peer.classify(ctx, w) })
	}
	r.sides = make([][]sideResult, len(sides))
	few := w.first(4)
	if _, err := few.shared(ctx, model); err != nil {
		return err
	}
	for turn := range s.turns {
		for i, side := range sides {
			d, err := side()
			if err != nil {
				return err
			}
			r.sides[i] = append(r.sides[i], d)
			fmt.Fprintf(os.Stderr, "== turn %d of %d: %s: %.1f questions a second\n", turn+1, s.turns, sideNames[i], float64(len(w.items))/d.seconds)
		}
	}
	r.truth = make([]int, len(w.items))
	for i, item := range w.items {
		r.truth[i] = slices.Index(w.task.Labels, item.Output)
	}
	return nil
}

// tune starts the server with several settings and keeps the fastest, one setting after
// the other.
func (s settings) tune(ctx context.Context, w *work, path string) (*server, error) {
	longest := 0
	for _, q := range w.questions {
		longest = max(longest, len(w.prefix)+len(q))
	}
	few := w.first(24)
	seconds := func(set setup) (float64, error) {
		srv, err := start(ctx, s.server, path, s.threads, longest, set)
		if err != nil {
			return 0, err
		}
		defer srv.Stop()
		// Once before, so that every slot has seen what all prompts begin with.
		if _, err := srv.classify(ctx, w.first(2*set.Slots)); err != nil {
			return 0, err
		}
		d, err := srv.classify(ctx, few)
		fmt.Fprintf(os.Stderr, "== llama.cpp's server, %s: %.1f questions a second\n", set, float64(len(few.items))/d.seconds)
		return d.seconds, err
	}
	best := setup{Setup: llamaserver.Setup{Slots: 4, Repack: true, Batch: 512}, together: true}
	if s.tuned {
		fastest, err := seconds(best)
		if err != nil {
			return nil, err
		}
		for _, change := range changes {
			for _, set := range change(best) {
				took, err := seconds(set)
				if err != nil {
					return nil, err
				}
				if took < fastest {
					best, fastest = set, took
				}
			}
		}
	}
	srv, err := start(ctx, s.server, path, s.threads, longest, best)
	if err != nil {
		return nil, err
	}
	if _, err := srv.classify(ctx, few); err != nil {
		srv.Stop()
		return nil, err
	}
	return srv, nil
}

// changes to a setup that are tried.
var changes = []func(setup) []setup{
	func(s setup) []setup { s.Flash = !s.Flash; return []setup{s} },
	func(s setup) []setup { s.Repack = !s.Repack; return []setup{s} },
	func(s setup) (list []setup) {
		for _, n := range []int{1, 2, 8, 16} {
			s.Slots = n
			list = append(list, s)
		}
		return list
	},
	func(s setup) (list []setup) {
		for _, n := range []int{128, 256, 1024} {
			s.Batch = n
			list = append(list, s)
		}
		return list
	},
	func(s setup) []setup { s.together = !s.together; return []setup{s} },
}

// work lays out the questions.
func (s settings) work(ctx context.Context, m lm.Scorer) (*work, error) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		return nil, err
	}
	w := &work{task: task, demos: articles(task.Labels, s.shots, 1), items: articles(task.Labels, s.items, 2)}
	tok := m.Tokenizer()
	if first, ok := tok.Beginning(); ok {
		w.prefix = append(w.prefix, first)
	}
	encode := func(text string) []lm.Token {
		tokens, e := tok.Encode(ctx, text)
		if err == nil {
			err = e
		}
		return tokens
	}
	w.prefix = append(w.prefix, encode(task.AnswerPrefix())...)
	for _, d := range w.demos {
		w.prefix = append(w.prefix, encode(task.AnswerDemo(d.Input, d.Output))...)
	}
	for _, item := range w.items {
		w.questions = append(w.questions, encode(task.AnswerItem(item.Input)))
	}
	for _, l := range task.Labels {
		tokens := encode(" " + l)
		if len(tokens) != 1 && err == nil {
			err = fmt.Errorf("the label %q is not one token of this model: the server's way of asking needs that", l)
		}
		w.labels = append(w.labels, tokens...)
	}
	return w, err
}

// first returns the work on some of the questions.
func (w *work) first(n int) *work {
	few := *w
	n = min(n, len(w.items))
	few.items, few.questions = w.items[:n:n], w.questions[:n:n]
	return &few
}

// mean length of a question.
func (w *work) mean() float64 {
	var sum int
	for _, q := range w.questions {
		sum += len(q)
	}
	return float64(sum) / float64(len(w.questions))
}
