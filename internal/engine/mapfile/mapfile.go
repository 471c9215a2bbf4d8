package mapfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unsafe"
)

// Mapping is the bytes of a file. A nil one is of a file that was never mapped.
type Mapping struct {
	data []byte
}

// Open maps a regular file that is not empty.
func Open(path string) (*Mapping, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: give the path of a file", path)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is empty: fetch it again", path)
	case info.Size() > math.MaxInt:
		return nil, fmt.Errorf("%s has %d bytes, too many for this 32-bit program", path, info.Size())
	}
	data, err := load(file, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &Mapping{data: data}, nil
}

// Bytes returns the bytes of the file. They must not be written, and not be read after
// Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Release lets the operating system take the memory back. The bytes stay readable:
// what is used again is read again.
func (m *Mapping) Release() error {
	if m == nil || m.data == nil {
		return nil
	}
	return release(m.data)
}

// ReleasePart is Release for the pages of a part of the bytes, with what else is on the first and
// the last of them.
func (m *Mapping) ReleasePart(part []byte) error {
	if m == nil || len(m.data) == 0 || len(part) == 0 {
		return nil
	}
	base, at := uintptr(unsafe.Pointer(unsafe.SliceData(m.data))), uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	if at < base || at-base > uintptr(len(m.data)-len(part)) {
		return errors.New("bytes that are not of the mapping")
	}
	page := uintptr(os.Getpagesize())
	from := (at - base) / page * page // a mapping begins at a page
	to := min((at-base+uintptr(len(part))+page-1)/page*page, uintptr(len(m.data)))
	return release(m.data[from:to])
}

// Close ends the mapping. Closing again does nothing.
func (m *Mapping) Close() error {
	if m == nil || m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return unload(data)
}

// Fingerprint returns "sha256:" and the hash of a file.
func Fingerprint(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}
