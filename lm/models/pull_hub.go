package models

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"
)

// onHub determines whether a model is a file of the hub: by the form of its name, or
// because that is pinned.
func onHub(model string, o Options) (f hubFile, _ Options, ok bool, err error) {
	if _, known := Lookup(model); known || isHTTP(model) && o.SHA256 != "" { // an address like any other
		return f, o, false, nil
	}
	if f, ok, err = parseHub(model); !ok && err == nil {
		var pins []Pin
		if pins, err = Pins(); err == nil {
			var pin Pin
			if pin, ok = findPin(pins, model); ok {
				f, o.As = pin.hub(), pin.Name
			}
		}
	}
	if ok && err == nil && o.Source != "" && o.Source != HuggingFace {
		err = refuse("%s is a file of Hugging Face: leave the source %q out", model, o.Source)
	}
	return f, o, ok, err
}

func isHTTP(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// pullHub ensures that the cache has a file of the hub, as the hub publishes it, and pins
// it. Bytes other than those that the name is pinned to are a *[ChangedError].
func pullHub(ctx context.Context, f hubFile, o Options) (Result, error) {
	o.defaults()
	m := &meter{report: o.Progress}
	token, err := hubToken()
	if err != nil {
		return Result{}, err
	}
	client := newClient()
	h := newHub(client, token, o.faults.pause, m.note)
	lock, err := LockPath()
	if err != nil {
		return Result{}, err
	}
	pins, err := readPins(lock)
	if err != nil {
		return Result{}, err
	}
	folder := f.path == folderWeights || f.path == "" && h.isFolder(ctx, f, pins)
	if folder {
		f.path = folderWeights
	} else if f.path == "" {
		return Result{}, refuse("name the file too, %s/FILE.gguf%s", strings.TrimSuffix(f.String(), "/"), h.offers(ctx, f))
	} else if err := f.check(); err != nil {
		return Result{}, err
	}
	name, err := localName(f, o.As)
	if err != nil {
		return Result{}, err
	}
	pin, known := findPin(pins, name)
	now, err := h.pin(ctx, f, name, folder)
	if err != nil {
		var failed *HubError
		if known && errors.As(err, &failed) && failed.Unreachable && pin.Repository == f.repository && pin.Path == f.path {
			return fromCache(ctx, pin, o, m, err)
		}
		return Result{}, err
	}
	if o.SHA256 != "" && o.SHA256 != now.SHA256 {
		return Result{}, &HashError{Path: f.String(), Want: o.SHA256, Got: now.SHA256, Done: "nothing was fetched: the hub has another file than --sha256 says"}
	}
	at := f.at(now.Commit) // that was just asked about: a branch may move meanwhile
	var replaces []string
	switch {
	case known && pin.same(now):
		now = pin // the same bytes in another commit, or of another repository
	case known && !o.AcceptChange:
		return Result{}, &ChangedError{Pin: pin, Now: now}
	case known:
		now.Prefix = pin.Prefix
		for _, file := range pin.entry().Files {
			replaces = append(replaces, file.SHA256)
		}
	}
	now.Prefix = cmp.Or(o.Prefix, now.Prefix)
	p := &puller{options: o, entry: now.entry(), meter: m, client: client, token: token, replaces: replaces, strict: !known}
	for i := range p.entry.Files {
		own := &p.entry.Files[i].hub
		own.repository, own.revision = at.repository, at.revision
	}
	p.entry.Files[0].hub.path = f.path
	p.again = "sotto model pull " + f.String()
	if o.As != "" {
		p.again += " --as " + o.As
	}
	result, err := p.run(ctx)
	if err != nil {
		return Result{}, err
	}
	if now.Kind = ""; kindOf(result.Path) == Encoder {
		now.Kind, result.Kind = Encoder, Encoder
	} else if now.Prefix != "" {
		return Result{}, refuse("a prefix is for encoders of sentences, and %s writes text: leave it out", name)
	}
	if err := writePin(ctx, lock, now, pin.SHA256); err != nil {
		return Result{}, err
	}
	result.Pin = &now
	return result, nil
}

// pin queries what a pin of a file, or of a folder, has to say.
func (h *hub) pin(ctx context.Context, f hubFile, name string, folder bool) (Pin, error) {
	found, err := h.ask(ctx, f)
	if err != nil {
		return Pin{}, err
	}
	p := Pin{Name: name, Repository: f.repository, Commit: found.commit, Path: f.path, Bytes: found.bytes, SHA256: found.sha256}
	if folder {
		p.Kind = Encoder
		if p.Files, err = h.askFolder(ctx, f.at(found.commit)); err != nil {
			return Pin{}, &HubError{File: f.String(), Err: err, Unreachable: !is[*hubMismatch](err) && !is[*hubRefusal](err)}
		}
	}
	return p, nil
}

// fromCache returns what a pull gives when the hub cannot be asked: the pinned file, if it
// is there.
func fromCache(ctx context.Context, pin Pin, o Options, m *meter, failed error) (Result, error) {
	pin.Prefix = cmp.Or(o.Prefix, pin.Prefix)
	e := pin.entry()
	for _, f := range e.Files {
		if ok, err := present(ctx, o.Dir, f); !ok {
			return Result{}, errors.Join(failed, err)
		}
	}
	m.note("%v; the pinned file is there", errors.Unwrap(failed))
	return Result{Entry: e, Path: filepath.Join(o.Dir, e.Files[0].Name), Source: Cache, Pin: &pin}, nil
}

// localName returns what the model is called here: by its file, or as the user says.
func localName(f hubFile, as string) (string, error) {
	name := strings.TrimSuffix(path.Base(f.path), ".gguf")
	if f.path == folderWeights {
		name = path.Base(f.repository)
	}
	if as != "" {
		name = strings.TrimSuffix(as, ".gguf")
	}
	if !fileName.MatchString(name + ".gguf") {
		return "", refuse("%q cannot be the name of a model: give one of letters, digits and . _ + - with --as", name)
	}
	if _, taken := Lookup(name); taken {
		return "", refuse("%s is a model of the catalogue: give another name with --as", name)
	}
	for _, e := range catalogue {
		for _, known := range e.Files {
			if strings.EqualFold(known.Name, name+".gguf") {
				return "", refuse("%s is a file of the catalogue's %s: give another name with --as", known.Name, e.Name)
			}
		}
	}
	return name, nil
}
