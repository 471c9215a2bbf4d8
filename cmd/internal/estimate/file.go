package estimate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// File is an estimate, as "sotto table reconstruct" leaves it for "sotto table sample".
type File struct {
	Format    string                  `json:"format"`
	Schema    schema.Schema           `json:"schema"`
	Rows      int64                   `json:"rows"`
	Epsilon   float64                 `json:"epsilon"`
	Event     string                  `json:"event"`
	Private   bool                    `json:"private"`
	Estimates []*reconstruct.Estimate `json:"estimates"`

	profileFields
}

// Name of the file in its folder.
const Name = "estimate.json"

const format = "sotto-estimate/1"

// Read reads an estimate from a file, or from the folder that it is in.
func Read(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, Name)
	}
	data, err := bounded.ReadFile(path, bounded.Huge)
	if err != nil {
		return nil, wrong("the estimate: %w; name what \"sotto table reconstruct --out\" wrote", err)
	}
	var f File
	if err := bounded.UnmarshalJSON(data, bounded.Huge, &f); err != nil || f.Format != format {
		return nil, wrong("%s is no estimate of this version: name what \"sotto table reconstruct --out\" wrote", path)
	}
	for _, e := range f.Estimates {
		if err := e.Check(); err != nil {
			return nil, wrong("%s: %w", path, err)
		}
	}
	return &f, nil
}

// Write writes the file into a folder.
func (f *File) Write(dir string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the estimate: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, Name), append(data, '\n'), 0o644)
}

// Sample draws k examples. A seed makes them the same every time; they cost nothing either
// way.
func (f *File) Sample(k int, seed *uint64) ([]prompt.Example, error) {
	sets, err := f.draw(1, seed, func(s *reconstruct.Sampler, _ int, stream *noise.Stream) ([]schema.Row, error) {
		return s.Rows(k, stream), nil
	})
	if err != nil {
		return nil, err
	}
	return sets[0], nil
}

// Near draws k examples that resemble each of the rows.
func (f *File) Near(rows []reconstruct.Near, k int, seed *uint64) ([][]prompt.Example, error) {
	return f.draw(len(rows), seed, func(s *reconstruct.Sampler, i int, stream *noise.Stream) ([]schema.Row, error) {
		return s.Near(rows[i], k, stream)
	})
}

// draw draws sets of examples.
func (f *File) draw(sets int, seed *uint64, rows func(*reconstruct.Sampler, int, *noise.Stream) ([]schema.Row, error)) ([][]prompt.Example, error) {
	s, err := reconstruct.NewSampler(len(f.Schema.Columns), f.Estimates...)
	if err != nil {
		return nil, inputError(err)
	}
	stream, err := drawFrom(seed)
	if err != nil {
		return nil, err
	}
	words := f.Schema.Wording()
	out := make([][]prompt.Example, sets)
	for i := range out {
		drawn, err := rows(s, i, stream)
		if err != nil {
			return nil, inputError(err)
		}
		for _, row := range drawn {
			out[i] = append(out[i], prompt.Example{Input: words.Text(row), Output: words.Answer(row)})
		}
	}
	return out, nil
}

// drawFrom is randomness of a seed, or of the operating system.
func drawFrom(seed *uint64) (*noise.Stream, error) {
	if seed != nil {
		key := noise.KeyFromSeed(*seed)
		return key.Stream("sample"), nil
	}
	key, err := noise.NewKey()
	if err != nil {
		return nil, fmt.Errorf("draw a key: %w", err)
	}
	return key.Stream("sample"), nil
}

// release describes examples, and what they cost: what the perturbed rows did.
func (f *File) release(examples []prompt.Example, version string) (release.Release, error) {
	task, err := f.Schema.Task()
	if err != nil {
		return release.Release{}, inputError(err)
	}
	r := release.Release{
		Task: task, Examples: examples, Origin: f.Origin(), Method: f.method(), Private: !f.noiseless, Seeded: !f.Private, Unsigned: true,
		Settings: map[string]any{"estimated by": f.Estimates[0].Method, "schema": f.Schema.Name, "perturbed rows": f.Rows},
		Version:  version,
	}
	if !f.Private {
		return r, nil
	}
	e, err := privacy.Parse(f.Event)
	if err != nil {
		return r, err
	}
	r.Guarantee, err = f.guarantee(e)
	if err != nil || !privacy.Sampled(e) {
		return r, err
	}
	drawn, err := f.guarantee(privacy.Unsampled(e))
	if err == nil && !math.IsInf(drawn.Epsilon.Upper, 1) {
		r.Drawn = drawn
	}
	return r, err
}

// guarantee is that of an event, as the estimate's was meant.
func (f *File) guarantee(e privacy.Event) (*privacy.Guarantee, error) {
	g := privacy.Guarantee{
		Event: e, Adjacency: cmp.Or(f.adjacency, privacy.ReplaceOne), Unit: cmp.Or(f.unit, privacy.Record), Delta: f.delta,
		Accountant: accountant.Auto{}.Name(),
	}
	var err error
	if g.Epsilon, err = (accountant.Auto{}).Epsilon(e, g.Adjacency, g.Delta); err != nil {
		return nil, fmt.Errorf("compute ε: %w", err)
	}
	return &g, nil
}

// Origin reports how examples of the estimate are made.
func (f *File) Origin() release.Origin { return cmp.Or(f.origin, release.Sampled) }

func (f *File) method() string {
	if f.origin == release.Drawn {
		return "profile"
	}
	return "local"
}

// Save writes examples in all formats, if there are any, with what to show beside them.
func (f *File) Save(dir, version string, examples []prompt.Example, beside ...release.Table) ([]string, error) {
	if len(examples) == 0 {
		return nil, nil
	}
	content, err := f.release(examples, version)
	if err != nil {
		return nil, err
	}
	content.Tables = beside
	return release.Write(dir, content)
}

// Warning reports why the estimate has no privacy guarantee.
func (f *File) Warning() string {
	from := "the rows were perturbed from a seed: they are"
	switch {
	case f.noiseless:
		from = "no noise was added to the profile: it is"
	case f.origin == release.Drawn:
		from = "the noise of the profile is of a seed: it is"
	}
	return from + " NOT PRIVATE, and neither is what is made from " + map[bool]string{true: "it", false: "them"}[f.origin == release.Drawn]
}
