package enginetest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Program is one that profiles tables.
type Program struct {
	// Run runs it in this process' environment and working directory.
	Run func(t *testing.T, args ...string) (code int, said string)
	// Put stores a table, whose CSV is given, below a folder, and returns the flags that name it.
	Put func(t *testing.T, dir string, rows []byte) []string
	// Verb comes before flags.
	Verb []string
}

// Sotto is the sotto command, at a path.
func Sotto(path string) Program {
	return Program{
		Verb: []string{"table", "profile"},
		Run: func(t *testing.T, args ...string) (int, string) {
			t.Helper()
			cmd := exec.Command(path, args...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			return cmd.ProcessState.ExitCode(), string(out)
		},
		Put: func(t *testing.T, dir string, rows []byte) []string {
			t.Helper()
			path := filepath.Join(dir, "loans.csv")
			if err := os.WriteFile(path, rows, 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{"--data", path}
		},
	}
}

// BuildSotto builds the sotto command of this source, and returns its path.
func BuildSotto(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sotto")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/sotto-dp/sotto/cmd/sotto")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// user is somebody whose own configuration names where ledger, keys and private folder are.
type user struct {
	t   *testing.T
	dir string
}

func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{t, t.TempDir()}
	for _, v := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", config.LedgerVariable, config.KeysVariable, config.PrivateVariable, config.FileVariable} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", u.path("home"))
	for _, dir := range []string{u.path("work"), u.path("shared"), filepath.Dir(config.Own())} {
		u.must(os.MkdirAll(dir, 0o700))
	}
	t.Chdir(u.path("work"))
	u.write(config.Own(), "ledger = '"+u.path("shared/ledger.db")+"'\nkeys = '"+u.path("shared/keys")+"'\nprivate = '"+u.path("shared/private")+"'\n")
	u.write(u.path("loans.toml"), string(demo.LoansFile()))
	return u
}

func (u *user) path(name string) string { return filepath.Join(u.dir, filepath.FromSlash(name)) }

func (u *user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) write(path, text string) {
	u.t.Helper()
	u.must(os.WriteFile(path, []byte(text), 0o600))
}

// run has a program do something, and checks its exit code.
func (u *user) run(p Program, code int, want string, args ...string) {
	u.t.Helper()
	got, said := p.Run(u.t, args...)
	if got != code || !strings.Contains(said, want) {
		u.t.Errorf("%q: exit code %d, want %d and %q: %s", args, got, code, want, said)
	}
}

// profile is a call that costs all of the budget.
func (u *user) profile(p Program, data []string, out string, more ...string) []string {
	args := append(slices.Clone(p.Verb), "--schema", u.path("loans.toml"), "--size", "600", "--epsilon", "1", "--out", u.path(out))
	return append(append(args, data...), more...)
}

// state finds ledgers, signing keys and private folders wherever they are below the user's folders.
func (u *user) state() (found []string) {
	u.t.Helper()
	u.must(filepath.WalkDir(u.dir, func(path string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasSuffix(name, ".db") || name == "signer.pem" || name == "fingerprint.key" {
			rel, err := filepath.Rel(u.dir, path)
			u.must(err)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	}))
	return found
}

// charges counts what the ledger at a place was charged.
func (u *user) charges(path string) (n int) {
	u.t.Helper()
	l, err := ledger.Open(u.t.Context(), u.path(path), ledger.Options{})
	u.must(err)
	defer l.Close()
	all, err := l.List(u.t.Context())
	u.must(err)
	for _, d := range all {
		of, err := l.Show(u.t.Context(), string(d.Fingerprint))
		u.must(err)
		n += len(of.Charges)
	}
	return n
}

// OneLedger: a program charges the ledger that the user's own configuration names, knows data by
// the key of the folder named there, signs with the keys named there, and makes no others. What it
// spent is spent for sotto, at a path, and the other way round. A variable and a flag come before
// the configuration, and a file in the working directory decides nothing.
func OneLedger(t *testing.T, sotto string, p Program) {
	t.Helper()
	named := []string{"shared/keys/signer.pem", "shared/ledger.db", "shared/private/fingerprint.key"}
	own := Sotto(sotto)
	for name, first := range map[string]bool{"before sotto": true, "after sotto": false} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			csv := Loans(t, rows)
			plain := own.Put(t, u.dir, csv)
			data := p.Put(t, u.path("shared"), csv)
			u.run(own, ui.Done, "budget", append([]string{"ledger", "init", "loans", "--schema", u.path("loans.toml"), "--epsilon", "1", "--delta", "1e-6"}, plain...)...)
			if first {
				u.run(p, ui.Done, "", u.profile(p, data, "a")...)
				u.run(own, ui.Refused, "refused", u.profile(own, plain, "b")...)
			} else {
				u.run(own, ui.Done, "", u.profile(own, plain, "b")...)
			}
			u.run(p, ui.Refused, "refused", u.profile(p, data, "c")...)
			if got := u.state(); !slices.Equal(got, named) {
				t.Errorf("there are %q, and the configuration names %q", got, named)
			}
			if n := u.charges("shared/ledger.db"); n != 1 {
				t.Errorf("%d charges", n)
			}
			u.run(own, ui.Done, "", "verify", u.path(map[bool]string{true: "a", false: "b"}[first]))
		})
	}
	t.Run("order", func(t *testing.T) {
		u := newUser(t)
		data := p.Put(t, u.path("shared"), Loans(t, rows))
		// None of these is there, and none is made.
		u.run(p, ui.Wrong, "shared", u.profile(p, data, "a")...)
		other := u.path("other.toml")
		u.write(other, "ledger = 'file.db'\n")
		u.run(p, ui.Wrong, "file.db", u.profile(p, data, "a", "--config", other)...)
		t.Setenv(config.FileVariable, other)
		u.run(p, ui.Wrong, "file.db", u.profile(p, data, "a")...)
		t.Setenv(config.LedgerVariable, u.path("variable.db"))
		u.run(p, ui.Wrong, "variable.db", u.profile(p, data, "a")...)
		u.run(p, ui.Wrong, "flag.db", u.profile(p, data, "a", "--ledger", u.path("flag.db"))...)
		t.Setenv(config.FileVariable, "")
		t.Setenv(config.LedgerVariable, "")
		u.write(u.path("work/sotto.toml"), "ledger = 'here.db'\n")
		u.run(p, ui.Wrong, "it sets", u.profile(p, data, "a")...)
		if got := u.state(); len(got) != 0 {
			t.Errorf("what was refused has made %q", got)
		}
	})
}
