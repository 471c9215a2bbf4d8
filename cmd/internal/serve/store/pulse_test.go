package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/sys/expect"
)

// TestPulse: it changes with changes and with progress, and with nothing else.
func TestPulse(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		_, err := s.AddJob(ctx, "root", Job{Work: []byte(`{"verb":"synth"}`)})
		must(t, err)
		j, err := s.Claim(ctx, "worker", time.Hour)
		must(t, err)
		last, err := s.Pulse(ctx, 10)
		must(t, err)
		changes := func(what string, want bool) {
			t.Helper()
			now, err := s.Pulse(ctx, 10)
			must(t, err)
			if (now != last) != want {
				t.Errorf("%s changes it: %v", what, !want)
			}
			last = now
		}
		changes("nothing", false)
		_, err = s.Beat(ctx, j, json.RawMessage(`{"done":1}`), time.Hour)
		must(t, err)
		changes("progress", true)
		must(t, s.Note(ctx, "account one", "ask route", "tickets"))
		changes("a note", false)
		all, err := s.Audit(ctx, 1)
		expect.NoError(t, err)
		expect.Equal(t, "all[0].Action", all[0].Action, "ask route")
		expect.Equal(t, "all[0].Subject", all[0].Subject, "tickets")
		expect.Equal(t, "all[0].Actor", all[0].Actor, "account one")
		j.State = Done
		must(t, s.Finish(ctx, j))
		changes("its end", true)
		must(t, s.SetApprovals(ctx, "root", "data", 2))
		changes("a change", true)
	})
}
