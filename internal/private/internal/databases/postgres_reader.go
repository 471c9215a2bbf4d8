package databases

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// postgresServer is a connection to PostgreSQL. One read-only transaction at REPEATABLE READ lasts
// as long as it is open, so that every pass sees the same state; rows come through a cursor, and
// rows that are not wanted stay on the server.
type postgresServer struct {
	mu sync.Mutex
	c  *pgx.Conn
	// columns of a query that was described.
	query   string
	columns []Column
	oids    []uint32
}

func openPostgres(ctx context.Context, address string) (DB, error) {
	c, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	return &postgresServer{c: c}, nil
}

func (p *postgresServer) Describe(ctx context.Context, query string) ([]Column, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.describe(ctx, query); err != nil {
		return nil, err
	}
	return p.columns, nil
}

func (p *postgresServer) describe(ctx context.Context, query string) error {
	if p.columns != nil && p.query == query {
		return nil
	}
	fields, err := describe(ctx, p.c, query)
	if err != nil {
		return err
	}
	p.query, p.columns, p.oids = query, []Column{}, nil
	for _, f := range fields {
		c := Column{Name: f.Name, Class: classOf(f.DataTypeOID)}
		if f.DataTypeOID == pgtype.BoolOID {
			c.Declared = "BOOL"
		}
		p.columns, p.oids = append(p.columns, c), append(p.oids, f.DataTypeOID)
	}
	return nil
}

// classOf is the class of a type. Types that the server's users made, such as enumerations, are
// text.
func classOf(oid uint32) Class {
	const firstUserType = 16384
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.QCharOID, pgtype.UnknownOID:
		return Text
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return Whole
	case pgtype.Float4OID, pgtype.Float8OID:
		return Float
	case pgtype.NumericOID:
		return Decimal
	case pgtype.JSONOID, pgtype.JSONBOID, pgtype.ByteaOID, pgtype.RecordOID:
		return Opaque
	}
	if oid >= firstUserType {
		return Text
	}
	return Scalar
}

func (p *postgresServer) exec(ctx context.Context, statement string) error {
	return execute(ctx, p.c, statement)
}

// fetched is how many rows are fetched at a time.
const fetched = 1000

// pass runs something with a fresh cursor.
func (p *postgresServer) pass(ctx context.Context, query string, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.describe(ctx, query); err != nil {
		return err
	}
	if err := p.exec(ctx, "DECLARE sotto_records NO SCROLL CURSOR FOR "+query); err != nil {
		return err
	}
	err := do()
	if p.c.PgConn().IsClosed() {
		return err
	}
	if closing := p.exec(ctx, "CLOSE sotto_records"); err == nil {
		return closing // after another error it fails too, and says nothing new
	}
	return err
}

// pull fetches up to n more rows of the cursor, and returns how many there were.
func (p *postgresServer) pull(ctx context.Context, n int64, row func([]Cell) error) (got int64, err error) {
	result := p.c.PgConn().ExecParams(ctx, fmt.Sprintf("FETCH FORWARD %d FROM sotto_records", n), nil, nil, nil, nil)
	cells := make([]Cell, len(p.oids))
	for err == nil && result.NextRow() {
		got++
		values := result.Values()
		for i, oid := range p.oids {
			cells[i] = p.cell(p.columns[i].Class, oid, values[i])
		}
		err = row(cells)
	}
	if _, closing := result.Close(); err == nil && closing != nil {
		err = failed(closing)
	}
	return got, err
}

// cell takes a value in text form.
func (p *postgresServer) cell(is Class, oid uint32, text []byte) Cell {
	switch {
	case text == nil:
		return Cell{Class: is, Null: true}
	case oid == pgtype.BoolOID && string(text) == "t":
		return Cell{Class: is, text: []byte("true")}
	case oid == pgtype.BoolOID:
		return Cell{Class: is, text: []byte("false")}
	case oid == pgtype.Float4OID:
		return Cell{Class: is, text: text, bits: 32}
	}
	return Cell{Class: is, text: text, bits: 64}
}

func (p *postgresServer) Scan(ctx context.Context, query string, row func([]Cell) error) error {
	return p.pass(ctx, query, func() error {
		for {
			got, err := p.pull(ctx, fetched, row)
			if err != nil || got < fetched {
				return err
			}
		}
	})
}

func (p *postgresServer) Fetch(ctx context.Context, query string, places []int64, row func(int, []Cell) error) (n int, err error) {
	if len(places) == 0 {
		return 0, nil
	}
	err = p.pass(ctx, query, func() error {
		next := int64(0)
		for i, place := range places {
			if skip := place - next; skip > 0 {
				if err := p.exec(ctx, fmt.Sprintf("MOVE FORWARD %d FROM sotto_records", skip)); err != nil {
					return err
				}
			}
			next = place + 1
			got, err := p.pull(ctx, 1, func(cells []Cell) error { return row(i, cells) })
			if err != nil || got == 0 {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// texts returns the row of a statement that selects one of texts; nil if it finds none.
func (p *postgresServer) texts(ctx context.Context, statement string, args ...string) (out []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var values [][]byte
	for _, a := range args {
		values = append(values, []byte(a))
	}
	result := p.c.PgConn().ExecParams(ctx, statement, values, nil, nil, nil)
	for result.NextRow() {
		for _, text := range result.Values() {
			out = append(out, string(text))
		}
	}
	if _, err := result.Close(); err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// Place is the cluster, which has a number of its own, and the database in it.
func (p *postgresServer) Place(ctx context.Context) ([]string, error) {
	out, err := p.texts(ctx, "SELECT CAST(system_identifier AS text), CAST(current_database() AS text) FROM pg_control_system()")
	return append([]string{"PostgreSQL"}, out...), err
}

// Identity is the schema and the name that a table is found by, whatever the search path.
func (p *postgresServer) Identity(ctx context.Context, name []string) ([]string, error) {
	out, err := p.texts(ctx, "SELECT CAST(n.nspname AS text), CAST(c.relname AS text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)", QuoteAll(name))
	if err == nil && out == nil {
		err = origin.Differs(0)
	}
	return out, err
}

// Close ends the transaction, which wrote nothing; a lost connection is closed.
func (p *postgresServer) Close() error {
	_ = p.c.Close(context.Background())
	return nil
}

// Quote writes a name. The only character that could end it is doubled.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteAll writes a name of several parts.
func QuoteAll(parts []string) string {
	var out []string
	for _, p := range parts {
		out = append(out, Quote(p))
	}
	return strings.Join(out, ".")
}
