package run

import (
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/run/env"
)

// TestSoFar: while a run continues, its texts can be read as soon as they are released, and no
// sooner; those of a run that has no privacy guarantee cannot.
func TestSoFar(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, p.plan(), newHashModel())
	if early, err := SoFar(o.Dir); err != nil || early != nil {
		t.Errorf("a run that has not begun: %v, %v", early, err)
	}
	seen := 0
	o.Env.Observe = func(e env.Progress) {
		texts, err := SoFar(o.Dir)
		must(t, err)
		if len(texts) != e.Done {
			t.Errorf("%s: %d texts, and %d are done", e.Kind, len(texts), e.Done)
		}
		seen = max(seen, len(texts))
	}
	result := p.finish(t, o)
	texts, err := SoFar(o.Dir)
	must(t, err)
	if len(texts) != len(result.Examples) || seen == 0 {
		t.Errorf("%d texts, %d examples, and %d were seen on the way", len(texts), len(result.Examples), seen)
	}
	seed := uint64(3)
	o = p.options(t, p.plan(), newHashModel())
	o.Dir, o.Env.Seed = filepath.Join(p.dir, "seeded"), &seed
	p.finish(t, o)
	if texts, err := SoFar(o.Dir); err != nil || texts != nil {
		t.Errorf("a run that has no privacy guarantee: %v, %v", texts, err)
	}
}
