// Command lm measures Sotto's embedded engine beside llama.cpp on the same files in
// one run. Each side is a process of its own that loads the model once; they take
// turns, so that what else happens on the machine hits all of them.
//
//	go run ./bench/lm -python .venv/lm/bin/python -out docs/bench-lm.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/bench/harness"
	"github.com/sotto-dp/sotto/lm/models"
)

// settings of a run.
type settings struct {
	python, script, scratch string
	models                  []string
	threads, runs           int
	repack                  bool
}

func main() {
	var s settings
	names := flag.String("models", strings.Join(defaultModels, ","), "the models to compare on, as `sotto model list` names them, or paths")
	flag.StringVar(&s.python, "python", "python3", "a Python that has the packages of requirements.txt")
	flag.StringVar(&s.script, "peers", "bench/lm/peers.py", "llama.cpp's side")
	flag.StringVar(&s.scratch, "scratch", ".cache/bench-lm", "where to keep the Q8_0 copy")
	flag.IntVar(&s.threads, "threads", 2, "threads of either side")
	flag.IntVar(&s.runs, "runs", 7, "how often each side does each task")
	flag.BoolVar(&s.repack, "repack", false, "let llama.cpp try its repacked weights (build it without AMX where AMX faults)")
	worker := flag.String("serve", "", "be Sotto's side on this model (used by the command itself)")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error {
		switch {
		case *worker != "":
			return serve(ctx, *worker, s.threads, os.Stdin, os.Stdout)
		case s.runs < 5:
			return errors.New("runs must be at least 5, for a median and a spread")
		}
		s.models = strings.Split(*names, ",")
		return run(s, *out)
	})
}

var defaultModels = []string{models.Default, "qwen2.5-coder"}

func run(s settings, out string) error {
	r := &report{Machine: harness.Here(), Threads: s.threads, Runs: s.runs, Repack: s.repack}
	for i, name := range s.models {
		path, _, err := models.Find(name)
		if err != nil {
			return err
		}
		if err := r.compare(s, name, path, i == 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return harness.Write(out, r.text())
}

// compare measures one model. For the first also the peer's fastest format and
// the memory.
func (r *report) compare(s settings, name, path string, first bool) error {
	c := comparison{Model: name, File: filepath.Base(path)}
	ours, err := startSotto("Sotto", path, s.threads)
	if err != nil {
		return err
	}
	defer ours.stop()
	peer, err := startPeer("llama.cpp", s.python, s.script, path, s.threads, s.repack)
	if err != nil {
		return err
	}
	defer peer.stop()
	sides := []*side{ours, peer}
	if first {
		copied, err := s.fastest(path)
		if err != nil {
			return err
		}
		fast, err := startPeer("llama.cpp on Q8_0", s.python, s.script, copied, s.threads, s.repack)
		if err != nil {
			return err
		}
		defer fast.stop()
		sides = append(sides, fast)
	}
	if err := r.about(ours, peer); err != nil {
		return err
	}
	for _, m := range measures() {
		row, err := alternate(m, sides, s.runs)
		if err != nil {
			return err
		}
		c.Rows = append(c.Rows, row)
	}
	if first {
		if c.Held, err = hold(s, path); err != nil {
			return err
		}
	}
	r.Comparisons = append(r.Comparisons, c)
	return nil
}

// fastest returns a Q8_0 copy of the weights, made once.
func (s settings) fastest(path string) (string, error) {
	target := filepath.Join(s.scratch, strings.TrimSuffix(filepath.Base(path), ".gguf")+".as-Q8_0.gguf")
	if _, err := os.Stat(target); err == nil {
		return target, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(s.scratch, 0o755); err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "making a Q8_0 copy of", filepath.Base(path))
	cmd := exec.Command(s.python, s.script, "--model", path, "--quantise", target)
	cmd.Stderr = os.Stderr
	return target, cmd.Run()
}

// alternate lets the sides do a task in turns, the other way round every second
// time, after each has found its best settings and done it once unmeasured.
func alternate(m measure, sides []*side, runs int) (row, error) {
	result := row{measure: m, Seconds: make([][]float64, len(sides)), Settings: make([]string, len(sides))}
	for i, s := range sides {
		if i > 0 && m.Task != "load" {
			t := m.task
			found, err := s.ask(task{Task: "tune", Of: &t})
			if err != nil {
				return row{}, err
			}
			result.Settings[i] = found.Settings
			for _, v := range found.Tried {
				fmt.Fprintf(os.Stderr, "%s, %s: %s (%s)\n", s.name, m.Title, m.figure(v.Seconds), v.Settings)
			}
		}
		if _, err := s.ask(m.task); err != nil {
			return row{}, err
		}
	}
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	for range runs {
		for _, i := range order {
			// Threads of the side before may still spin for some milliseconds.
			time.Sleep(300 * time.Millisecond)
			a, err := sides[i].ask(m.task)
			if err != nil {
				return row{}, err
			}
			result.Seconds[i] = append(result.Seconds[i], a.Seconds)
			fmt.Fprintf(os.Stderr, "%s, %s: %s\n", sides[i].name, m.Title, m.figure(a.Seconds))
		}
		slices.Reverse(order)
	}
	return result, nil
}

// hold measures the peak memory of either side in fresh processes.
func hold(s settings, path string) ([]float64, error) {
	ours, err := startSotto("Sotto", path, s.threads)
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	peer, err := startPeer("llama.cpp", s.python, s.script, path, s.threads, false)
	if err != nil {
		return nil, err
	}
	defer peer.stop()
	var peaks []float64
	for _, side := range []*side{ours, peer} {
		a, err := side.ask(held())
		if err != nil {
			return nil, err
		}
		peaks = append(peaks, a.PeakMB)
	}
	return peaks, nil
}
