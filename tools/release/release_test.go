package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const checkout = "../.."

// whole names the variable with which the program is built twice, the second time from nothing.
const whole = "SOTTO_TEST_RELEASE"

var here = platform{runtime.GOOS, runtime.GOARCH}

// realProgram builds the program for this machine, once.
var realProgram = sync.OnceValues(func() (*source, error) {
	return readSource(checkout, "v1.2.3")
})

var realData = sync.OnceValues(func() ([]byte, error) {
	src, err := realProgram()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sotto-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return src.build(here, filepath.Join(dir, "sotto"))
})

func built(t *testing.T) (*source, program) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	src, err := realProgram()
	if err != nil {
		t.Fatal(err)
	}
	data, err := realData()
	if err != nil {
		t.Fatal(err)
	}
	return src, program{here, data}
}

// small is a source with this test as its program: a real one that Go linked.
func small(t *testing.T) (*source, program) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	src := &source{root: root, version: "v1.2.3", commit: strings.Repeat("ab", 20), date: time.Unix(1_700_000_000, 0).UTC(), flags: buildFlags}
	return src, program{platform{"linux", runtime.GOARCH}, data}
}

var pages = []file{
	{name: "LICENSE", mode: 0o644, data: []byte("terms\n")},
	{name: "README.md", mode: 0o644, data: []byte("read me\n")},
	{name: "completions/sotto.bash", mode: 0o644, data: []byte("complete\n")},
	{name: "completions/sotto.ps1", mode: 0o644, data: []byte("complete\n")},
	{name: "man1/sotto.1", mode: 0o644, data: []byte(".TH SOTTO 1\n")},
}

// TestPartsTwice: every part has the same bytes when it is made again, and others at another date.
func TestPartsTwice(t *testing.T) {
	src, p := small(t)
	later := *src
	later.date = src.date.Add(time.Hour)
	licences := licenceReader{}
	for name, make := range map[string]func(*source) ([]byte, error){
		"tar.gz": func(s *source) ([]byte, error) { return tarGz("sotto", pages, s.date) },
		"sbom":   func(s *source) ([]byte, error) { return sbom(s, p, &licences) },
		"statement": func(s *source) ([]byte, error) {
			return provenance(s, pages)
		},
	} {
		one, err := make(src)
		two, again := make(src)
		if err := errors.Join(err, again); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(one) == 0 || !bytes.Equal(one, two) {
			t.Errorf("%s: got %d and then %d bytes, want the same, and some", name, len(one), len(two))
		}
		if other, err := make(&later); err != nil || bytes.Equal(one, other) {
			t.Errorf("%s does not depend on the date: %v", name, err)
		}
	}
}

// TestBuildTwice: two folders give the same program, and without -trimpath they do not. With
// SOTTO_TEST_RELEASE it is the program itself, the second time from nothing, in a cache of its own.
func TestBuildTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	one, two := sample(t), sample(t)
	if os.Getenv(whole) != "" {
		src, _ := built(t)
		copied := *src
		copied.root = t.TempDir()
		export(t, src.root, copied.root)
		one, two = src, &copied
	}
	build := func(s *source) []byte {
		t.Helper()
		data, err := s.build(here, filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := build(one)
	if os.Getenv(whole) != "" {
		t.Setenv("GOCACHE", t.TempDir())
	}
	if !bytes.Equal(first, build(two)) {
		t.Error("two folders give two programs")
	}
	one, two = sample(t), sample(t)
	for _, s := range []*source{one, two} {
		s.flags = slices.DeleteFunc(slices.Clone(s.flags), func(f string) bool { return f == "-trimpath" })
	}
	if bytes.Equal(build(one), build(two)) {
		t.Error("this test cannot see where a program was built")
	}
}

// sample is a small module in a folder of its own.
func sample(t *testing.T) *source {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/sample\n\ngo 1.26\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\t\"runtime\"\n)\n\nfunc main() {\n\t_, file, _, _ := runtime.Caller(0)\n\t" +
			"os.Stdout.WriteString(file)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &source{root: dir, version: "v1", main: ".", flags: buildFlags, date: time.Unix(0, 0).UTC()}
}

// export copies what the checkout has, whether it is committed or not.
func export(t *testing.T, from, to string) {
	t.Helper()
	names, err := git(from, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(names, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		path := filepath.Join(to, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMakefile: make build has the flags of a release.
func TestMakefile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range append(slices.Clone(buildFlags), "RECORDED := "+names+"\n", "-s -w -buildid= -X $(RECORDED).release=", "-X $(RECORDED).commit=", "-X $(RECORDED).date=") {
		if !bytes.Contains(data, []byte(flag)) {
			t.Errorf("the Makefile builds without %s", flag)
		}
	}
}

// TestArchives: everything is packed, and what a release's archive holds runs.
func TestArchives(t *testing.T) {
	src, p := built(t)
	made, err := assemble(src, []program{p})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, f := range made.files {
		found[f.name] = f.data
	}
	name := "sotto_v1.2.3_" + p.system + "_" + p.arch
	if !slices.ContainsFunc(made.files, func(f file) bool { return strings.HasSuffix(f.name, ".whl") }) || found[name+".spdx.json"] == nil {
		t.Errorf("got %q, want a wheel and a list of what is inside", slices.Sorted(maps.Keys(found)))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "release.tar.gz")
	if err := os.WriteFile(path, found[name+".tar.gz"], 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, exec.Command("tar", "-xzf", path, "-C", dir))
	dir = filepath.Join(dir, name)
	var got map[string]any
	if err := json.Unmarshal(output(t, exec.Command(filepath.Join(dir, "sotto"+p.extension()), "version", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"version": "v1.2.3", "commit": src.commit, "date": src.date.Format(time.RFC3339), "static": true} {
		if got[key] != want {
			t.Errorf("%s: got %v, want %v", key, got[key], want)
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "man1/sotto.1", "man1/sotto-ledger-grant.1", "completions/sotto.bash", "completions/_sotto", "completions/sotto.fish", "completions/sotto.ps1"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// output runs a command with a home of its own and returns what it printed.
func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out, errs.String())
	}
	return out
}

// TestStartUp: the program starts about as fast as the go command, also a large program in Go. The
// time is the processor's, and the least of many starts: other work on the machine changes that
// little. Before start-up was looked at, it was 11 times that of the go command.
func TestStartUp(t *testing.T) {
	_, p := built(t)
	path := filepath.Join(t.TempDir(), "sotto"+p.extension())
	if err := os.WriteFile(path, p.data, 0o755); err != nil {
		t.Fatal(err)
	}
	fastest := map[string]time.Duration{}
	run := func(name string, cmd *exec.Cmd) {
		output(t, cmd)
		took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if best, ok := fastest[name]; !ok || took < best {
			fastest[name] = took
		}
	}
	for range 20 {
		run("go version", exec.Command("go", "version"))
		run("version", exec.Command(path, "version"))
		run("account", exec.Command(path, "account", "gaussian(1)", "--delta", "1e-6"))
	}
	t.Logf("processor time: %v", fastest)
	const maxFactor = 9
	for _, name := range []string{"version", "account"} {
		if fastest[name] > maxFactor*fastest["go version"] {
			t.Errorf("sotto %s takes %s, more than %d times the %s of go version: GODEBUG=inittrace=1 shows what packages do at the start", name, fastest[name], maxFactor, fastest["go version"])
		}
	}
}
