package store

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/sys/expect"
)

// add adds a job of a name.
func add(t *testing.T, s *Store, name string, priority int64) Job {
	t.Helper()
	j, err := s.AddJob(t.Context(), "ann", Job{Name: name, Work: []byte(`{"verb":"synth"}`), Dir: "/here", Priority: priority})
	must(t, err)
	return j
}

// take claims a job.
func take(t *testing.T, s *Store, owner string, lease time.Duration) *Job {
	t.Helper()
	j, err := s.Claim(t.Context(), owner, lease)
	must(t, err)
	return j
}

func stateOf(t *testing.T, s *Store, id string) Job {
	t.Helper()
	j, err := s.Job(t.Context(), id)
	must(t, err)
	return j
}

// TestJobs: jobs come by priority and age, with all that they were added with; one that is not
// due waits; and one that ended stays so.
func TestJobs(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		generation, err := s.Generation(ctx)
		must(t, err)
		first, second, urgent := add(t, s, "first", 0), add(t, s, "second", 0), add(t, s, "urgent", 5)
		later, err := s.AddJob(ctx, "ann", Job{Name: "later", Work: []byte(`{"verb":"eval"}`), Priority: 9, Due: time.Now().Add(time.Hour)})
		must(t, err)
		if now, err := s.Generation(ctx); err != nil || now == generation {
			t.Errorf("jobs are no change: %v", err)
		}
		var got []string
		for j := take(t, s, "w", time.Minute); j != nil; j = take(t, s, "w", time.Minute) {
			got = append(got, j.Name)
			expect.Equal(t, "j.Attempt", j.Attempt, 1)
			expect.Equal(t, "j.State", j.State, Running)
			expect.True(t, "j.Started is not nil", j.Started != nil, j.Started)
			expect.Equal(t, "j.Dir", j.Dir, "/here")
			expect.Equal(t, "j.By", j.By, "ann")
			expect.Equal(t, "j.Work", string(j.Work), `{"verb":"synth"}`)
			j.State, j.Result, j.Place = Done, []byte(`{"a":1}`), "/there"
			must(t, s.Finish(ctx, j))
			if err := s.Finish(ctx, j); !errors.Is(err, ErrLost) {
				t.Errorf("a job ended twice: %v", err)
			}
		}
		if got[0] != "urgent" || len(got) != 3 {
			t.Errorf("the order is %v", got)
		}
		j := stateOf(t, open(), second.ID)
		expect.Equal(t, "j.State", j.State, Done)
		expect.Equal(t, "j.Result", string(j.Result), `{"a":1}`)
		expect.Equal(t, "j.Place", j.Place, "/there")
		expect.True(t, "j.Ended is not nil", j.Ended != nil, j.Ended)
		events, err := s.JobEvents(ctx, first.ID)
		must(t, err)
		if names := fmt.Sprint(events[0].Event, events[1].Event, events[2].Event); len(events) != 3 || names != "addedbegunended" {
			t.Errorf("%+v", events)
		}
		if j := stateOf(t, s, later.ID); j.State != Waiting {
			t.Errorf("%+v", j)
		}
		all, err := s.Jobs(ctx, 2)
		expect.NoError(t, err)
		expect.Len(t, "all", all, 2)
		expect.Equal(t, "stateOf(t, s, urgent.ID).State", stateOf(t, s, urgent.ID).State, Done)
		for name, wrong := range map[string]Job{"no verb": {}, "a long name": {Work: []byte(`{"verb":"a"}`), Name: "a\nb"}, "a priority": {Work: []byte(`{"verb":"a"}`), Priority: 5000}} {
			if _, err := s.AddJob(ctx, "ann", wrong); err == nil {
				t.Errorf("%s is accepted", name)
			}
		}
		if _, err := s.Job(ctx, "none"); !errors.Is(err, errNoJob) {
			t.Errorf("no job: %v", err)
		}
	})
}

// TestLease: until a lease has run out nobody else gets the job; after that the first owner
// changes nothing any more.
func TestLease(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		add(t, s, "one", 0)
		const lease = 600 * time.Millisecond
		other := open()
		first := take(t, s, "first", lease)
		for range 4 {
			time.Sleep(lease / 3)
			if _, err := s.Beat(ctx, first, []byte(`{"event":"text"}`), lease); err != nil {
				t.Fatal(err)
			}
			if j := take(t, other, "second", lease); j != nil {
				t.Fatal("a second worker has the job of one that beats")
			}
		}
		time.Sleep(2 * lease)
		second := take(t, s, "second", time.Minute)
		if second == nil {
			t.Fatal("second: got nil")
		}
		expect.Equal(t, "second.ID", second.ID, first.ID)
		expect.Equal(t, "second.Attempt", second.Attempt, 2)
		first.State = Done
		_, beat := s.Beat(ctx, first, nil, lease)
		for name, err := range map[string]error{"beat": beat, "finish": s.Finish(ctx, first), "put off": s.PutOff(ctx, first, 0, "x")} {
			if !errors.Is(err, ErrLost) {
				t.Errorf("%s of a worker that lost the job: %v", name, err)
			}
		}
		// The same worker, a second time, is another owner.
		third := *second
		third.Attempt = 1
		third.State = Failed
		if err := s.Finish(ctx, &third); !errors.Is(err, ErrLost) {
			t.Errorf("an earlier attempt of the same worker: %v", err)
		}
		must(t, s.PutOff(ctx, second, 0, "the server is away"))
		again := take(t, s, "third", time.Minute)
		if again == nil {
			t.Fatal("again: got nil")
		}
		expect.Equal(t, "again.Failures", again.Failures, 1)
		expect.Equal(t, "again.Attempt", again.Attempt, 3)
		must(t, s.PutOff(ctx, again, 0, ""))
		if j := take(t, s, "third", time.Minute); j == nil || j.Failures != 1 {
			t.Errorf("a worker that ended counts as a failure: %+v", j)
		}
	})
}

// TestCancel: a job that waits ends at once, and one under way when its worker asks. Both can be
// asked for again.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		waits := add(t, s, "waits", 0)
		must(t, s.CancelJob(ctx, "ann", waits.ID))
		if j := stateOf(t, s, waits.ID); j.State != Cancelled || j.Ended == nil {
			t.Errorf("%+v", j)
		}
		if j := take(t, s, "w", time.Minute); j != nil {
			t.Errorf("a cancelled job was begun: %+v", j)
		}
		if err := s.CancelJob(ctx, "ann", waits.ID); err == nil {
			t.Error("a job that ended was cancelled")
		}
		runs := add(t, s, "runs", 0)
		j := take(t, s, "w", time.Minute)
		must(t, s.CancelJob(ctx, "bob", runs.ID))
		if asked, err := s.Beat(ctx, j, nil, time.Minute); err != nil || !asked {
			t.Errorf("the worker is not told of it: %v", err)
		}
		if err := s.RetryJob(ctx, "ann", runs.ID); err == nil {
			t.Error("a job under way was asked for again")
		}
		j.State = Cancelled
		must(t, s.Finish(ctx, j))
		must(t, s.RetryJob(ctx, "ann", runs.ID))
		j = take(t, s, "w", time.Minute)
		if j == nil {
			t.Fatal("j: got nil")
		}
		expect.Equal(t, "j.ID", j.ID, runs.ID)
		expect.True(t, "not j.Cancelling", !j.Cancelling)
		expect.True(t, "j.Ended is nil", j.Ended == nil, j.Ended)
		audit, err := s.Audit(ctx, 10)
		must(t, err)
		if audit[0].Action != "retry job" || audit[1] != (Entry{audit[1].At, "bob", "cancel job", runs.ID}) {
			t.Errorf("%+v", audit)
		}
	})
}

// TestConcurrentClaims: many workers in two handles get each job once.
func TestConcurrentClaims(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		const jobs = 40
		for i := range jobs {
			add(t, s, fmt.Sprint(i), 0)
		}
		var mu sync.Mutex
		got := map[string]int{}
		var all sync.WaitGroup
		for i, from := range []*Store{s, open(), s, open(), s, open()} {
			all.Go(func() {
				for {
					j, err := from.Claim(t.Context(), fmt.Sprint("worker ", i), time.Minute)
					if err != nil {
						t.Error(err)
						return
					}
					if j == nil {
						return
					}
					mu.Lock()
					got[j.ID]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		for id, n := range got {
			if n != 1 {
				t.Errorf("job %s has %d owners", id, n)
			}
		}
		if len(got) != jobs {
			t.Errorf("%d of %d jobs have an owner", len(got), jobs)
		}
	})
}

// TestConcurrentSchedules: when a schedule is due, one job comes of it, however many processes
// look, and however many moments went by.
func TestConcurrentSchedules(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		made, err := s.SetSchedule(ctx, "ann", Schedule{Name: "nightly", Cron: "0 3 * * *", Work: []byte(`{"verb":"choose"}`), Dir: "/here", Priority: 2})
		must(t, err)
		next := made.Next.UTC()
		expect.Equal(t, "hour", next.Hour(), 3)
		expect.Equal(t, "minute", next.Minute(), 0)
		expect.True(t, "a time to come", next.After(time.Now()), next)
		if jobs, err := s.AddDue(ctx); err != nil || len(jobs) != 0 {
			t.Errorf("%v, %v", jobs, err)
		}
		// It was due weeks ago.
		must(t, s.transact(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE service_schedules SET next = 1")
			return err
		}))
		var mu sync.Mutex
		var all sync.WaitGroup
		var jobs []Job
		for _, from := range []*Store{s, open(), open(), s} {
			all.Go(func() {
				made, err := from.AddDue(ctx)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				jobs = append(jobs, made...)
				mu.Unlock()
			})
		}
		all.Wait()
		expect.Len(t, "jobs", jobs, 1)
		expect.Equal(t, "jobs[0].Schedule", jobs[0].Schedule, "nightly")
		expect.Equal(t, "jobs[0].Priority", jobs[0].Priority, 2)
		j := take(t, s, "w", time.Minute)
		if j == nil {
			t.Fatal("j: got nil")
		}
		expect.Equal(t, "j.ID", j.ID, jobs[0].ID)
		expect.Equal(t, "j.By", j.By, "ann")
		listed, err := s.Schedules(ctx)
		expect.NoError(t, err)
		expect.Len(t, "listed", listed, 1)
		expect.True(t, "listed[0].Next.After(time.Now())", listed[0].Next.After(time.Now()), time.Now())
		must(t, s.RemoveSchedule(ctx, "ann", "nightly"))
		if err := s.RemoveSchedule(ctx, "ann", "nightly"); err == nil {
			t.Error("a schedule ended twice")
		}
		for _, cron := range []string{"", "sometimes", "0 3 31 2 *", "61 * * * *"} {
			if _, err := s.SetSchedule(ctx, "ann", Schedule{Name: "wrong", Cron: cron, Work: []byte(`{"verb":"eval"}`)}); err == nil {
				t.Errorf("the schedule %q is accepted", cron)
			}
		}
	})
}
