package noise

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// KeySize is the number of secret bytes in a [Key].
const KeySize = 32

const redacted = "noise.Key(redacted)"

// ErrKeyFile reports that bytes given to [ImportKey] are not an exported key.
var ErrKeyFile = errors.New("not an exported noise key: restore the file that Export wrote, or start a new run with a new key")

// origin is the source of a key's secret. It travels with the key, so that a seeded run
// stays marked after its key was written and read back.
type origin byte

const (
	fromOS   origin = 1
	fromSeed origin = 2
)

// secret sits behind a pointer so that Erase reaches every copy of the Key. Its
// bytes sit behind another: in an unexported field of a struct fmt calls no
// methods, and for a verb that does not suit a pointer it follows one, but
// never two.
type secret struct {
	origin origin
	bytes  *[KeySize]byte
}

// Key is the one secret from which a run derives all its randomness. Copies
// share the secret. The zero Key holds none and cannot make a [Stream].
//
// A key never prints itself: fmt, encoding/json, encoding.TextMarshaler and
// log/slog all see a placeholder. [Key.Export] is the only way to its bytes.
type Key struct {
	s *secret
}

// NewKey draws a key from the operating system's CSPRNG.
func NewKey() (Key, error) {
	s := &secret{fromOS, new([KeySize]byte)}
	if _, err := rand.Read(s.bytes[:]); err != nil {
		return Key{}, fmt.Errorf("read a key from the operating system's random source: %w", err)
	}
	return Key{s}, nil
}

// KeyFromSeed returns the key that belongs to a seed, for tests and
// simulations. Anyone can rebuild it, so nothing drawn from it is private:
// its streams report Private() == false, also after Export and ImportKey, and
// a result made with them must be marked NOT PRIVATE.
func KeyFromSeed(seed uint64) Key {
	msg := binary.BigEndian.AppendUint64([]byte("sotto/privacy/noise seed v1\x00"), seed)
	sum := sha256.Sum256(msg)
	return Key{&secret{fromSeed, &sum}}
}

// Derive returns a separate key for a purpose, the same one every time. Anyone who holds it
// learns nothing about this key, nor about keys derived for other purposes: its secret is
// an HMAC under this one. Use it for work done where this key must not go.
//
// It panics for a zero or erased key, as [Key.Stream] does.
func (k Key) Derive(purpose string) Key {
	if k.s == nil || k.s.origin == 0 {
		panic("noise: cannot derive from a zero or erased key")
	}
	h := hmac.New(sha256.New, k.s.bytes[:])
	h.Write([]byte("sotto/privacy/noise derive v1\x00" + purpose))
	out := &secret{k.s.origin, new([KeySize]byte)}
	h.Sum(out.bytes[:0])
	return Key{out}
}

// Private reports whether the secret came from the operating system. It is
// false for a seeded, zero or erased key.
func (k Key) Private() bool { return k.s != nil && k.s.origin == fromOS }

// Erase overwrites the secret in this key and in every copy of it. A later
// Stream panics. Streams made before keep working; exported bytes are the
// caller's to remove. The Go runtime gives no promise about memory it moved or
// swapped earlier.
func (k Key) Erase() {
	if k.s == nil {
		return
	}
	k.s.origin = 0
	clear(k.s.bytes[:])
}

var exportMagic = []byte("sottokey\x01")

const checkSize = 8

// Export returns the secret in the form that [ImportKey] reads: a version, the
// origin, the secret and a checksum. Anyone who has it can replay the run and
// subtract its noise: keep it in the run's private folder, mode 0600, and
// remove it when the run completes.
func (k Key) Export() ([]byte, error) {
	if k.s == nil || k.s.origin == 0 {
		return nil, errors.New("cannot export a zero or erased key: make one with NewKey")
	}
	out := append([]byte(nil), exportMagic...)
	out = append(out, byte(k.s.origin))
	out = append(out, k.s.bytes[:]...)
	sum := sha256.Sum256(out)
	return append(out, sum[:checkSize]...), nil
}

// ImportKey reads what [Key.Export] wrote. The checksum catches a damaged
// file, which would otherwise replay with other noise; it is no protection
// against forgery.
func ImportKey(data []byte) (Key, error) {
	body := len(exportMagic) + 1 + KeySize
	if len(data) != body+checkSize || !bytes.HasPrefix(data, exportMagic) {
		return Key{}, ErrKeyFile
	}
	sum := sha256.Sum256(data[:body])
	o := origin(data[len(exportMagic)])
	if !bytes.Equal(sum[:checkSize], data[body:]) || (o != fromOS && o != fromSeed) {
		return Key{}, ErrKeyFile
	}
	s := &secret{o, new([KeySize]byte)}
	copy(s.bytes[:], data[len(exportMagic)+1:body])
	return Key{s}, nil
}

// String returns a placeholder.
func (Key) String() string { return redacted }

// GoString returns a placeholder.
func (Key) GoString() string { return redacted }

// Format writes a placeholder for every verb and flag.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText returns a placeholder.
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON returns a placeholder.
func (Key) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue returns a placeholder.
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }
