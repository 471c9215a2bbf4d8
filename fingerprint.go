package sotto

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Fingerprint is how the ledger knows the records of a source in the state that they are
// in. It enrols them, and releases nothing.
func (s Source) Fingerprint(ctx context.Context, t prompt.Task) (ledger.Fingerprint, error) {
	id, err := s.Identity(ctx, t)
	return id.Fingerprint, err
}

// Identity is what the ledger recognises the records of a source by, whatever they are
// used for and however they are saved: to give them a budget before the first use, or to
// link them with data sets. It enrols them, and releases nothing.
func (s Source) Identity(ctx context.Context, t prompt.Task) (_ ledger.Identity, err error) {
	data, err := s.open(ctx, t.WithDefaults(), privacy.Record, false)
	if err != nil {
		return ledger.Identity{}, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	of, err := data.Sketch()
	if err != nil {
		return ledger.Identity{}, err
	}
	sum := data.Fingerprint()
	print, err := ledger.NewFingerprint(sum[:])
	return ledger.Identity{Fingerprint: print, Sketch: of, KeyID: data.KeyID(), KeyPath: data.KeyPath()}, err
}

// Fingerprint is how the ledger knows a table in the state or at the place that it is in.
// It releases nothing.
func (s TableSource) Fingerprint(ctx context.Context, of schema.Schema) (ledger.Fingerprint, error) {
	id, err := s.Identity(ctx, of)
	return id.Fingerprint, err
}

// Identity is what the ledger recognises a table by. It releases nothing.
func (s TableSource) Identity(ctx context.Context, of schema.Schema) (_ ledger.Identity, err error) {
	t := &tabling{TableOptions: TableOptions{Source: s}}
	if err := t.openTable(ctx, of, privacy.Record, false); err != nil {
		return ledger.Identity{}, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	data := t.data()
	sum, err := data.Fingerprint(ctx)
	if err != nil {
		return ledger.Identity{}, err
	}
	rows, err := data.Sketch(ctx)
	if err != nil {
		return ledger.Identity{}, err
	}
	print, err := ledger.NewFingerprint(sum[:])
	return ledger.Identity{Fingerprint: print, Sketch: rows, KeyID: data.KeyID(), KeyPath: data.KeyPath()}, err
}
