package cli

import (
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Configured reads the configuration, once: the file that --config or SOTTO_CONFIG
// names; else the user's own, with what the working directory's may add.
func (p *Program) Configured() (*config.Settings, error) {
	s, err := p.Places.Settings()
	return s, ui.AsUsage(err)
}

// AddPlaces adds the flags of every verb that say where ledger, keys, private folder and store are.
func (p *Program) AddPlaces(f *pflag.FlagSet) {
	at, otherwise := &p.Places, ", your configuration, the user's data directory)"
	f.StringVar(&at.Ledger, "ledger", "", "the ledger: a `PATH`, or a postgres:// URL (default: "+config.LedgerVariable+otherwise)
	f.StringVar(&at.Keys, "keys", "", "the `DIR` of the signing key and the trust file (default: "+config.KeysVariable+otherwise)
	f.StringVar(&at.Private, "private", "", "the `DIR` of the key by which data sets are known again, and of the index of their records (default: "+config.PrivateVariable+otherwise)
	f.StringVar(&at.Service, "store", "", "the service's store: a `FILE` or a PostgreSQL URL (default: "+config.ServiceVariable+otherwise)
}

// PrivateDir is the folder of the key by which the ledger knows data sets again.
// Anyone who shares a ledger shares that key.
func (p *Program) PrivateDir() (string, error) {
	dir, err := p.Places.PrivateAt()
	return dir, ui.AsUsage(err)
}
