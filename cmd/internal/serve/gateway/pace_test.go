package gateway

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestPace: answers come after a whole number of paces, whatever they are.
func TestPace(t *testing.T) {
	const pace = 300 * time.Millisecond
	o := &oracle{left: 9}
	url := privateGateway(t, o, pace, nil)
	for _, work := range []time.Duration{0, pace / 3, pace + pace/3} {
		o.next(func() { time.Sleep(work) }, nil)
		began := time.Now()
		send(t, t.Context(), url+"/v1/chat/completions", question)
		// Later than that is the machine's doing; never earlier.
		if took, earliest := time.Since(began), work.Truncate(pace)+pace; took < earliest {
			t.Errorf("work of %v was seen after %v, before %v", work, took, earliest)
		}
	}
	o.next(nil, Charged("c9"))
	began := time.Now()
	if send(t, t.Context(), url+"/v1/chat/completions", question); time.Since(began) < pace {
		t.Error("an error came at once")
	}
	o.next(func() { panic("a secret") }, nil)
	began = time.Now()
	if send(t, t.Context(), url+"/v1/chat/completions", question); time.Since(began) < pace {
		t.Error("an internal error was seen at once")
	}
	// Anyone who asks meanwhile sees that pace too, and not when the answer was there.
	var all sync.WaitGroup
	begun := make(chan struct{}, 2)
	o.next(func() { begun <- struct{}{} }, nil)
	began = time.Now()
	all.Go(func() { send(t, t.Context(), url+"/v1/chat/completions", question) })
	<-begun
	send(t, t.Context(), url+"/v1/chat/completions", question)
	if time.Since(began) < 2*pace {
		t.Error("the next question was asked before the answer was handed out")
	}
	all.Wait()
}

// TestBusy: the processors are at work from before the first draw until the pace is over, however
// long an answer takes to write, and whether it is given; not for one that is not paid for, and
// not after it.
func TestBusy(t *testing.T) {
	const pace = 200 * time.Millisecond
	for name, c := range map[string]struct {
		work  time.Duration
		fails error
		left  int
	}{
		"at once": {0, nil, 1}, "half a pace": {pace / 2, nil, 1}, "longer than one": {pace + pace/2, nil, 1},
		"failed": {pace / 2, Charged("c9"), 1}, "refused": {0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var events []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, what)
			}
			busy := make(chan struct{})
			var rested time.Time
			o := &oracle{left: c.left, fails: c.fails}
			o.before = func() {
				if c.left > 0 {
					<-busy // else it would never begin
				}
				note("draw")
				time.Sleep(c.work)
				note("written")
			}
			p := &Private{Answerer: o, Turns: &Turns{}, Pace: pace, Occupy: func(ctx context.Context) {
				note("busy")
				close(busy)
				<-ctx.Done()
				rested = time.Now()
				note("rest")
			}}
			began := time.Now()
			_, err := p.answer(t.Context(), "k1", "what is it")
			note("handed out")
			if (err != nil) != (c.fails != nil || c.left == 0) {
				t.Error(err)
			}
			want := []string{"busy", "draw", "written", "rest", "handed out"}
			if c.left == 0 {
				want = []string{"draw", "written", "handed out"}
			}
			if !slices.Equal(events, want) {
				t.Errorf("%q, not %q", events, want)
			}
			// Later is the machine's doing; never earlier.
			if earliest := c.work.Truncate(pace) + pace; c.left > 0 && rested.Sub(began) < earliest {
				t.Errorf("at rest after %v, before %v", rested.Sub(began), earliest)
			}
		})
	}
}

// TestBusyEnds: when the service ends nobody waits for a pace, and the processors rest.
func TestBusyEnds(t *testing.T) {
	until, end := context.WithCancel(t.Context())
	rested := false
	p := &Private{Answerer: &oracle{left: 1, before: end}, Turns: &Turns{}, Pace: time.Hour, Until: until, Occupy: func(ctx context.Context) {
		<-ctx.Done()
		rested = true
	}}
	if _, err := p.answer(t.Context(), "k1", "what is it"); err != nil || !rested {
		t.Errorf("at rest: %v; %v", rested, err)
	}
	// The next one has its turn.
	if err := p.Turns.Take(t.Context(), "k1"); err != nil {
		t.Error(err)
	}
}
