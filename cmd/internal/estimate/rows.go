package estimate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/schema"
)

// Rows are files of perturbed rows, and what was done to them.
type Rows struct {
	schema schema.Schema
	files  []string
	// rows are how many each file should have; -1 where nobody says.
	rows []int64
	// Sidecar says what was done; its Rows count all files.
	Sidecar reconstruct.Sidecar
}

// Open finds the files of perturbed rows: folders of "sotto table perturb", or files with
// a sidecar each. Otherwise gives the sidecar of files without one.
func Open(of schema.Schema, paths []string, otherwise func() (reconstruct.Sidecar, error)) (*Rows, error) {
	p := &Rows{schema: of}
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, run.RowsFile)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, wrong("perturbed rows: %w; name what \"sotto table perturb\" wrote", err)
		}
		one, err := sidecarOf(path, of)
		p.rows = append(p.rows, one.Rows)
		if errors.Is(err, os.ErrNotExist) {
			one, err = otherwise()
			p.rows[i] = -1
		}
		if err != nil {
			return nil, wrong("%s: %w", path, err)
		}
		switch {
		case i == 0:
			p.Sidecar = one
		// Events do not say which column has which ε.
		case !slices.Equal(one.Columns, p.Sidecar.Columns):
			return nil, wrong("%s was perturbed otherwise than %s: reconstruct them by themselves", path, p.files[0])
		default:
			p.Sidecar.Private = p.Sidecar.Private && one.Private
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

// Count counts combinations of values of groups of columns.
func (p *Rows) Count(groups [][]int) ([]*reconstruct.Counts, error) {
	var all []*reconstruct.Counts
	for _, columns := range groups {
		c, err := reconstruct.NewCounts(p.Sidecar.Channel(), columns...)
		if err != nil {
			return nil, inputError(err)
		}
		all = append(all, c)
	}
	p.Sidecar.Rows = 0
	for i, path := range p.files {
		before := p.Sidecar.Rows
		if err := p.add(path, all); err != nil {
			return nil, wrong("%s: %w", path, err)
		}
		if n := p.Sidecar.Rows - before; p.rows[i] >= 0 && n != p.rows[i] {
			return nil, wrong("%s has %d rows, and %d were perturbed, as the file beside it says: use the one that was written", path, n, p.rows[i])
		}
	}
	if p.Sidecar.Rows == 0 {
		return nil, wrong("there are no rows: nothing can be learned from them")
	}
	return all, nil
}

func (p *Rows) add(path string, all []*reconstruct.Counts) error {
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
		p.Sidecar.Rows += int64(rows.Count)
	}
}
