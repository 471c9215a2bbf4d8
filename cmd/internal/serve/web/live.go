package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
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
	changes, leave, err := d.watcher.listen(d, v.token)
	if err != nil {
		return err
	}
	defer leave()
	out := http.NewResponseController(v.ResponseWriter)
	// The server's limit is for requests, and this one continues.
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		d.Log.Debug("a page that stays up to date may be cut off", "error", err.Error())
	}
	v.Header().Set("Content-Type", "text/event-stream")
	v.WriteHeader(http.StatusOK)
	calm := time.NewTicker(quiet)
	defer calm.Stop()
	for said := ": here\n\n"; ; {
		// Anyone who is gone cannot be written to.
		if _, err := fmt.Fprint(v.ResponseWriter, said); err != nil || out.Flush() != nil {
			return nil
		}
		select {
		case now, more := <-changes:
			if !more {
				return nil // the page asks again
			}
			said = fmt.Sprintf("event: changed\ndata: %x\n\n", now[:8])
		case <-calm.C:
			said = ": here\n\n"
		case <-v.ctx().Done():
			return nil
		case <-d.Life.Done():
			return nil
		}
		// A session that ended is told nothing more: its end is a change itself, or time passed.
		// Listening does not use it.
		if _, err := d.Store.Session(v.ctx(), v.token, false); err != nil {
			return nil
		}
	}
}
