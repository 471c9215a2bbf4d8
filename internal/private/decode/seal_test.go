package decode_test

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// cheap embeds a method and understates its cost; eager looks at the scores of prompts.
type (
	cheap struct{ *decode.Clipped }
	eager struct {
		decode.Method
		seen *int
	}
)

func (cheap) Step() privacy.Event { return privacy.BoundedRange{C: 1e-9} }
func (cheap) Proof() string       { return "trust me" }

func (e eager) Select(v decode.View, _ *noise.Stream) (int, error) {
	*e.seen += len(v.Prompts)
	return 0, nil
}

// sealedPool is a pool that nobody may read.
type sealedPool struct {
	pool
	t *testing.T
}

func init() { seal.Admit[sealedPool]() }

func (p sealedPool) Size(part int) seal.Count {
	p.t.Error("the pool was looked at")
	return p.pool.Size(part)
}

// TestForeignMethodsAreRefused: a type around a method compiles, and is refused before
// anything is drawn or the model is asked; to accountants it costs everything.
func TestForeignMethodsAreRefused(t *testing.T) {
	clipped := methodsOn(20)["clipped"].(*decode.Clipped)
	seen := 0
	for name, m := range map[string]decode.Method{
		"states another cost":     cheap{clipped},
		"a pointer to it":         &cheap{clipped},
		"within settings":         decode.Settings{Method: decode.Settings{Method: cheap{clipped}}},
		"looks at scores":         eager{clipped, &seen},
		"around nothing":          eager{nil, &seen},
		"nothing":                 nil,
		"a nil pointer":           (*decode.Clipped)(nil),
		"settings of no method":   decode.Settings{},
		"a pointer to settings":   &decode.Settings{Method: clipped},
		"a struct, not a pointer": struct{ decode.Method }{clipped},
	} {
		model := newToy()
		w, err := decode.NewWriter(optionsFor(t, model, sealedPool{tickets(20), t}, noise.KeyFromSeed(1)))
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(t.Context(), []decode.Job{{Condition: "red", Method: clipped}, {Condition: "red", Method: m}}, func(decode.Job, seal.Output) error {
			t.Errorf("%s: something was released", name)
			return nil
		})
		if !errors.Is(err, seal.ErrForeign) || decode.Genuine(m) == nil {
			t.Errorf("%s: %v", name, err)
		}
		if seen > 0 || len(model.times) > 0 {
			t.Errorf("%s: saw %d scores, and the model was asked: %v", name, seen, model.times)
		}
		if got := decode.TextEvent(m, 5); got != (privacy.NonPrivate{}) {
			t.Errorf("%s: costs %v", name, got)
		}
	}
	for name, m := range methodsOn(20) {
		if err := errors.Join(decode.Genuine(m), decode.Genuine(decode.Settings{Method: m})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForeignPoolsAreRefused: a type around a pool could name one unit for all draws.
func TestForeignPoolsAreRefused(t *testing.T) {
	o := optionsFor(t, newToy(), struct{ draw.Pool }{sealedPool{tickets(20), t}}, noise.KeyFromSeed(1))
	if _, err := decode.NewWriter(o); !errors.Is(err, seal.ErrForeign) {
		t.Error(err)
	}
}

// TestTheWriterRunsItsOwnCopy: settings that change while a text is written change neither
// the text nor what it says it cost.
func TestTheWriterRunsItsOwnCopy(t *testing.T) {
	run := func(change bool) (map[uint64]string, string) {
		m := *methodsOn(20)["clipped"].(*decode.Clipped)
		o := optionsFor(t, newToy(), tickets(20), noise.KeyFromSeed(4))
		o.Stream = func(job decode.Job, _ seal.Output) {
			if change {
				m.Range, m.Draw.Rate = 1000, 1
				job.Method.(*decode.Clipped).Temperature = 1e-3
			}
		}
		w, err := decode.NewWriter(o)
		if err != nil {
			t.Fatal(err)
		}
		texts, event := map[uint64]string{}, ""
		err = w.Write(t.Context(), jobsOf(&m, o.Task.Labels), func(j decode.Job, r seal.Output) error {
			texts[j.Index], event = r.Text(), r.Event().String()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return texts, event
	}
	want, cost := run(false)
	if got, event := run(true); !maps.Equal(got, want) || event != cost {
		t.Errorf("%v at %s, not %v at %s", got, event, want, cost)
	}
}

// TestMethodsArePlainValues: a copy of a method shares nothing with it.
func TestMethodsArePlainValues(t *testing.T) {
	for _, name := range method.Names(method.List(method.Texts)) {
		m, err := method.New[decode.Method](name, method.Texts)
		if err != nil {
			t.Fatal(err)
		}
		if at := shares(reflect.TypeOf(m).Elem()); at != "" {
			t.Errorf("%s: copies share %s", name, at)
		}
	}
}

// shares returns the name of a field that copies of a type have in common.
func shares(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if at := shares(t.Field(i).Type); at != "" {
				return t.Field(i).Name + at
			}
		}
		return ""
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.String:
		return ""
	}
	return " of type " + t.String()
}
