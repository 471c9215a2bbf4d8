package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// disk is what a part is written to; tests put a failing one there.
type disk interface {
	io.ReadWriteCloser
	Truncate(int64) error
	Seek(int64, int) (int64, error)
	Sync() error
}

func openDisk(path string) (disk, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
}

// part is a partial download: always a prefix of the final file, if its sources are
// correct. Its name has the hash of the final file, so that a part is never continued as
// something else.
type part struct {
	file File
	dir  string
	disk disk
	hash hash.Hash
	size int64
	// found is the number of bytes from an earlier run, another source or a damaged
	// package, so that a wrong hash may not be the present source's fault.
	found int64
}

func partPath(dir string, f File) string {
	return filepath.Join(dir, f.Name+"."+f.SHA256[:8]+".part")
}

// openPart opens or makes the part of a file, and hashes what it has already.
func openPart(ctx context.Context, dir string, f File, open func(string) (disk, error)) (*part, error) {
	d, err := open(partPath(dir, f))
	if err != nil {
		return nil, fmt.Errorf("cannot write to the cache of models: %w; set SOTTO_MODELS to a directory that you may write to", err)
	}
	p := &part{file: f, dir: dir, disk: d, hash: sha256.New()}
	p.size, err = io.Copy(p.hash, reader{ctx, d})
	if err == nil && f.Bytes > 0 && p.size > f.Bytes {
		err = p.reset()
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("what was fetched before cannot be read: %w; remove %s", err, partPath(dir, f))
	}
	p.found = p.size
	return p, nil
}

func (p *part) reset() error {
	p.hash.Reset()
	p.size, p.found = 0, 0
	if err := p.disk.Truncate(0); err != nil {
		return err
	}
	_, err := p.disk.Seek(0, io.SeekStart)
	return err
}

// Write appends.
func (p *part) Write(data []byte) (int, error) {
	n, err := p.disk.Write(data)
	p.hash.Write(data[:n])
	p.size += int64(n)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = &SpaceError{Dir: p.dir, Need: max(p.file.Bytes-p.size, 1), Free: -1, Err: err}
	}
	return n, err
}

func (p *part) sum() string { return hex.EncodeToString(p.hash.Sum(nil)) }

// whole reports whether nothing is left to fetch.
func (p *part) whole() bool {
	if p.file.Bytes > 0 {
		return p.size == p.file.Bytes
	}
	return p.sum() == p.file.SHA256
}

// check compares the hash of all that is there with the pinned one.
func (p *part) check(source string) error {
	if got := p.sum(); got != p.file.SHA256 {
		return &HashError{Path: "what " + source + " sent for " + p.file.Name, Want: p.file.SHA256, Got: got, Done: "it was removed"}
	}
	return nil
}

// finish renames the part to its final name. Only a part that was checked may get here.
func (p *part) finish() error {
	final := filepath.Join(p.dir, p.file.Name)
	err := p.disk.Sync()
	if closing := p.disk.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(partPath(p.dir, p.file), final)
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", p.file.Name, err)
	}
	_ = durable.SyncDir(filepath.Dir(final)) // not every system can; the file itself is synced
	return nil
}

// leave keeps the part for another time.
func (p *part) leave() {
	if p.size == 0 {
		p.discard()
		return
	}
	_ = p.disk.Close() // what did not reach the disk is missed when it is hashed
}

func (p *part) discard() {
	_ = p.disk.Close()
	_ = os.Remove(partPath(p.dir, p.file)) // where it cannot be removed, the next run hashes and empties it
}

// reader stops when a context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// hashFile returns the SHA-256 of a file, in hexadecimal digits.
func hashFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash a model: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, reader{ctx, f}, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("hash a model: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Verify computes the SHA-256 of a file. It is a *[HashError] if the file has the
// name of one of the catalogue's and is another.
func Verify(ctx context.Context, path string) (string, error) {
	got, err := hashFile(ctx, path)
	if err != nil {
		return "", err
	}
	for _, e := range catalogue {
		for _, f := range e.Files {
			if filepath.Base(path) == f.Name && got != f.SHA256 {
				return got, &HashError{Path: path, Want: f.SHA256, Got: got, Done: fmt.Sprintf("fetch it again with `sotto model pull %s`", e.Name)}
			}
		}
	}
	return got, nil
}

// present reports whether the cache has a file with the right content. A wrong
// one is an error.
func present(ctx context.Context, dir string, f File) (bool, error) {
	path := filepath.Join(dir, f.Name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the cache of models cannot be read: %w; set SOTTO_MODELS to another directory", err)
	}
	if info.IsDir() {
		return false, fmt.Errorf("%s is a directory: remove it, a model's file belongs there", path)
	}
	got, err := hashFile(ctx, path)
	if err == nil && got != f.SHA256 {
		err = &HashError{Path: path, Want: f.SHA256, Got: got}
	}
	return err == nil, err
}
