package serve

import (
	"math"
	"sync"
	"time"
)

// limiter lets each key make so many requests a minute, in bursts of as many. It is one of
// this process: with several, a key has as many times that.
type limiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	now     func() time.Time
}

// bucket holds what is left of a key's requests.
type bucket struct {
	left float64
	at   time.Time
}

// take takes one request of a key, or says how long to wait for the next.
func (l *limiter) take(key string, perMinute int64) (wait time.Duration, ok bool) {
	if perMinute <= 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.now != nil {
		now = l.now()
	}
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	limit := float64(perMinute)
	b := l.buckets[key]
	if b == nil {
		b = &bucket{left: limit, at: now}
		l.buckets[key] = b
	}
	b.left, b.at = math.Min(limit, b.left+limit*now.Sub(b.at).Minutes()), now
	if b.left < 1 {
		return time.Duration((1 - b.left) / limit * float64(time.Minute)), false
	}
	b.left--
	return 0, true
}
