package record

import (
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
)

// Placed reports whether the records are rows of a database, which come and go there.
func (d *Data) Placed() bool { return d.o.Format == SQL }

// KeyPath is where the key that [Data.KeyID] names is, for messages.
func (d *Data) KeyPath() string { return filepath.Join(d.o.Private, origin.KeyFile) }
