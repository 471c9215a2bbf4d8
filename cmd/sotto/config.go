package main

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/sys/userdir"
)

// configured reads the configuration, once: the file that --config or SOTTO_CONFIG
// names; else the user's own, with what the working directory's may add.
func (p *program) configured() (*config.Settings, error) {
	s, err := p.places.Settings()
	return s, ui.AsUsage(err)
}

// addPlaces adds the flags for what a run that is charged and signed uses.
func (p *program) addPlaces(cmd *cobra.Command) {
	p.addLedger(cmd.Flags())
	p.addKeys(cmd)
	p.addPrivate(cmd)
}

// addPrivate adds the flag for the folder that [program.privateDir] finds.
func (p *program) addPrivate(cmd *cobra.Command) {
	addDir(cmd, &p.places.Private, "private", "the `DIR` of the key by which data sets are known again, and of the index of their records (default: SOTTO_PRIVATE, your configuration, the user's data directory)")
}

// privateDir is the folder of the key by which the ledger knows data sets again.
// Anyone who shares a ledger shares that key.
func (p *program) privateDir() (string, error) {
	dir, err := p.places.PrivateAt()
	return dir, ui.AsUsage(err)
}

// dataDir is where the user's programs keep what they must not lose.
func dataDir() (string, error) { return userdir.Data() }
