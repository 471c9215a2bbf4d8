package record

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// postgresQuery is a query on PostgreSQL. One read-only transaction at REPEATABLE READ
// lasts as long as the source is open, so that every pass sees the same state; rows come
// through a cursor, and rows that are not wanted stay on the server.
type postgresQuery struct {
	result
	mu    sync.Mutex // one connection, one pass at a time
	c     *pgx.Conn
	types []uint32
}

func newPostgres(ctx context.Context, address string, o *Options) (*postgresQuery, error) {
	c, err := databases.Postgres(ctx, address)
	if err != nil {
		return nil, err
	}
	s := &postgresQuery{result: newResult(o), c: c}
	fields, err := databases.PostgresDescribe(ctx, c, s.query)
	for _, f := range fields {
		s.header, s.types = append(s.header, f.Name), append(s.types, f.DataTypeOID)
	}
	if err == nil {
		s.roles, err = findColumns(s.header, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *postgresQuery) exec(ctx context.Context, sql string) error {
	return databases.PostgresExec(ctx, s.c, sql)
}

const postgresBatch = 1000

// pull fetches up to n more rows of the cursor, and returns how many there were.
func (s *postgresQuery) pull(ctx context.Context, n int64, take func(cells [][]byte) error) (got int64, err error) {
	result := s.c.PgConn().ExecParams(ctx, fmt.Sprintf("FETCH FORWARD %d FROM sotto_records", n), nil, nil, nil, nil)
	for err == nil && result.NextRow() {
		got++
		err = take(result.Values())
	}
	if _, closing := result.Close(); err == nil && closing != nil {
		err = databases.PostgresFailed(closing)
	}
	return got, err
}

// pass runs something with a fresh cursor.
func (s *postgresQuery) pass(ctx context.Context, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.exec(ctx, "DECLARE sotto_records NO SCROLL CURSOR FOR "+s.query); err != nil {
		return err
	}
	err := do()
	if s.c.PgConn().IsClosed() {
		return err
	}
	if closing := s.exec(ctx, "CLOSE sotto_records"); err == nil {
		return closing // after another error it fails too, and says nothing new
	}
	return err
}

func (s *postgresQuery) scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error {
	return s.pass(ctx, func() error {
		content := newRowHash(w, s.header)
		content.plain = func(i int, v string) string {
			if s.types[i] == pgtype.BoolOID {
				return postgresValue(s.types[i], v).S
			}
			return v
		}
		place, read := int64(0), int64(0)
		for {
			got, err := s.pull(ctx, postgresBatch, func(cells [][]byte) error {
				for i, cell := range cells {
					content.add(i, string(cell), cell != nil)
					read += int64(len(cell))
				}
				content.flush()
				place++
				return yield(s.read(place-1, cells))
			})
			if err != nil {
				return err
			}
			s.report(w, read)
			if got < postgresBatch {
				return nil
			}
		}
	})
}

func (s *postgresQuery) fetch(ctx context.Context, at []spot, yield func(int, *rows.Row) error) error {
	if len(at) == 0 {
		return nil
	}
	return s.pass(ctx, func() error {
		next := int64(0)
		for i, spot := range at {
			if skip := spot.place - next; skip > 0 {
				if err := s.exec(ctx, fmt.Sprintf("MOVE FORWARD %d FROM sotto_records", skip)); err != nil {
					return err
				}
			}
			next = spot.place + 1
			got, err := s.pull(ctx, 1, func(cells [][]byte) error { return yield(i, s.read(spot.place, cells)) })
			if err != nil {
				return err
			}
			if got == 0 {
				return origin.Differs(spot.ordinal)
			}
		}
		return nil
	})
}

func (s *postgresQuery) read(place int64, cells [][]byte) *rows.Row {
	return s.row(place, func(i int) rows.Value {
		if cells[i] == nil {
			return rows.Value{}
		}
		return postgresValue(s.types[i], string(cells[i]))
	})
}

// postgresValue says what a value in text form was. Types that the server's users made,
// such as enumerations, count as strings.
func postgresValue(oid uint32, s string) rows.Value {
	const firstUserType = 16384
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.QCharOID, pgtype.UnknownOID:
		return rows.Value{Kind: rows.Text, S: s}
	case pgtype.BoolOID:
		if s == "t" {
			return rows.Value{Kind: rows.Scalar, S: "true"}
		}
		return rows.Value{Kind: rows.Scalar, S: "false"}
	case pgtype.JSONOID, pgtype.JSONBOID, pgtype.ByteaOID, pgtype.RecordOID:
		return rows.Value{Kind: rows.Compound}
	}
	if oid >= firstUserType {
		return rows.Value{Kind: rows.Text, S: s}
	}
	return rows.Value{Kind: rows.Scalar, S: s}
}

func (s *postgresQuery) close() error { return databases.PostgresClose(s.c) }
