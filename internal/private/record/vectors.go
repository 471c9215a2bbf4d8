package record

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/vectors"
	"github.com/sotto-dp/sotto/lm"
)

var _ vectors.Keeper = (*Data)(nil)

// Vectors opens what the private folder keeps of this data set's vectors, for texts of it alone. It does not depend
// on labels and parts, so that runs for different tasks share it. Of a source whose index goes with the run nothing is
// kept: it would be on disk as it is nowhere else, and outlive what it is of.
func (d *Data) Vectors(encoder lm.TrustedEmbedder, all bool) *vectors.Store {
	if d.scratch {
		return nil
	}
	d.drawn.Lock()
	defer d.drawn.Unlock()
	if known := d.drawn.store; known != nil {
		if !all && d.drawn.of == encoder.Fingerprint() {
			return known
		}
		known.End()
		d.drawn.store = nil // there will be more, or it is of another encoder
	}
	source := newMAC(d.k.name).digest(d.place, d.o.Query, d.o.Text)
	store := vectors.Open(vectors.Options{
		Dir: filepath.Join(d.o.Private, "vectors"), Key: d.k.folder, Encoder: encoder,
		Source: hex.EncodeToString(source[:]), State: hex.EncodeToString(d.x.Fingerprint),
		ReadOnly: !all,
	})
	if !all {
		d.drawn.store, d.drawn.of = store.Lend(), encoder.Fingerprint()
	}
	return store
}

// storeCache is the store for records that were drawn: every round asks for it, and opening one reads all that is kept.
type storeCache struct {
	sync.Mutex
	store *vectors.Store
	of    string // the fingerprint of its encoder
}

// end lets go of it.
func (l *storeCache) end() {
	l.Lock()
	defer l.Unlock()
	if l.store != nil {
		l.store.End()
		l.store = nil
	}
}

// Scratch makes a file beside the index that nobody else sees, where the system allows that. Calling remove removes it.
func (d *Data) Scratch() (f *os.File, remove func() error, err error) {
	if f, err = scratch(filepath.Join(d.o.Private, "index")); err != nil {
		return nil, nil, err
	}
	return f, func() error { return discard(f) }, nil
}
