package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	folder "github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/schema"
)

// perturbedRows are files of perturbed rows, and what was done to them.
type perturbedRows struct {
	schema schema.Schema
	files  []string
	// rows are how many each file should have; -1 where nobody says.
	rows []int64
	// told says what was done; its Rows are those of all files.
	told reconstruct.Sidecar
}

// openPerturbed finds the files of perturbed rows: folders of "sotto table perturb", or
// files with a sidecar each. Files without one take what is said of them otherwise.
func openPerturbed(of schema.Schema, paths []string, otherwise func() (reconstruct.Sidecar, error)) (*perturbedRows, error) {
	p := &perturbedRows{schema: of}
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, folder.RowsFile)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, usage("perturbed rows: %w; name what \"sotto table perturb\" wrote", err)
		}
		told, err := sidecarOf(path, of)
		p.rows = append(p.rows, told.Rows)
		if errors.Is(err, os.ErrNotExist) {
			told, err = otherwise()
			p.rows[i] = -1
		}
		if err != nil {
			return nil, usage("%s: %w", path, err)
		}
		switch {
		case i == 0:
			p.told = told
		// Events do not tell which column has which ε.
		case !slices.Equal(told.Columns, p.told.Columns):
			return nil, usage("%s was perturbed otherwise than %s: reconstruct them by themselves", path, p.files[0])
		default:
			p.told.Private = p.told.Private && told.Private
		}
		p.files = append(p.files, path)
	}
	return p, nil
}

func sidecarOf(path string, of schema.Schema) (reconstruct.Sidecar, error) {
	f, err := os.Open(path + ".json")
	if err != nil {
		return reconstruct.Sidecar{}, err
	}
	defer f.Close()
	return reconstruct.ReadSidecar(f, of)
}

// count counts combinations of values of groups of columns.
func (p *perturbedRows) count(groups [][]int) ([]*reconstruct.Counts, error) {
	var all []*reconstruct.Counts
	for _, columns := range groups {
		c, err := reconstruct.NewCounts(p.told.Channel(), columns...)
		if err != nil {
			return nil, usage("%w", err)
		}
		all = append(all, c)
	}
	p.told.Rows = 0
	for i, path := range p.files {
		before := p.told.Rows
		if err := p.add(path, all); err != nil {
			return nil, usage("%s: %w", path, err)
		}
		if n := p.told.Rows - before; p.rows[i] >= 0 && n != p.rows[i] {
			return nil, usage("%s has %d rows, and %d were perturbed, as the file beside it says: use the one that was written", path, n, p.rows[i])
		}
	}
	if p.told.Rows == 0 {
		return nil, usage("there are no rows: nothing can be learned from them")
	}
	return all, nil
}

func (p *perturbedRows) add(path string, all []*reconstruct.Counts) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := reconstruct.NewReader(f, p.schema, reconstruct.FormatOf(path))
	if err != nil {
		return err
	}
	const atOnce = 8192
	var rows reconstruct.Rows
	for {
		err := in.Read(&rows, atOnce)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range all {
			if err := c.Add(&rows); err != nil {
				return err
			}
		}
		p.told.Rows += int64(rows.Count)
	}
}

// estimateFile is what "sotto table reconstruct" leaves for "sotto table sample".
type estimateFile struct {
	Format    string                  `json:"format"`
	Schema    schema.Schema           `json:"schema"`
	Rows      int64                   `json:"rows"`
	Epsilon   float64                 `json:"epsilon"`
	Event     string                  `json:"event"`
	Private   bool                    `json:"private"`
	Estimates []*reconstruct.Estimate `json:"estimates"`

	profileFields
}

const (
	estimateFormat = "sotto-estimate/1"
	estimateName   = "estimate.json"
)

func readEstimate(path string) (*estimateFile, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, estimateName)
	}
	data, err := bounded.ReadFile(path, bounded.Huge)
	if err != nil {
		return nil, usage("the estimate: %w; name what \"sotto table reconstruct --out\" wrote", err)
	}
	var f estimateFile
	if err := bounded.UnmarshalJSON(data, bounded.Huge, &f); err != nil || f.Format != estimateFormat {
		return nil, usage("%s is no estimate of this version: name what \"sotto table reconstruct --out\" wrote", path)
	}
	for _, e := range f.Estimates {
		if err := e.Check(); err != nil {
			return nil, usage("%s: %w", path, err)
		}
	}
	return &f, nil
}

func (f *estimateFile) write(dir string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the estimate: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, estimateName), append(data, '\n'), 0o644)
}

// sample draws examples. A seed makes them the same every time; they cost nothing either
// way.
func (f *estimateFile) sample(k int, seed *uint64) ([]release.Example, error) {
	s, err := reconstruct.NewSampler(len(f.Schema.Columns), f.Estimates...)
	if err != nil {
		return nil, usage("%w", err)
	}
	stream, err := drawFrom(seed)
	if err != nil {
		return nil, err
	}
	words := f.Schema.Wording()
	var out []release.Example
	for _, row := range s.Rows(k, stream) {
		out = append(out, release.Example{Input: words.Text(row), Output: words.Answer(row)})
	}
	return out, nil
}

// release says what examples are, and what they cost: what the perturbed rows did.
func (f *estimateFile) release(examples []release.Example) (release.Release, error) {
	task, err := f.Schema.Task()
	if err != nil {
		return release.Release{}, usage("%w", err)
	}
	r := release.Release{
		Task: task, Examples: examples, Origin: cmp.Or(f.made, release.Sampled), Method: f.method(), Private: !f.noiseless, Seeded: !f.Private, Unsigned: true,
		Settings: map[string]any{"estimated by": f.Estimates[0].Method, "schema": f.Schema.Name, "perturbed rows": f.Rows},
		Version:  thisVersion().Version,
	}
	if !f.Private {
		return r, nil
	}
	e, err := privacy.Parse(f.Event)
	if err != nil {
		return r, err
	}
	for i, e := range append([]privacy.Event{e}, f.inner...) {
		g := privacy.Guarantee{
			Event: e, Adjacency: cmp.Or(f.adjacency, privacy.ReplaceOne), Unit: cmp.Or(f.unit, privacy.Record), Delta: f.delta,
			Accountant: accountant.Auto{}.Name(),
		}
		if g.Epsilon, err = (accountant.Auto{}).Epsilon(e, g.Adjacency, g.Delta); err != nil {
			return r, fmt.Errorf("work out ε: %w", err)
		}
		if i == 0 {
			r.Guarantee = &g
		} else {
			r.Inner = append(r.Inner, g)
		}
	}
	return r, nil
}

func (f *estimateFile) method() string {
	if f.made == release.Drawn {
		return "profile"
	}
	return "local"
}

// groupsOf reads columns that are estimated together: a+b+c,… or none for all.
func groupsOf(of schema.Schema, flag, list string) ([][]int, error) {
	if list == "" {
		return nil, nil
	}
	var out [][]int
	for part := range strings.SplitSeq(list, ",") {
		var group []int
		for name := range strings.SplitSeq(part, "+") {
			if _, err := column(of, flag, strings.TrimSpace(name)); err != nil {
				return nil, err
			}
			i, _ := of.Column(strings.TrimSpace(name))
			group = append(group, i)
		}
		out = append(out, group)
	}
	return out, nil
}

// planned is what rows without a sidecar are taken for.
func planned(l plan.Local) (reconstruct.Sidecar, error) { return l.Settings.Sidecar(l.Schema, 0, true) }
