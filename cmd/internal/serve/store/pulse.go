package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
)

// Pulse is a number that changes with the store and with the progress of the latest jobs. It reads
// no results: anyone who watches asks often.
type Pulse [sha256.Size]byte

// Pulse looks at the store and at so many of the latest jobs.
func (s *Store) Pulse(ctx context.Context, jobs int) (p Pulse, err error) {
	generation, err := s.Generation(ctx)
	if err != nil {
		return p, err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, generation)
	_, err = list(ctx, s.db, func(rows *sql.Rows, _ *struct{}) error {
		var id, state, progress string
		var attempt, failures, cancel int64
		err := rows.Scan(&id, &state, &attempt, &failures, &cancel, &progress)
		fmt.Fprintf(sum, "%q %q %d %d %d %q\n", id, state, attempt, failures, cancel, progress)
		return err
	}, "SELECT id, state, attempt, failures, cancel, progress FROM service_jobs ORDER BY created DESC, id LIMIT $1", jobs)
	return Pulse(sum.Sum(nil)), err
}

// Note adds an entry to the audit log about something that changes nothing else, so that nobody
// reads the store anew for it.
func (s *Store) Note(ctx context.Context, by Actor, action, subject string) error {
	return s.note(ctx, s.db, by, action, subject)
}
