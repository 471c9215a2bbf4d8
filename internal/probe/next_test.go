package probe

import (
	"reflect"
	"testing"
)

func TestCandidates(t *testing.T) {
	for text, want := range map[string][]Candidate{
		"1\n22\n":            {{1, "", true}, {22, "", true}},
		" yes\r\n\nno":       {{0, " yes", false}, {0, "no", false}},
		"1\nno\n":            {{0, "1", false}, {0, "no", false}},
		"-1\n":               {{0, "-1", false}},
		`["a", 7]`:           {{0, "a", false}, {7, "", true}},
		"[\n]":               nil,
		"[\n":                {{0, "[", false}},
		"99999999999999999 ": {{0, "99999999999999999 ", false}},
		"":                   nil,
	} {
		got, err := ParseCandidates([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v; %v", text, got, want, err)
		}
	}
	for _, wrong := range []string{`[1.5]`, `[-1]`, `[null]`, `[3000000000]`, `[["a"]]`} {
		if got, err := ParseCandidates([]byte(wrong)); err == nil {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
}
