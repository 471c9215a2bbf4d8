package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule makes a job again and again.
type Schedule struct {
	Name string `json:"name"`
	// Cron says when, in five fields or as @daily and the like, in UTC.
	Cron string `json:"cron"`
	// Work, Dir, Open and Priority are those of each job.
	Work     json.RawMessage `json:"work,omitempty"`
	Dir      string          `json:"-"`
	Open     bool            `json:"open,omitempty"`
	Priority int64           `json:"priority"`
	Next     time.Time       `json:"next"`
	Created  time.Time       `json:"created"`
	By       Actor           `json:"by"`
}

// after is when a schedule is due next, in UTC.
func after(expression string, t time.Time) (time.Time, error) {
	when, err := cron.ParseStandard(expression)
	if err != nil {
		return time.Time{}, fmt.Errorf(`the schedule %q cannot be read: give minute, hour, day of the month, month and day of the week, such as "0 3 * * 1", or @daily (%w)`, expression, err)
	}
	next := when.Next(t.UTC())
	if next.IsZero() {
		return time.Time{}, fmt.Errorf("the schedule %q never comes: there is no such day", expression)
	}
	return next, nil
}

// SetSchedule makes a schedule, or changes the one of its name.
func (s *Store) SetSchedule(ctx context.Context, by Actor, c Schedule) (Schedule, error) {
	if err := CheckName(c.Name); err != nil {
		return Schedule{}, fmt.Errorf("the schedule: %w", err)
	}
	if err := checkJob(&Job{Name: c.Name, Work: c.Work, Priority: c.Priority}); err != nil {
		return Schedule{}, err
	}
	c.Created, c.By = s.now().UTC().Truncate(time.Millisecond), by
	next, err := after(c.Cron, c.Created)
	if err != nil {
		return Schedule{}, err
	}
	// Most expressions have a minute as their shortest time; @every has any.
	if again, err := after(c.Cron, next); err != nil || again.Sub(next) < time.Minute {
		return Schedule{}, errors.Join(errors.New("a schedule comes once a minute at most"), err)
	}
	c.Next = next
	err = s.write(ctx, by, "set schedule", c.Name, func(tx *sql.Tx) error {
		return exec(ctx, tx, `INSERT INTO service_schedules (name, cron, work, dir, priority, next, created, actor, open) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, work = excluded.work, dir = excluded.dir, priority = excluded.priority, next = excluded.next, created = excluded.created, actor = excluded.actor, open = excluded.open`,
			c.Name, c.Cron, string(c.Work), c.Dir, c.Priority, c.Next.UnixMilli(), c.Created.UnixMilli(), string(by), bit(c.Open))
	})
	return c, err
}

// RemoveSchedule ends a schedule. Jobs that it made stay.
func (s *Store) RemoveSchedule(ctx context.Context, by Actor, name string) error {
	return s.write(ctx, by, "remove schedule", name, func(tx *sql.Tx) error {
		n, err := changed(ctx, tx, "DELETE FROM service_schedules WHERE name = $1", name)
		return someRow(n, err, errors.New("there is no such schedule: sotto job list shows those there are"))
	})
}

// Schedules returns all schedules.
func (s *Store) Schedules(ctx context.Context) ([]Schedule, error) {
	return list(ctx, s.db, scanSchedule, scheduleColumns+" ORDER BY name")
}

const scheduleColumns = "SELECT name, cron, work, dir, priority, next, created, actor, open FROM service_schedules"

func scanSchedule(rows *sql.Rows, c *Schedule) error {
	return rows.Scan(&c.Name, &c.Cron, document(&c.Work), &c.Dir, &c.Priority, instant(&c.Next), instant(&c.Created), &c.By, &c.Open)
}

// AddDue makes the jobs of schedules that are due, one of each, however many moments went by,
// and however many processes ask.
func (s *Store) AddDue(ctx context.Context) (made []Job, err error) {
	var now int64
	if err := s.db.QueryRowContext(ctx, "SELECT "+s.clock()).Scan(&now); err != nil {
		return nil, failed(err)
	}
	due, err := list(ctx, s.db, scanSchedule, scheduleColumns+" WHERE next <= $1", now)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, c := range due {
		next, err := after(c.Cron, time.UnixMilli(now))
		if err != nil {
			problems = append(problems, fmt.Errorf("schedule %s: %w", c.Name, err)) // the others are due too
			continue
		}
		j := s.newJob(c.By, Job{Name: c.Name, Work: c.Work, Dir: c.Dir, Priority: c.Priority, Schedule: c.Name, Open: c.Open})
		taken := false
		err = s.transact(ctx, func(tx *sql.Tx) error {
			// Who changes this first makes the job.
			n, err := changed(ctx, tx, "UPDATE service_schedules SET next = $1 WHERE name = $2 AND next = $3", next.UnixMilli(), c.Name, c.Next.UnixMilli())
			if err != nil || n == 0 {
				return err
			}
			taken = true
			return s.insertJob(ctx, tx, j)
		})
		if err != nil {
			return made, err
		}
		if taken {
			made = append(made, j)
		}
	}
	return made, errors.Join(problems...)
}
