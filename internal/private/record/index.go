package record

import (
	"bufio"
	"crypto/hmac"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// slot is what the index keeps of one record: its ordinal, its place in the source and
// a checksum, of 5, 6 and 5 bytes.
type slot [slotSize]byte

const (
	slotSize   = 16
	checkSize  = 5
	maxOrdinal = 1<<40 - 1
	maxPlace   = 1<<48 - 1
)

func newSlot(ordinal, place int64, check [checkSize]byte) (s slot, err error) {
	if ordinal > maxOrdinal || place > maxPlace {
		return s, origin.Refuse("the source is too large: at most 2^40 records and 2^48 bytes")
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(ordinal))
	copy(s[:5], b[3:])
	binary.BigEndian.PutUint64(b[:], uint64(place))
	copy(s[5:11], b[2:])
	copy(s[11:], check[:])
	return s, nil
}

func (s *slot) spot() spot {
	var o, p [8]byte
	copy(o[3:], s[:5])
	copy(p[2:], s[5:11])
	return spot{int64(binary.BigEndian.Uint64(o[:])), int64(binary.BigEndian.Uint64(p[:]))}
}

func (s *slot) check() [checkSize]byte { return [checkSize]byte(s[11:]) }

// summary ends an index: all about it that is not one record's.
type summary struct {
	Version     int
	Fingerprint []byte
	Problems    Problems
	// Rows is the number of rows of the source, malformed ones and all.
	Rows int64
	// Slots is the number of records that can be chosen, Units that of units in each
	// part.
	Slots int64
	Units []int64
	// Grouped: units may have several records, and a list of where each begins
	// follows the slots.
	Grouped bool
	// Sketch is of all rows.
	Sketch sketch.Sketch
}

const indexVersion = 3

// index is the file of slots, by part and unit, then of the first slot of each unit,
// then the summary, its length and its HMAC.
type index struct {
	summary
	f     *os.File
	first []int64 // the first unit of each part
	reads atomic.Int64
}

const trailerSize = 8 + 32

func (x *index) adopt() {
	x.first = make([]int64, len(x.Units))
	sum := int64(0)
	for i, n := range x.Units {
		x.first[i] = sum
		sum += n
	}
}

// indexName is where the index of a source and its options is cached. Both halves are
// keyed hashes: the name of a file is nobody's business. An index of an earlier state
// of the source has the same first half.
func indexName(dir string, k *purposeKeys, location, stamp string, o *Options) string {
	m := newMAC(k.name)
	source, state := m.digest(location, o.identity()), m.digest(location, o.identity(), stamp)
	return filepath.Join(dir, hex.EncodeToString(source[:])+"-"+hex.EncodeToString(state[:])+".index")
}

// openIndex opens a cached index, or returns nil if there is none that can be trusted.
func openIndex(path string, k *purposeKeys) *index {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	x := &index{f: f}
	if !x.load(k) {
		f.Close()
		return nil
	}
	return x
}

func (x *index) load(k *purposeKeys) bool {
	info, err := x.f.Stat()
	if err != nil || info.Size() < trailerSize {
		return false
	}
	var trailer [trailerSize]byte
	if _, err := x.f.ReadAt(trailer[:], info.Size()-trailerSize); err != nil {
		return false
	}
	length := int64(binary.BigEndian.Uint64(trailer[:8]))
	body := info.Size() - trailerSize - length
	if length < 0 || body < 0 || length > bounded.Large {
		return false
	}
	encoded := make([]byte, length)
	if _, err := x.f.ReadAt(encoded, body); err != nil {
		return false
	}
	want := newMAC(k.seal).Of(string(encoded))
	if !hmac.Equal(want[:], trailer[8:]) || bounded.UnmarshalJSON(encoded, bounded.Large, &x.summary) != nil || x.Version != indexVersion {
		return false
	}
	x.adopt()
	return body == x.bodySize()
}

func (x *index) bodySize() int64 {
	size := x.Slots * slotSize
	if x.Grouped {
		for _, n := range x.Units {
			size += 8 * n
		}
	}
	return size
}

// slots returns where the slots of a unit begin, and how many there are.
func (x *index) slots(part, unit int) (first, n int64, err error) {
	u := x.first[part] + int64(unit)
	if !x.Grouped {
		return u, 1, nil
	}
	last := u == x.first[len(x.first)-1]+x.Units[len(x.Units)-1]-1
	var b [16]byte
	want := b[:]
	if last {
		want = b[:8]
		binary.BigEndian.PutUint64(b[8:], uint64(x.Slots))
	}
	x.reads.Add(1)
	if _, err := x.f.ReadAt(want, x.Slots*slotSize+8*u); err != nil {
		return 0, 0, indexFailed(err)
	}
	first = int64(binary.BigEndian.Uint64(b[:8]))
	n = int64(binary.BigEndian.Uint64(b[8:])) - first
	if first < 0 || n < 1 || first+n > x.Slots {
		return 0, 0, damagedIndex()
	}
	return first, n, nil
}

func damagedIndex() error {
	return origin.Refuse("the index in the private folder is damaged: remove the files *.index there; the next run makes them again")
}

func (x *index) slot(i int64) (s slot, err error) {
	if i < 0 || i >= x.Slots {
		return s, damagedIndex()
	}
	x.reads.Add(1)
	if _, err = x.f.ReadAt(s[:], i*slotSize); err != nil {
		return s, indexFailed(err)
	}
	return s, nil
}

// indexWriter writes an index, given its units in order.
type indexWriter struct {
	x      index
	slots  *bufio.Writer
	starts *bufio.Writer // nil unless grouped
	list   *os.File      // of starts
}

func newIndexWriter(dir string, parts int, grouped bool) (*indexWriter, error) {
	f, err := os.CreateTemp(dir, ".index-*")
	if err != nil {
		return nil, indexFailed(err)
	}
	w := &indexWriter{slots: bufio.NewWriterSize(f, bufferSize)}
	w.x.f, w.x.summary = f, summary{Version: indexVersion, Units: make([]int64, parts), Grouped: grouped}
	if grouped {
		if w.list, err = scratch(dir); err != nil {
			return nil, errors.Join(err, w.abandon())
		}
		w.starts = bufio.NewWriterSize(w.list, bufferSize)
	}
	return w, nil
}

// unit begins a unit of a part. Parts come in order.
func (w *indexWriter) unit(part int) error {
	w.x.Units[part]++
	if w.starts == nil {
		return nil
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(w.x.Slots))
	if _, err := w.starts.Write(b[:]); err != nil {
		return indexFailed(err)
	}
	return nil
}

// add puts a record into the unit that was begun last.
func (w *indexWriter) add(s slot) error {
	w.x.Slots++
	if _, err := w.slots.Write(s[:]); err != nil {
		return indexFailed(err)
	}
	return nil
}

// finish ends the file with its summary.
func (w *indexWriter) finish(k *purposeKeys) (*index, error) {
	if w.starts != nil {
		if err := w.starts.Flush(); err != nil {
			return nil, indexFailed(err)
		}
		if _, err := io.Copy(w.slots, io.NewSectionReader(w.list, 0, 1<<62)); err != nil {
			return nil, indexFailed(err)
		}
		if err := discard(w.list); err != nil {
			return nil, indexFailed(err)
		}
		w.list = nil
	}
	encoded, err := json.Marshal(w.x.summary)
	if err != nil {
		return nil, indexFailed(err)
	}
	seal := newMAC(k.seal).Of(string(encoded))
	trailer := binary.BigEndian.AppendUint64(nil, uint64(len(encoded)))
	for _, b := range [][]byte{encoded, trailer, seal[:]} {
		if _, err := w.slots.Write(b); err != nil {
			return nil, indexFailed(err)
		}
	}
	if err := errors.Join(w.slots.Flush(), w.x.f.Sync()); err != nil {
		return nil, indexFailed(err)
	}
	w.x.adopt()
	return &w.x, nil
}

// abandon removes what was written.
func (w *indexWriter) abandon() error {
	err := errors.Join(w.x.f.Close(), os.Remove(w.x.f.Name()))
	if w.list != nil {
		err = errors.Join(err, discard(w.list))
	}
	return err
}

// keep gives a finished index its name, and removes those of earlier states.
func (x *index) keep(path string) error {
	// Some systems do not rename a file that is open.
	err := errors.Join(x.f.Close(), os.Rename(x.f.Name(), path))
	if err == nil {
		x.f, err = os.Open(path)
	}
	if err != nil {
		return indexFailed(err)
	}
	source, _, _ := strings.Cut(filepath.Base(path), "-")
	old, err := filepath.Glob(filepath.Join(filepath.Dir(path), source+"-*.index"))
	if err != nil {
		return nil // a folder whose name is a bad pattern: the old ones stay
	}
	for _, o := range old {
		if o != path {
			_ = os.Remove(o) // best effort: an old index does no harm
		}
	}
	return nil
}
