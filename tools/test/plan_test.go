package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBatches: what starts goroutines runs under the race detector, of the rest the tests
// that say so, and what is long and only computes never does.
func TestBatches(t *testing.T) {
	dir := t.TempDir()
	m := &module{name: "m"}
	for name, files := range map[string][2]string{
		"statement":  {"func f() { go f() }", "func TestA(t T) {}"},
		"group":      {"func f(g G) { g.Go(nil) }", "func TestA(t T) {}\nfunc TestPlainB(t T) {}"},
		"suite":      {"", "func TestA(t T) { lmtest.Run(t) }"},
		"some":       {"", "func TestConcurrentUse(t T) { go f() }"},
		"quiet":      {"", "func TestA(t T) { go f() }\nfunc TestPlainB(t T) {}"},
		"eval/suite": {"func f() { go f() }", "func TestA(t T) {}\nfunc TestConcurrentB(t T) {}"},
	} {
		p := pkg{ImportPath: "m/" + name, Dir: filepath.Join(dir, name), GoFiles: []string{"a.go"}, TestGoFiles: []string{"a_test.go"}}
		if err := os.MkdirAll(p.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, file := range []string{"a.go", "a_test.go"} {
			if err := os.WriteFile(filepath.Join(p.Dir, file), []byte("package p\n"+files[i]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p.look()
		m.packages = append(m.packages, p)
	}
	for _, c := range []struct {
		short, race bool
		want        map[string][]string
	}{
		{false, true, map[string][]string{
			"tests":                           {"m/eval/suite", "m/quiet", "m/some"},
			"long tests":                      {"m/group"},
			"race detector":                   {"m/group", "m/statement", "m/suite"},
			"race detector, concurrent tests": {"m/eval/suite", "m/some"},
		}},
		{false, false, map[string][]string{"tests": {"m/eval/suite", "m/group", "m/quiet", "m/some", "m/statement", "m/suite"}}},
		{true, false, map[string][]string{"short tests": {"m/eval/suite", "m/group", "m/quiet", "m/some", "m/statement", "m/suite"}}},
	} {
		got := map[string][]string{}
		for _, b := range m.batches(c.short, c.race) {
			slices.Sort(b.packages)
			got[b.title] = b.packages
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("short %v, race %v: %v, want %v", c.short, c.race, got, c.want)
		}
	}
}

// TestPart: what is published, and modules beside the program, are of the rest alone, and all else is not.
func TestPart(t *testing.T) {
	for _, c := range []struct {
		module, path string
		rest         bool
	}{
		{"example.org/m", "example.org/m/cmd/m", false},
		{"example.org/m/tools", "example.org/m/tools/planted", false},
		{"example.org/m/tools", "example.org/m/tools/release", true},
		{"example.org/m/bench", "example.org/m/bench/lm", true},
	} {
		for _, rest := range []bool{false, true} {
			m := module{name: c.module, packages: []pkg{{ImportPath: c.path}}}
			if m.part(rest); (len(m.packages) == 1) != (c.rest == rest) {
				t.Errorf("%s with rest %t: %d packages are left", c.path, rest, len(m.packages))
			}
		}
	}
}

// TestBeside: make test and make test-all agree, for lint as for tests, which modules are beside the program.
func TestBeside(t *testing.T) {
	file, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(file), "\nBESIDE := ")
	list, _, _ = strings.Cut(list, "\n")
	var got []string
	for _, dir := range strings.Fields(list) {
		got = append(got, strings.TrimPrefix(dir, "./"))
	}
	if !slices.Equal(got, beside) {
		t.Errorf("the Makefile has %q beside the program, this program %q", got, beside)
	}
}
