package global

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Picker decides which rows of a table are used: a sample of the units, and so many rows
// of each. It may be shared by threads.
type Picker struct {
	key noise.Key
	// sample is nil where everybody is used.
	sample *noise.Inclusion
	// threshold is the rate in units of 2^-64, rounded down; units that are sampled at a
	// smaller rate than the event says cost no more (their sample is a sample of it).
	threshold uint64
	// units and rows are pseudo-random permutations: of a unit, whether it is sampled;
	// of a unit and a row's ordinal, by CBC-MAC, how early the row is taken.
	units, rows cipher.Block
}

// Names of the streams that a profile draws from.
const (
	sampling = "table.profile.sample"
	bounding = "table.profile.unit"
	noising  = "table.profile.noise"
)

// Picker draws from a key. Each profile needs a key of its own.
func (m *Mechanism) Picker(key noise.Key) (*Picker, error) {
	p := &Picker{key: key}
	if rate := m.settings.Rate; rate < 1 {
		q, err := noise.ProbabilityFloat(rate)
		if err != nil {
			return nil, err
		}
		p.sample = noise.NewInclusion(q)
		p.threshold = uint64(math.Floor(math.Ldexp(rate, 64)))
	}
	for i, to := range []*cipher.Block{&p.units, &p.rows} {
		s := key.Stream(bounding, uint64(i))
		var secret [32]byte
		for at := 0; at < len(secret); at += 8 {
			binary.LittleEndian.PutUint64(secret[at:], s.Uint64())
		}
		block, err := aes.NewCipher(secret[:])
		if err != nil {
			return nil, err
		}
		*to = block
	}
	return p, nil
}

// Rows appends to dst which of n rows of a batch are in the sample, where rows are units.
func (p *Picker) Rows(batch int64, n int, dst []int) ([]int, error) {
	if p.sample == nil {
		for i := range n {
			dst = append(dst, i)
		}
		return dst, nil
	}
	return p.sample.Draw(p.key.Stream(sampling, uint64(batch)), n, dst)
}

// Unit reports whether a unit is in the sample, by the keyed hash of its name.
func (p *Picker) Unit(unit table.Unit) bool {
	return p.sample == nil || permute(p.units, unit)[0] < p.threshold
}

// Priority of a row among those of its unit: the rows with the least ones are used. Each
// choice of so many rows of a unit is as likely as any other, and independent of the
// choices for other units, wherever their rows are.
func (p *Picker) Priority(unit table.Unit, ordinal int64) uint64 {
	first := permute(p.rows, unit)
	first[0] ^= uint64(ordinal)
	return permute(p.rows, first)[0]
}

func permute(b cipher.Block, x [2]uint64) [2]uint64 {
	var block [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(block[:8], x[0])
	binary.LittleEndian.PutUint64(block[8:], x[1])
	b.Encrypt(block[:], block[:])
	return [2]uint64{binary.LittleEndian.Uint64(block[:8]), binary.LittleEndian.Uint64(block[8:])}
}
