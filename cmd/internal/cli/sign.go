package cli

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/sys/bounded"
)

// KeysDir is where the ring of signing keys is, by flag, variable or configuration.
func (p *Program) KeysDir() (string, error) {
	dir, err := p.Places.KeysAt()
	return dir, ui.AsUsage(err)
}

// Date is a day, a dash for none.
func Date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}

// Trust gathers the keys that a verifier believes, by default those of the key ring.
func (p *Program) Trust(keys, rotations []string) (*certificate.Trust, error) {
	if len(keys) == 0 {
		ring, err := p.KeysDir()
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(ring); errors.Is(err, fs.ErrNotExist) {
			return nil, Usage("there is no key to trust: give the signer's public key with --key FILE (there is no key ring at %s either)", ring)
		}
		keys = []string{ring}
	}
	trust := &certificate.Trust{}
	for _, path := range keys {
		t, err := certificate.LoadTrust(path)
		if err != nil {
			return nil, ui.AsUsage(err)
		}
		trust.Merge(t)
	}
	for _, path := range rotations {
		statement, err := bounded.ReadFile(path, bounded.Large)
		if err != nil {
			return nil, Usage("rotation statement: %w", err)
		}
		if _, err := trust.Follow(statement); err != nil {
			return nil, ui.NotVerified("%s: %w", path, err)
		}
	}
	return trust, nil
}
