package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/sys/fault"
)

// Pages that stay up to date at once, of one session and in all.
const (
	maxListenersOfSession = 8
	maxListeners          = 256
)

var errListeners = &problem{http.StatusServiceUnavailable, "Too many pages stay up to date at once. Close some."}

// watcher looks at the store for all pages that stay up to date: however many there are, it asks
// once a tick, and never if there are none.
type watcher struct {
	mu sync.Mutex
	// feeds are by page, with whose session it is.
	feeds   map[chan store.Pulse]string
	running bool
	// looked is closed when those who run have looked for the first time.
	looked chan struct{}
	// looks counts how often the store was asked.
	looks int64
}

// listen adds a page. Its channel has the latest change after it returned, and is closed when the store
// cannot be read. leave has to be called.
func (w *watcher) listen(d *Dashboard, session string) (changes <-chan store.Pulse, leave func(), err error) {
	feed, looked, err := w.add(d, session)
	if err != nil {
		return nil, nil, err
	}
	<-looked // which takes lookTime at most
	return feed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.feeds, feed)
	}, nil
}

func (w *watcher) add(d *Dashboard, session string) (feed chan store.Pulse, looked <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := 0
	for _, of := range w.feeds {
		if of == session {
			own++
		}
	}
	if own >= maxListenersOfSession || len(w.feeds) >= maxListeners {
		return nil, nil, errListeners
	}
	if w.feeds == nil {
		w.feeds = map[chan store.Pulse]string{}
	}
	feed = make(chan store.Pulse, 1)
	w.feeds[feed] = session
	if !w.running {
		first := make(chan struct{})
		w.running, w.looked = true, first
		go func() {
			defer fault.Watch()
			w.watch(d, first)
		}()
	}
	return feed, w.looked, nil
}

// lookTime is how long the store may take to say whether something changed.
const lookTime = 10 * time.Second

// watch looks until nobody listens.
func (w *watcher) watch(d *Dashboard, looked chan<- struct{}) {
	tick := time.NewTicker(d.Tick)
	defer tick.Stop()
	var last store.Pulse
	for first := true; ; first = false {
		ctx, cancel := context.WithTimeout(d.Life, lookTime)
		now, err := d.Store.Pulse(ctx, shownRuns)
		cancel()
		more := w.spread(now, !first && now != last, err)
		if first {
			close(looked)
		}
		if !more {
			return
		}
		last = now
		select {
		case <-tick.C:
		case <-d.Life.Done():
		}
	}
}

// spread hands a change to all pages, and reports whether to continue.
func (w *watcher) spread(now store.Pulse, changed bool, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	for feed := range w.feeds {
		switch {
		case err != nil:
			close(feed)
			delete(w.feeds, feed)
		case changed:
			select {
			case <-feed: // an older change that nobody has read yet
			default:
			}
			feed <- now
		}
	}
	w.running = len(w.feeds) > 0
	return w.running
}
