// Command lm measures Sotto's embedded engine beside llama.cpp on the same files in
// one run, and its sentence encoder beside sentence-transformers. Each side is a process
// of its own that loads the model once; they take turns, so that what else happens on the
// machine hits all of them.
//
//	go run ./bench/lm -python .venv/lm/bin/python -out dist/bench-lm.md
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm/models"
)

// settings of a run. Of the programs, those that are empty are left out.
type settings struct {
	python, folder, scratch     string
	sentences                   string
	models, parts               []string
	threads, runs, asked, texts int
	repack                      bool
}

// Parts of a run, besides those that are called like a model.
const (
	partQuestions = "questions"
	partSentences = "sentences"
)

// longRuns is how often the sides do tasks that take minutes.
const longRuns = 3

func main() {
	var s settings
	names := flag.String("models", strings.Join(defaultModels, ","), "the models to compare on, as `sotto model list` names them, or paths")
	flag.StringVar(&s.python, "python", "python3", "a Python that has the packages of requirements.txt")
	flag.StringVar(&s.folder, "sources", "lab/bench/lm", "where the other sides' programs are")
	flag.StringVar(&s.scratch, "scratch", ".cache/bench-lm", "where to keep the Q8_0 copy")
	flag.StringVar(&s.sentences, "sentences", "", "a Python that has sentence-transformers; empty leaves sentences out")
	flag.IntVar(&s.threads, "threads", 2, "threads of either side")
	flag.IntVar(&s.runs, "runs", 7, "how often each side does each task; those that take minutes, and all of a second model, 3 times")
	flag.IntVar(&s.asked, "questions", questionCount, "questions over shared prefixes, a multiple of 8; fewer are for trials")
	flag.IntVar(&s.texts, "texts", sentenceCount, "sentences; fewer are for trials")
	parts := flag.String("parts", "", "measure these `PARTS` only, and keep what was measured of the others before: names of models, questions, sentences")
	flag.BoolVar(&s.repack, "repack", false, "let llama.cpp try its repacked weights (build it without AMX where AMX faults)")
	worker := flag.String("serve", "", "be Sotto's side on this model (used by the command itself)")
	bits := flag.Int("bits", wide, "the bits of activations on Sotto's side (used by the command itself)")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error {
		switch {
		case *worker != "":
			return serve(ctx, *worker, s.threads, *bits, os.Stdin, os.Stdout)
		case s.runs < 3:
			return errors.New("runs must be at least 3, for a median and a spread")
		case s.asked < 2*questionPrefixes || s.asked%questionPrefixes != 0 || s.texts < 2:
			return fmt.Errorf("questions must be a multiple of %d, two for each prefix or more, and texts at least 2", questionPrefixes)
		}
		s.models = strings.Split(*names, ",")
		if *parts != "" {
			s.parts = strings.Split(*parts, ",")
		}
		return run(s, *out)
	})
}

var defaultModels = []string{models.Default, "qwen2.5-coder"}

func run(s settings, out string) error {
	r, err := s.begin()
	if err != nil {
		return err
	}
	for i, name := range s.models {
		path, _, err := models.Find(name)
		if err != nil {
			return err
		}
		err = r.part(s, name, func() error { return r.compare(s, name, path, i == 0) })
		if err == nil && i == 0 {
			err = r.part(s, partQuestions, func() error { return r.questions(s, name, path) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.sentences != "" {
		if err := r.part(s, partSentences, func() error { return r.sentences(s) }); err != nil {
			return fmt.Errorf("sentences: %w", err)
		}
	}
	return harness.Write(out, r.text())
}

// kept is the file that has what was measured, part by part.
func (s settings) kept() string { return filepath.Join(s.scratch, "report.json") }

// begin returns a report: an empty one, or with -parts the one that is kept.
func (s settings) begin() (*report, error) {
	if err := os.MkdirAll(s.scratch, 0o755); err != nil {
		return nil, err
	}
	r := &report{}
	if s.parts != nil {
		data, err := os.ReadFile(s.kept())
		if err == nil {
			err = json.Unmarshal(data, r)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	here := harness.Here()
	if r.Machine.Name != "" && r.Machine.Name != here.Name {
		return nil, fmt.Errorf("%s was measured on another machine: measure all parts, without -parts", s.kept())
	}
	r.Machine.Name, r.Threads, r.Runs, r.Repack = here.Name, s.threads, s.runs, s.repack
	if r.Loads == nil {
		r.Loads = map[string]string{}
	}
	return r, nil
}

// part measures a part, unless others are asked for, and keeps it.
func (r *report) part(s settings, name string, do func() error) error {
	if s.parts != nil && !slices.Contains(s.parts, name) {
		return nil
	}
	r.Loads[name] = harness.Here().Load
	if err := do(); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(s.kept(), data, 0o644)
}

// questions compares what choosing by the records does.
func (r *report) questions(s settings, name, path string) error {
	copied, err := s.fastest(path)
	if err != nil {
		return err
	}
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
	m := questionTask(s.asked)
	found, err := ours.ask(task{Task: "labels", Labels: m.Labels})
	if err != nil {
		return err
	}
	if m.Candidates = found.Tokens; len(m.Candidates) != len(m.Labels) {
		return fmt.Errorf("the labels %q are not one token each in this model", m.Labels)
	}
	sides := []contestant{ours, short}
	for _, file := range []struct{ model, of string }{{path, "same file"}, {copied, "Q8_0 copy"}} {
		library, err := startPeer("llama.cpp's library, "+file.of, s, file.model, s.repack)
		if err != nil {
			return err
		}
		defer library.stop()
		sides = append(sides, library)
	}
	c, err := hold(m, sides, min(s.runs, longRuns))
	if err != nil {
		return err
	}
	c.Model, c.Goals = name, make([]float64, len(sides))
	c.Goals[2] = 8
	// Of the libraries, the peak would be that of all settings that they tried.
	if c.Peaks, err = peaks(sides, 0, 1); err != nil {
		return err
	}
	r.Questions = c
	return nil
}

// sentences compares encoders of sentences.
func (r *report) sentences(s settings) error {
	ours, err := startSotto("none", s.threads, wide)
	if err != nil {
		return err
	}
	defer ours.stop()
	peer, err := startSentences("sentence-transformers", s)
	if err != nil {
		return err
	}
	defer peer.stop()
	about, err := peer.ask(task{Task: "about"})
	if err != nil {
		return err
	}
	r.Encoder = about.Version
	sides := []contestant{ours, peer}
	c, err := hold(sentenceTask(s.texts), sides, s.runs)
	if err != nil {
		return err
	}
	c.Model, c.Goals = "all-MiniLM-L6-v2", []float64{0, 3}
	c.Peaks, err = peaks(sides, 0, 1)
	r.Sentences = c
	return err
}
