package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sotto/privacy"
	"sotto/privacy/accountant"
	"sotto/privacy/certificate"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/purse"
	"sotto/private/table"
	"sotto/schema"
)

// promise is what a job does to the data, at most.
type promise struct {
	name           string
	event          privacy.Event
	inner          []privacy.Event
	adjacency      privacy.Adjacency
	unit           privacy.Unit
	epsilon, delta float64
}

// book pays for a job and signs for it. A job that ends early has been charged: nobody
// knows what its workers let out.
type book struct {
	r      *request
	of     promise
	ledger *ledger.Ledger
	signer *certificate.Signer
	id     string
	charge ledger.ChargeID
}

// open finds all that is needed before anything is charged.
func (r *request) open(ctx context.Context, s schema.Schema, of promise) (*book, error) {
	if _, err := os.Stat(r.out); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already: name a new folder with --out", r.out)
	}
	b := &book{r: r, of: of, id: rand.Text()}
	if r.generate > 0 {
		return b, nil
	}
	if r.ledger == "" || r.keys == "" {
		return nil, errors.New("--ledger and --keys are missing: every use of the rows is charged, and signed for")
	}
	ring, err := certificate.OpenRing(r.keys)
	if err != nil {
		return nil, fmt.Errorf("%w (make one with sotto keys generate)", err)
	}
	if b.signer, err = ring.Signer(); err != nil {
		return nil, err
	}
	if b.ledger, err = ledger.Open(ctx, r.ledger, ledger.Options{}); err != nil {
		return nil, fmt.Errorf("%w (see sotto ledger init)", err)
	}
	if err := b.reserve(ctx, s); err != nil {
		return nil, errors.Join(err, b.ledger.Close())
	}
	return b, nil
}

func (b *book) close() error {
	if b.ledger == nil {
		return nil
	}
	return b.ledger.Close()
}

// reserve charges the job before a row is read.
func (b *book) reserve(ctx context.Context, s schema.Schema) error {
	dataset, err := b.dataset(ctx, s)
	if err != nil {
		return err
	}
	p := &purse.Purse{Ledger: b.ledger, Dataset: dataset, Adjacency: b.of.adjacency, Unit: b.of.unit}
	use := purse.Use{Event: b.of.event, Run: b.of.name + " on Beam, " + b.id, Key: "beam " + b.id}
	c, err := p.Reserve(ctx, use)
	var unknown *ledger.UnknownDatasetError
	if errors.As(err, &unknown) {
		notice, entering := p.Enter(ctx, purse.First{Epsilon: b.of.epsilon, Delta: b.of.delta, By: use.Run, Key: "budget " + b.id})
		if entering != nil {
			return entering
		}
		b.r.say("%s, which this job uses", notice)
		c, err = p.Reserve(ctx, use)
	}
	b.charge = c.ID
	return err
}

// dataset is how the ledger knows the table. A file of this machine is known as
// "sotto table" knows it; for anything else its owner says what it is, since the same
// rows in other files would be another data set with a budget of its own.
func (b *book) dataset(ctx context.Context, s schema.Schema) (_ ledger.Fingerprint, err error) {
	r := b.r
	if r.dataset != "" {
		d, err := b.ledger.Balance(ctx, r.dataset)
		if err != nil {
			return "", fmt.Errorf("%w (enter the data set first, with sotto ledger init)", err)
		}
		return d.Fingerprint, nil
	}
	if strings.ContainsAny(r.data, ",*?[") || strings.Contains(r.data, "://") {
		return "", errors.New("--dataset is missing: several files, or files elsewhere, are charged to a data set that is in the ledger")
	}
	if r.private == "" {
		return "", errors.New("--private is missing: the folder whose key the ledger knows the file by; or name the data set with --dataset")
	}
	d, err := table.Open(ctx, r.data, table.Options{Schema: s, Unit: r.unit, Private: r.private})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	sum, err := d.Fingerprint(ctx)
	if err != nil {
		return "", err
	}
	return ledger.NewFingerprint(sum[:])
}

// guarantee evaluates an event of the job.
func (b *book) guarantee(e privacy.Event) (privacy.Guarantee, error) {
	ev := accountant.Auto{}
	i, err := ev.Epsilon(e, b.of.adjacency, b.of.delta)
	if err != nil {
		return privacy.Guarantee{}, fmt.Errorf("work out ε: %w", err)
	}
	return privacy.Guarantee{Event: e, Adjacency: b.of.adjacency, Unit: b.of.unit, Epsilon: i, Delta: b.of.delta, Accountant: ev.Name()}, nil
}

// finish tells the ledger that all is released, and signs for all files of the folder.
func (b *book) finish(ctx context.Context, c certificate.Claim) error {
	if b.ledger == nil {
		b.r.say("made-up rows: nothing was charged, and there is no certificate")
		return nil
	}
	if _, err := b.ledger.Commit(ctx, ledger.CommitRequest{Charge: b.charge}); err != nil {
		return fmt.Errorf("commit the charge: %w", err)
	}
	head, err := b.ledger.Checkpoint(ctx)
	if err != nil {
		return fmt.Errorf("read the end of the ledger: %w", err)
	}
	if c.Subjects, err = certificate.HashFiles(b.r.out); err != nil {
		return err
	}
	c.Events, c.Inner = []privacy.Event{b.of.event}, b.of.inner
	c.Adjacency, c.Unit, c.Delta = b.of.adjacency, b.of.unit, b.of.delta
	c.Standing, c.Randomness, c.Version = certificate.Proven, certificate.OSRandom, version
	c.Ledger = &certificate.LedgerReference{Charge: string(b.charge), Head: head.String()}
	c.Assumptions = append(c.Assumptions,
		"The schema is public: its bounds, bins, values and groups were not taken from the rows.",
		"The job ran on Apache Beam: its workers, and whoever could read its scratch folder while it ran, are trusted.")
	statement, err := certificate.NewStatement(c, accountant.Auto{})
	if err != nil {
		return err
	}
	envelope, err := certificate.Sign(statement, b.signer)
	if err != nil {
		return fmt.Errorf("sign the certificate: %w", err)
	}
	return certificate.Write(b.r.out, envelope)
}

// writeJSON writes a file that is released.
func writeJSON(dir, name string, of any) error {
	data, err := json.MarshalIndent(of, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return write(dir, name, append(data, '\n'))
}

func write(dir, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}
