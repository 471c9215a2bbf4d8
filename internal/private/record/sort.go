package record

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// tuple is what is sorted: two keys and a slot, all ordered by their bytes.
type tuple [tupleSize]byte

const tupleSize = 2*len(digest{}) + slotSize

func newTuple(a, b digest, s slot) (t tuple) {
	copy(t[:], a[:])
	copy(t[len(a):], b[:])
	copy(t[len(a)+len(b):], s[:])
	return t
}

func (t *tuple) a() digest  { return digest(t[:16]) }
func (t *tuple) b() digest  { return digest(t[16:32]) }
func (t *tuple) slot() slot { return slot(t[32:]) }

const (
	// sortedAtOnce is how many tuples are sorted in memory: 24 MiB of them. The
	// buffers for merging take no more, except minBuffer for each run.
	sortedAtOnce = 1 << 19
	minBuffer    = 4 << 10
)

// sorter sorts any number of tuples in bounded memory: runs of them go sorted to a
// file, and are then merged. The file holds keyed hashes and offsets only.
type sorter struct {
	dir   string
	limit int
	run   []tuple
	f     *os.File // nil as long as all are in memory
	ends  []int64  // of the runs in it
}

func newSorter(dir string, limit int) *sorter {
	if limit <= 0 {
		limit = sortedAtOnce
	}
	return &sorter{dir: dir, limit: limit}
}

func (s *sorter) add(t tuple) error {
	s.run = append(s.run, t)
	if len(s.run) < s.limit {
		return nil
	}
	return s.spill()
}

func compareTuples(a, b tuple) int { return bytes.Compare(a[:], b[:]) }

func (s *sorter) sortRun() {
	if !slices.IsSortedFunc(s.run, compareTuples) {
		slices.SortFunc(s.run, compareTuples)
	}
}

// spill appends the run to the file, sorted.
func (s *sorter) spill() (err error) {
	s.sortRun()
	if s.f == nil {
		if s.f, err = scratch(s.dir); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(s.f, bufferSize)
	for i := range s.run {
		if _, err := w.Write(s.run[i][:]); err != nil {
			return indexFailed(err)
		}
	}
	if err := w.Flush(); err != nil {
		return indexFailed(err)
	}
	s.ends = append(s.ends, s.end()+int64(len(s.run))*int64(tupleSize))
	s.run = s.run[:0]
	return nil
}

// end is where the last run ends.
func (s *sorter) end() int64 {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// each yields all tuples in order. It may be called once. A nil sorter has none.
func (s *sorter) each(yield func(*tuple) error) error {
	if s == nil {
		return nil
	}
	if s.f == nil {
		s.sortRun()
		for i := range s.run {
			if err := yield(&s.run[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.run) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.run = nil
	return s.merge(yield)
}

func (s *sorter) merge(yield func(*tuple) error) error {
	var h runs
	start := int64(0)
	size := max(minBuffer, min(bufferSize, s.limit*tupleSize/len(s.ends)))
	for _, end := range s.ends {
		in := io.NewSectionReader(s.f, start, end-start)
		r := &runReader{r: bufio.NewReaderSize(in, size)}
		if err := r.advance(); err != nil {
			return err
		}
		h = append(h, r)
		start = end
	}
	heap.Init(&h)
	for len(h) > 0 {
		top := h[0]
		if err := yield(&top.head); err != nil {
			return err
		}
		switch err := top.advance(); {
		case err == io.EOF:
			heap.Pop(&h)
		case err != nil:
			return err
		default:
			heap.Fix(&h, 0)
		}
	}
	return nil
}

func (s *sorter) close() error {
	if s == nil || s.f == nil {
		return nil
	}
	return discard(s.f)
}

// runReader reads a sorted run.
type runReader struct {
	r    *bufio.Reader
	head tuple
}

func (r *runReader) advance() error {
	_, err := io.ReadFull(r.r, r.head[:])
	if err != nil && err != io.EOF {
		return indexFailed(err)
	}
	return err
}

// runs is a heap of them, by what comes next.
type runs []*runReader

func (m runs) Len() int           { return len(m) }
func (m runs) Less(i, j int) bool { return bytes.Compare(m[i].head[:], m[j].head[:]) < 0 }
func (m runs) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *runs) Push(x any)        { *m = append(*m, x.(*runReader)) }
func (m *runs) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// scratch makes a file that nobody else sees, where the system allows that.
func scratch(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".sort-*")
	if err != nil {
		return nil, indexFailed(err)
	}
	if !keys.ForeignModes {
		if err := os.Remove(f.Name()); err != nil {
			return nil, errors.Join(indexFailed(err), f.Close())
		}
	}
	return f, nil
}

func discard(f *os.File) error {
	err := f.Close()
	if keys.ForeignModes {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

func indexFailed(err error) error {
	return &Error{Code: origin.Unusable, Msg: "writing or reading the index in the private folder", Err: err}
}
