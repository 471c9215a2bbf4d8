package sums

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

const (
	// pageBytes is about how large a page is, and heldBytes how many bytes of pages are held in memory: the
	// vectors of 87,000 records by the default encoder.
	pageBytes = 1 << 20
	heldBytes = 64 << 20
	// labelBytes is what a label takes in a page that is written.
	labelBytes = 4
)

// Spiller is a pool that has room on disk beside its index.
type Spiller interface {
	// Scratch makes a file for what does not fit in memory, which is gone after discard.
	Scratch() (f *os.File, discard func() error, err error)
}

// pages hold what units say, in bounded memory: what is more goes to a file, encrypted by a key that is nowhere
// else. A page that is not read as it was written is an error: a longer vector would be more than one unit may add.
type pages struct {
	each, width int
	bytes       int // of a page, about
	last        page
	held        []page
	room        int64 // for more of them, in bytes

	spiller Spiller // nil if there is no room but memory
	file    *os.File
	discard func() error
	aead    cipher.AEAD
	counts  []int // records of each page in the file
	units   int64
}

// page is what some units say: the labels of their records and the vectors of these, one after the other.
type page struct {
	labels  []int32
	vectors []int16
}

// newPages are for units of so many records, and vectors of so many numbers.
func newPages(each, width int, pool any) *pages {
	p := &pages{each: each, width: width, bytes: pageBytes, room: heldBytes}
	p.spiller, _ = pool.(Spiller)
	return p
}

// size is that of a full page, in records: whole units.
func (p *pages) size() int { return max(1, p.bytes/(2*p.width*p.each)) * p.each }

// add takes what the next unit says.
func (p *pages) add(u unit) error {
	for _, r := range u {
		p.last.labels = append(p.last.labels, int32(r.label))
		p.last.vectors = append(p.last.vectors, r.vector...)
	}
	if p.units++; len(p.last.labels) < p.size() {
		return nil
	}
	full := p.last
	need := int64(labelBytes*len(full.labels) + 2*len(full.vectors))
	if p.spiller == nil || p.room >= need {
		p.held, p.room, p.last = append(p.held, full), p.room-need, p.empty()
		return nil
	}
	p.last = page{full.labels[:0], full.vectors[:0]}
	return p.spill(full)
}

// empty is a page with room.
func (p *pages) empty() page {
	return page{make([]int32, 0, p.size()), make([]int16, 0, p.size()*p.width)}
}

// spill writes a page to the file.
func (p *pages) spill(of page) (err error) {
	if p.file == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	p.room = 0 // what comes later goes there, too
	data := make([]byte, 0, p.stride())
	for _, l := range of.labels {
		data = binary.LittleEndian.AppendUint32(data, uint32(l))
	}
	for _, x := range of.vectors {
		data = binary.LittleEndian.AppendUint16(data, uint16(x))
	}
	at := int64(len(p.counts))
	if _, err := p.file.WriteAt(p.aead.Seal(data[:0], p.nonce(at), data, nil), at*p.stride()); err != nil {
		return spillFailed(err)
	}
	p.counts = append(p.counts, len(of.labels))
	return nil
}

func spillFailed(err error) error {
	return errors.Join(errors.New("the vectors of records do not fit in memory, and could not be kept in a file of the private folder meanwhile: make room on its disk"), err)
}

// begin makes the file and draws its key.
func (p *pages) begin() (err error) {
	var key [32]byte
	if _, err = rand.Read(key[:]); err != nil {
		return spillFailed(err)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return spillFailed(err)
	}
	if p.aead, err = cipher.NewGCM(block); err != nil {
		return spillFailed(err)
	}
	if p.file, p.discard, err = p.spiller.Scratch(); err != nil {
		return spillFailed(err)
	}
	return nil
}

// stride is what a page takes in the file.
func (p *pages) stride() int64 {
	return int64(p.size())*int64(labelBytes+2*p.width) + int64(p.aead.Overhead())
}

// nonce is that of a page, by its place: each is written once.
func (p *pages) nonce(at int64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, p.aead.NonceSize()-8), uint64(at))
}

// buffer is room for a page of the file, and its bytes.
type buffer struct {
	data []byte
	page
}

// read reads a page of the file. It is there until the buffer is used again.
func (p *pages) read(at int64, b *buffer) (of page, err error) {
	n := p.counts[at]
	b.data = slices.Grow(b.data[:0], int(p.stride()))
	data := b.data[:n*(labelBytes+2*p.width)+p.aead.Overhead()]
	if _, err := p.file.ReadAt(data, at*p.stride()); err != nil && err != io.EOF {
		return of, spillFailed(err)
	}
	if data, err = p.aead.Open(data[:0], p.nonce(at), data, nil); err != nil {
		return of, errors.New("a file of vectors in the private folder changed while it was used: nothing was released")
	}
	b.labels, b.vectors = slices.Grow(b.labels[:0], n)[:n], slices.Grow(b.vectors[:0], n*p.width)[:n*p.width]
	for i := range b.labels {
		b.labels[i] = int32(binary.LittleEndian.Uint32(data[labelBytes*i:]))
	}
	data = data[labelBytes*n:]
	for i := range b.vectors {
		b.vectors[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return b.page, nil
}

// close removes the file, as far as the system allows that: its key is gone.
func (p *pages) close() {
	if p.discard != nil {
		_ = p.discard()
	}
}

// number is how many pages there are.
func (p *pages) number() int { return len(p.held) + len(p.counts) + 1 }

// page returns one of them; b is for one of the file.
func (p *pages) page(at int, b *buffer) (page, error) {
	switch spilled := at - len(p.held); {
	case spilled < 0:
		return p.held[at], nil
	case spilled < len(p.counts):
		return p.read(int64(spilled), b)
	}
	return p.last, nil
}

// all calls do with every page, by so many workers at a time.
func (p *pages) all(workers int, do func(worker int, of page)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	failed := make([]error, workers)
	for w := range workers {
		wait.Go(func() {
			defer fault.Watch()
			var room buffer
			for at := int(next.Add(1)) - 1; at < p.number() && failed[w] == nil; at = int(next.Add(1)) - 1 {
				var of page
				if of, failed[w] = p.page(at, &room); failed[w] == nil {
					do(w, of)
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// unit returns what a unit of the page says; out is room for it.
func (p *page) unit(at, each, width int, out unit) unit {
	out = out[:0]
	for r := at * each; r < (at+1)*each; r++ {
		out = append(out, recordVector{int(p.labels[r]), p.vectors[r*width : (r+1)*width]})
	}
	return out
}
