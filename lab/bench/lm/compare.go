package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// compare measures one model, for the first also the peer's fastest format.
func (r *report) compare(s settings, name, path string, first bool) error {
	c := comparison{Model: name, File: filepath.Base(path)}
	ours, err := startSotto(path, s.threads, wide)
	if err != nil {
		return err
	}
	defer ours.stop()
	short, err := startSotto(path, s.threads, narrow)
	if err != nil {
		return err
	}
	defer short.stop()
	peer, err := startPeer("llama.cpp", s, path, s.repack)
	if err != nil {
		return err
	}
	defer peer.stop()
	files, sides := []string{path, path, path}, []contestant{ours, short, peer}
	if first {
		copied, err := s.fastest(path)
		if err != nil {
			return err
		}
		fast, err := startPeer("llama.cpp on Q8_0", s, copied, s.repack)
		if err != nil {
			return err
		}
		defer fast.stop()
		files, sides = append(files, copied), append(sides, fast)
	}
	if err := r.about(ours, peer); err != nil {
		return err
	}
	runs := s.runs
	if !first {
		runs = min(runs, longRuns)
	}
	for _, m := range measures() {
		row, err := alternate(m, sides, runs)
		if err != nil {
			return err
		}
		c.Rows = append(c.Rows, row)
	}
	for _, side := range sides {
		side.stop() // their memory is wanted
	}
	if c.Held, err = held(!first).peaks(s, files); err != nil {
		return err
	}
	c.Holding = held(!first)
	r.Comparisons = append(slices.DeleteFunc(r.Comparisons, func(old comparison) bool { return old.Model == name }), c)
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
	cmd := exec.Command(s.python, filepath.Join(s.folder, "peers.py"), "--model", path, "--quantise", target)
	cmd.Stderr = os.Stderr
	return target, cmd.Run()
}

// alternate lets the sides do a task in turns, the other way round every second
// time, after each has found its best settings and done it once unmeasured.
func alternate(m measure, sides []contestant, runs int) (row, error) {
	n := len(sides)
	result := row{measure: m, Seconds: make([][]float64, n), Settings: make([]string, n), Last: make([]answer, n)}
	for i, s := range sides {
		if s.tuned() && m.Task != "load" {
			t := m.task
			found, err := s.ask(task{Task: "tune", Of: &t})
			if err != nil {
				return row{}, err
			}
			result.Settings[i] = found.Settings
			for _, v := range found.Tried {
				fmt.Fprintf(os.Stderr, "%s, %s: %s (%s)\n", s.label(), m.Title, m.figure(v.Seconds), v.Settings)
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
			result.Last[i] = a
			result.Seconds[i] = append(result.Seconds[i], a.Seconds)
			fmt.Fprintf(os.Stderr, "%s, %s: %s\n", sides[i].label(), m.Title, m.figure(a.Seconds))
		}
		slices.Reverse(order)
	}
	return result, nil
}

// The sides of a comparison, in this order: Sotto with activations of 16 and of 8 bits, llama.cpp on the same file, and
// for one model on its fastest format.
const (
	oursWide = iota
	oursNarrow
	samefile
	fastest

	wide, narrow = 16, 8
)

// startPart starts a side by its place.
func startPart(s settings, i int, file string) (*side, error) {
	switch i {
	case oursWide:
		return startSotto(file, s.threads, wide)
	case oursNarrow:
		return startSotto(file, s.threads, narrow)
	}
	return startPeer("llama.cpp", s, file, false)
}

// peaks returns the peak memory of the sides in fresh processes, Sotto's first.
func (t task) peaks(s settings, files []string) ([]float64, error) {
	var list []float64
	for i, file := range files {
		side, err := startPart(s, i, file)
		if err != nil {
			return nil, err
		}
		a, err := side.ask(t)
		side.stop()
		if err != nil {
			return nil, err
		}
		list = append(list, a.PeakMB)
	}
	return list, nil
}
