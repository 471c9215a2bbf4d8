package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// Pin fixes the bytes behind a name, from the first pull on.
type Pin struct {
	// Name of the model; the file in the cache is Name + ".gguf", an encoder's folder Name.
	Name string `json:"name"`
	// Repository, Commit and Path of the file on Hugging Face.
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	Path       string `json:"path"`
	Bytes      int64  `json:"bytes"`
	// SHA256 that the hub published and the file had.
	SHA256 string `json:"sha256"`
	// Kind is "" for a language model.
	Kind Kind `json:"kind,omitempty"`
	// Prefix is what every text begins with that an encoder turns into a vector.
	Prefix string `json:"prefix,omitempty"`
	// Files of an encoder's folder beside the weights, which Path then names; they are in a folder
	// of the model's name in the cache.
	Files []PinnedFile `json:"files,omitempty"`
}

// PinnedFile is a file beside the weights of an encoder.
type PinnedFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (p Pin) hub() hubFile {
	return hubFile{repository: p.Repository, path: p.Path, revision: p.Commit}
}

// folder reports whether it is of an encoder's folder.
func (p Pin) folder() bool { return len(p.Files) > 0 }

// same reports whether two pins are of the same bytes.
func (p Pin) same(q Pin) bool { return p.SHA256 == q.SHA256 && slices.Equal(p.Files, q.Files) }

// Source returns the name that pulls the same bytes again.
func (p Pin) Source() string {
	f := p.hub()
	if p.folder() {
		f.path = ""
	}
	return strings.TrimSuffix(f.String(), "/")
}

func (p Pin) entry() Entry {
	e := Entry{
		Name: p.Name, Title: p.Name, Kind: cmp.Or(p.Kind, Language), About: "from " + p.Repository, Prefix: p.Prefix,
		Files: []File{{Name: p.Name + ".gguf", Bytes: p.Bytes, SHA256: p.SHA256, hub: p.hub()}},
	}
	if !p.folder() {
		return e
	}
	e.Files[0].Name = p.Name + "/" + p.Path
	for _, f := range p.Files {
		at := p.hub()
		at.path = f.Path
		e.Files = append(e.Files, File{Name: p.Name + "/" + f.Path, Bytes: f.Bytes, SHA256: f.SHA256, hub: at})
	}
	return e
}

func (p Pin) valid() bool {
	for _, f := range p.Files {
		if !slices.Contains(folderFiles, f.Path) || !hexHash.MatchString(f.SHA256) || f.Bytes <= 0 {
			return false
		}
	}
	if p.folder() && p.Path != folderWeights {
		return false
	}
	return fileName.MatchString(p.Name+".gguf") && hexHash.MatchString(p.SHA256) && hubCommit.MatchString(p.Commit) && p.Bytes > 0 && p.Repository != "" && p.Path != ""
}

// lockFile is the content of the lock file.
type lockFile struct {
	Version int   `json:"version"`
	Models  []Pin `json:"models"`
}

const lockVersion = 1

// LockPath returns where pins are kept: SOTTO_MODELS_LOCK, else sotto/models.lock in the
// user's folder of configuration.
//
// They are not beside the files. A cache is emptied now and then, and pins must outlast
// that; and others may write to a folder of models, who could change a file and its pin
// together.
func LockPath() (string, error) {
	if path := os.Getenv("SOTTO_MODELS_LOCK"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no place to pin models: set SOTTO_MODELS_LOCK to the path of a file (%w)", err)
	}
	return filepath.Join(dir, "sotto", "models.lock"), nil
}

// Pins lists the pins by name. Without a lock file there are none.
func Pins() ([]Pin, error) {
	path, err := LockPath()
	if err != nil {
		return nil, nil
	}
	return readPins(path)
}

func readPins(path string) ([]Pin, error) {
	data, err := bounded.ReadFile(path, bounded.Small)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the pins of models: %w", err)
	}
	var l lockFile
	if err := bounded.UnmarshalJSON(data, bounded.Small, &l); err != nil {
		return nil, refuse("the pins of models in %s cannot be read: restore the file, or move it away and pull the models again (%v)", path, err)
	}
	if l.Version != lockVersion {
		return nil, refuse("the pins of models in %s are of version %d, and this program reads version %d: use a later one", path, l.Version, lockVersion)
	}
	for i, p := range l.Models {
		if !p.valid() || i > 0 && l.Models[i-1].Name >= p.Name {
			return nil, refuse("the pin of %q in %s is damaged: restore the file, or move it away and pull the models again", p.Name, path)
		}
	}
	return l.Models, nil
}

// findPin finds the pin of a model by its name, the name of its file, or as hf:….
func findPin(pins []Pin, name string) (Pin, bool) {
	f, isHub, err := parseHub(name)
	for _, p := range pins {
		switch {
		case name == p.Name || name == p.Name+".gguf":
			return p, true
		case isHub && err == nil && f.repository == p.Repository && (f.path == p.Path || f.path == "" && p.folder()) && (f.revision == "" || f.revision == mainRevision || f.revision == p.Commit):
			return p, true
		}
	}
	return Pin{}, false
}

// writePin adds a pin to a lock file, or puts it in the place of the one with its name
// if that is still the old one.
func writePin(ctx context.Context, path string, p Pin, old string) error {
	const advice = "set SOTTO_MODELS_LOCK to a file that you may write to"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot pin the model: %w; %s", err, advice)
	}
	guard := flock.New(path + ".guard")
	if _, err := guard.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("cannot pin the model: %w; %s", err, advice)
	}
	defer func() { _ = guard.Unlock() }()
	pins, err := readPins(path)
	if err != nil {
		return err
	}
	i, there := slices.BinarySearchFunc(pins, p.Name, func(p Pin, name string) int { return strings.Compare(p.Name, name) })
	switch {
	case there && !pins[i].same(p) && pins[i].SHA256 != old:
		return &ChangedError{Pin: pins[i], Now: p}
	case there:
		pins[i] = p
	default:
		pins = slices.Insert(pins, i, p)
	}
	data, err := json.MarshalIndent(lockFile{lockVersion, pins}, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.Replace(path, 0o600, durable.Bytes(append(data, '\n'))); err != nil {
		return fmt.Errorf("cannot pin the model: %w; %s", err, advice)
	}
	_ = durable.SyncDir(filepath.Dir(path)) // not every system can; the file itself is synced
	return nil
}

// ChangedError reports that a name would stand for other bytes than are pinned.
type ChangedError struct {
	// Pin has the pinned bytes, Now the new ones.
	Pin, Now Pin
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf(`%s is pinned to other bytes than %s has now:
  pinned  %s, commit %s, SHA-256 %s
  now     %s, commit %s, SHA-256 %s
Nothing was changed. To have the pinned file: sotto model pull %s
To take the new one from now on: --accept-change; to keep both: --as NAME`,
		e.Pin.Name, e.Now.Repository,
		e.Pin.Repository, e.Pin.Commit, e.Pin.SHA256, e.Now.Repository, e.Now.Commit, e.Now.SHA256, e.Pin.Source())
}
