// Package compute is the interface to engines, such as Apache Beam, that do the work of a
// run on a table instead of this process.
//
// An engine reads rows and adds them up or perturbs them, and does
// nothing else. The run has the folder, the journal and the key. It identifies the data,
// charges the ledger before an engine sees a row, adds the noise of a profile, writes the
// files and signs. So every refusal happens in one place, for every engine.
//
// What an engine returns is certified. That is why nobody outside of this program can make
// one: both interfaces have a method with a type of this package, which is internal.
package compute

import (
	"context"
	"io"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Seal keeps others from implementing the interfaces.
type Seal struct{}

// Engine opens tables that it computes on.
type Engine interface {
	// Open opens the engine's table with these options. It reads no row, and refuses a
	// file that is named twice. The Table is nil where this process computes on the data;
	// anyone who closes the data closes both.
	Open(ctx context.Context, o table.Options) (*table.Data, Table, error)
	Sealed(Seal)
}

// Opener is an engine that opens tables, on which this process computes.
type Opener func(ctx context.Context, o table.Options) (*table.Data, error)

// Open implements [Engine].
func (open Opener) Open(ctx context.Context, o table.Options) (*table.Data, Table, error) {
	data, err := open(ctx, o)
	return data, nil, err
}

// Sealed implements [Engine].
func (Opener) Sealed(Seal) {}

// Table is an open table in an engine. All randomness of an engine comes from the key it is
// given, so an interrupted run ends with the same result.
type Table interface {
	// Name identifies the engine and how it cuts the table into batches. A run continues
	// only with the same name.
	Name() string
	// Assumption states whom the engine trusts with rows, for the certificate.
	Assumption() string
	// Check fails, as [table.Data.Scan] does, if rows of a file are refused. Columns are
	// places in the schema.
	Check(ctx context.Context, columns []int) error
	// Sums adds the table up, exactly. It fails if rows are refused and not left out.
	Sums(ctx context.Context, m *global.Mechanism, key noise.Key) (*global.Sums, error)
	// Perturb writes the perturbed rows, and returns how many there are. Rows that the
	// schema refuses are an error, never left out.
	Perturb(ctx context.Context, p Perturbation) (rows int64, err error)
	Sealed(Seal)
}

// Perturbation states how rows are perturbed, and where they go.
type Perturbation struct {
	Settings local.Settings
	Key      noise.Key
	// To gets the rows as CSV with a header, in the order of the table.
	To io.Writer
	// Folder is one that does not exist, for what the engine writes before that. The
	// caller removes it.
	Folder string
}
