package sotto_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

// world is where the client of a test has its state.
type world struct {
	sotto.Options
	Dir string
}

func (w world) client() *sotto.Client {
	c, err := sotto.Open(w.Dir, &w.Options)
	if err != nil {
		panic(err)
	}
	return c
}

func (w world) at(name string) string { return filepath.Join(w.Dir, name) }

// state are the places that a use may make.
func (w world) state() []string {
	return []string{w.client().Ledger(), w.client().Keys(), w.at("private")}
}

// Options of each verb, with the client that carries it out.
type (
	synthesis struct {
		world
		sotto.SynthesizeOptions
	}
	answerCall struct {
		world
		sotto.AnswerOptions
	}
	measureCall struct {
		world
		sotto.MeasureOptions
	}
	rehearsalCall struct {
		world
		sotto.RehearseOptions
	}
	tableCall struct {
		world
		sotto.TableOptions
	}
)

func synthesize(ctx context.Context, o synthesis) (*sotto.Run, error) {
	c := o.client()
	done, err := c.Synthesize(ctx, o.SynthesizeOptions)
	return done, errors.Join(err, c.Close())
}

func answers(ctx context.Context, o answerCall) (*sotto.AnswerSession, error) {
	return o.client().Answers(ctx, o.AnswerOptions)
}

func answerOne(ctx context.Context, o answerCall, question string) (*sotto.Answer, error) {
	return o.client().Answer(ctx, o.AnswerOptions, question)
}

func measure(ctx context.Context, o measureCall) (*sotto.Measurement, error) {
	return o.client().Measure(ctx, o.MeasureOptions)
}

func rehearse(ctx context.Context, o rehearsalCall) (*sotto.Rehearsal, error) {
	return o.client().Rehearse(ctx, o.RehearseOptions)
}

func profile(ctx context.Context, o tableCall, r sotto.ProfileRequest) (*sotto.ProfileRun, error) {
	return o.client().Profile(ctx, sotto.ProfileOptions{Request: r, TableOptions: o.TableOptions})
}

func perturb(ctx context.Context, o tableCall, r sotto.PerturbRequest) (*sotto.PerturbRun, error) {
	return o.client().Perturb(ctx, sotto.PerturbOptions{Request: r, TableOptions: o.TableOptions})
}

func fingerprint(t *testing.T, o tableCall, of schema.Schema) ledger.Fingerprint {
	t.Helper()
	id, err := o.client().TableIdentity(t.Context(), o.Source, of)
	if err != nil {
		t.Fatal(err)
	}
	return id.Fingerprint
}

// TestOneStateDirectory: ledger, keys and private folder are in the directory that a client
// is opened with, the user's own by default, and each can be elsewhere.
func TestOneStateDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_DATA_HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "none"))
	for want, open := range map[string]func() (*sotto.Client, error){
		filepath.Join(home, "sotto", "ledger.db"): func() (*sotto.Client, error) { return sotto.Open("", nil) },
		filepath.Join("state", "ledger.db"):       func() (*sotto.Client, error) { return sotto.Open("state", nil) },
		"postgres://budgets/sotto": func() (*sotto.Client, error) {
			return sotto.Open("state", &sotto.Options{Ledger: "postgres://budgets/sotto"})
		},
	} {
		t.Run(want, func(t *testing.T) {
			c, err := open()
			expect.NoError(t, err)
			expect.Equal(t, "c.Ledger()", c.Ledger(), want)
			expect.Equal(t, "filepath.Base(c.Keys())", filepath.Base(c.Keys()), "keys")
		})
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("opening a client makes %v", left)
	}
	o := bank(t)
	if _, err := profile(t.Context(), o, sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}); err != nil {
		t.Fatal(err)
	}
	for _, path := range o.state() {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestUsersOwnState: a client without a directory has what the user's variables and configuration name,
// as the sotto command has, and what is named there and missing is not made.
func TestUsersOwnState(t *testing.T) {
	home := t.TempDir()
	for _, v := range []string{"XDG_DATA_HOME", "SOTTO_LEDGER", "SOTTO_KEYS", "SOTTO_PRIVATE", "SOTTO_CONFIG"} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "settings"))
	own := config.Own()
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("ledger = \"named.db\"\nkeys = \"ring\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(filepath.Dir(own), "named.db")
	c, err := sotto.Open("", nil)
	expect.NoError(t, err)
	expect.Equal(t, "c.Ledger()", c.Ledger(), named)
	expect.Equal(t, "c.Keys()", c.Keys(), filepath.Join(filepath.Dir(own), "ring"))
	o := bank(t)
	_, err = c.Profile(t.Context(), sotto.ProfileOptions{Request: sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}, TableOptions: o.TableOptions})
	if !errors.Is(err, ledger.ErrMissing) || !strings.Contains(err.Error(), named) {
		t.Errorf("a ledger that is named and missing: %v", err)
	}
	for _, path := range []string{named, filepath.Join(home, ".local", "share", "sotto", "ledger.db")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	t.Setenv("SOTTO_LEDGER", "variable.db")
	if c, err := sotto.Open("", nil); err != nil || c.Ledger() != "variable.db" {
		t.Errorf("%v: %v", c, err)
	}
	if c, err := sotto.Open("", &sotto.Options{Ledger: "option.db"}); err != nil || c.Ledger() != "option.db" {
		t.Errorf("%v: %v", c, err)
	}
}

// TestErrorsNameNoFlags: what the library says is for those who call it; the program adds
// its flags by the option that an error names.
func TestErrorsNameNoFlags(t *testing.T) {
	o := options(t)
	o.Request.Method, o.Request.Settings = "real", nil
	_, err := synthesize(t.Context(), o)
	input := expect.As[*sotto.InputError](t, err)
	expect.Equal(t, "input.Option", input.Option, "NonPrivate")
	expect.True(t, "no -- in error", !strings.Contains(fmt.Sprint(err), "--"), fmt.Sprint(err))
	r, _ := rehearsal(t)
	r.StandIn, r.Request = nil, sotto.Request{Task: chats(), Size: 200, Epsilon: 1}
	_, err = rehearse(t.Context(), r)
	input = expect.As[*sotto.InputError](t, err)
	expect.Equal(t, "input.Option", input.Option, "StandIn")
	expect.True(t, "no -- in error", !strings.Contains(fmt.Sprint(err), "--"), fmt.Sprint(err))
}
