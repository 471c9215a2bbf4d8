package table

import (
	"context"
	"encoding/binary"
	"math"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

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

func (p *postgresTable) dialect() dialect { return dialect{"double precision", "text"} }

func (p *postgresTable) describe(ctx context.Context, from string) (names []string, classes []class, err error) {
	fields, err := databases.PostgresDescribe(ctx, p.c, "SELECT * FROM "+from)
	for _, f := range fields {
		names, classes = append(names, f.Name), append(classes, postgresClass(f.DataTypeOID))
	}
	return names, classes, err
}

func postgresClass(oid uint32) class {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return whole
	case pgtype.Float4OID, pgtype.Float8OID:
		return float
	case pgtype.NumericOID:
		return decimal
	case pgtype.JSONOID, pgtype.JSONBOID, pgtype.ByteaOID, pgtype.RecordOID:
		return opaque
	}
	return text
}

// postgresScan asks for a plan that reads a table from its beginning to its end, in one process.
var postgresScan = []string{"SET LOCAL max_parallel_workers_per_gather TO 0", "SET LOCAL synchronize_seqscans TO off"}

// begin asks for that plan. The state is the transaction's.
func (p *postgresTable) begin(ctx context.Context) (func(), error) {
	p.mu.Lock()
	for _, s := range postgresScan {
		if err := databases.PostgresExec(ctx, p.c, s); err != nil {
			p.mu.Unlock()
			return nil, err
		}
	}
	return p.mu.Unlock, nil
}

func (p *postgresTable) query(ctx context.Context, statement string, row func([]cell) error) error {
	rows, err := p.c.Query(ctx, statement, pgx.QueryExecModeDescribeExec)
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
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, err := p.c.Query(ctx, statement, args...)
	if err != nil {
		return nil, databases.PostgresFailed(err)
	}
	defer rows.Close()
	for rows.Next() {
		for _, text := range rows.RawValues() {
			out = append(out, string(text))
		}
	}
	if err := rows.Err(); err != nil {
		return nil, databases.PostgresFailed(err)
	}
	return out, nil
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

func (p *postgresTable) close() error { return databases.PostgresClose(p.c) }
