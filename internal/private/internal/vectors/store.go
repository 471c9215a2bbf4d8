// Package vectors keeps the vectors of private texts in the private folder, so that a data set is encoded once.
//
// A vector is found by a keyed hash of its text and of the encoder's fingerprint, and has a keyed
// hash of its own. So there is nothing to become stale: a changed record is another text, another encoder has
// other hashes, and a vector that anything happened to on disk is not found. A store never fails a run: what
// cannot be read is encoded again, and what cannot be written is not kept.
//
// A vector tells much of its text: files have the mode of the index beside them, those of an earlier state of the
// data and what was not used for a month are removed, and their sizes are bounded.
package vectors

import (
	"bufio"
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
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/lm"
)

const (
	// ext ends the names of files: the source, the state of its data and a random part. A process writes a file
	// of its own, so that two of them never meet.
	ext = ".vectors"
	// hashSize is that of the hashes of a text and of an entry.
	hashSize = 16
	// maxSize is the size of all files of a data set, and folder that of all data sets.
	maxSize, folder = 1 << 30, 4 << 30
	// unused is how long a file stays that is not used.
	unused = 30 * 24 * time.Hour
)

// Options of a [Store]. All but ReadOnly are required.
type Options struct {
	// Dir is the folder of files.
	Dir string
	// ReadOnly finds what is kept and keeps nothing more: for records that were drawn, since files would show which.
	ReadOnly bool
	Key      keys.Key
	// Source names where the data are, and State what is there. The same data elsewhere have the same vectors;
	// those of other states of the same source are removed.
	Source, State string
	Encoder       lm.TrustedEmbedder
}

// Keeper is a pool of records that keeps the vectors of its texts where its index is.
type Keeper interface {
	// Vectors opens what is kept, to keep more of it if all records are going to be read, and never if only those
	// that were drawn are. It returns nil where nothing may be kept. The caller closes the store.
	Vectors(encoder lm.TrustedEmbedder, all bool) *Store
}

// Store gives vectors of texts: those that are kept, and of other texts those of the encoder, which it keeps. It is
// safe for concurrent use.
type Store struct {
	o             Options
	source, state string // in the names of files
	lent          bool

	mu          sync.Mutex
	text, entry *keys.MAC
	places      map[[hashSize]byte]place
	files       []*os.File
	out         file
	size        int64
	full        bool // nothing more is kept
	maxSize     int64
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
	s := &Store{o: o, places: map[[hashSize]byte]place{}, maxSize: maxSize, create: create}
	s.text, s.entry = keys.NewMAC(o.Key.For("texts of vectors")), keys.NewMAC(o.Key.For("vectors"))
	if s.full = o.ReadOnly; o.Encoder.Fingerprint() == "" {
		s.full = true
		return s
	}
	name := keys.NewMAC(o.Key.For("name"))
	source, state := name.Of("source of vectors", o.Source), name.Of("state of vectors", o.State, o.Encoder.Fingerprint())
	s.source, s.state = hex.EncodeToString(source[:hashSize])+"-", "-"+hex.EncodeToString(state[:hashSize])+"-"
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

// load notes the entries of a file that are as they were written. A file that adds none is removed.
func (s *Store) load(f vectorFile) {
	from, err := os.Open(filepath.Join(s.o.Dir, f.name))
	if err != nil {
		return
	}
	before := len(s.places)
	entries, entry := bufio.NewReaderSize(from, 1<<18), make([]byte, s.entrySize())
	for at := int64(0); ; at += s.entrySize() {
		if _, err := io.ReadFull(entries, entry); err != nil { // one that was not written to its end is none
			break
		}
		hash := [hashSize]byte(entry)
		if _, known := s.places[hash]; !known && s.whole(entry, hash) {
			s.places[hash] = place{from, at}
		}
	}
	if len(s.places) == before {
		_ = errors.Join(from.Close(), os.Remove(from.Name())) // best effort: it does no harm
		return
	}
	s.files, s.size = append(s.files, from), s.size+f.size
}

// Lend returns the store for callers that come again: their [Store.Close] does nothing, and [Store.End] ends it.
func (s *Store) Lend() *Store {
	s.lent = true
	return s
}

// Close ends the use of a store that is not lent.
func (s *Store) Close() {
	if !s.lent {
		s.End()
	}
}

// End ends the use of files. What is not written in the end, for want of room on the disk, is encoded again.
func (s *Store) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		_ = f.Close() // it was read
	}
	if s.out != nil {
		_ = s.out.Close() // a run does not fail for it
	}
	s.files, s.out, s.places, s.full = nil, nil, nil, true
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

// read returns what is kept of a text, or nil: a file may have changed since it was loaded.
func (s *Store) read(hash [hashSize]byte) []float32 {
	p, ok := s.places[hash]
	if !ok {
		return nil
	}
	data := make([]byte, s.entrySize())
	if _, err := p.file.ReadAt(data, p.at); err != nil || !s.whole(data, hash) {
		delete(s.places, hash)
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

// keep writes an entry, until something fails or there is enough.
func (s *Store) keep(hash [hashSize]byte, vector []float32) {
	if s.full || len(vector) != s.o.Encoder.Dimension() {
		return
	}
	if s.size+s.entrySize() > s.maxSize {
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
		if s.out, err = s.create(s.o.Dir, s.source+s.state[1:]+"*"+ext); err != nil {
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
