package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kinds are packages by what there is in their code and their tests.
func kinds(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	dir := t.TempDir()
	for name, files := range map[string][2]string{
		"statement":              {"func f() { go f() }", "func TestA(t T) {}"},
		"group":                  {"func f(g G) { g.Go(nil) }", "func TestA(t T) {}\nfunc TestPlainB(t T) {}\nfunc TestLongC(t T) {}"},
		"suite":                  {"", "func TestA(t T) { lmtest.Run(t) }"},
		"some":                   {"", "func TestConcurrentUse(t T) { go f() }\nfunc TestLongD(t T) {}"},
		"quiet":                  {"", "func TestA(t T) { go f() }\nfunc TestPlainB(t T) {}"},
		"cmd/internal/cli/serve": {"func f() { go f() }", "func TestA(t T) {}\nfunc TestConcurrentB(t T) {}"},
		"cmd/internal/serve":     {"func f() { go f() }", "func TestA(t T) {}\nfunc TestPlainB(t T) {}\nfunc TestConcurrentC(t T) {}"},
		"tools/release":          {"func f() { go f() }", "func TestA(t T) {}\nfunc TestConcurrentB(t T) {}\nfunc TestLongE(t T) {}"},
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
		all = append(all, p)
	}
	return all
}

// TestBatches: what starts goroutines runs under the race detector, of the rest the tests
// that say so, and what is long and only computes never does.
func TestBatches(t *testing.T) {
	m := &module{name: "m", packages: kinds(t)}
	everything := []string{"m/cmd/internal/cli/serve", "m/cmd/internal/serve", "m/group", "m/quiet", "m/some", "m/statement", "m/suite"}
	for name, c := range map[string]struct {
		in   tier
		race bool
		want map[string][]string
	}{
		"make test": {usual, true, map[string][]string{
			"tests":                           {"m/cmd/internal/cli/serve", "m/cmd/internal/serve", "m/quiet", "m/some"},
			"tests that compute":              {"m/group"},
			"race detector":                   {"m/group", "m/statement", "m/suite"},
			"race detector, concurrent tests": {"m/some"},
			"concurrent tests without the race detector": {"m/cmd/internal/cli/serve", "m/cmd/internal/serve"},
		}},
		"make test-all": {rest, true, map[string][]string{
			"long tests":                      {"m/group", "m/some", "m/tools/release"},
			"race detector":                   {"m/cmd/internal/serve", "m/tools/release"},
			"race detector, concurrent tests": {"m/cmd/internal/cli/serve"},
		}},
		"make test without a C compiler": {usual, false, map[string][]string{"tests": everything}},
		"make check":                     {short, false, map[string][]string{"short tests": everything}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for _, b := range m.batches(c.in, c.race) {
				slices.Sort(b.packages)
				got[b.title] = b.packages
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestTiers: every test runs once in make test or in make test-all, with the race detector and without
// one. Only what runs under the race detector in the rest, of large programs, runs in both.
func TestTiers(t *testing.T) {
	m := &module{name: "m", packages: kinds(t)}
	for _, race := range []bool{false, true} {
		for _, p := range m.packages {
			for _, test := range testsOf(t, p) {
				got := map[tier]int{}
				for _, in := range []tier{usual, rest} {
					for _, b := range m.batches(in, race) {
						if slices.Contains(b.packages, p.ImportPath) && selected(b.flags, test) {
							got[in]++
						}
					}
				}
				want := map[tier]int{usual: 1}
				if m.later(p) || strings.HasPrefix(test, "TestLong") {
					want = map[tier]int{rest: 1}
				}
				detected := strings.Contains(test, "Concurrent") || p.goroutines && !p.partly() && !strings.HasPrefix(test, "TestPlain")
				if race && p.large() && detected {
					want = map[tier]int{usual: 1, rest: 1}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("race detector %t: %s.%s runs %v times, want %v", race, p.ImportPath, test, got, want)
				}
			}
		}
	}
}

func testsOf(t *testing.T, p pkg) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, p.TestGoFiles[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`func (Test\w+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	return names
}

// selected reports whether go test's flags select a test.
func selected(flags []string, test string) bool {
	for _, f := range flags {
		name, pattern, _ := strings.Cut(f, "=")
		matches := regexp.MustCompile(pattern).MatchString(test)
		if name == "-run" && !matches || name == "-skip" && matches {
			return false
		}
	}
	return true
}

// TestListsAreOfPackages: every package that plan.go names is there, and has tests.
func TestListsAreOfPackages(t *testing.T) {
	var all []pkg
	for _, dir := range []string{"../..", "..", "../../lab"} {
		m, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.packages...)
	}
	for _, path := range slices.Concat(partly, large, slowest, later) {
		if !slices.ContainsFunc(all, func(p pkg) bool { return p.is([]string{path}) }) {
			t.Errorf("there is no package %s with tests", path)
		}
	}
}

// TestLater: what is published, the laboratory, and modules beside the program are of the rest alone, and all else is not.
func TestLater(t *testing.T) {
	for _, c := range []struct {
		module, path string
		want         bool
	}{
		{"example.org/m", "example.org/m/cmd/m", false},
		{"example.org/m", "example.org/m/tools/release", true},
		{"example.org/m/tools", "example.org/m/tools/planted", false},
		{"example.org/m/tools", "example.org/m/tools/release", true},
		{"example.org/m/lab", "example.org/m/lab/bench/lm", true},
	} {
		m := module{name: c.module}
		if got := m.later(pkg{ImportPath: c.path}); got != c.want {
			t.Errorf("%s is of the rest: got %t, want %t", c.path, got, c.want)
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
