package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
)

// points numbers everything that a run does to the world outside of its memory, and lets
// a test do something at one of them.
type points struct {
	n int
	// at is called before operation n. Its error becomes the operation's.
	at func(n int, what string) error
	// log of what was done.
	log []string
}

func (p *points) reach(what string) error {
	p.n++
	p.log = append(p.log, what)
	if p.at == nil {
		return nil
	}
	return p.at(p.n, what)
}

// errTorn makes a write write half of what it should before it fails.
var errTorn = errors.Join(errors.New("torn"), syscall.ENOSPC)

// node is a file as it is, and as it would be after a power cut.
type node struct {
	dir          bool
	mode         fs.FileMode
	data, synced []byte
}

// shadowDisk works on a real folder, reaches a point before each operation, and knows
// what a power cut would leave: the bytes of files that were synced, under the names of
// folders that were.
type shadowDisk struct {
	osDisk
	points *points
	names  map[string]*node
	// durable names and files.
	durable map[string]*node
}

// newShadow takes what is in the folder as durable.
func newShadow(p *points, dir string) *shadowDisk {
	d := &shadowDisk{points: p, names: map[string]*node{}, durable: map[string]*node{}}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // there is no folder yet
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		n := &node{dir: e.IsDir(), mode: info.Mode().Perm()}
		if !n.dir {
			if n.data, err = os.ReadFile(path); err != nil {
				return err
			}
			n.synced = n.data
		}
		d.names[path], d.durable[path] = n, n
		return nil
	})
	return d
}

func (d *shadowDisk) Mkdir(name string, mode fs.FileMode) error {
	if err := d.points.reach("mkdir " + filepath.Base(name)); err != nil {
		return err
	}
	if err := d.osDisk.Mkdir(name, mode); err != nil {
		return err
	}
	d.names[name] = &node{dir: true, mode: mode}
	return nil
}

func (d *shadowDisk) Create(name string, mode fs.FileMode) (file, error) {
	if err := d.points.reach("create " + filepath.Base(name)); err != nil {
		return nil, err
	}
	f, err := d.osDisk.Create(name, mode)
	if err != nil {
		return nil, err
	}
	d.names[name] = &node{mode: mode}
	return &shadowFile{f, d, name, d.names[name], 0}, nil
}

func (d *shadowDisk) Append(name string) (file, error) {
	return d.again(name, d.osDisk.Append, len(d.names[name].data))
}

func (d *shadowDisk) Overwrite(name string) (file, error) {
	return d.again(name, d.osDisk.Overwrite, 0)
}

func (d *shadowDisk) again(name string, open func(string) (file, error), at int) (file, error) {
	if err := d.points.reach("open " + filepath.Base(name)); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return &shadowFile{f, d, name, d.names[name], at}, nil
}

func (d *shadowDisk) Rename(from, to string) error {
	if err := d.points.reach("rename to " + filepath.Base(to)); err != nil {
		return err
	}
	if err := d.osDisk.Rename(from, to); err != nil {
		return err
	}
	d.names[to] = d.names[from]
	delete(d.names, from)
	return nil
}

func (d *shadowDisk) Remove(name string) error {
	if err := d.points.reach("remove " + filepath.Base(name)); err != nil {
		return err
	}
	if err := d.osDisk.Remove(name); err != nil {
		return err
	}
	delete(d.names, name)
	return nil
}

func (d *shadowDisk) SyncDir(name string) error {
	if err := d.points.reach("sync folder " + filepath.Base(name)); err != nil {
		return err
	}
	for path := range d.durable {
		if filepath.Dir(path) == name && d.names[path] == nil {
			delete(d.durable, path)
		}
	}
	for path, n := range d.names {
		if filepath.Dir(path) == name {
			d.durable[path] = n
		}
	}
	return nil
}

type shadowFile struct {
	file
	disk *shadowDisk
	name string
	node *node
	at   int
}

func (f *shadowFile) Write(p []byte) (int, error) {
	err := f.disk.points.reach("write " + filepath.Base(f.name))
	if err != nil && !errors.Is(err, errTorn) {
		return 0, err
	}
	if err != nil {
		p = p[:len(p)/2]
	}
	n, failed := f.file.Write(p)
	f.node.data = append(f.node.data[:f.at], p...)
	f.at += n
	if err == nil {
		err = failed
	}
	return n, err
}

func (f *shadowFile) Sync() error {
	if err := f.disk.points.reach("sync " + filepath.Base(f.name)); err != nil {
		return err
	}
	f.node.synced = append([]byte(nil), f.node.data...)
	return nil // the test needs no real fsync
}

// powerCut leaves of a folder what is durable.
func (d *shadowDisk) powerCut(t testing.TB, dir string) {
	t.Helper()
	must(t, os.RemoveAll(dir))
	var paths []string
	for path := range d.durable {
		paths = append(paths, path)
	}
	sort.Strings(paths) // folders come before what is in them
	for _, path := range paths {
		n := d.durable[path]
		if parent := d.durable[filepath.Dir(path)]; path != dir && (parent == nil || !parent.dir) {
			continue // its folder is lost, and it with it
		}
		if n.dir {
			must(t, os.Mkdir(path, n.mode))
			continue
		}
		must(t, os.WriteFile(path, n.synced, n.mode))
	}
}

// tree reads all files of a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir+string(filepath.Separator))] = string(data)
		return err
	}))
	return out
}
