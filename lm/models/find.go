package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir returns the folder of models: SOTTO_MODELS, else sotto/models in the user's cache
// directory.
func Dir() (string, error) {
	if dir := os.Getenv("SOTTO_MODELS"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for models: set SOTTO_MODELS to a directory (%w)", err)
	}
	return filepath.Join(cache, "sotto", "models"), nil
}

// Find returns the path of a model: by its name in the catalogue, by the name of another
// file in the cache (with or without ".gguf"), as hf:OWNER/REPOSITORY/FILE if that was
// pulled, or by a path: of a file, or of the folder of a sentence encoder, whose weights the result then
// names. The entry has nothing but its kind for what is neither in the catalogue nor pinned.
// Files that are in one of them are checked by their hash, once for each change of the
// file: another one is a *[HashError].
func Find(name string) (string, Entry, error) {
	dir, err := Dir()
	if err != nil {
		return "", Entry{}, err
	}
	return find(dir, name)
}

func find(dir, name string) (string, Entry, error) {
	if e, ok := Lookup(name); ok {
		for _, f := range e.Files {
			path := filepath.Join(dir, f.Name)
			if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != f.Bytes {
				return "", e, &MissingError{e.Name, path}
			} else if err != nil {
				return "", e, fmt.Errorf("the model %s: %w", e.Name, err)
			}
		}
		return filepath.Join(dir, e.Files[0].Name), e, e.verify(dir)
	}
	pins, err := Pins()
	if err != nil {
		return "", Entry{}, err
	}
	if pin, ok := findPin(pins, name); ok {
		return findPinned(dir, pin)
	}
	if f, ok, err := parseHub(name); err != nil {
		return "", Entry{}, err
	} else if ok {
		return "", Entry{}, &MissingError{f.String(), dir}
	}
	paths := []string{name}
	if filepath.Base(name) == name {
		// A file of the working directory does not take the place of the user's own.
		paths = []string{filepath.Join(dir, name), filepath.Join(dir, name+".gguf"), name}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir() && !isFolder(path):
			continue
		case err == nil:
			if info.IsDir() {
				path = filepath.Join(path, folderWeights)
			}
			e := entryOf(dir, path, pins)
			return path, e, e.verify(dir)
		case !errors.Is(err, fs.ErrNotExist):
			return "", Entry{}, fmt.Errorf("the model's file: %w", err)
		}
	}
	if filepath.Base(name) != name || strings.HasSuffix(name, ".gguf") {
		return "", Entry{}, fmt.Errorf("there is no model at %s: %w", name, fs.ErrNotExist)
	}
	return "", Entry{}, &UnknownError{name}
}

// findPinned returns the path of a pinned model. Another file of its name, which may lie in
// the working directory, does not take its place.
func findPinned(dir string, pin Pin) (string, Entry, error) {
	e := pin.entry()
	for _, f := range e.Files {
		path := filepath.Join(dir, f.Name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", e, &MissingError{pin.Name, path}
		} else if err != nil {
			return "", e, fmt.Errorf("the model %s: %w", pin.Name, err)
		}
	}
	return filepath.Join(dir, e.Files[0].Name), e, e.verify(dir)
}

// verify checks the files of an entry, which are in the cache.
func (e Entry) verify(dir string) error {
	for _, f := range e.Files {
		path := filepath.Join(dir, f.Name)
		info, err := os.Stat(path)
		if err == nil {
			err = verified(path, info, e.Name, f)
		}
		if err != nil {
			return fmt.Errorf("the model %s: %w", e.Name, err)
		}
	}
	return nil
}

// entryOf returns the entry of a path into the cache.
func entryOf(dir, path string, pins []Pin) Entry {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Entry{Kind: kindOf(path)}
	}
	for _, p := range pins {
		if e := p.entry(); absolute == filepath.Join(dir, e.Files[0].Name) {
			return e
		}
	}
	for _, e := range catalogue {
		if absolute == filepath.Join(dir, e.Files[0].Name) {
			return e
		}
	}
	return Entry{Kind: kindOf(path)}
}

// State is how much of a model is in the cache.
type State string

// The states.
const (
	Present State = "present" // all files are there, with the right sizes
	Partial State = "partial" // a pull was interrupted
	Absent  State = "absent"
)

// Status is a model and what the cache has of it.
type Status struct {
	Entry
	// Path of the weights, whether or not they exist.
	Path  string `json:"path"`
	State State  `json:"state"`
	// Have is the number of bytes that are there.
	Have int64 `json:"have"`
	// Pin of a file of Hugging Face.
	Pin *Pin `json:"pin,omitempty"`
}

// List returns the state in the cache of every model of the catalogue, of every pinned one,
// and of other GGUF files in it.
func List() ([]Status, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	pins, err := Pins()
	if err != nil {
		return nil, err
	}
	return list(dir, pins)
}

func list(dir string, pins []Pin) ([]Status, error) {
	var all []Status
	known := map[string]bool{}
	for _, e := range catalogue {
		all = append(all, statusOf(dir, e, known))
	}
	for _, p := range pins {
		s := statusOf(dir, p.entry(), known)
		s.Pin = &p
		all = append(all, s)
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the cache of models: %w", err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".gguf") || known[f.Name()] {
			continue
		}
		path := filepath.Join(dir, f.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			all = append(all, Status{
				Entry: Entry{Name: strings.TrimSuffix(f.Name(), ".gguf"), Title: f.Name(), Kind: kindOf(path)},
				Path:  path, State: Present, Have: info.Size(),
			})
		}
	}
	return all, nil
}

// statusOf returns the state of a model in the cache, and marks its files as known.
func statusOf(dir string, e Entry, known map[string]bool) Status {
	s := Status{Entry: e, Path: filepath.Join(dir, e.Files[0].Name), State: Present}
	for _, f := range e.Files {
		known[f.Name] = true
		if info, err := os.Stat(filepath.Join(dir, f.Name)); err == nil && info.Size() == f.Bytes {
			s.Have += f.Bytes
			continue
		}
		s.State = Partial
		if info, err := os.Stat(partPath(dir, f)); err == nil {
			s.Have += info.Size()
		}
	}
	if s.Have == 0 {
		s.State = Absent
	}
	return s
}
