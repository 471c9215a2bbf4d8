package beam

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// atomicFile is a file that appears under its name once it is complete. Several attempts at
// the same file do not disturb each other: each writes beside it, and the last one to end
// replaces it.
type atomicFile struct {
	io.Writer
	close      func() error
	path, temp string
}

// create begins a file. On this machine's own file system only its owner can read it.
func create(ctx context.Context, path string) (*atomicFile, error) {
	if !here(path) {
		return createRemote(ctx, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".pending-*")
	if err != nil {
		return nil, err
	}
	return &atomicFile{Writer: f, close: f.Close, path: path, temp: f.Name()}, nil
}

func createRemote(ctx context.Context, path string) (*atomicFile, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	temp := path
	if _, ok := fs.(filesystem.Renamer); ok {
		temp = path + ".pending-" + rand.Text()
	}
	w, err := fs.OpenWrite(ctx, temp)
	if err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	end := func() error { return errors.Join(w.Close(), fs.Close()) }
	return &atomicFile{Writer: w, close: end, path: path, temp: temp}, nil
}

// keep completes the file.
func (p *atomicFile) keep(ctx context.Context) error {
	if err := p.close(); err != nil {
		return fmt.Errorf("write %s: %w", p.path, err)
	}
	switch {
	case p.temp == p.path:
		return nil
	case here(p.path):
		return os.Rename(p.temp, p.path)
	default:
		return p.rename(ctx)
	}
}

// discard gives the file up.
func (p *atomicFile) discard(ctx context.Context) error {
	return errors.Join(p.close(), removeFile(ctx, p.temp))
}

func (p *atomicFile) rename(ctx context.Context) error {
	fs, err := filesystem.New(ctx, p.path)
	if err != nil {
		return err
	}
	defer fs.Close()
	return filesystem.Rename(ctx, fs, p.temp, p.path)
}
