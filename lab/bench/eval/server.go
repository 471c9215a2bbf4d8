package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/llamaserver"
	"github.com/sotto-dp/sotto/lm"
)

// setup is how llama.cpp's server is started and asked.
type setup struct {
	llamaserver.Setup
	// together: all questions in one request. Otherwise one each, two for each slot at
	// a time.
	together bool
}

func (s setup) String() string {
	if s.together {
		return s.Setup.String() + ", one request for all questions"
	}
	return s.Setup.String() + ", a request for each question"
}

// server is a running llama.cpp server.
type server struct {
	*llamaserver.Server
	setup setup
}

// start runs the server until it says that it is ready.
func start(ctx context.Context, program, model string, threads, longest int, s setup) (*server, error) {
	running, err := llamaserver.Start(ctx, program, model, threads, longest, s.Setup)
	return &server{running, s}, err
}

// classify asks all questions.
func (s *server) classify(ctx context.Context, w *work) (sideResult, error) {
	d := sideResult{scores: make([][]float64, len(w.questions))}
	size, workers := 1, 2*s.Slots
	if s.setup.together {
		size, workers = len(w.questions), 1
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var failed error
	next := 0
	start := time.Now()
	for range workers {
		wait.Go(func() {
			for {
				mu.Lock()
				from := next
				next += size
				stop := from >= len(w.questions) || failed != nil
				mu.Unlock()
				if stop {
					return
				}
				answers, err := s.ask(ctx, w, w.questions[from:min(from+size, len(w.questions))])
				mu.Lock()
				failed = errors.Join(failed, err)
				for i, a := range answers {
					d.scores[from+i] = a.Scores
					d.tokens += a.Computed
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	d.seconds = time.Since(start).Seconds()
	return d, failed
}

// ask sends one request for some questions.
func (s *server) ask(ctx context.Context, w *work, questions [][]lm.Token) ([]llamaserver.Answer, error) {
	prompts := make([][]lm.Token, len(questions))
	for i, q := range questions {
		prompts[i] = slices.Concat(w.prefix, q)
	}
	return s.Ask(ctx, prompts, w.labels, llamaserver.AnySlot)
}
