package attack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Terms are what a release is made under.
type Terms struct {
	// Method that writes or chooses.
	Method         string
	Epsilon, Delta float64
	// Size is the declared number of records, Shots how many texts to write, and Tokens the most that
	// one has (0: the task's).
	Size          int64
	Shots, Tokens int
}

// Maker makes releases by the code that ships, from seeds: no ledger is opened, nothing is charged and
// nothing is signed.
type Maker struct {
	client *sotto.Client
	dir    string
	made   int
}

// NewMaker has a folder of its own, which Close removes. The model stays open.
func NewMaker(m lm.TrustedScorer) (*Maker, error) {
	dir, err := os.MkdirTemp("", "sotto-attack-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for releases: %w", err)
	}
	c, err := sotto.Open(dir, &sotto.Options{Trusted: m})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Maker{client: c, dir: dir}, nil
}

// Close removes the folder.
func (m *Maker) Close() error { return errors.Join(m.client.Close(), os.RemoveAll(m.dir)) }

// Write has the records of one label write texts.
func (m *Maker) Write(ctx context.Context, task prompt.Task, of Terms, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
	// Labels share no records, so that the others would only take time.
	task.Labels, task.Conditions = nil, []string{label}
	request := sotto.Request{Task: task, Method: of.Method, Epsilon: of.Epsilon, Delta: of.Delta, Size: of.Size, Shots: of.Shots, Tokens: of.Tokens}
	done, err := m.make(ctx, request, members, seed)
	if err != nil {
		return nil, err
	}
	return done.Examples, nil
}

// Choose has the records choose one of some public sets of demonstrations, by its place. One of them is
// empty, since prompts without demonstrations are always among the candidates.
func (m *Maker) Choose(ctx context.Context, task prompt.Task, of Terms, sets [][]prompt.Example, members []prompt.Example, seed uint64) (int, error) {
	request := sotto.Request{Task: task, Epsilon: of.Epsilon, Delta: of.Delta, Size: of.Size, Choosing: &sotto.ChooseRequest{}}
	for _, set := range sets {
		if len(set) > 0 {
			request.Choosing.Sets = append(request.Choosing.Sets, set)
		}
	}
	request.Choosing.Records, request.Choosing.Measuring = of.Size, -1
	request.Choosing.Reading = search.Raw
	done, err := m.make(ctx, request, members, seed)
	if err != nil {
		return 0, err
	}
	if done.Prompt == nil {
		return 0, errors.New("no prompt was chosen")
	}
	for i, set := range sets {
		if sameSet(set, done.Prompt.Examples) {
			return i, nil
		}
	}
	return 0, errors.New("what was chosen is none of the sets")
}

func sameSet(a, b []prompt.Example) bool {
	if len(a) != len(b) {
		return false
	}
	seen := map[prompt.Example]int{}
	for _, e := range a {
		seen[e]++
	}
	for _, e := range b {
		if seen[e]--; seen[e] < 0 {
			return false
		}
	}
	return true
}

// make carries out a run on members.
func (m *Maker) make(ctx context.Context, request sotto.Request, members []prompt.Example, seed uint64) (*sotto.Run, error) {
	m.made++
	dir := filepath.Join(m.dir, fmt.Sprint("release-", m.made))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "members.jsonl")
	if err := writeRecords(data, request.Task.WithDefaults(), members); err != nil {
		return nil, err
	}
	return m.client.Synthesize(ctx, sotto.SynthesizeOptions{
		Use: sotto.Use{Seed: &seed}, Request: request, Source: sotto.Source{Location: data}, Out: filepath.Join(dir, "out"),
	})
}

func writeRecords(path string, t prompt.Task, records []prompt.Example) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the members: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	e := json.NewEncoder(out)
	for _, r := range records {
		if err := e.Encode(map[string]string{t.Text: r.Input, t.Label: r.Output}); err != nil {
			return err
		}
	}
	return out.Flush()
}
