package sotto

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/compute"
	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// opened is what a call works with, and closes in the end.
type opened struct {
	model lm.Trusted
	// name is what people call the model; owned: it was opened here.
	name  string
	owned bool
	data  *record.Data
	table *table.Data
	// computed is a table that an engine has open, in place of table.
	computed compute.Table
	ledger   *ledger.Ledger
	signer   *certificate.Signer
	// tell says something to people once.
	tell func(format string, args ...any)
}

func (o *opened) close() error {
	var all []error
	if o.ledger != nil {
		all = append(all, o.ledger.Close())
	}
	if o.data != nil {
		all = append(all, o.data.Close())
	}
	if o.table != nil {
		all = append(all, o.table.Close())
	}
	if o.computed != nil {
		all = append(all, o.computed.Close())
	}
	if o.owned {
		all = append(all, o.model.Close())
	}
	return errors.Join(all...)
}

// environment is what a run or a session works with.
func (o *opened) environment(e env.Environment) env.Environment {
	e.Signer, e.Model, e.ModelName = o.signer, o.model, o.name
	if o.ledger != nil {
		e.Ledger = o.ledger
	}
	return e
}

// destined says where records will go, before anything is sent. Whoever opened the model
// has said so.
func (o *opened) destined(spec backend.Spec, open lm.Trusted) {
	if to := spec.Destination(); to != "" && spec.Trusted && !open.Valid() {
		o.tell("%s", to)
	}
}

// openModel takes a model that is open already, or opens one.
func (o *opened) openModel(ctx context.Context, spec backend.Spec, trusted lm.Trusted) (err error) {
	if o.model = trusted; !o.model.Valid() {
		if o.model, err = backend.Trusted(ctx, spec); err != nil {
			return err
		}
		o.owned = true
	}
	o.name = ModelName(o.model.Info())
	return nil
}

func (o *opened) openData(ctx context.Context, from Source, t prompt.Task, unit privacy.Unit, together bool) (err error) {
	if o.data, err = from.open(ctx, t, unit, together); err != nil {
		return err
	}
	if left := o.data.Problems(); left.Count > 0 {
		o.tell("left out: %v", left)
	}
	return nil
}

// openLedger opens a ledger. One that is missing is made only if that is asked for and the
// private folder has no fingerprint key: a key without its ledger means that the ledger
// was lost or moved, and a new one would give everybody's data a fresh budget.
//
// It comes before the data is opened, which makes the key. So whoever sees a key at the
// first use of a place, made by another process, finds the ledger of that process too.
func (o *opened) openLedger(ctx context.Context, address string, create bool, private string) (err error) {
	o.ledger, err = ledger.Open(ctx, address, ledger.Options{})
	if !errors.Is(err, ledger.ErrMissing) {
		return err
	}
	if !create {
		return fmt.Errorf("%w. If it should be new, make it first: sotto ledger init --ledger %s", err, ledgerWord(address))
	}
	used, failed := folder.HasKey(private)
	if failed != nil {
		return fmt.Errorf("look for the key of the private folder: %w", failed)
	}
	if used {
		if o.ledger, err = ledger.Open(ctx, address, ledger.Options{}); !errors.Is(err, ledger.ErrMissing) {
			return err
		}
		return fmt.Errorf("%w. The fingerprint key %s shows that private data was used before: its ledger was lost or moved. Restore it, or name it (--ledger). Only if nothing was ever charged to it, or to start anew and forget all charges: sotto ledger init", err, folder.KeyPath(private))
	}
	if !strings.Contains(address, "://") {
		if err := os.MkdirAll(filepath.Dir(address), 0o700); err != nil {
			return fmt.Errorf("make a place for the ledger: %w", err)
		}
	}
	if o.ledger, err = ledger.Open(ctx, address, ledger.Options{Create: true}); err != nil {
		return err
	}
	o.tell("there was no ledger: %s is a NEW one, which knows of no use of any data before. If you have used private data before, stop and name its ledger", ledgerWord(address))
	return nil
}

// ledgerWord is an address without a password.
func ledgerWord(address string) string {
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "URL"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// openKeys opens a key ring, or makes one.
func (o *opened) openKeys(dir string) error {
	ring, err := certificate.OpenRing(dir)
	if _, missing := os.Stat(filepath.Join(dir, "ring.json")); err != nil && errors.Is(missing, fs.ErrNotExist) {
		if ring, err = certificate.CreateRing(dir); err == nil {
			o.tell("there was no key to sign with: %s has a new one; give verifiers its public half (sotto keys export)", dir)
		}
	}
	if err != nil {
		return err
	}
	o.signer, err = ring.Signer()
	return err
}

// ModelName is what people call a model: files say odd things about themselves.
func ModelName(info lm.Info) string {
	if e, ok := models.Identify(strings.TrimPrefix(info.Fingerprint, "sha256:")); ok {
		return e.Title
	}
	return info.Name
}

// open enrols a source for a task, by the unit of privacy, with a part for each label or
// all together.
func (s Source) open(ctx context.Context, t prompt.Task, unit privacy.Unit, together bool) (*record.Data, error) {
	o := record.Options{
		Query: s.Query, Schema: s.Schema, Text: t.Text, Condition: t.Label, Aliases: t.Aliases,
		// An input of a generation task, such as a dialogue, keeps its lines, as questions do.
		OneLine: t.OneLine() && t.Kind != prompt.Generate, Private: s.Private, Progress: s.Progress,
	}
	if !t.Open() {
		o.Labels, o.Together = t.Labels, together
	}
	if s.SkipMalformed {
		o.OnError = record.Skip
	}
	o.Unit, _ = strings.CutPrefix(string(unit), "user:")
	if o.Unit == "record" {
		o.Unit = ""
	}
	return record.Open(ctx, s.Location, o)
}

// Enrol checks every record of a source and leaves an index of them in its private folder,
// so that the runs that follow find it, also those at the same time. It releases nothing.
func (s Source) Enrol(ctx context.Context, t prompt.Task) error {
	data, err := s.open(ctx, t.WithDefaults(), privacy.Record, false)
	if err != nil {
		return err
	}
	return data.Close()
}
