package web

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/internal/serve/store"
)

// jobChange is what can be done about a job.
type jobChange func(ctx context.Context, by store.Actor, id string) error

func (d *Dashboard) liveRoutes() []route {
	return []route{{"GET /events", store.Viewer, d.events}}
}

// quiet is how long nothing is said before a comment shows that the connection lives.
const quiet = 20 * time.Second

// events says when something changed, as server-sent events. What changed is on the pages, which
// the script then gets anew: nobody sees anything here that the page would not show.
func (d *Dashboard) events(v *visit) error {
	out := http.NewResponseController(v.ResponseWriter)
	// The server's limit is for requests, and this one goes on.
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		d.Log.Debug("a page that stays up to date may be cut off", "error", err.Error())
	}
	v.Header().Set("Content-Type", "text/event-stream")
	v.WriteHeader(http.StatusOK)
	if out.Flush() != nil {
		return nil // whoever asked is gone
	}
	tick := time.NewTicker(d.Tick)
	defer tick.Stop()
	var last [sha256.Size]byte
	said := d.Now()
	for first := true; ; first = false {
		// A session that ended hears nothing more; listening does not use it.
		if _, err := d.Store.Session(v.ctx(), v.token, false); err != nil {
			return nil
		}
		now, err := d.digest(v.ctx())
		switch {
		case err != nil:
			return nil // the page asks again
		case now != last && !first:
			fmt.Fprintf(v.ResponseWriter, "event: changed\ndata: %x\n\n", now[:8])
			said = d.Now()
		case first || d.Now().Sub(said) > quiet:
			fmt.Fprint(v.ResponseWriter, ": here\n\n")
			said = d.Now()
		}
		last = now
		if out.Flush() != nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-v.ctx().Done():
			return nil
		case <-d.Life.Done():
			return nil
		}
	}
}

// digest changes with the store and with the progress of runs.
func (d *Dashboard) digest(ctx context.Context) (sum [sha256.Size]byte, err error) {
	generation, err := d.Store.Generation(ctx)
	if err != nil {
		return sum, err
	}
	jobs, err := d.Store.Jobs(ctx, shownRuns)
	if err != nil {
		return sum, err
	}
	data, err := json.Marshal(struct {
		Generation int64
		Jobs       []store.Job
	}{generation, jobs})
	return sha256.Sum256(data), err
}
