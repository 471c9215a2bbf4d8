package expect

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"testing"
)

// fake records whether a check failed, and whether it ended the test.
type fake struct{ failed, ended bool }

func (f *fake) Helper()               {}
func (f *fake) Errorf(string, ...any) { f.failed = true }
func (f *fake) Fatalf(string, ...any) { f.failed, f.ended = true, true }

func TestChecks(t *testing.T) {
	path := fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "a", Err: fs.ErrNotExist})
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		check func(TB)
		want  fake
	}{
		{"no error", func(t TB) { NoError(t, nil) }, fake{}},
		{"an error", func(t TB) { NoError(t, path) }, fake{true, true}},
		{"as", func(t TB) { As[*fs.PathError](t, path) }, fake{}},
		{"as another", func(t TB) { As[*fs.PathError](t, errors.New("no")) }, fake{true, true}},
		{"length", func(t TB) { Len(t, "", []int{1}, 1) }, fake{}},
		{"another length", func(t TB) { Len(t, "", []int{1}, 2) }, fake{true, true}},
		{"equal", func(t TB) { Equal(t, "", 1, 1) }, fake{}},
		{"unequal", func(t TB) { Equal(t, "", 1, 2) }, fake{failed: true}},
		{"true", func(t TB) { True(t, "", true) }, fake{}},
		{"false", func(t TB) { True(t, "", false) }, fake{failed: true}},
		{"contains", func(t TB) { Contains(t, "", "abc", "b") }, fake{}},
		{"lacks", func(t TB) { Contains(t, "", "abc", "d") }, fake{failed: true}},
		{"prefix", func(t TB) { Prefix(t, "", "abc", "a") }, fake{}},
		{"not a prefix", func(t TB) { Prefix(t, "", "abc", "b") }, fake{failed: true}},
		{"at", func(t TB) { Equal(At(t, "case %d", 1), "", 1, 2) }, fake{failed: true}},
		{"ended at", func(t TB) { NoError(At(t, "case %d", 1), path) }, fake{true, true}},
		{"min", func(t TB) { Min(t, "", 1, 1) }, fake{}},
		{"less than min", func(t TB) { Min(t, "", 0, 1) }, fake{failed: true}},
		{"max", func(t TB) { Max(t, "", 1, 1) }, fake{}},
		{"more than max", func(t TB) { Max(t, "", 2, 1) }, fake{failed: true}},
		{"within", func(t TB) { Within(t, "", 1.5, 1, 2) }, fake{}},
		{"below", func(t TB) { Within(t, "", 0.5, 1, 2) }, fake{failed: true}},
		{"above", func(t TB) { Within(t, "", 2.5, 1, 2) }, fake{failed: true}},
		{"NaN above min", func(t TB) { Min(t, "", nan, 1) }, fake{failed: true}},
		{"NaN below max", func(t TB) { Max(t, "", nan, 1) }, fake{failed: true}},
		{"NaN within", func(t TB) { Within(t, "", nan, 1, 2) }, fake{failed: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got fake
			c.check(&got)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
