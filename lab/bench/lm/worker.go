package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
)

// worker is Sotto's side: it does tasks read from in until that ends.
type worker struct {
	path    string
	threads int
	bits    int
	model   *llama.Model
	encoder lm.Embedder

	// fanned is the session of the last ensemble, kept because filling it is not
	// what is timed.
	fanned lm.Session
	spread []lm.Sequence
}

func serve(ctx context.Context, path string, threads, bits int, in io.Reader, out io.Writer) error {
	w := &worker{path: path, threads: threads, bits: bits}
	defer w.close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var t task
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return err
		}
		a, err := w.do(ctx, t)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := json.NewEncoder(out).Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (w *worker) open() (err error) {
	if w.model == nil {
		w.model, err = llama.Open(w.path, llama.Options{Threads: w.threads, Activations: w.bits})
	}
	return err
}

// timed begins to time and to count; what it returns ends that.
func timed(s lm.Session) func() answer {
	used, began := s.Usage().Computed, time.Now()
	return func() answer {
		return answer{Seconds: time.Since(began).Seconds(), Computed: s.Usage().Computed - used}
	}
}

func (w *worker) close() {
	if w.fanned != nil {
		w.fanned.Close()
		w.fanned = nil
	}
	if w.model != nil {
		w.model.Close()
		w.model = nil
	}
	if w.encoder != nil {
		w.encoder.Close()
		w.encoder = nil
	}
}

func (w *worker) do(ctx context.Context, t task) (answer, error) {
	switch t.Task {
	case "embed":
		return w.embed(ctx, t)
	case "peak":
		peak, err := harness.PeakMB(os.Getpid())
		return answer{PeakMB: peak}, err
	case "load":
		w.close()
		debug.FreeOSMemory() // so that no task pays for what the last one left
		begin := time.Now()
		err := w.open()
		return answer{Seconds: time.Since(begin).Seconds()}, err
	}
	if err := w.open(); err != nil {
		return answer{}, err
	}
	switch t.Task {
	case "about":
		return answer{Version: w.model.Info().Version}, nil
	case "prefill":
		return w.prefill(ctx, t)
	case "decode":
		return w.decode(ctx, t)
	case "ensemble":
		return w.ensemble(ctx, t)
	case "labels":
		return w.labels(ctx, t)
	case "questions":
		return w.questions(ctx, t)
	case "memory":
		return w.memory(ctx, t)
	}
	return answer{}, fmt.Errorf("no task is called %q", t.Task)
}

// prefill times a prompt from nothing, with the scores of all that may follow.
func (w *worker) prefill(ctx context.Context, t task) (answer, error) {
	session, err := w.model.Open(ctx)
	if err != nil {
		return answer{}, err
	}
	defer session.Close()
	sequence, err := session.New()
	if err != nil {
		return answer{}, err
	}
	done := timed(session)
	_, err = session.Step(ctx, []lm.Step{{Sequence: sequence, Tokens: t.Tokens, Ask: lm.Ask{All: true}}})
	return done(), err
}

// decode times one sequence, token by token, each the likeliest after those before.
func (w *worker) decode(ctx context.Context, t task) (answer, error) {
	session, err := w.model.Open(ctx)
	if err != nil {
		return answer{}, err
	}
	defer session.Close()
	sequence, err := session.New()
	if err != nil {
		return answer{}, err
	}
	step := func(tokens ...lm.Token) (lm.Token, error) {
		scores, err := session.Step(ctx, []lm.Step{{Sequence: sequence, Tokens: tokens, Ask: lm.Ask{Top: 1}}})
		if err != nil {
			return 0, err
		}
		return scores[0].Tokens[0], nil
	}
	next, err := step(t.Tokens...)
	if err != nil {
		return answer{}, err
	}
	done := timed(session)
	for range t.Steps {
		if next, err = step(next); err != nil {
			return answer{}, err
		}
	}
	return done(), nil
}

// ensemble times steps of all sequences at once: all scores of the first, those of
// the candidates for the others.
func (w *worker) ensemble(ctx context.Context, t task) (answer, error) {
	if w.fanned == nil {
		var err error
		if w.fanned, w.spread, err = w.fan(ctx, t); err != nil {
			return answer{}, err
		}
	}
	// Forks keep the sequences as they are for the next run.
	forks := make([]lm.Sequence, len(w.spread))
	for i, s := range w.spread {
		var err error
		if forks[i], err = w.fanned.Fork(s); err != nil {
			return answer{}, err
		}
		defer w.fanned.Drop(forks[i])
	}
	done := timed(w.fanned)
	for n := range t.Steps {
		steps := make([]lm.Step, len(forks))
		for i, s := range forks {
			ask := lm.Ask{Candidates: t.Candidates}
			if i == 0 {
				ask = lm.Ask{All: true}
			}
			steps[i] = lm.Step{Sequence: s, Tokens: t.Own[i][n : n+1], Ask: ask}
		}
		if _, err := w.fanned.Step(ctx, steps); err != nil {
			return answer{}, err
		}
	}
	return done(), nil
}

// fan makes a session that holds the sequences of a task over their prefix.
func (w *worker) fan(ctx context.Context, t task) (lm.Session, []lm.Sequence, error) {
	session, err := w.model.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	root, err := session.New()
	if err != nil {
		return nil, nil, err
	}
	if _, err := session.Step(ctx, []lm.Step{{Sequence: root, Tokens: t.Prefix}}); err != nil {
		return nil, nil, err
	}
	sequences := make([]lm.Sequence, len(t.Own))
	steps := make([]lm.Step, len(t.Own))
	for i, own := range t.Own {
		if sequences[i], err = session.Fork(root); err != nil {
			return nil, nil, err
		}
		steps[i] = lm.Step{Sequence: sequences[i], Tokens: own, Ask: lm.Ask{Top: 1}}
	}
	_, err = session.Step(ctx, steps)
	return session, sequences, err
}

// memory returns the process's peak after holding the sequences.
func (w *worker) memory(ctx context.Context, t task) (answer, error) {
	begin := time.Now()
	session, _, err := w.fan(ctx, t)
	if err != nil {
		return answer{}, err
	}
	defer session.Close()
	took := time.Since(begin).Seconds()
	peak, err := harness.PeakMB(os.Getpid())
	return answer{Seconds: took, PeakMB: peak}, err
}
