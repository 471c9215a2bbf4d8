package ensemble

import (
	"errors"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
)

// cheap embeds a method and understates its cost.
type cheap struct{ Method }

func (cheap) Event() privacy.Event { return privacy.Compose{} }

// TestForeignMethodsAreRefused: a type around a method compiles in every package, and is
// refused before anything is drawn or the model is asked.
func TestForeignMethodsAreRefused(t *testing.T) {
	for name, s := range scenes(t) {
		for what, m := range map[string]Method{
			"states another cost": cheap{s.method},
			"within settings":     Settings{Settings{cheap{s.method}}},
			"around nothing":      cheap{},
			"a nil pointer":       (*Vote)(nil),
		} {
			a, err := NewAnswerer(s.options)
			if err != nil {
				t.Fatal(err)
			}
			s.pool.read = nil
			job := Job{Input: asked}
			job.Method = m
			if _, err := a.Answer(t.Context(), job); !errors.Is(err, seal.ErrForeign) || Genuine(m) == nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if len(s.pool.read) > 0 || a.Usage().Computed > 0 {
				t.Errorf("%s, %s: records were read, or the model was asked", name, what)
			}
		}
		if err := Genuine(Settings{s.method}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		o := s.options
		o.Pool = struct{ draw.Pool }{o.Pool}
		if _, err := NewAnswerer(o); !errors.Is(err, seal.ErrForeign) {
			t.Errorf("%s: a foreign pool: %v", name, err)
		}
	}
}

// TestMethodsOwnTheirSettings: a copy of a method has nothing in common with it, as all
// of its settings are plain values.
func TestMethodsOwnTheirSettings(t *testing.T) {
	for name, s := range scenes(t) {
		m, err := genuine(s.method)
		if err != nil || m == s.method {
			t.Errorf("%s: the copy is the method itself, or none: %v", name, err)
		}
		if m.Event().String() != s.method.Event().String() {
			t.Errorf("%s: a copy costs %v, not %v", name, m.Event(), s.method.Event())
		}
	}
}
