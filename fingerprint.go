package sotto

import (
	"context"
	"errors"

	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/prompt"
	"sotto/schema"
)

// Fingerprint is how the ledger knows the records of a source, whatever they are used for:
// to give them a budget before the first use. It enrols them, and releases nothing.
func (s Source) Fingerprint(ctx context.Context, t prompt.Task) (_ ledger.Fingerprint, err error) {
	data, err := s.open(ctx, t.WithDefaults(), privacy.Record, false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	sum := data.Fingerprint()
	return ledger.NewFingerprint(sum[:])
}

// Fingerprint is how the ledger knows a table, whatever it is used for. It releases
// nothing.
func (s TableSource) Fingerprint(ctx context.Context, of schema.Schema) (_ ledger.Fingerprint, err error) {
	data, err := s.open(ctx, of, privacy.Record, false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	sum, err := data.Fingerprint(ctx)
	if err != nil {
		return "", err
	}
	return ledger.NewFingerprint(sum[:])
}
