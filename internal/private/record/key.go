package record

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"strconv"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
)

// digest is a keyed hash that stands for a value.
type digest [16]byte

// purposeKeys are independent keys, one for each purpose, derived from that of the folder.
type purposeKeys struct {
	folder                                        keys.Key
	content, name, check, unit, label, rank, seal []byte
}

// folderKeys reads the key of a private folder. The first use of a folder makes both.
func folderKeys(dir string) (*purposeKeys, error) {
	key, err := keys.FolderKey(dir)
	if err != nil {
		return nil, err
	}
	return &purposeKeys{
		folder:  key,
		content: key.For("content"), name: key.For("name"), check: key.For("check"),
		unit: key.For("unit"), label: key.For("label"), rank: key.For("rank"), seal: key.For("seal"),
	}, nil
}

// mac gives digests of lists of strings. It is not for concurrent use.
type mac struct{ *keys.MAC }

func newMAC(key []byte) *mac { return &mac{keys.NewMAC(key)} }

func (m *mac) digest(parts ...string) digest {
	sum := m.Of(parts...)
	return digest(sum[:])
}

// marks gives the keyed hashes of entries. It is not for concurrent use.
type marks struct {
	check, unit, label *mac
	rank               cipher.Block
}

func (k *purposeKeys) marks() *marks {
	block, err := aes.NewCipher(k.rank)
	if err != nil {
		panic(err) // a derived key has a length that AES takes
	}
	return &marks{newMAC(k.check), newMAC(k.unit), newMAC(k.label), block}
}

// checkOf is the short checksum by which a record is known again.
func (m *marks) checkOf(ordinal int64, e *entry) (c [checkSize]byte) {
	sum := m.check.Of(strconv.FormatInt(ordinal, 10), e.unit, e.condition, e.text)
	copy(c[:], sum[:])
	return c
}

func (m *marks) unitOf(e *entry) digest { return m.unit.digest(e.unit) }

func (m *marks) labelOf(condition string) digest { return m.label.digest(condition) }

// rankOf orders the labels of a unit, which takes part under the one of least rank: a
// keyed permutation of the sum of both digests. It depends on the unit and its own
// labels alone, and to anyone without the key each of them is equally likely to be
// first. It can be undone, so that sorting by rank loses nothing.
func (m *marks) rankOf(unit, label digest) (rank digest) {
	subtle.XORBytes(rank[:], unit[:], label[:])
	m.rank.Encrypt(rank[:], rank[:])
	return rank
}

// labelAt is the label that has a rank for a unit.
func (m *marks) labelAt(unit, rank digest) (label digest) {
	m.rank.Decrypt(label[:], rank[:])
	subtle.XORBytes(label[:], label[:], unit[:])
	return label
}
