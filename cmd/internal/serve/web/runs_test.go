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

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
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

// TestRunsElsewhere: runs of the command line are on the page of runs, by what the ledger knows of them; those of jobs, also of
// one that has not ended well, are there once, and questions to routes not at all.
func TestRunsElsewhere(t *testing.T) {
	s := newSite(t, nil)
	charge := func(run string, labels map[string]string) ledger.Charge {
		t.Helper()
		c, err := s.ledger.Reserve(t.Context(), ledger.ReserveRequest{Dataset: "loans", Run: run, Key: run, Labels: labels, Proof: ledger.Proven, Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Pure{Epsilon: 0.01}})
		must(t, err)
		return c
	}
	charge("answer of a route", map[string]string{"route": "ask"})
	under := s.under
	under.Place = filepath.Join(t.TempDir(), under.ID)
	must(t, os.MkdirAll(filepath.Join(under.Place, "out"), 0o700))
	must(t, os.WriteFile(filepath.Join(under.Place, "out", "journal.jsonl"), fmt.Appendf(nil, `{"state":"reserved","charge":%q}`, charge("synth under way", nil).ID), 0o600))
	_, err := s.Store.Beat(t.Context(), &under, json.RawMessage(`{"event":"reserved"}`), time.Hour)
	must(t, err)
	page := s.signIn(t, "operator-one").get("/runs").body
	_, elsewhere, found := strings.Cut(page, "Made elsewhere")
	if !found {
		t.Fatal("runs of the command line are not on the page")
	}
	for _, want := range []string{"synth of the first examples", "table profile", "eval private", "global: ε 3.2", "/data-sets/" + string(s.tickets.Fingerprint)} {
		if !strings.Contains(elsewhere, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, other := range []string{"synth of more examples", "answer of a route", "synth under way"} {
		if strings.Contains(elsewhere, other) {
			t.Errorf("%q is no run of the command line", other)
		}
	}
	if first, last := strings.Index(elsewhere, "eval private"), strings.Index(elsewhere, "synth of the first"); first > last {
		t.Error("the newest is not the first")
	}
}
