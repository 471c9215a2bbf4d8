package sotto

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Source says where private records are.
type Source struct {
	// Location is the path of a file (CSV, JSON, Parquet, Excel, Arrow) or of a folder of
	// Hugging Face datasets, perhaps with # and the sheet, split or separator that is meant;
	// or the address of a database. Required, except for plans that read no record.
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
	// Engine, if set, opens the table in place of Location, and may compute on it: those of
	// engines/duckdb and engines/beam.
	Engine Engine
	// SkipRefused leaves out rows that the schema refuses. Default: any of them is an
	// error.
	SkipRefused bool
	// PushDown says whether a database adds up a profile by itself. Default: where it can
	// and that is faster.
	PushDown PushDown
	// Progress, if set, is called with how many bytes of how many (0: not known) were read.
	Progress func(read, total int64)
}

// Engine opens tables, and may compute on them elsewhere than in this process. Only this
// project has engines: what they return is certified.
type Engine = compute.Engine

// PushDown says whether a database adds up by itself: "" where that is faster, "always" or
// "never".
type PushDown = table.PushDown

// rows opens a table.
func (c *Client) rows(ctx context.Context, s TableSource, of schema.Schema, unit privacy.Unit, discrete bool) (*table.Data, compute.Table, error) {
	o := table.Options{
		Schema: of, Discrete: discrete, Table: s.Table, Query: s.Query, PushDown: s.PushDown, Private: c.private, Progress: s.Progress,
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
