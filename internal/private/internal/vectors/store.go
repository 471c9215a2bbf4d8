// Package vectors keeps the vectors of private texts in the private folder, so that a data set is encoded once.
//
// The one idea: a vector is found by a keyed hash of its text and of the encoder's fingerprint, and has a keyed
// hash of its own. So there is nothing to become stale: a changed record is another text, another encoder has
// other hashes, and a vector that anything happened to on disk is not found. A store never fails a run: what
// cannot be read is encoded again, and what cannot be written is not kept.
//
// A vector tells much of its text: files have the mode of the index beside them, those of an earlier state of the
// data are removed, and their sizes are bounded.
package vectors

import (
	"context"
	"crypto/hmac"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/lm"
)

const (
	// ext ends the names of files: the source, the state of its data and a random part. A process writes a file
	// of its own, so that two of them never meet.
	ext = ".vectors"
	// hashSize is that of the hashes of a text and of an entry.
	hashSize = 16
	// most is the size of all files of a data set, and folder that of all data sets.
	most, folder = 1 << 30, 4 << 30
)

// Options of a [Store]. All are required.
type Options struct {
	// Dir is the folder of files.
	Dir string
	Key origin.Key
	// Source names where the data are, and State what is there: files of other states of the same source are
	// removed.
	Source, State string
	Encoder       lm.TrustedEmbedder
}

// Store gives vectors of texts: those that are kept, and of other texts those of the encoder, which it keeps. It is
// safe for concurrent use.
type Store struct {
	o      Options
	prefix string // of the names of files

	mu          sync.Mutex
	text, entry *origin.MAC
	places      map[[hashSize]byte]place
	files       []*os.File
	out         file
	size        int64
	full        bool // nothing more is kept
	most        int64
	create      func(dir, pattern string) (file, error)
}

// place is where an entry is.
type place struct {
	file *os.File
	at   int64
}

// file is what is written to.
type file interface {
	io.Writer
	io.Closer
}

// Open finds what is kept. An encoder that has no fingerprint has nothing kept.
func Open(o Options) *Store {
	s := &Store{o: o, places: map[[hashSize]byte]place{}, most: most, create: create}
	s.text, s.entry = origin.NewMAC(o.Key.For("texts of vectors")), origin.NewMAC(o.Key.For("vectors"))
	if o.Encoder.Fingerprint() == "" {
		s.full = true
		return s
	}
	name := origin.NewMAC(o.Key.For("name"))
	source, state := name.Of("vectors", o.Source), name.Of("vectors", o.Source, o.State, o.Encoder.Fingerprint())
	s.prefix = hex.EncodeToString(source[:hashSize]) + "-" + hex.EncodeToString(state[:hashSize]) + "-"
	s.clear()
	for _, f := range s.list() {
		s.load(f)
	}
	return s
}

func create(dir, pattern string) (file, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, pattern)
}

// entrySize is that of a text's hash, a vector and the hash of both.
func (s *Store) entrySize() int64 { return 2*hashSize + 4*int64(s.o.Encoder.Dimension()) }

// load notes the entries of a file. An entry that was not written to its end is none, and a file that adds nothing is
// removed.
func (s *Store) load(f found) {
	from, err := os.Open(filepath.Join(s.o.Dir, f.name))
	if err != nil {
		return
	}
	before, step := len(s.places), s.entrySize()
	var hash [hashSize]byte
	for at := int64(0); at+step <= f.size; at += step {
		if _, err := from.ReadAt(hash[:], at); err != nil {
			break
		}
		if _, ok := s.places[hash]; !ok {
			s.places[hash] = place{from, at}
		}
	}
	if len(s.places) == before {
		_ = errors.Join(from.Close(), os.Remove(from.Name())) // best effort: it does no harm
		return
	}
	s.files, s.size = append(s.files, from), s.size+f.size
}

// Close ends the use of files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	if s.out != nil {
		err = errors.Join(err, s.out.Close())
	}
	s.files, s.out, s.places, s.full = nil, nil, nil, true
	return err
}

// Name is the encoder's.
func (s *Store) Name() string { return s.o.Encoder.Name() }

// Dimension is the encoder's.
func (s *Store) Dimension() int { return s.o.Encoder.Dimension() }

// Embed returns the vectors of texts, in their order: the same bits as the encoder's.
func (s *Store) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, hashes := make([][]float32, len(texts)), make([][hashSize]byte, len(texts))
	var missing []int
	var rest []string
	s.mu.Lock()
	for i, text := range texts {
		sum := s.text.Of(s.o.Encoder.Fingerprint(), text)
		hashes[i] = [hashSize]byte(sum[:])
		if out[i] = s.read(hashes[i]); out[i] == nil {
			missing, rest = append(missing, i), append(rest, text)
		}
	}
	s.mu.Unlock()
	if len(rest) == 0 {
		return out, nil
	}
	made, err := s.o.Encoder.Embed(ctx, rest)
	if err != nil {
		return nil, err
	}
	if len(made) != len(rest) {
		return nil, errors.New("there is not one vector for each text that was asked for: this is a fault of the encoder, and nothing was released")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, at := range missing {
		out[at] = made[i]
		s.keep(hashes[at], made[i])
	}
	return out, nil
}

// read returns what is kept of a text, or nil. A file with an entry that is not as it was written is removed.
func (s *Store) read(hash [hashSize]byte) []float32 {
	p, ok := s.places[hash]
	if !ok {
		return nil
	}
	data := make([]byte, s.entrySize())
	if _, err := p.file.ReadAt(data, p.at); err != nil || !s.whole(data, hash) {
		s.drop(p.file)
		return nil
	}
	data = data[hashSize:]
	vector := make([]float32, s.o.Encoder.Dimension())
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return vector
}

// whole reports whether an entry is what was written for a text.
func (s *Store) whole(entry []byte, hash [hashSize]byte) bool {
	end := len(entry) - hashSize
	want := s.entry.Of(string(entry[:end]))
	return [hashSize]byte(entry) == hash && hmac.Equal(want[:hashSize], entry[end:])
}

// drop forgets a file.
func (s *Store) drop(f *os.File) {
	for hash, p := range s.places {
		if p.file == f {
			delete(s.places, hash)
		}
	}
	_ = os.Remove(f.Name()) // best effort: its entries are not used
}

// keep writes an entry, until something fails or there is enough.
func (s *Store) keep(hash [hashSize]byte, vector []float32) {
	if s.full || len(vector) != s.o.Encoder.Dimension() {
		return
	}
	if s.size+s.entrySize() > s.most {
		s.full = true
		return
	}
	entry := append(make([]byte, 0, s.entrySize()), hash[:]...)
	for _, x := range vector {
		entry = binary.LittleEndian.AppendUint32(entry, math.Float32bits(x))
	}
	sum := s.entry.Of(string(entry))
	entry = append(entry, sum[:hashSize]...)
	if s.out == nil {
		var err error
		if s.out, err = s.create(s.o.Dir, s.prefix+"*"+ext); err != nil {
			s.out, s.full = nil, true
			return
		}
	}
	// In one call: two that write never share a file, and a reader skips an entry without an end.
	if _, err := s.out.Write(entry); err != nil {
		s.full = true
		return
	}
	s.size += s.entrySize()
}
