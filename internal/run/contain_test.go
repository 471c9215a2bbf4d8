package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// found is a plan of texts that have to contain their condition.
func found(m decode.Method) plan.Plan {
	p := planFor(phrases(), m)
	p.Shots, p.Tokens = 4, 12
	p.Parts[0].Texts = 4
	p.Rules = decode.Rules{MinTokens: 2, Contain: true, Favour: 99, After: 6}
	return p
}

// TestContainRuns: a run whose texts contain their conditions comes out the same to the
// last byte when it is disturbed at any question to the model, and when texts are written
// together: where a condition is to begin follows from the run's key.
func TestContainRuns(t *testing.T) {
	for name, m := range map[string]decode.Method{"clipped": clipped(), "gaussian": gaussian()} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			made := found(m)
			q := p.fresh(t)
			o := q.options(t, made, newHashModel())
			result := q.finish(t, o)
			want := outcome(t, o.Dir)
			key, err := noise.ImportKey(slices.Clone(p.key))
			must(t, err)
			for i, e := range result.Examples {
				// Inputs are texts, outputs what they were written for. Tokens are letters, and
				// the first of a condition is that for a space.
				at, after := strings.Index(e.Input, e.Output)-1, int(key.Stream("after", uint64(i)).Uint64n(7))
				if at < after || name == "clipped" && at != after {
					t.Errorf("%q has %q at %d, its place is %d", e.Input, e.Output, at, after)
				}
			}
			showsRules(t, want[planFile], made.Rules)
			together := p.fresh(t).options(t, made, newHashModel())
			together.Parallel = 3
			p.finish(t, together)
			if got := outcome(t, together.Dir)["demos.jsonl"]; got != want["demos.jsonl"] {
				t.Errorf("three at once write\n%s\nnot\n%s", got, want["demos.jsonl"])
			}
			for step := 2; step < 40; step += 9 {
				t.Run(fmt.Sprint("killed at step ", step), func(t *testing.T) {
					q := p.fresh(t)
					m := newHashModel()
					o := q.options(t, made, m)
					asked := 0
					a := q.attempt(o, m, func(_ int, what string) error {
						if what == "ask the model" {
							asked++
						}
						return killAt(step)(asked, what)
					})
					if _, err := a.run(t.Context()); err == nil {
						t.Fatal("the run was not disturbed")
					}
					o.Env.Model = newHashModel().trusted()
					q.finish(t, o)
					q.looksRight(t, o, want)
				})
			}
		})
	}
}

// showsRules: what shaped texts is on record.
func showsRules(t *testing.T, content string, want decode.Rules) {
	t.Helper()
	var file struct {
		Rules *decode.Rules `json:"rules"`
		Plan  *struct {
			Rules *decode.Rules `json:"rules"`
		} `json:"plan"`
	}
	if err := json.Unmarshal([]byte(content), &file); err != nil {
		t.Fatal(err)
	}
	got := file.Rules
	if got == nil && file.Plan != nil {
		got = file.Plan.Rules
	}
	if got == nil || *got != want {
		t.Errorf("the plan of the run has the rules %+v, not %+v", got, want)
	}
}

// TestReleasesTellTheirRules: who reads the card knows what shaped the texts.
func TestReleasesTellTheirRules(t *testing.T) {
	p := planFor(tickets(), clipped())
	p.Rules.Penalty = 0.625
	r := &runner{plan: p}
	rules, ok := r.settings()["rules"].(map[string]any)
	if !ok || rules["penalty"] != 0.625 {
		t.Errorf("%v", r.settings())
	}
}
