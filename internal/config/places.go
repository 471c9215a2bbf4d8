package config

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/sys/userdir"
)

// Places finds what a program keeps for its user: the ledger, the keys that sign, the private
// folder, and the service's store. Each is the first that is given of a field, which is what a flag
// says; a variable; the user's own configuration; and else a name in the user's data directory.
//
// All programs look here, so that the same data has one budget whichever of them reads it.
type Places struct {
	// File is the configuration to read in place of the user's own.
	File string
	// Ledger, Keys, Private and Service are what flags say.
	Ledger, Keys, Private, Service string

	settings *Settings // once they are read
}

// Variables that name places, and files, where there is no flag.
const (
	LedgerVariable  = "SOTTO_LEDGER"
	KeysVariable    = "SOTTO_KEYS"
	PrivateVariable = "SOTTO_PRIVATE"
	ServiceVariable = "SOTTO_STORE"
	FileVariable    = "SOTTO_CONFIG"
)

// ledgerFile is the ledger's name in the user's data directory.
const ledgerFile = "ledger.db"

// Settings reads the configuration, once: the file that File or SOTTO_CONFIG names; else the user's
// own, with what the working directory's may add.
func (p *Places) Settings() (_ *Settings, err error) {
	if p.settings == nil {
		p.settings, err = Read(p.File)
	}
	return p.settings, err
}

// LedgerAt returns the address of the ledger: a path or a URL.
func (p *Places) LedgerAt() (string, error) {
	return p.find(p.Ledger, LedgerVariable, ledgerFile, func(s *Settings) string { return s.Ledger })
}

// KeysAt returns the directory of the key ring.
func (p *Places) KeysAt() (string, error) {
	return p.find(p.Keys, KeysVariable, "keys", func(s *Settings) string { return s.Keys })
}

// PrivateAt returns the folder of the key by which the ledger knows data sets again. Anyone who shares
// a ledger shares that key.
func (p *Places) PrivateAt() (string, error) {
	return p.find(p.Private, PrivateVariable, "private", func(s *Settings) string { return s.Private })
}

// ServiceAt returns the service's store: a path or a URL.
func (p *Places) ServiceAt() (string, error) {
	return p.find(p.Service, ServiceVariable, "service.db", func(s *Settings) string { return s.Service })
}

// All returns where ledger, keys and private folder are, all of them found.
func (p *Places) All() (at Places, err error) {
	if at.Ledger, err = p.LedgerAt(); err != nil {
		return at, err
	}
	if at.Keys, err = p.KeysAt(); err != nil {
		return at, err
	}
	at.Private, err = p.PrivateAt()
	return at, err
}

func (p *Places) find(given, variable, name string, configured func(*Settings) string) (string, error) {
	if given != "" {
		return given, nil
	}
	if v := os.Getenv(variable); v != "" {
		return v, nil
	}
	s, err := p.Settings()
	if err != nil {
		return "", err
	}
	if v := configured(s); v != "" {
		return v, nil
	}
	dir, err := userdir.Data()
	if err != nil {
		return "", fmt.Errorf("there is no place to look for %s: use the flag, or set %s (%w)", name, variable, err)
	}
	return filepath.Join(dir, name), nil
}

// Usual reports whether a ledger is in the user's data directory. Only there does the first use of
// private data make one.
func Usual(ledger string) bool {
	dir, err := userdir.Data()
	return err == nil && ledger == filepath.Join(dir, ledgerFile)
}
