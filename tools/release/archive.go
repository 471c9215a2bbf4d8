package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// file is one of an archive, or of a release.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// tarGz writes files into an archive, in a folder. They are sorted, have one time and belong to
// user 0; gzip's header has neither a name nor a time.
func tarGz(dir string, files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		h := &tar.Header{
			Name: dir + "/" + f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: date,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), z.Close())
	return b.Bytes(), err
}
