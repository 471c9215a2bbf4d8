package main

import (
	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/lm/backend"
)

// client opens the library where flags, variables or the configuration say.
func (p *program) client(ledger, keys string, model backend.Spec) (*sotto.Client, error) {
	o := &sotto.Options{Model: model}
	var err error
	if o.Ledger, err = p.ledgerAddress(ledger); err != nil {
		return nil, err
	}
	if byDefault(o.Ledger) {
		o.Ledger = "" // the first use makes it
	}
	if o.Keys, err = p.keysDir(keys); err != nil {
		return nil, err
	}
	if o.Private, err = p.privateDir(); err != nil {
		return nil, err
	}
	return sotto.Open("", o)
}

// modelClient is a client with the model that flags name.
func (p *program) modelClient(ledger, keys string, m modelFlags) (*sotto.Client, backend.Spec, error) {
	spec, err := p.modelSpec(m)
	if err != nil {
		return nil, spec, err
	}
	c, err := p.client(ledger, keys, spec)
	return c, spec, err
}
