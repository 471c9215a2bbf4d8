package ask_test

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

type (
	inner struct{ N int }
	other struct{ N int }
	door  struct {
		A, B string
		In   *inner
		M    map[string]any
	}
	values map[string]any
	within struct {
		M    values
		B, A string
		In   *other
	}
	fewer      struct{ A, B string }
	otherNames struct{ A, C string }
	otherTypes struct {
		A string
		B []int
	}
)

func TestAs(t *testing.T) {
	in := door{A: "a", B: "b", In: &inner{3}, M: map[string]any{"x": 1}}
	got := ask.As[within](in)
	if got.A != "a" || got.B != "b" {
		t.Errorf("got %+v, want the same texts as in %+v", got, in)
	}
	if got.In != (*other)(in.In) || got.M["x"] != 1 {
		t.Errorf("got %+v, want what %+v points to", got, in)
	}
	back := ask.As[door](got)
	at := expect.At(t, "there and back")
	expect.Equal(at, "back.A", back.A, in.A)
	expect.Equal(at, "back.B", back.B, in.B)
	expect.Equal(at, "back.In", back.In, in.In)
	expect.Equal[any](at, "back.M['x']", back.M["x"], 1)
	if none := ask.As[within](door{}); none.In != nil || none.M != nil {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestAsRefuses(t *testing.T) {
	for name, convert := range map[string]func(){
		"fewer fields": func() { ask.As[door](fewer{}) },
		"more fields":  func() { ask.As[fewer](door{}) },
		"other names":  func() { ask.As[otherNames](fewer{}) },
		"other types":  func() { ask.As[otherTypes](fewer{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was converted")
				}
			}()
			convert()
		})
	}
}
