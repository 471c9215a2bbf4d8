package chain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Hash links a row to all rows before it.
type Hash [sha256.Size]byte

// String returns the hash in lower-case hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what [Hash.String] prints, and nothing else.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != hex.EncodedLen(len(h)) {
		return h, fmt.Errorf("a hash has %d hexadecimal digits, this has %d characters", hex.EncodedLen(len(h)), len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("not a hash: %w", err)
	}
	if h.String() != s {
		return Hash{}, fmt.Errorf("not a hash: it should be in lower case")
	}
	return h, nil
}

// Head is the end of a log. The zero Head belongs to an empty log.
type Head struct {
	// Count is the number of rows, and the number of the last row.
	Count int64
	// Hash is the hash of the last row, zero in an empty log.
	Hash Hash
}

// Row is one entry of the log.
type Row struct {
	// Seq numbers the rows 1, 2, 3, …
	Seq int64
	// At is when the row was written, in microseconds since 1970 UTC. It never
	// decreases along a log.
	At int64
	// Kind defines what Body holds.
	Kind string
	// Subject is what the row is about; empty when it is about the log itself.
	Subject string
	// Body is the content, in a form that the user of the log chooses.
	Body string
	// Nonce is 32 random hexadecimal digits. It makes the hash of every attempt
	// to append unique, so that a writer who lost its connection during a commit
	// can tell its own row from an equal one of someone else.
	Nonce string
	// Hash covers all other fields and the hash of the row before.
	Hash Hash
}

const domain = "sotto ledger row 1\x00"

// Sum returns the hash that the row must have when it follows a row with hash prev. Every
// field is preceded by its length, so different rows never encode equally.
func (r Row) Sum(prev Hash) Hash {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write(prev[:])
	var n [8]byte
	number := func(v uint64) {
		binary.BigEndian.PutUint64(n[:], v)
		h.Write(n[:])
	}
	number(uint64(r.Seq))
	number(uint64(r.At))
	for _, s := range []string{r.Kind, r.Subject, r.Body, r.Nonce} {
		number(uint64(len(s)))
		h.Write([]byte(s))
	}
	return Hash(h.Sum(nil))
}

// Entry is a row to append.
type Entry struct {
	Kind, Subject, Body string
	At                  int64
}

// Seal makes an entry the row that follows head.
func Seal(head Head, e Entry) Row {
	var nonce [16]byte
	rand.Read(nonce[:]) // never fails, crypto/rand
	r := Row{
		Seq:     head.Count + 1,
		At:      e.At,
		Kind:    e.Kind,
		Subject: e.Subject,
		Body:    e.Body,
		Nonce:   hex.EncodeToString(nonce[:]),
	}
	r.Hash = r.Sum(head.Hash)
	return r
}

// Verifier follows a log and stops at the first row that does not belong. The
// zero Verifier stands before the first row.
type Verifier struct {
	head Head
	at   int64
}

// Head returns the last row that was accepted.
func (v *Verifier) Head() Head { return v.head }

// At returns the time of the last row that was accepted.
func (v *Verifier) At() int64 { return v.at }

// Next accepts the row that follows, or returns a [*TamperedError].
func (v *Verifier) Next(r Row) error {
	want := v.head.Count + 1
	switch {
	case r.Seq > want:
		return &TamperedError{want, fmt.Sprintf("the row is missing (the next one is %d)", r.Seq)}
	case r.Seq < want:
		return &TamperedError{r.Seq, "the number occurs twice or out of order"}
	case r.Hash != r.Sum(v.head.Hash):
		return &TamperedError{want, "the hash does not follow: this row was changed, or the one before it was replaced"}
	case r.At < v.at:
		return &TamperedError{want, "the row is dated before the one it follows"}
	}
	v.head, v.at = Head{r.Seq, r.Hash}, r.At
	return nil
}

// End compares the end of the log, after its last row was accepted, with the
// head that the store keeps.
func (v *Verifier) End(stored Head) error {
	if stored == v.head {
		return nil
	}
	if stored.Count > v.head.Count {
		return &TamperedError{v.head.Count + 1, fmt.Sprintf("the row is missing (the head says that there are %d rows)", stored.Count)}
	}
	return &TamperedError{stored.Count, fmt.Sprintf("the head names row %d, the log ends with row %d: the head was changed, or rows were added behind it", stored.Count, v.head.Count)}
}
