package answer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestHold: from the first draw of an answer until it may show, the ledger is told nothing,
// whether it is written or fails. What was charged before stays before.
func TestHold(t *testing.T) {
	for name, fails := range map[string]bool{"written": false, "failed": true} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			var w points
			w.at = func(_ int, what string) error {
				if fails && what == "ask the model" {
					return errors.New("gone")
				}
				return nil
			}
			model := newToy()
			o := p.options(t, planFor(clipped()), model)
			o.Hold = func(context.Context) func() {
				must(t, w.reach("hold"))
				return func() { must(t, w.reach("show")) }
			}
			s := p.watched(t, o, model, &w)
			if _, err := s.Answer(t.Context(), "what?", nil); (err != nil) != fails {
				t.Fatal(err)
			}
			hold, show := slices.Index(w.log, "hold"), slices.Index(w.log, "show")
			if hold < 0 || show < hold {
				t.Fatalf("%q", w.log)
			}
			if first := slices.Index(w.log, "ask the model"); first < hold || first > show {
				t.Errorf("records are drawn while nothing is held: %q", w.log)
			}
			for _, what := range w.log[hold+1 : show] {
				if what != "ask the model" && what != "draw a key" {
					t.Errorf("%q shows how long an answer took", what)
				}
			}
			charged := func(what string) bool {
				return strings.HasSuffix(what, " reserve") || strings.HasSuffix(what, " draw")
			}
			if !slices.ContainsFunc(w.log[:hold], charged) || slices.ContainsFunc(w.log[hold:], charged) {
				t.Errorf("charged at another time than before the draw: %q", w.log)
			}
			if ended := map[bool]string{false: "after commit", true: "after forfeit"}[fails]; !slices.Contains(w.log[show:], ended) {
				t.Errorf("no %s: %q", ended, w.log)
			}
		})
	}
}
