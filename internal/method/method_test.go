package method

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

var example = Spec{Name: "example", Settings: []Setting{
	{Name: "n", Type: Int, Min: 2, Max: 9, Zero: true},
	{Name: "x", Type: Float},
	{Name: "y", Type: Float, Negative: true, Max: 1},
	{Name: "w", Type: Choice, Choices: []string{"a", "b"}},
	{Name: "b", Type: Bool},
}}

func TestValues(t *testing.T) {
	type word string
	v, err := Values{"n": int64(3), "x": 2, "y": -0.5, "w": word("b"), "b": true}.Check(example)
	expect.NoError(t, err)
	expect.Equal(t, "v.Int('n', 0)", v.Int("n", 0), 3)
	expect.Equal(t, "v.Float('x', 0)", v.Float("x", 0), 2)
	expect.Equal(t, "v.Float('y', 0)", v.Float("y", 0), -0.5)
	expect.Equal(t, "v.Word('w', '')", v.Word("w", ""), "b")
	expect.True(t, "v.Is('b')", v.Is("b"))
	at := expect.At(t, "what is not there is not left to the method")
	expect.Equal(at, "v.Int('none', 7)", v.Int("none", 7), 7)
	expect.True(at, "not v.Has('none')", !v.Has("none"))
	expect.True(at, "v.Has('n')", v.Has("n"))
	for _, fine := range []Values{{"n": 0}, {"n": 2}, {"n": 9}, {"n": 4.0}, {"y": 0}, {"y": 1}, nil} {
		if _, err := fine.Check(example); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
	for want, wrong := range map[string]Values{
		"n is 1, it should be a whole number from 2 to 9, or 0": {"n": 1},
		"n is 10,":                              {"n": 10},
		"n is -1,":                              {"n": -1},
		"n is 2.5,":                             {"n": 2.5},
		"x is 0, it should be a number above 0": {"x": 0},
		"y is 2":                                {"y": 2},
		"w is c, it should be one of a, b":      {"w": "c"},
		"b is 1, it should be true or false":    {"b": 1},
		"example does not have the setting z: it has n, x, y, w, b": {"z": 1},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := wrong.Check(example); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, which does not say %q", wrong, err, want)
			}
		})
	}
	if got := (Values{"n": 0, "x": 1.5, "z": 1}).Given().For(example); len(got) != 1 || got["x"] != 1.5 {
		t.Errorf("%v", got)
	}
}

func TestRegister(t *testing.T) {
	defer func(list []Spec) { specs = list }(specs)
	specs = nil
	Register(example)
	for what, s := range map[string]Spec{
		"a name twice": example,
		"no name":      {},
		"another type": {Name: "other", Settings: []Setting{{Name: "n", Type: Float}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is registered", what)
				}
			}()
			Register(s)
		}()
	}
	if _, err := Find("exmaple"); err == nil || !strings.Contains(err.Error(), `unknown method "exmaple": one of example`) {
		t.Error(err)
	}
}
