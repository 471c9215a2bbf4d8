package cli

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/sys/userdir"
)

// Configured reads the configuration, once: the file that --config or SOTTO_CONFIG
// names; else the user's own, with what the working directory's may add.
func (p *Program) Configured() (*config.Settings, error) {
	s, err := p.Places.Settings()
	return s, ui.AsUsage(err)
}

// AddPlaces adds the flags for what a run that is charged and signed uses.
func (p *Program) AddPlaces(cmd *cobra.Command) {
	p.AddLedger(cmd.Flags())
	p.AddKeys(cmd)
	p.AddPrivate(cmd)
}

// AddPrivate adds the flag for the folder that [program.privateDir] finds.
func (p *Program) AddPrivate(cmd *cobra.Command) {
	AddDir(cmd, &p.Places.Private, "private", "the `DIR` of the key by which data sets are known again, and of the index of their records (default: SOTTO_PRIVATE, your configuration, the user's data directory)")
}

// PrivateDir is the folder of the key by which the ledger knows data sets again.
// Anyone who shares a ledger shares that key.
func (p *Program) PrivateDir() (string, error) {
	dir, err := p.Places.PrivateAt()
	return dir, ui.AsUsage(err)
}

// DataDir is where the user's programs keep what they must not lose.
func DataDir() (string, error) { return userdir.Data() }
