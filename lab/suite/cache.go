package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// keyVersion is part of every key. Anyone who changes what texts or answers come out for equal
// plans and prompts counts it up, so that nothing of before is taken for it.
const keyVersion = 1

// keyOf is a hash of what determines a result: strings, numbers and values that encode.
func keyOf(stage string, parts ...any) (string, error) {
	data, err := json.Marshal(append([]any{keyVersion, stage}, parts...))
	if err != nil {
		return "", fmt.Errorf("make a key for %s: %w", stage, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// hashFile is the SHA-256 of a file.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// store keeps results by their key, in files that appear whole or not at all. What it
// holds was written without protection: it is for its owner alone.
type store struct{ dir string }

// abandoned is how old something unfinished is that nobody is working on any more.
const abandoned = 7 * 24 * time.Hour

// openStore makes the folders, and removes what programs that were killed have left.
func openStore(dir string) (store, error) {
	tmp := filepath.Join(dir, "tmp")
	for _, d := range []string{dir, tmp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return store{}, fmt.Errorf("make the cache: %w; name another folder", err)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil {
		return store{}, fmt.Errorf("read the cache: %w", err)
	}
	for _, e := range left {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(tmp, e.Name())) // it only takes space
		}
	}
	return store{dir}, nil
}

func (s store) path(stage, key string) string {
	return filepath.Join(s.dir, stage, key[:2], key+".json")
}

// get reads a result. A file that cannot be understood counts as none.
func (s store) get(stage, key string, into any) (bool, error) {
	data, err := bounded.ReadFile(s.path(stage, key), bounded.Huge)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the cache: %w", err)
	}
	return bounded.UnmarshalJSON(data, bounded.Huge, into) == nil, nil
}

// put keeps a result.
func (s store) put(stage, key string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	path := s.path(stage, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "put-*")
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keep a result: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// keep returns a result that the store has and that fits, or else makes it and keeps it. All
// fit without a function that says which do.
func keep[V any](s store, stage, key string, fits func(*V) bool, make func() (*V, error)) (out *V, there bool, err error) {
	out = new(V)
	if there, err = s.get(stage, key, out); err != nil || there && (fits == nil || fits(out)) {
		return out, there, err
	}
	if out, err = make(); err != nil {
		return nil, false, err
	}
	return out, false, s.put(stage, key, out)
}

// scratch makes a folder for work whose result will be kept. The caller removes it.
func (s store) scratch() (string, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.dir, "tmp"), "run-*")
	if err != nil {
		return "", fmt.Errorf("make a folder for a run: %w", err)
	}
	return dir, nil
}

// once computes a value for each key a single time, for the one who asks at the same time or
// later. The zero value is ready.
type once[V any] struct {
	mu   sync.Mutex
	done map[string]func() (V, error)
}

func (o *once[V]) get(key string, make func() (V, error)) (V, error) {
	o.mu.Lock()
	if o.done == nil {
		o.done = map[string]func() (V, error){}
	}
	f, there := o.done[key]
	if !there {
		f = sync.OnceValues(make)
		o.done[key] = f
	}
	o.mu.Unlock()
	return f()
}
