package cli

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// KeysDir returns the folder of the signing key, by flag, variable or configuration.
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

// Trust gathers the keys that a verifier believes, by default those of the user's own folder.
func (p *Program) Trust(keys []string) (*certificate.Trust, error) {
	if len(keys) == 0 {
		dir, err := p.KeysDir()
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, Usage("there is no key to trust: give the signer's public key with --key FILE (there are no keys at %s either)", dir)
		}
		keys = []string{dir}
	}
	trust := &certificate.Trust{}
	for _, path := range keys {
		t, err := certificate.LoadTrust(path)
		if err != nil {
			return nil, ui.AsUsage(err)
		}
		trust.Merge(t)
	}
	return trust, nil
}
