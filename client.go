package sotto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Options of a [Client]. The zero value keeps everything in the state directory and opens
// the default model.
type Options struct {
	// Ledger is the path of an SQLite file or a PostgreSQL URL, of a ledger that is there.
	// Default: ledger.db in the state directory, which the first use makes.
	Ledger string
	// Keys is the directory of the key ring that signs, made by the first use. Default: keys
	// in the state directory.
	Keys string
	// Private is a folder for the key by which the ledger knows data again, and for indexes.
	// Keep it: with another key the same data has another budget. Default: private in the
	// state directory.
	Private string
	// Model is opened by the first use, and closed with the client; the zero value is the
	// default one, embedded.
	Model backend.Spec
	// Trusted is used instead of Model if it is set, and stays open.
	Trusted lm.TrustedScorer
	// Encoder of sentences, for evidence. It stays open. Default: the embedded one, opened where it is
	// needed.
	Encoder lm.TrustedEmbedder
}

// Client uses private data: every use is charged to a budget in its ledger, and what comes
// out is signed by its keys. Its methods may be called concurrently if its model allows that.
type Client struct {
	ledger, keys, private string
	// creates: the ledger is at its usual place, where the first use makes it.
	creates bool
	spec    backend.Spec
	given   bool // the model, by the one who made the client

	encoder lm.TrustedEmbedder // by the one who made the client

	opening sync.Mutex
	model   lm.TrustedScorer
}

// Open returns a client with its state in one directory: ledger, keys, and the private
// folder. A nil o means the defaults. Nothing is written, and no record is read, before it is
// needed.
//
// With "" it is the user's own state, as for the sotto command, so that data has one budget
// whichever program reads it: what o does not name is where SOTTO_LEDGER, SOTTO_KEYS and
// SOTTO_PRIVATE say, else the user's configuration, else in the user's data directory. A ledger
// that is named in any of these ways has to be there.
func Open(dir string, o *Options) (*Client, error) {
	if o == nil {
		o = &Options{}
	}
	c := &Client{spec: o.Model, model: o.Trusted, given: o.Trusted.Valid(), encoder: o.Encoder}
	if dir != "" {
		c.ledger, c.creates = cmp.Or(o.Ledger, filepath.Join(dir, "ledger.db")), o.Ledger == ""
		c.keys, c.private = cmp.Or(o.Keys, filepath.Join(dir, "keys")), cmp.Or(o.Private, filepath.Join(dir, "private"))
		return c, nil
	}
	at, err := (&config.Places{Ledger: o.Ledger, Keys: o.Keys, Private: o.Private}).All()
	if err != nil {
		return nil, fmt.Errorf("find the user's ledger, keys and private folder: %w", err)
	}
	c.ledger, c.keys, c.private, c.creates = at.Ledger, at.Keys, at.Private, config.Usual(at.Ledger)
	return c, nil
}

// Close closes the model, if the client opened it.
func (c *Client) Close() error {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.given || !c.model.Valid() {
		return nil
	}
	m := c.model
	c.model = lm.TrustedScorer{}
	return m.Close()
}

// Ledger returns the address of the client's ledger, Keys the directory of its keys.
func (c *Client) Ledger() string { return c.ledger }

// Keys returns the directory of the client's keys.
func (c *Client) Keys() string { return c.keys }

// open returns the model, and opens it at its first use.
func (c *Client) open(ctx context.Context) (lm.TrustedScorer, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.model.Valid() {
		return c.model, nil
	}
	m, err := backend.Trusted(ctx, c.spec)
	if err == nil {
		c.model = m
	}
	return m, err
}

// destination says where records will go, before anything is sent; "" if nowhere. Anyone who
// opened the model has said so.
func (c *Client) destination() string {
	if c.given || !c.spec.Trusted {
		return ""
	}
	return c.spec.Destination()
}

// remote reports whether a server, which the client reaches, scores records.
func (c *Client) remote() bool { return !c.given && c.spec.Remote() }

// served reports whether the model that sees records is on a server, no matter who opened it.
func (c *Client) served() bool {
	if c.given {
		return c.model.Basis() != lm.InProcess
	}
	return c.spec.Remote()
}

// isURL reports whether an address is one of a server.
func isURL(address string) bool { return strings.Contains(address, "://") }

// Source says where private records are.
type Source struct {
	// Location is the path of a file (CSV, JSON, Parquet, Excel), perhaps with # and the
	// sheet or separator that is meant; or the address of a database. Required, except for plans that read no record.
	Location string
	// Query of a database, with an ORDER BY. Required for databases alone.
	Query string
	// Schema, if set, belongs to a table whose rows are the records: each is put into words,
	// for the task that [schema.Schema.Task] returns. Rows that are in words already, in the
	// columns of that task, are read as they are.
	Schema *schema.Schema
	// SkipMalformed leaves out records that cannot be used. Default: any of them is an
	// error.
	SkipMalformed bool
	// Progress, if set, is called with how many bytes of how many (0: not known) were read.
	Progress func(read, total int64)
}

// records enrols a source for a task, by the unit of privacy, with a part for each label or
// all together.
func (c *Client) records(ctx context.Context, s Source, t prompt.Task, unit privacy.Unit, together bool) (*record.Data, error) {
	o := record.Options{
		Query: s.Query, Schema: s.Schema, Text: t.Text, Condition: t.Label, Aliases: t.Aliases,
		// An input of a generation task, such as a dialogue, keeps its lines, as questions do.
		OneLine: t.OneLine() && t.Kind != prompt.Generate, Private: c.private, Progress: s.Progress,
	}
	if !t.Open() {
		o.Labels, o.Together = t.Labels, together
	}
	if s.SkipMalformed {
		o.OnError = record.Skip
	}
	o.Unit = unit.Column()
	return record.Open(ctx, s.Location, o)
}

// BuildIndex checks every record of a source and leaves an index of them in the private folder,
// so that the runs that follow find it, also those at the same time. It releases nothing.
func (c *Client) BuildIndex(ctx context.Context, s Source, t prompt.Task) error {
	data, err := c.records(ctx, s, t.WithDefaults(), privacy.Record, false)
	if err != nil {
		return err
	}
	return data.Close()
}

// Identity returns what the ledger recognises the records of a source by, whatever they are
// used for and however they are saved: to give them a budget before the first use, or to
// link them with data sets. It enrols them, and releases nothing.
func (c *Client) Identity(ctx context.Context, s Source, t prompt.Task) (_ ledger.Identity, err error) {
	data, err := c.records(ctx, s, t.WithDefaults(), privacy.Record, false)
	if err != nil {
		return ledger.Identity{}, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	id := ledger.Identity{KeyID: data.KeyID(), KeyPath: data.KeyPath()}
	if id.Sketch, err = data.Sketch(); err != nil {
		return ledger.Identity{}, err
	}
	sum := data.Fingerprint()
	id.Fingerprint, err = ledger.NewFingerprint(sum[:])
	return id, err
}

// TableSource says where a private table is.
type TableSource struct {
	// Location is the path of a file or a folder, as of a [Source], or a database
	// (postgres://…, an SQLite file), which needs a Table or a Query. Required without
	// Engine.
	Location     string
	Table, Query string
	// Engine, if set, opens the table in place of Location, and may compute on it: that of
	// engines/beam.
	Engine Engine
	// SkipRefused leaves out rows that the schema refuses. Default: any of them is an
	// error.
	SkipRefused bool
	// Progress, if set, is called with how many bytes of how many (0: not known) were read.
	Progress func(read, total int64)
}

// Engine opens tables, and may compute on them elsewhere than in this process. Only this
// project has engines: what they return is certified.
type Engine = compute.Engine

// rows opens a table.
func (c *Client) rows(ctx context.Context, s TableSource, of schema.Schema, unit privacy.Unit, discrete bool) (*table.Data, compute.Table, error) {
	o := table.Options{
		Schema: of, Discrete: discrete, Table: s.Table, Query: s.Query, Private: c.private, Progress: s.Progress,
	}
	if s.SkipRefused {
		o.OnError = table.Skip
	}
	o.Unit = unit.Column()
	if s.Engine != nil {
		return s.Engine.Open(ctx, o)
	}
	data, err := table.Open(ctx, s.Location, o)
	return data, nil, err
}

// TableIdentity returns what the ledger recognises a table by. It releases nothing.
func (c *Client) TableIdentity(ctx context.Context, s TableSource, of schema.Schema) (_ ledger.Identity, err error) {
	data, _, err := c.rows(ctx, s, of, privacy.Record, false)
	if err != nil {
		return ledger.Identity{}, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	id := ledger.Identity{KeyID: data.KeyID(), KeyPath: data.KeyPath()}
	sum, err := data.Fingerprint(ctx)
	if err != nil {
		return ledger.Identity{}, err
	}
	if id.Sketch, err = data.Sketch(ctx); err != nil {
		return ledger.Identity{}, err
	}
	id.Fingerprint, err = ledger.NewFingerprint(sum[:])
	return id, err
}

// Verify checks the certificate of a folder, signed by a key that the client trusts, as
// [Verify] does.
func (c *Client) Verify(dir string) (*certificate.Report, error) {
	trust, err := certificate.LoadTrust(c.keys)
	if err != nil {
		return nil, err
	}
	return Verify(dir, trust)
}

// Verify checks the certificate of a folder against its files, and computes its ε again.
// What is wrong with it is in the report.
func Verify(dir string, trust *certificate.Trust) (*certificate.Report, error) {
	return certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}})
}

// Version returns the version of this module, as certificates state it.
func Version() string { return version.String() }

// Text is one that a run has released, and what it is for.
type Text struct {
	Condition string `json:"condition"`
	Text      string `json:"text"`
}

// SoFar returns the texts that a run under way in a folder has released: each was paid for before it was written. A run
// without a privacy guarantee has none.
func SoFar(dir string) ([]Text, error) {
	list, err := run.SoFar(dir)
	var out []Text
	for _, t := range list {
		out = append(out, Text(t))
	}
	return out, err
}
