package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-dp/sotto/sys/expect"
)

// TestNetwork: addresses that one customer of a provider has count as one, with and without a port.
func TestNetwork(t *testing.T) {
	for address, want := range map[string][2]string{
		"192.0.2.7:1234":               {"192.0.2.7/32", "192.0.2.0/24"},
		"192.0.2.7":                    {"192.0.2.7/32", "192.0.2.0/24"},
		"[2001:db8:1:2:3:4:5:6]:443":   {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"2001:db8:1:2::1":              {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"[::ffff:192.0.2.7]:1":         {"192.0.2.7/32", "192.0.2.0/24"},
		"[fe80::1%eth0]:1":             {"fe80::/64", "fe80::/48"},
		"somewhere without an address": {"somewhere without an address", "somewhere without an address"},
	} {
		if got := [2]string{Network(address), neighbourhood(address)}; got != want {
			t.Errorf("%s is in %v, want %v", address, got, want)
		}
	}
}

// crowd has those who wait in a queue, and notes who got a place.
type crowd struct {
	*queue
	mu     sync.Mutex
	placed []string
	busy   []string
	all    sync.WaitGroup
}

// come has somebody wait; the place is theirs until it is given back.
func (c *crowd) come(ctx context.Context, name, from string, known bool) {
	c.all.Go(func() {
		err := c.take(ctx, from, known)
		c.mu.Lock()
		defer c.mu.Unlock()
		if b := (*BusyError)(nil); errors.As(err, &b) {
			c.busy = append(c.busy, name)
		} else if err == nil {
			c.placed = append(c.placed, name)
		}
	})
	synctest.Wait()
}

// gives gives all places back, one after the other, and returns who had them.
func (c *crowd) gives() []string {
	for i := 0; i < len(c.placed); i++ {
		c.give()
		synctest.Wait() // until the next one has it
	}
	c.all.Wait()
	return c.placed
}

// TestQueueIsFair: known devices come first, and neighbourhoods take turns, so that many from one
// do not hold up somebody from another.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{queue: &queue{}}
		for i := range 7 {
			c.come(t.Context(), fmt.Sprint("a", i), "a", false)
		}
		c.come(t.Context(), "b0", "b", false)
		c.come(t.Context(), "c0", "c", false)
		c.come(t.Context(), "known", "a", true)
		want := []string{"a0", "a1", "known", "a2", "b0", "c0", "a3", "a4", "a5", "a6"}
		if got := c.gives(); !slices.Equal(got, want) {
			t.Errorf("places go to %v, want %v", got, want)
		}
		at := expect.At(t, "in the end")
		expect.Equal(at, "c.queue.busy", c.queue.busy, 0)
		expect.Equal(at, "c.waiting", c.waiting, 0)
		expect.Len(at, "c.turns", c.turns, 0)
		expect.Equal(at, "c.strange", len(c.strange), 0)
	})
}

// TestQueueIsBounded: no neighbourhood waits with more than its part; where all places to wait are
// taken, the one with most of them gives one up, and known devices have places of their own.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{queue: &queue{}}
		for i := range hashedAtOnce + maxOfNeighbours + 3 {
			c.come(t.Context(), fmt.Sprint("a", i), "a", false)
		}
		if want := []string{"a10", "a11", "a12"}; !slices.Equal(c.busy, want) {
			t.Errorf("%v are refused, want %v", c.busy, want)
		}
		c.busy = nil
		for i := range maxWaiting - maxOfNeighbours {
			c.come(t.Context(), "other", fmt.Sprint(i), false)
		}
		if len(c.busy) != 0 {
			t.Errorf("%d from other neighbourhoods are refused", len(c.busy))
		}
		c.come(t.Context(), "late", "late", false)
		if want := []string{"a9"}; !slices.Equal(c.busy, want) {
			t.Errorf("%v lose their place, want %v", c.busy, want)
		}
		for i := range 6 {
			c.come(t.Context(), fmt.Sprint("more", i), fmt.Sprint("more", i), false)
		}
		c.busy = nil
		c.come(t.Context(), "last", "last", false)
		if want := []string{"last"}; !slices.Equal(c.busy, want) {
			t.Errorf("with one from each neighbourhood %v are refused, want %v", c.busy, want)
		}
		c.come(t.Context(), "known", "a", true)
		if slices.Contains(c.busy, "known") {
			t.Error("a known device is refused because strangers wait")
		}
		placed := c.gives()
		if placed[hashedAtOnce] != "known" {
			t.Errorf("the first place goes to %s, want the known device", placed[hashedAtOnce])
		}
	})
}

// TestQueueForgetsWhoLeft: who is gone before it is their turn takes no place, and nothing is lost
// of one that they have just got.
func TestQueueForgetsWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{queue: &queue{}}
		for i := range hashedAtOnce {
			c.come(t.Context(), fmt.Sprint("first", i), "a", false)
		}
		gone, leave := context.WithCancel(t.Context())
		c.come(gone, "gone", "b", false)
		c.come(gone, "gone", "c", true)
		c.come(t.Context(), "stays", "b", false)
		leave()
		synctest.Wait()
		if want := []string{"first0", "first1", "stays"}; !slices.Equal(c.gives(), want) {
			t.Errorf("places go to %v, want %v", c.placed, want)
		}
		if c.queue.busy != 0 || c.waiting != 0 {
			t.Errorf("in the end there are %d places taken, %d who wait", c.queue.busy, c.waiting)
		}
	})
}

// TestConcurrentQueue: anyone who comes, waits, leaves and gives back at the same time, no more have a
// place than there are, and in the end all are free.
func TestConcurrentQueue(t *testing.T) {
	q := &queue{}
	var all sync.WaitGroup
	var mu sync.Mutex
	inside := 0
	for i := range 60 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond+time.Microsecond)
			defer cancel()
			if q.take(ctx, fmt.Sprint(i%9), i%5 == 0) != nil {
				return
			}
			mu.Lock()
			if inside++; inside > hashedAtOnce {
				t.Errorf("%d have a place", inside)
			}
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			q.give()
		})
	}
	all.Wait()
	at := expect.At(t, "in the end")
	expect.Equal(at, "q.busy", q.busy, 0)
	expect.Equal(at, "q.waiting", q.waiting, 0)
	expect.Len(at, "q.known", q.known, 0)
	expect.Len(at, "q.turns", q.turns, 0)
}

// TestDevices: somebody who signed in before is not held up by strangers who try their account, or
// come from the same network; a token of another account, or of the password before, shows nothing;
// and a device that fails has to wait like anybody.
func TestDevices(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		people(t, s, map[string]Role{"viewer-one": Viewer, "viewer-two": Viewer})
		a, err := s.SignIn(ctx, Attempt{Name: "viewer-one", Password: secretWords, Address: "192.0.2.1:1"})
		must(t, err)
		device := a.Device()
		if device == a.Device() {
			t.Error("two devices have the same token")
		}
		waits := func(by Attempt) bool {
			t.Helper()
			_, err := s.SignIn(ctx, by)
			var w *WaitError
			return errors.As(err, &w)
		}
		for i := range attemptsOfAccount + 1 {
			waits(Attempt{Name: "viewer-one", Password: "wrong", Address: fmt.Sprintf("[2001:db8::%d]:1", i)})
		}
		other := Account{Name: "viewer-two", hash: a.hash}.Device()
		for _, token := range []string{"", ".", "a.b", other, strings.ToLower(device), device[1:]} {
			if !waits(Attempt{Name: "viewer-one", Password: secretWords, Address: "192.0.2.1:1", Device: token}) {
				t.Errorf("with the token %q nobody waits", token)
			}
		}
		if _, err := s.SignIn(ctx, Attempt{Name: "viewer-one", Password: secretWords, Address: "192.0.2.1:1", Device: device}); err != nil {
			t.Errorf("the known device: %v", err)
		}
		if !waits(Attempt{Name: "viewer-one", Password: secretWords, Address: "192.0.2.1:1"}) {
			t.Error("after a known device signed in, strangers need not wait")
		}
		for range attemptsOfAccount {
			waits(Attempt{Name: "viewer-one", Password: "wrong", Device: device})
		}
		if !waits(Attempt{Name: "viewer-one", Password: secretWords, Device: device}) {
			t.Error("a known device may try as often as it likes")
		}
		must(t, s.SetPassword(ctx, "ann", "viewer-one", secretWords+" anew"))
		if !waits(Attempt{Name: "viewer-one", Password: secretWords + " anew", Device: device}) {
			t.Error("a device of the password before is known")
		}
	})
}

// TestAttemptsOfANetwork: addresses of one IPv6 network count together.
func TestAttemptsOfANetwork(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		var w *WaitError
		for i := range attemptsOfAddress + 1 {
			_, err := s.SignIn(t.Context(), Attempt{Name: fmt.Sprint("nobody-", i), Password: "wrong", Address: fmt.Sprintf("[2001:db8:0:1::%x]:1", i)})
			if waits := errors.As(err, &w); waits != (i == attemptsOfAddress) {
				t.Errorf("attempt %d waits: %t", i+1, waits)
			}
		}
		if _, err := s.SignIn(t.Context(), Attempt{Name: "nobody", Password: "wrong", Address: "[2001:db8:0:2::1]:1"}); !errors.Is(err, ErrDenied) {
			t.Errorf("another network: %v", err)
		}
	})
}

// TestWhoLeftIsNotHashed: a password of somebody who is gone is not looked at.
func TestWhoLeftIsNotHashed(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		people(t, s, map[string]Role{"viewer-one": Viewer})
		for range hashedAtOnce {
			must(t, hashing.take(t.Context(), "", true))
			defer hashing.give()
		}
		gone, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer leave()
		if _, err := s.SignIn(gone, Attempt{Name: "viewer-one", Password: secretWords}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("somebody who left: %v", err)
		}
		var failures int
		must(t, s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM service_attempts").Scan(&failures))
		if failures != 0 {
			t.Errorf("%d attempts of somebody who left are counted", failures)
		}
	})
}
