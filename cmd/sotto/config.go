package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/userdir"
)

// configured reads the configuration, once: the file that --config or SOTTO_CONFIG
// names; else the user's own, with what the working directory's may add.
func (p *program) configured() (_ *config.Settings, err error) {
	if p.settings == nil {
		p.settings, err = config.Read(p.configPath)
	}
	return p.settings, ui.AsUsage(err)
}

// choose returns the first that is given of a flag, a variable, and a value of
// the configuration file; else a file in the user's data directory.
func (p *program) choose(flag, variable string, configured func(*config.Settings) string, name string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if v := os.Getenv(variable); v != "" {
		return v, nil
	}
	s, err := p.configured()
	if err != nil {
		return "", err
	}
	if v := configured(s); v != "" {
		return v, nil
	}
	dir, err := dataDir()
	if err != nil {
		return "", usage("there is no place to look for %s: use the flag, or set %s (%w)", name, variable, err)
	}
	return filepath.Join(dir, name), nil
}

// addPlaces adds the flags for what a run that is charged and signed uses.
func (p *program) addPlaces(cmd *cobra.Command) {
	p.addLedger(cmd.Flags())
	p.addKeys(cmd)
	p.addPrivate(cmd)
}

// addPrivate adds the flag for the folder that [program.privateDir] finds.
func (p *program) addPrivate(cmd *cobra.Command) {
	addDir(cmd, &p.private, "private", "the `DIR` of the key by which data sets are known again, and of the index of their records (default: SOTTO_PRIVATE, your configuration, the user's data directory)")
}

// privateDir is the folder of the key by which the ledger knows data sets again.
// Whoever shares a ledger shares that key.
func (p *program) privateDir() (string, error) {
	return p.choose(p.private, "SOTTO_PRIVATE", func(s *config.Settings) string { return s.Private }, "private")
}

// dataDir is where the user's programs keep what they must not lose.
func dataDir() (string, error) { return userdir.Data() }
