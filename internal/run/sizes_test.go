package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestSizeFarOff: who declares a thousand times as many records as there are is warned
// before anything is charged, and continues nevertheless. How many there are is private:
// nothing that is kept has it.
func TestSizeFarOff(t *testing.T) {
	for _, c := range []struct {
		size int64
		want string
	}{{20, ""}, {20_000, "less than 1/100 "}} {
		p := newPlace(t)
		of := planFor(tickets(), clipped())
		for i := range of.Parts {
			of.Parts[i].Size = c.size
		}
		of.Delta = 1e-6
		o := p.options(t, of, newHashModel())
		var seen []env.Progress
		o.Env.Observe = func(e env.Progress) { seen = append(seen, e) }
		result := p.finish(t, o)
		at := slices.IndexFunc(seen, func(e env.Progress) bool { return strings.Contains(strings.ToLower(e.Message), "check the size") })
		if c.want == "" {
			if at >= 0 {
				t.Errorf("%d: %q", c.size, seen[at].Message)
			}
			continue
		}
		charged := slices.IndexFunc(seen, func(e env.Progress) bool { return e.Kind == env.Reserved })
		about := expect.At(t, "%d", c.size)
		if at < 0 {
			about.Fatalf("no message about the size: %+v", seen)
		}
		expect.Min(about, "charged", charged, at)
		expect.Equal(about, "seen[at].Kind", seen[at].Kind, env.Noted)
		expect.Contains(about, "seen[at].Message", seen[at].Message, c.want)
		if kept := strings.Join(result.Warnings, "\n"); strings.Contains(kept, c.want) {
			t.Errorf("the result has it: %q", kept)
		}
		must(t, filepath.WalkDir(o.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), c.want) {
				t.Errorf("%s has it", d.Name())
			}
			return err
		}))
	}
}

// TestUncoveredLabels: a plan with fewer texts than labels says so before the charge, with
// and without a guarantee.
func TestUncoveredLabels(t *testing.T) {
	for _, seeded := range []bool{false, true} {
		p := newPlace(t)
		of := planFor(tickets(), clipped())
		of.Shots = 1
		o := p.options(t, of, newHashModel())
		if seeded {
			seed := uint64(1)
			o.Env.Seed = &seed
		}
		result := p.finish(t, o)
		if !slices.ContainsFunc(result.Warnings, func(w string) bool { return strings.Contains(w, "1 of the task's 2 labels") }) {
			t.Errorf("seeded %v: warnings %q", seeded, result.Warnings)
		}
	}
}
