package beam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local" // paths without a scheme

	"github.com/sotto-dp/sotto/internal/private/table"
)

// fileSet are files that are one table, which must not change while a job runs.
type fileSet struct {
	// Paths are of file systems that are registered with Beam.
	Paths []string `json:"paths"`
	// Whole reads each file by one worker, from end to end: see [Options].
	Whole bool `json:"whole,omitempty"`
	// OnError says what becomes of rows that the schema refuses: table.Fail by default.
	OnError table.OnError `json:"on_error,omitempty"`
}

// stretch is how many bytes of a CSV file a block has.
const stretch = 1 << 18

// splits reports whether a file is cut into stretches.
func (f *fileSet) splits(path string) bool {
	return !f.Whole && strings.EqualFold(filepath.Ext(path), ".csv")
}

// sameUnits refuses files that are read in two ways, which name units in two ways.
func (f *fileSet) sameUnits(unit string, parts []Part) error {
	for _, p := range parts {
		if unit != "" && f.splits(p.Path) != f.splits(parts[0].Path) {
			return &table.Error{Code: table.Unusable, Msg: "units may have rows in several files, and plain CSV files are read in another way than others: read all of them whole (--whole)"}
		}
	}
	return nil
}

func (f *fileSet) parts(ctx context.Context) ([]Part, error) {
	if f.OnError != "" && f.OnError != table.Fail && f.OnError != table.Skip {
		return nil, fmt.Errorf("on error: %q is neither %q nor %q", f.OnError, table.Fail, table.Skip)
	}
	if len(f.Paths) == 0 {
		return nil, errNoFiles
	}
	out := make([]Part, len(f.Paths))
	for i, path := range f.Paths {
		size, err := sizeOf(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		out[i] = Part{Number: int64(i), Path: path, Size: size, Blocks: 1}
		if f.splits(path) {
			out[i].Stretch, out[i].Blocks = stretch, max(1, (size+stretch-1)/stretch)
		}
		if size > maxOffset || out[i].Blocks > maxBlocks {
			return nil, fmt.Errorf("%s has more than %d bytes: cut it into several files", path, int64(maxOffset))
		}
	}
	return out, nil
}

var errNoFiles = errors.New("there are no files to read: name some")

// expand lists the files that patterns match, in the order of their names. Whether one of
// them is there twice is for package table to say.
func expand(ctx context.Context, patterns []string) ([]string, error) {
	var paths []string
	for _, pattern := range patterns {
		if _, err := os.Lstat(pattern); here(pattern) && err == nil {
			paths = append(paths, pattern) // also if its name has brackets
			continue
		}
		found, err := list(ctx, pattern)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, &table.Error{Code: table.Unusable, Msg: fmt.Sprintf("no file matches %s: name one that exists", pattern)}
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, &table.Error{Code: table.Unusable, Msg: errNoFiles.Error()}
	}
	slices.Sort(paths)
	return paths, nil
}

func list(ctx context.Context, pattern string) ([]string, error) {
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return fs.List(ctx, pattern)
}

func sizeOf(ctx context.Context, path string) (int64, error) {
	if here(path) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		if info.IsDir() {
			return 0, errors.New("it is a folder: name the files in it, such as folder/*.csv")
		}
		return info.Size(), nil
	}
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return 0, err
	}
	defer fs.Close()
	return fs.Size(ctx, path)
}

func (r rows) openFile(ctx context.Context, p Part) (blockReader, error) {
	size, err := sizeOf(ctx, p.Path)
	if err != nil {
		return nil, fmt.Errorf("a worker cannot open %s: put it where all workers can read: %w", p.Path, err)
	}
	if size != p.Size {
		return nil, fmt.Errorf("%s is not what it was when the job began: leave it as it is while a job runs, and start again with a new key", p.Path)
	}
	if r.Source.Files.splits(p.Path) {
		return r.openLines(ctx, p)
	}
	return r.openWhole(ctx, p)
}

// whole is a file that one worker reads from end to end, with the reader that the rest of
// the program uses.
type whole struct {
	data    *table.Data
	part    Part
	columns []int
	folder  string // of copies, to be removed
}

func (r rows) openWhole(ctx context.Context, p Part) (_ *whole, err error) {
	w := &whole{part: p, columns: r.Columns}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	o := table.Options{Schema: r.Schema, Discrete: r.Discrete, Unit: r.Unit, OnError: r.Source.Files.OnError}
	if r.Unit != "" || !here(p.Path) {
		if w.folder, err = os.MkdirTemp("", "sotto-beam-part-"); err != nil {
			return nil, err
		}
	}
	if r.Unit != "" {
		if o.Private, err = r.unitFolder(w.folder); err != nil {
			return nil, err
		}
	}
	path := p.Path
	if !here(path) {
		if path, err = download(ctx, path, w.folder); err != nil {
			return nil, err
		}
	}
	w.data, err = table.Open(ctx, path, o)
	return w, err
}

// download copies a file to this worker: formats with their index at the end need to be
// read at random.
func download(ctx context.Context, path, folder string) (_ string, err error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return "", err
	}
	defer fs.Close()
	in, err := fs.OpenRead(ctx, path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	to := filepath.Join(folder, filepath.Base(path))
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	return to, errors.Join(err, out.Close())
}

func (w *whole) block(ctx context.Context, _ int64, each func(*table.Batch) error) error {
	return w.data.Scan(ctx, w.columns, 1, func(_ int, b *table.Batch) error {
		if b.Index >= maxBlocks {
			return fmt.Errorf("%s has too many rows for one file: cut it into several", w.part.Path)
		}
		b.Index, b.First = w.part.index(b.Index), w.part.ordinal(b.First)
		return each(b)
	})
}

func (w *whole) Close() error {
	var err error
	if w.data != nil {
		err = w.data.Close()
	}
	if w.folder != "" {
		err = errors.Join(err, os.RemoveAll(w.folder))
	}
	return err
}
