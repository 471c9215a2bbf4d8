package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// files are several files that are one table. They are opened one after the other, since
// there may be more of them than a process can have open.
type files struct {
	o     Options
	paths []string
	infos []fs.FileInfo
	names []string
}

// OpenFiles opens several files of rows as one table: the rows of the first come first. A
// file that is there twice, by whatever names, is refused: each of its rows would count
// twice, and the guarantee is about once.
//
// The ledger knows them by their contents, in any order and under any names; one file
// alone is known as [Open] knows it.
func OpenFiles(ctx context.Context, paths []string, o Options) (*Data, error) {
	if len(paths) == 1 {
		return Open(ctx, paths[0], o)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	f := &files{paths: paths}
	for i, path := range paths {
		if format := cmp.Or(o.Format, origin.FormatOf(path)); format == origin.SQL {
			return nil, origin.Refuse("%s is a database, and several places are read as one table only if all of them are files", path)
		}
		if err := f.add(ctx, path, o); err != nil {
			return nil, fmt.Errorf("file %d of %d: %w", i+1, len(paths), err)
		}
	}
	if len(paths) == 0 {
		return nil, origin.Refuse("there are no files to read: name some")
	}
	if err := distinct(f.paths, f.infos); err != nil {
		return nil, err
	}
	f.o = o
	return newData(f, o)
}

// add looks at the names of columns of one more file.
func (f *files) add(ctx context.Context, path string, o Options) error {
	s, err := openSource(ctx, path, &o)
	if err != nil {
		return err
	}
	defer s.close()
	if f.names == nil {
		f.names = s.header()
	}
	f.infos = append(f.infos, infoOf(s))
	_, err = rows.Find(s.header(), o.wanted())
	return err
}

// distinct refuses a file that is named twice: by another path, or a link.
func distinct(paths []string, infos []fs.FileInfo) error {
	bySize := map[int64][]int{}
	for i, info := range infos {
		for _, j := range bySize[info.Size()] {
			if os.SameFile(info, infos[j]) {
				return twice(paths[j], paths[i])
			}
		}
		bySize[info.Size()] = append(bySize[info.Size()], i)
	}
	return nil
}

func twice(a, b string) error {
	return origin.Refuse("%s and %s are the same file: each of its rows would count twice. Name every file once", a, b)
}

// infoOf returns which file a source is, if it is one.
func infoOf(s source) fs.FileInfo {
	if f, ok := s.(interface{ stat() fs.FileInfo }); ok {
		return f.stat()
	}
	return nil
}

func (f *files) header() []string { return f.names }
func (f *files) close() error     { return nil }

// each opens the files in their order.
func (f *files) each(ctx context.Context, do func(i int, s source) error) error {
	for i, path := range f.paths {
		s, err := openSource(ctx, path, &f.o)
		if err != nil {
			return err
		}
		if now := infoOf(s); !os.SameFile(now, f.infos[i]) || origin.Stamp(now) != origin.Stamp(f.infos[i]) {
			return errors.Join(origin.Differs(0), s.close())
		}
		if err := errors.Join(do(i, s), s.close()); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint is a hash of those of the files, in the order of these, and so of the rows
// whatever the files are called. Two files with the same content are refused.
func (f *files) fingerprint(ctx context.Context, key keys.Key) (sum [32]byte, err error) {
	type fileSum struct {
		path string
		sum  [32]byte
	}
	var all []fileSum
	err = f.each(ctx, func(i int, s source) error {
		sum, err := s.fingerprint(ctx, key)
		all = append(all, fileSum{f.paths[i], sum})
		return err
	})
	if err != nil {
		return sum, err
	}
	slices.SortFunc(all, func(a, b fileSum) int { return bytes.Compare(a.sum[:], b.sum[:]) })
	var parts []string
	for i, k := range all {
		if i > 0 && k.sum == all[i-1].sum {
			return sum, origin.Refuse("%s and %s have the same content: each of its rows would count twice. Leave one of them out", all[i-1].path, k.path)
		}
		parts = append(parts, string(k.sum[:]))
	}
	return keys.NewMAC(key.For("contents")).Of(parts...), nil
}

func (f *files) scan(ctx context.Context, p *pass) error {
	report, done, total := p.progress, int64(0), int64(0)
	for _, info := range f.infos {
		total += info.Size()
	}
	if report != nil {
		p.progress = func(read, _ int64) { report(done+read, total) }
	}
	return f.each(ctx, func(i int, s source) error {
		p.turn()
		err := s.scan(ctx, p)
		done += f.infos[i].Size()
		return err
	})
}

func (f *files) sketch(ctx context.Context, parts []*rowsketch.Rows) error {
	return f.each(ctx, func(_ int, s source) error { return s.sketch(ctx, parts) })
}

// unchanged fails if a file is no longer what it was when it was opened.
func (f *files) unchanged() error {
	for i, path := range f.paths {
		path, _ := convert.Split(path)
		now, err := os.Stat(path)
		if err != nil {
			return origin.Fail(err)
		}
		if !os.SameFile(now, f.infos[i]) || origin.Stamp(now) != origin.Stamp(f.infos[i]) {
			return origin.Differs(0)
		}
	}
	return nil
}
