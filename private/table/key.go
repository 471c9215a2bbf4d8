package table

import (
	"path/filepath"

	"sotto/private/internal/origin"
)

// KeyPath is where the key that [Data.KeyID] names is, for messages.
func (d *Data) KeyPath() string { return filepath.Join(d.o.Private, origin.KeyFile) }
