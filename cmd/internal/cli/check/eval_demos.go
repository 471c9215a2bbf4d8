package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/prompt"
)

// Sets of demonstrations that are no files.
const (
	demosZero = "zero"
	demosReal = "real"
)

// readSets reads the sets that are files, and the first shots of each, 0 for all. That of
// real records is drawn once the model is open, by whose tokens records are cut.
func readSets(refs []string, t prompt.Task, shots int) ([]worth.Set, error) {
	var sets []worth.Set
	for i, ref := range refs {
		if slices.Contains(refs[:i], ref) {
			return nil, cli.Usage("--demos %s is given twice", ref)
		}
		set := worth.Set{Name: ref, NotPrivate: ref == demosReal}
		if ref != demosZero && ref != demosReal {
			var err error
			if set, err = worth.ReadSet(ref, t); err != nil {
				return nil, cli.AsUsage[*worth.InputError](err)
			}
			if n := len(set.Examples); shots > n && n > 0 {
				return nil, cli.Usage("--shots is %d, and %s has %d demonstrations", shots, ref, n)
			} else if shots > 0 {
				set.Examples = set.Examples[:min(n, shots)]
			}
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// minPart is how many records package plan draws at least to choose one of.
const minPart = 16

// drawReal takes records as they are, through the same door as all other methods.
func (s *setting) drawReal(ctx context.Context) ([]prompt.Example, error) {
	dir, err := os.MkdirTemp("", "sotto-eval-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for real records: %w", err)
	}
	defer os.RemoveAll(dir)
	private, err := s.PrivateDir()
	if err != nil {
		return nil, err
	}
	client, err := sotto.Open(dir, &sotto.Options{Private: private, Trusted: s.trusted})
	if err != nil {
		return nil, err
	}
	seed := uint64(s.seed)
	request := plan.Request{Task: s.target, Method: demosReal, Shots: s.shots, Size: s.size}
	if s.size == 0 {
		// As if there were as few as possible, so that all of them are drawn.
		request.Size = minPart * int64(max(1, len(s.target.Labels)))
	}
	if s.target.Open() && len(s.target.Conditions) == 0 {
		request.Conditions = []string{"any"} // records come with their own
	}
	done, err := client.Synthesize(ctx, sotto.SynthesizeOptions{
		Use:     sotto.Use{NonPrivate: true, Seed: &seed},
		Request: ask.As[sotto.Request](request), Out: filepath.Join(dir, "real"),
		Source: sotto.Source{Location: s.data, Query: s.query},
	})
	if err != nil {
		return nil, err
	}
	return done.Examples, nil
}

// inputs are the paths of what is read; one that is no file does no harm.
func (s *setting) inputs() []string {
	paths := []string{s.test, s.Task, s.data}
	for _, ref := range s.demos {
		paths = append(paths, ref, filepath.Join(ref, "demos.jsonl"))
	}
	return paths
}

// checkMetric finds out before anything is asked whether the metric can be had.
func (o *evalOptions) checkMetric(t prompt.Task) error {
	if o.metric == "" && o.encoder == "" {
		return nil
	}
	if o.metric != "" && !slices.Contains(metric.Names(), o.metric) {
		return cli.Usage("--metric is %q, it should be one of %s", o.metric, strings.Join(metric.Names(), ", "))
	}
	if worth.Embeds(o.metric) {
		return nil
	}
	if o.encoder != "" {
		return cli.Usage("--encoder is for embedding metrics, and would change nothing: give a --metric such as embedding_f1")
	}
	m, err := metric.New(o.metric, metric.Options{})
	if err != nil {
		return err
	}
	if !m.PerItem() {
		return cli.Usage("--metric %s is about all answers together and has no interval: measure %s, and find it beside that if it is for the task", o.metric, metric.Of(t)[0])
	}
	return nil
}

func (s *setting) openEncoder(ctx context.Context) (lm.Embedder, error) {
	if s.encoder == "" {
		return backend.Encoder("")
	}
	client, err := backend.Dial(ctx, backend.Spec{URL: s.encoder, Key: remote.Key{Env: s.KeyEnv}})
	if err != nil {
		return nil, err
	}
	e, err := client.Embedder(ctx)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return e, nil
}

// openPredictions makes the file of all answers before anything is asked, so that a path that
// cannot be written costs no work. It is for its owner to read: questions are in it, and
// answers may repeat demonstrations. Inputs are files that it must not be.
func openPredictions(path string, inputs ...string) (*cli.JsonLines, error) {
	if path == "" {
		return &cli.JsonLines{}, nil
	}
	for _, input := range inputs {
		if config.SameFile(path, input) {
			return nil, cli.Usage("--predictions %s would write over what is read: name another file", path)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, cli.Usage("write the answers: %w", err)
	}
	return &cli.JsonLines{Path: path, File: f}, nil
}
