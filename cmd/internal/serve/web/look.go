package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/fault"
)

// identities remembers what the ledger knows uploads by, so that each is read once. Only pages of
// owners ask: nothing that an operator can see waits for it.
type identities struct {
	mu  sync.Mutex
	all map[string]*identity
	// turn is held by the one that reads.
	turn chan struct{}
}

// identity is one upload, read or being read.
type identity struct {
	ended chan struct{}
	id    ledger.Identity
	err   error
}

const (
	// readTime is how long reading one may take.
	readTime = time.Hour
	// maxIdentities is how many are remembered.
	maxIdentities = 100
)

var errReading = &problem{http.StatusServiceUnavailable, "The file is still being read. Try again in a minute."}

// identityOf returns what the ledger knows an upload by. It waits for a while; a file that takes
// longer is read on, for the one who asks again.
func (d *Dashboard) identityOf(ctx context.Context, u store.Upload) (ledger.Identity, error) {
	l := d.look(u)
	waiting, cancel := context.WithTimeout(ctx, d.planTime)
	defer cancel()
	select {
	case <-l.ended:
		return l.id, l.err
	case <-waiting.Done():
		return ledger.Identity{}, errReading
	}
}

func (d *Dashboard) look(u store.Upload) *identity {
	d.looked.mu.Lock()
	defer d.looked.mu.Unlock()
	if l, ok := d.looked.all[u.ID]; ok {
		return l
	}
	if len(d.looked.all) >= maxIdentities {
		clear(d.looked.all) // those under way end by themselves
	}
	l := &identity{ended: make(chan struct{})}
	d.looked.all[u.ID] = l
	go func() {
		defer fault.Watch()
		ctx, cancel := context.WithTimeout(d.Life, readTime)
		defer cancel()
		d.looked.turn <- struct{}{}
		defer func() { <-d.looked.turn }()
		if l.id, l.err = d.Runs.Identify(ctx, u); l.err != nil {
			d.looked.mu.Lock()
			delete(d.looked.all, u.ID) // anyone who asks again has it read again
			d.looked.mu.Unlock()
		}
		close(l.ended)
	}()
	return l
}
