package table

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// postgresDialect. Numbers of class Decimal may be larger or smaller than a double can be,
// where a plain cast fails: such ones become infinite, or tiny with their sign.
var postgresDialect = Dialect{
	Name:   "PostgreSQL",
	Double: "double precision", Integer: "bigint", String: "text",
	Least: "least", Greatest: "greatest",
	Param: func(n int) string { return "$" + strconv.Itoa(n) },
	IsNaN: func(x string) string { return x + " = 'NaN'::double precision" },
	Plain: func(x string) string { return "(CAST(" + x + ` AS text) COLLATE "C")` },
	Trim:  func(x, characters string) string { return "btrim(" + x + ", " + characters + ")" },
	FromDecimal: func(x string) string {
		return "CASE WHEN " + x + " = 'NaN'::numeric THEN 'NaN'::double precision" +
			" WHEN " + x + " > 1e300 THEN 'Infinity'::double precision WHEN " + x + " < -1e300 THEN '-Infinity'::double precision" +
			" WHEN " + x + " > 0 AND " + x + " < 1e-200 THEN '1e-200'::double precision WHEN " + x + " < 0 AND " + x + " > -1e-200 THEN '-1e-200'::double precision" +
			" ELSE CAST(" + x + " AS double precision) END"
	},
	Address:   "(sotto_rows.tableoid::text || sotto_rows.ctid::text)",
	Hash:      func(key, text string) string { return "sha256(" + key + "::bytea || convert_to(" + text + ", 'UTF8'))" },
	Key:       func(key [32]byte) any { return key[:] },
	Sets:      true,
	Fence:     " OFFSET 0",
	Threshold: func(t uint64) any { return binary.BigEndian.AppendUint64(nil, t) },
}

// postgresTable is a connection to PostgreSQL. One read-only transaction at REPEATABLE READ
// lasts as long as it is open.
type postgresTable struct {
	mu sync.Mutex
	c  *pgx.Conn
}

func newPostgres(ctx context.Context, address string) (*postgresTable, error) {
	c, err := databases.Postgres(ctx, address)
	if err != nil {
		return nil, err
	}
	return &postgresTable{c: c}, nil
}

func (p *postgresTable) dialect() *Dialect { return &postgresDialect }

func (p *postgresTable) describe(ctx context.Context, from string) (names []string, classes []Class, err error) {
	fields, err := databases.PostgresDescribe(ctx, p.c, "SELECT * FROM "+from)
	for _, f := range fields {
		names, classes = append(names, f.Name), append(classes, postgresClass(f.DataTypeOID))
	}
	return names, classes, err
}

func postgresClass(oid uint32) Class {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return Int
	case pgtype.Float4OID, pgtype.Float8OID:
		return Float
	case pgtype.NumericOID:
		return Decimal
	case pgtype.JSONOID, pgtype.JSONBOID, pgtype.ByteaOID, pgtype.RecordOID:
		return Opaque
	}
	return Text
}

// Settings of a scan: a plan that reads a table from its beginning to its end, in one
// process. And those of an aggregation: groups are few, which the planner does not know, so
// that it would sort all rows for each of the groupings; and to compile expressions that
// long takes more time than to run them.
var (
	postgresScan      = []string{"SET LOCAL max_parallel_workers_per_gather TO 0", "SET LOCAL synchronize_seqscans TO off"}
	postgresAggregate = []string{
		"SET LOCAL max_parallel_workers_per_gather TO DEFAULT", "SET LOCAL synchronize_seqscans TO DEFAULT",
		"SET LOCAL jit TO off", "SET LOCAL enable_sort TO off", "SET LOCAL work_mem TO '64MB'",
	}
)

// begin asks for the one plan or the other. The state is the transaction's.
func (p *postgresTable) begin(ctx context.Context, ordered bool) (func(), error) {
	p.mu.Lock()
	settings := postgresAggregate
	if ordered {
		settings = postgresScan
	}
	for _, s := range settings {
		if err := databases.PostgresExec(ctx, p.c, s); err != nil {
			p.mu.Unlock()
			return nil, err
		}
	}
	return p.mu.Unlock, nil
}

func (p *postgresTable) query(ctx context.Context, statement string, args []any, row func([]cell) error) error {
	rows, err := p.c.Query(ctx, statement, append([]any{pgx.QueryExecModeDescribeExec}, args...)...)
	if err != nil {
		return databases.PostgresFailed(err)
	}
	defer rows.Close()
	fields := rows.FieldDescriptions()
	cells := make([]cell, len(fields))
	for rows.Next() {
		for i, raw := range rows.RawValues() {
			if cells[i], err = postgresCell(&fields[i], raw); err != nil {
				return err
			}
		}
		if err := row(cells); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return databases.PostgresFailed(err)
	}
	return nil
}

// postgresCell reads what statements of this package select: doubles, whole numbers and
// texts.
func postgresCell(f *pgconn.FieldDescription, raw []byte) (cell, error) {
	binaryForm := f.Format == pgtype.BinaryFormatCode
	switch {
	case raw == nil:
		return cell{}, nil
	case f.DataTypeOID == pgtype.Float8OID && binaryForm && len(raw) == 8:
		return cell{kind: numberCell, number: math.Float64frombits(binary.BigEndian.Uint64(raw))}, nil
	case f.DataTypeOID == pgtype.Int8OID && binaryForm && len(raw) == 8:
		return cell{kind: wholeCell, whole: int64(binary.BigEndian.Uint64(raw))}, nil
	case f.DataTypeOID == pgtype.Int4OID && binaryForm && len(raw) == 4:
		return cell{kind: wholeCell, whole: int64(int32(binary.BigEndian.Uint32(raw)))}, nil
	case f.DataTypeOID == pgtype.TextOID:
		return cell{kind: textCell, text: raw}, nil
	}
	return cell{}, held("PostgreSQL")
}

// texts returns the row of a statement that selects one of texts; nil if it finds none.
func (p *postgresTable) texts(ctx context.Context, statement string, args ...any) (out []string, err error) {
	end, err := p.begin(ctx, false)
	if err != nil {
		return nil, err
	}
	defer end()
	err = p.query(ctx, statement, args, func(cells []cell) error {
		for _, c := range cells {
			out = append(out, string(c.text))
		}
		return nil
	})
	return out, err
}

// place is the cluster, which has a number of its own, and the database in it.
func (p *postgresTable) place(ctx context.Context) ([]string, error) {
	out, err := p.texts(ctx, "SELECT CAST(system_identifier AS text), CAST(current_database() AS text) FROM pg_control_system()")
	return append([]string{"PostgreSQL"}, out...), err
}

// identity is the schema and the name that a table is found by, whatever the search path.
func (p *postgresTable) identity(ctx context.Context, name []string) ([]string, error) {
	out, err := p.texts(ctx, "SELECT CAST(n.nspname AS text), CAST(c.relname AS text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)", quoteAll(name))
	if err == nil && out == nil {
		err = origin.Differs(0)
	}
	return out, err
}

// addressed reports whether a name names a plain table: rows of a view have no
// address, and those of a foreign table need not have one.
func (p *postgresTable) addressed(ctx context.Context, name []string) bool {
	out, err := p.texts(ctx, "SELECT CAST(relkind AS text) FROM pg_class WHERE oid = to_regclass($1) AND relkind IN ('r', 'm')", quoteAll(name))
	return err == nil && len(out) == 1
}

func (p *postgresTable) close() error { return databases.PostgresClose(p.c) }
