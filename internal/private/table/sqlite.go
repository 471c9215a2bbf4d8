package table

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// sqliteDialect: values have types, columns do not, so that what is not plain is encoded
// by calls into this package.
var sqliteDialect = Dialect{
	Name:   "SQLite",
	Double: "REAL", Integer: "INTEGER", String: "TEXT",
	Least: "min", Greatest: "max",
	Param:     func(n int) string { return "?" + strconv.Itoa(n) },
	Plain:     func(x string) string { return "sotto_name(" + x + ")" },
	Address:   "CAST(sotto_rows._rowid_ AS TEXT)",
	Hash:      func(key, text string) string { return "sotto_hash(" + key + ", " + text + ")" },
	Key:       func(key [32]byte) any { return key[:] },
	Threshold: func(t uint64) any { return signed(t) },
	Slow:      true,
	Classify:  func(string) Class { return Any },
}

// sqliteFile is an SQLite file. Every statement outside of a transaction sees the latest
// state, and a transaction keeps one.
type sqliteFile struct{ *sqlDriver }

func newSQLite(ctx context.Context, location string) (engine, error) {
	if err := register(); err != nil {
		return nil, origin.Refuse("SQLite takes no functions in this program")
	}
	db, err := databases.SQLite(location)
	if err != nil {
		return nil, err
	}
	path, err := databases.SQLitePath(location)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, errors.Join(origin.Fail(err), db.Close())
	}
	r, err := newDriver(ctx, db, &sqliteDialect, []string{path})
	if err != nil {
		return nil, err
	}
	r.refuse = databases.SQLiteRefused
	r.fail = func(ctx context.Context, err error) error {
		if known := (*Error)(nil); errors.As(err, &known) {
			return known
		}
		return databases.SQLiteFailed(ctx, err)
	}
	return &sqliteFile{r}, nil
}

// addressed also looks that no column has the name of the address, and that it is a table:
// views of old versions have addresses that are all NULL.
func (s *sqliteFile) addressed(ctx context.Context, name []string) bool {
	names, _, err := s.describe(ctx, quoteAll(name)+" AS sotto_rows")
	if err != nil {
		return false
	}
	for _, n := range names {
		if strings.EqualFold(n, "_rowid_") {
			return false
		}
	}
	catalogue := "sqlite_schema"
	if len(name) > 1 {
		catalogue = quote(name[0]) + ".sqlite_schema"
	}
	tables := 0
	err = s.query(ctx, "SELECT 1 FROM "+catalogue+" WHERE type = 'table' AND name = ?1 COLLATE NOCASE", []any{name[len(name)-1]}, func([]cell) error {
		tables++
		return nil
	})
	return err == nil && tables == 1 && s.sqlDriver.addressed(ctx, name)
}

// functions are encodings that a database may call, by number.
type functions struct {
	id   uint64
	list []*Encoding
}

// offered holds those of all queries that are being answered.
var (
	offered sync.Map
	lastID  atomic.Uint64
)

func offer(list []*Encoding) functions {
	f := functions{lastID.Add(1), list}
	offered.Store(f.id, list)
	return f
}

// handle is a number by which the database names an encoding.
func (f functions) handle(i int) string { return strconv.FormatUint(f.id<<16|uint64(i), 10) }

func (f functions) close() { offered.Delete(f.id) }

var errHandle = errors.New("no such encoding")

// register adds our functions to SQLite, for connections that are opened from then on.
var register = sync.OnceValue(func() error {
	return errors.Join(
		sqlite.RegisterDeterministicScalarFunction("sotto_encode", 2, encodeCall),
		sqlite.RegisterDeterministicScalarFunction("sotto_hash", 2, hashCall),
		sqlite.RegisterDeterministicScalarFunction("sotto_name", 1, nameCall),
	)
})

// encodeCall encodes any value: a number, or NULL if it is refused.
func encodeCall(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	handle, ok := args[0].(int64)
	list, found := offered.Load(uint64(handle) >> 16)
	if !ok || !found {
		return nil, errHandle
	}
	e := list.([]*Encoding)[handle&0xffff]
	v := NewVector(e.codes, 1)
	if cellOf(args[1]).encode(e, &v, 0) != 0 {
		return nil, nil
	}
	return int64(v.At(0)), nil
}

// hashCall is a pseudorandom function: SHA-256 of a secret of 32 bytes and a text.
func hashCall(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	key, ok := args[0].([]byte)
	text := cellOf(args[1])
	if !ok || text.kind == nullCell {
		return nil, nil
	}
	sum := sha256.Sum256(append(append(make([]byte, 0, 64), key...), text.text...))
	return signed(binary.BigEndian.Uint64(sum[:])), nil
}

// nameCall is the text of a value that names a unit, as a scan has it.
func nameCall(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	if name := cellOf(args[0]).name(); name != nil {
		return string(name), nil
	}
	return nil, nil
}
