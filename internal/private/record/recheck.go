package record

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
)

const (
	// rechecked is how many records of a cached index are read again and compared with
	// their checksums before it is used. A file of which the share p of the records was
	// replaced is found out with probability 1 − (1−p)^32.
	rechecked = 32
	// drawnForScan is how many are drawn where reading one means to read all before it, of
	// which the first are read.
	drawnForScan = 8 * rechecked
)

// recheck reports whether a sample of the records is what was enrolled. The stamp of a file
// does not show it: it can be set.
func (d *Data) recheck(ctx context.Context) (bool, error) {
	n := rechecked
	seeks, err := d.s.seeks()
	if err != nil {
		return false, err
	}
	if !seeks {
		n = drawnForScan
	}
	slots, err := d.x.sample(n)
	if err != nil {
		return false, err
	}
	slices.SortFunc(slots, func(a, b slot) int { return slices.Compare(a[:], b[:]) })
	_, err = d.fetch(ctx, slots[:min(len(slots), rechecked)])
	if known := (*Error)(nil); errors.As(err, &known) {
		return false, nil // it is enrolled again, which reports what is wrong
	}
	return err == nil, err
}

// sample draws some slots, with repetition.
func (x *index) sample(n int) ([]slot, error) {
	if x.Slots == 0 {
		return nil, nil
	}
	out := make([]slot, n)
	for i := range out {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, indexFailed(err)
		}
		var err error
		if out[i], err = x.slot(int64(binary.LittleEndian.Uint64(b[:]) % uint64(x.Slots))); err != nil {
			return nil, err
		}
	}
	return out, nil
}
