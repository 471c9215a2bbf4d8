package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// JobState is where a job stands.
type JobState string

// The states of a job. The last three are final, unless somebody asks for the job again.
const (
	Waiting   JobState = "waiting"
	Running   JobState = "running"
	Done      JobState = "done"
	Failed    JobState = "failed"
	Cancelled JobState = "cancelled"
)

// Ended reports whether nothing more happens by itself.
func (s JobState) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// Job is what a worker carries out.
type Job struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Work is what was asked for, and the plan that was approved: package jobs reads it. Relative
	// paths begin at Dir.
	Work json.RawMessage `json:"work,omitempty"`
	Dir  string          `json:"-"`
	// Open: what a verb without a guarantee prints may be seen, since its data is public.
	Open bool `json:"open,omitempty"`
	// Schedule that made it, if one did.
	Schedule string `json:"schedule,omitempty"`
	By       Actor  `json:"by"`
	// Priority: jobs with more come first. Due is the earliest moment.
	Priority int64     `json:"priority"`
	Created  time.Time `json:"created"`
	Due      time.Time `json:"due"`
	State    JobState  `json:"state"`
	// Owner is the worker that has it, or had it last, for the Attempt-th time, of which so many
	// were Failures.
	Owner   string `json:"owner,omitempty"`
	Attempt int64  `json:"attempts"`
	// Excused are attempts that ended in order, and count for nothing.
	Excused  int64 `json:"-"`
	Failures int64 `json:"failures"`
	// Cancelling: somebody asked for its end.
	Cancelling bool `json:"cancelling,omitempty"`
	// Place is the folder that it works in.
	Place   string     `json:"-"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Progress is what the verb reported last, Result what it printed, and Error why it did not
	// end well, in words that say nothing of records. All three are public.
	Progress json.RawMessage `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// JobEvent is something that happened to a job.
type JobEvent struct {
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Detail string    `json:"detail,omitempty"`
}

// Names of events.
const (
	jobAdded     = "added"
	jobBegun     = "begun"
	jobEnded     = "ended"
	jobPutOff    = "put off"
	jobCancelled = "cancelled"
	jobAgain     = "asked for again"
)

// AddJob adds a job, to be begun when it is due.
func (s *Store) AddJob(ctx context.Context, by Actor, j Job) (Job, error) {
	if err := checkJob(&j); err != nil {
		return Job{}, err
	}
	j = s.newJob(by, j)
	err := s.write(ctx, by, "add job", j.ID, func(tx *sql.Tx) error { return s.insertJob(ctx, tx, j) })
	return j, err
}

// checkJob says what is wrong with a job or a schedule.
func checkJob(j *Job) error {
	j.Name = strings.TrimSpace(j.Name)
	switch {
	case !json.Valid(j.Work):
		return errors.New("a job needs to say what should be done")
	case !oneLine(j.Name, 200):
		return errors.New("a job's name has at most 200 letters, in one line")
	case j.Priority < -1000 || j.Priority > 1000:
		return fmt.Errorf("a job's priority is %d, it should be between -1000 and 1000", j.Priority)
	}
	return nil
}

func (s *Store) newJob(by Actor, j Job) Job {
	j.ID, j.By, j.State = strings.ToLower(rand.Text()[:12]), by, Waiting
	j.Created = s.now().UTC().Truncate(time.Millisecond)
	if j.Due.IsZero() {
		j.Due = j.Created
	}
	return j
}

func (s *Store) insertJob(ctx context.Context, tx *sql.Tx, j Job) error {
	if err := exec(ctx, tx, `INSERT INTO service_jobs (id, name, work, dir, schedule, actor, priority, created, due, state,
			open, owner, lease, attempt, excused, failures, cancel, place, started, ended, progress, result, error)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '', 0, 0, 0, 0, 0, '', 0, 0, '', '', '')`,
		j.ID, j.Name, string(j.Work), j.Dir, j.Schedule, string(j.By), j.Priority, j.Created.UnixMilli(), j.Due.UnixMilli(), string(Waiting), bit(j.Open)); err != nil {
		return err
	}
	return s.jobEvent(ctx, tx, j.ID, jobAdded, "")
}

// jobEvent notes what happened to a job, within the transaction in which it happens.
func (s *Store) jobEvent(ctx context.Context, tx *sql.Tx, job, event, detail string) error {
	return exec(ctx, tx, "INSERT INTO service_job_events (job, at, event, detail) VALUES ($1, "+s.clock()+", $2, $3)", job, event, detail)
}

const jobColumns = `id, name, work, dir, schedule, actor, priority, created, due, state, owner, attempt, excused, failures, cancel, open, place, started, ended, progress, result, error`

func scanJob(rows *sql.Rows, j *Job) error {
	return rows.Scan(&j.ID, &j.Name, document(&j.Work), &j.Dir, &j.Schedule, &j.By, &j.Priority, instant(&j.Created), instant(&j.Due), &j.State, &j.Owner,
		&j.Attempt, &j.Excused, &j.Failures, &j.Cancelling, &j.Open, &j.Place, optional(&j.Started), optional(&j.Ended), document(&j.Progress), document(&j.Result), &j.Error)
}

// Jobs returns the latest jobs, at most so many, the newest first.
func (s *Store) Jobs(ctx context.Context, limit int) ([]Job, error) {
	return list(ctx, s.db, scanJob, "SELECT "+jobColumns+" FROM service_jobs ORDER BY created DESC, id LIMIT $1", limit)
}

var errNoJob = errors.New("there is no such job: sotto job list shows those there are")

// Job returns a job.
func (s *Store) Job(ctx context.Context, id string) (Job, error) {
	return first(ctx, s.db, errNoJob, scanJob, "SELECT "+jobColumns+" FROM service_jobs WHERE id = $1", id)
}

// JobEvents returns what happened to a job, the oldest first.
func (s *Store) JobEvents(ctx context.Context, id string) ([]JobEvent, error) {
	return list(ctx, s.db, func(rows *sql.Rows, e *JobEvent) error { return rows.Scan(instant(&e.At), &e.Event, &e.Detail) },
		"SELECT at, event, detail FROM service_job_events WHERE job = $1 ORDER BY id", id)
}

// Claim gives a worker the job that comes next, for as long as the lease: one that waits and is
// due, or one whose owner let its lease run out. Until it has run out no other worker gets it.
// It is nil if there is none.
func (s *Store) Claim(ctx context.Context, owner string, lease time.Duration) (claimed *Job, err error) {
	locked := ""
	if s.postgres {
		locked = " FOR UPDATE SKIP LOCKED"
	}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		found, err := list(ctx, tx, scanJob, `WITH next AS MATERIALIZED (
				SELECT id FROM service_jobs WHERE state = 'waiting' AND due <= `+s.clock()+` OR state = 'running' AND lease < `+s.clock()+`
				ORDER BY priority DESC, due, id LIMIT 1`+locked+`)
			UPDATE service_jobs SET state = 'running', owner = $1, lease = `+s.clock()+` + $2, attempt = attempt + 1,
				started = CASE WHEN started = 0 THEN `+s.clock()+` ELSE started END
			WHERE id IN (SELECT id FROM next) RETURNING `+jobColumns, owner, lease.Milliseconds())
		if err != nil || len(found) == 0 {
			return err
		}
		claimed = &found[0]
		return s.jobEvent(ctx, tx, claimed.ID, jobBegun, owner)
	})
	return claimed, err
}

// ErrLost means that a worker's lease of a job ran out, and that another may have it.
var ErrLost = errors.New("the job belongs to another worker")

// held changes a job that a worker has, or is [ErrLost].
func (s *Store) held(ctx context.Context, tx *sql.Tx, j *Job, set string, args ...any) error {
	args = append([]any{j.ID, j.Owner, j.Attempt}, args...)
	n, err := changed(ctx, tx, "UPDATE service_jobs SET "+set+" WHERE id = $1 AND owner = $2 AND attempt = $3 AND state = 'running'", args...)
	return someRow(n, err, ErrLost)
}

// Beat says that a worker still has a job, how it goes and where, and takes the lease anew. It
// reports whether somebody asked for the job's end.
func (s *Store) Beat(ctx context.Context, j *Job, progress json.RawMessage, lease time.Duration) (cancel bool, err error) {
	err = s.transact(ctx, func(tx *sql.Tx) error {
		if err := s.held(ctx, tx, j, "lease = "+s.clock()+" + $4, progress = $5, place = $6", lease.Milliseconds(), string(progress), j.Place); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT cancel FROM service_jobs WHERE id = $1", j.ID).Scan(&cancel)
	})
	return cancel, err
}

// Finish ends a job that a worker has, as its State, Result and Error say. It happens once: a
// worker whose lease ran out gets [ErrLost].
func (s *Store) Finish(ctx context.Context, j *Job) error {
	if !j.State.Ended() {
		return fmt.Errorf("a job cannot end as %s: this is an internal error", j.State)
	}
	return s.transact(ctx, func(tx *sql.Tx) error {
		if err := s.held(ctx, tx, j, "state = $4, ended = "+s.clock()+", result = $5, error = $6, place = $7, progress = $8, lease = 0", string(j.State), string(j.Result), j.Error, j.Place, string(j.Progress)); err != nil {
			return err
		}
		return s.jobEvent(ctx, tx, j.ID, jobEnded, string(j.State))
	})
}

// PutOff lets go of a job that a worker has, to be begun again after a while: what was charged
// stays charged, and the same folder continues. It counts as a failure unless the worker ends.
func (s *Store) PutOff(ctx context.Context, j *Job, after time.Duration, failure string) error {
	counts, excused := 1, 0
	if failure == "" {
		counts, excused = 0, 1
	}
	return s.transact(ctx, func(tx *sql.Tx) error {
		if err := s.held(ctx, tx, j, "state = 'waiting', lease = 0, due = "+s.clock()+" + $4, failures = failures + $5, excused = excused + $7, error = $6", after.Milliseconds(), counts, failure, excused); err != nil {
			return err
		}
		return s.jobEvent(ctx, tx, j.ID, jobPutOff, failure)
	})
}

// CancelJob ends a job: at once if it waits, and when its worker looks next if it is under way.
// What it was charged stays charged.
func (s *Store) CancelJob(ctx context.Context, by Actor, id string) error {
	return s.write(ctx, by, "cancel job", id, func(tx *sql.Tx) error {
		if err := s.lockJob(ctx, tx, id, "waiting", "running"); err != nil {
			return err
		}
		if err := exec(ctx, tx, "UPDATE service_jobs SET cancel = 1, ended = CASE WHEN state = 'waiting' THEN "+s.clock()+" ELSE ended END, state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END WHERE id = $1", id); err != nil {
			return err
		}
		return s.jobEvent(ctx, tx, id, jobCancelled, string(by))
	})
}

// RetryJob asks again for a job that failed or was cancelled. It resumes in its folder.
func (s *Store) RetryJob(ctx context.Context, by Actor, id string) error {
	return s.write(ctx, by, "retry job", id, func(tx *sql.Tx) error {
		if err := s.lockJob(ctx, tx, id, "failed", "cancelled"); err != nil {
			return err
		}
		if err := exec(ctx, tx, "UPDATE service_jobs SET state = 'waiting', cancel = 0, failures = 0, attempt = attempt + 1, excused = attempt + 1, ended = 0, error = '', due = "+s.clock()+" WHERE id = $1", id); err != nil {
			return err
		}
		return s.jobEvent(ctx, tx, id, jobAgain, string(by))
	})
}

// lockJob keeps workers from a job until the transaction ends, if it is in one of the states.
func (s *Store) lockJob(ctx context.Context, tx *sql.Tx, id string, states ...JobState) error {
	query := "SELECT state FROM service_jobs WHERE id = $1"
	if s.postgres {
		query += " FOR UPDATE"
	}
	var state JobState
	err := tx.QueryRowContext(ctx, query, id).Scan(&state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errNoJob
	case err != nil:
		return failed(err)
	}
	if slices.Contains(states, state) {
		return nil
	}
	return fmt.Errorf("the job is %s: this is for jobs that are %s or %s", state, states[0], states[1])
}
