package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// file is one of an archive, or of a release. A name that ends in a slash is a folder.
type file struct {
	name string
	mode fs.FileMode
	data []byte
	uid  int
}

// under puts files into a folder.
func under(dir string, files []file) []file {
	out := slices.Clone(files)
	for i := range out {
		out[i].name = path.Join(dir, out[i].name)
	}
	return out
}

// tree sorts files and adds the folders that they are in, as archives list them.
func tree(files []file) []file {
	have := map[string]bool{}
	out := slices.Clone(files)
	for _, f := range out {
		have[f.name] = true
	}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			if name := dir + "/"; !have[name] {
				have[name] = true
				out = append(out, file{name: name, mode: 0o755})
			}
		}
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return out
}

// tarOf writes an archive in which everything has the same time and belongs to numbers, not names.
func tarOf(files []file, prefix string, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range tree(files) {
		h := &tar.Header{
			Name: prefix + f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: date,
			Uid: f.uid, Gid: f.uid, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// compress is gzip without a name and a time of its own.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func tarGz(files []file, date time.Time) ([]byte, error) {
	data, err := tarOf(files, "", date)
	if err != nil {
		return nil, err
	}
	return compress(data)
}

func zipOf(dir string, files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range tree(under(dir, files)) {
		h := &zip.FileHeader{Name: f.name, Modified: date, Method: zip.Deflate}
		h.SetMode(f.mode)
		if strings.HasSuffix(f.name, "/") {
			h.Method = zip.Store
			h.SetMode(fs.ModeDir | f.mode)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
