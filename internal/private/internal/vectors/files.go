package vectors

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// vectorFile is a file of vectors.
type vectorFile struct {
	name  string
	size  int64
	wrote time.Time
}

// all lists the files of vectors in a folder, the newest first.
func all(dir string) (files []vectorFile) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || filepath.Ext(e.Name()) != ext {
			continue
		}
		files = append(files, vectorFile{e.Name(), info.Size(), info.ModTime()})
	}
	slices.SortFunc(files, func(a, b vectorFile) int { return b.wrote.Compare(a.wrote) })
	return files
}

// list lists those of this state, and sets their time to now: what is used is removed last.
func (s *Store) list() (files []vectorFile) {
	for _, f := range all(s.o.Dir) {
		if strings.Contains(f.name, s.state) {
			files = append(files, f)
			now := time.Now()
			_ = os.Chtimes(filepath.Join(s.o.Dir, f.name), now, now) // best effort
		}
	}
	return files
}

// clear removes the files of other states of the source, of other encoders too, those that were not used for long, and
// then the oldest ones until what is left has room for a data set.
func (s *Store) clear() {
	sum := int64(maxSize)
	for _, f := range all(s.o.Dir) {
		if strings.Contains(f.name, s.state) {
			continue
		}
		sum += f.size
		if strings.HasPrefix(f.name, s.source) || time.Since(f.wrote) > unused || sum > folder {
			_ = os.Remove(filepath.Join(s.o.Dir, f.name)) // best effort
			sum -= f.size
		}
	}
}
