package web

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/serve/store"
)

// TestTextsAtBeats: of a run under way the page shows the texts of its last beat, however many there
// are by now, and no release before the run is said to have ended.
func TestTextsAtBeats(t *testing.T) {
	s := newSite(t, nil)
	under := s.under
	under.Place = filepath.Join(t.TempDir(), under.ID)
	out := filepath.Join(under.Place, "out")
	must(t, os.MkdirAll(out, 0o700))
	journal, link := "", ""
	for _, body := range []string{
		`{"state":"planned","header":{"format":1,"run":"r","plan":"p","version":"test"}}`,
		`{"state":"released","text":1,"output":"first-text"}`, `{"state":"released","text":2,"output":"second-text"}`, `{"state":"released","text":3,"output":"third-text"}`,
	} {
		// Each line is linked to the one before.
		link = fmt.Sprintf("%x", sha256.Sum256([]byte(link+body)))[:32]
		journal += strings.TrimSuffix(body, "}") + `,"link":"` + link + "\"}\n"
	}
	must(t, os.WriteFile(filepath.Join(out, "journal.jsonl"), []byte(journal), 0o600))
	b := s.signIn(t, "operator-one")
	for _, c := range []struct {
		progress string
		shown    int
	}{{"", 0}, {`{"event":"text","done":1,"texts":3}`, 1}, {`{"event":"text","done":2,"texts":3}`, 2}, {`{"event":"written","done":3,"texts":3}`, 3}} {
		_, err := s.Store.Beat(t.Context(), &under, json.RawMessage(c.progress), time.Hour)
		must(t, err)
		page := b.get("/runs/" + under.ID).body
		for i, text := range []string{"first-text", "second-text", "third-text"} {
			if strings.Contains(page, text) != (i < c.shown) {
				t.Errorf("at %s the page shows %s: %v", c.progress, text, i >= c.shown)
			}
		}
	}
	// Its certificate is signed before its end is shown.
	must(t, os.CopyFS(filepath.Join(under.Place, "release"), os.DirFS(filepath.Join(s.run.Place, "release"))))
	if a := b.send("/routes", "name", "early", "upstream", "embedded", "run", under.ID, "task", "tickets.toml"); a.status != 400 {
		t.Errorf("a route from a run that is under way: %d", a.status)
	}
	under.State = store.Done
	must(t, s.Store.Finish(t.Context(), &under))
	if a := b.send("/routes", "name", "early", "upstream", "embedded", "run", under.ID, "task", "tickets.toml"); a.status != 303 {
		t.Errorf("a route from a run that has ended: %d %s", a.status, a.body)
	}
}
