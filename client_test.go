package sotto_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
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
	answering struct {
		world
		sotto.AnswerOptions
	}
	measuring struct {
		world
		sotto.MeasureOptions
	}
	rehearsing struct {
		world
		sotto.RehearseOptions
	}
	tabling struct {
		world
		sotto.TableOptions
	}
)

func synthesize(ctx context.Context, o synthesis) (*sotto.Run, error) {
	c := o.client()
	done, err := c.Synthesize(ctx, o.SynthesizeOptions)
	return done, errors.Join(err, c.Close())
}

func answers(ctx context.Context, o answering) (*sotto.Answers, error) {
	return o.client().Answers(ctx, o.AnswerOptions)
}

func answerOne(ctx context.Context, o answering, question string) (*sotto.Answer, error) {
	return o.client().Answer(ctx, o.AnswerOptions, question)
}

func measure(ctx context.Context, o measuring) (*sotto.Measurement, error) {
	return o.client().Measure(ctx, o.MeasureOptions)
}

func rehearse(ctx context.Context, o rehearsing) (*sotto.Rehearsal, error) {
	return o.client().Rehearse(ctx, o.RehearseOptions)
}

func profile(ctx context.Context, o tabling, r sotto.ProfileRequest) (*sotto.ProfileRun, error) {
	return o.client().Profile(ctx, sotto.ProfileOptions{Request: r, TableOptions: o.TableOptions})
}

func perturb(ctx context.Context, o tabling, r sotto.PerturbRequest) (*sotto.PerturbRun, error) {
	return o.client().Perturb(ctx, sotto.PerturbOptions{Request: r, TableOptions: o.TableOptions})
}

func fingerprint(t *testing.T, o tabling, of schema.Schema) ledger.Fingerprint {
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
	for want, open := range map[string]func() (*sotto.Client, error){
		filepath.Join(home, "sotto", "ledger.db"): func() (*sotto.Client, error) { return sotto.Open("", nil) },
		filepath.Join("state", "ledger.db"):       func() (*sotto.Client, error) { return sotto.Open("state", nil) },
		"postgres://budgets/sotto": func() (*sotto.Client, error) {
			return sotto.Open("state", &sotto.Options{Ledger: "postgres://budgets/sotto"})
		},
	} {
		c, err := open()
		if err != nil || c.Ledger() != want || filepath.Base(c.Keys()) != "keys" {
			t.Errorf("%v, want %s: %v", c, want, err)
		}
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

// TestErrorsNameNoFlags: what the library says is for those who call it; the program adds
// its flags by the option that an error names.
func TestErrorsNameNoFlags(t *testing.T) {
	o := options(t)
	o.Request.Method, o.Request.Settings = "real", nil
	_, err := synthesize(t.Context(), o)
	var input *sotto.InputError
	if !errors.As(err, &input) || input.Option != "NonPrivate" || strings.Contains(err.Error(), "--") {
		t.Errorf("%v", err)
	}
	r, _ := rehearsal(t)
	r.StandIn, r.Request = nil, plan.Request{Task: chats(), Size: 200, Epsilon: 1}
	if _, err := rehearse(t.Context(), r); !errors.As(err, &input) || input.Option != "StandIn" || strings.Contains(err.Error(), "--") {
		t.Errorf("%v", err)
	}
}
