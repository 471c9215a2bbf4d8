package table

import (
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/private/internal/origin"
)

// KeyPath is where the key that [Data.KeyID] names is, for messages.
func (d *Data) KeyPath() string { return filepath.Join(d.o.Private, origin.KeyFile) }
