package decode_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// phrases are conditions as texts of 8 tokens, which are bytes, may hold them.
var phrases = []string{"Wor ld", "spört"}

// containing are options under which texts have to hold their condition.
func containing(t testing.TB, m *toy, p draw.Pool, seed uint64) decode.Options {
	t.Helper()
	o := optionsFor(t, m, p, noise.KeyFromSeed(seed))
	o.Tokens, o.Rules = 14, decode.Rules{MinTokens: 3, Penalty: 0.5, NoRepeat: 3, Contain: true, Favour: 2, After: 4}
	return o
}

// TestContainWithEveryMethod: texts hold their conditions whatever chooses the tokens, the
// same ones however they are computed, and also where a model only tells its best tokens.
func TestContainWithEveryMethod(t *testing.T) {
	const n = 20
	for name, m := range methodsOn(n) {
		t.Run(name, func(t *testing.T) {
			run := func(change func(*decode.Options, *toy)) map[uint64]string {
				model := newToy()
				o := containing(t, model, tickets(n), 1)
				if change != nil {
					change(&o, model)
				}
				o.Model = model.trusted(t)
				return write(t, o, jobsOf(m, phrases))
			}
			want := run(nil)
			if _, real := m.(*decode.Real); real {
				plain := run(func(o *decode.Options, _ *toy) { o.Rules = decode.Rules{} })
				if !maps.Equal(plain, want) {
					t.Errorf("records as they are change with the rules: %v, not %v", want, plain)
				}
				return
			}
			holdAll(t, want)
			for what, change := range map[string]func(*decode.Options, *toy){
				"3 at once":             func(o *decode.Options, _ *toy) { o.Parallel = 3 },
				"as published programs": func(o *decode.Options, _ *toy) { o.Published = true },
			} {
				if got := run(change); !maps.Equal(got, want) {
					t.Errorf("%s: %v, not %v", what, got, want)
				}
			}
			for _, top := range []int{25, 1} {
				if m.Shortlist().Best > 0 { // whole vocabularies are not for such models
					holdAll(t, run(func(_ *decode.Options, m *toy) { m.top = top }))
				}
			}
		})
	}
}

func holdAll(t *testing.T, texts map[uint64]string) {
	t.Helper()
	for i, text := range texts {
		steps, text, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(steps)
		at := expect.At(t, "%q", text)
		expect.NoError(at, err)
		expect.Max(at, "tokens", n, 14)
		expect.Contains(at, "text", strings.ToLower(text), strings.ToLower(phrases[i%2]))
	}
}

// TestRulesArePublic: with other records, or one less, what rules say of a text is the
// same after the same tokens. The spy chooses tokens without looking at prompts.
func TestRulesArePublic(t *testing.T) {
	const n = 20
	fewer, others := tickets(n), tickets(n)
	fewer[1] = fewer[1][:n-1]
	for i := range others[1] {
		others[1][i] = seal.NewRecord(int64(100+i), phrases[1], fmt.Sprintf("%s and %s, %d", phrases[1], phrases[0], i))
	}
	for name, sampling := range map[string]scheme.Scheme{
		"gaussian": methodsOn(n)["gaussian"].Scheme(),
		"clipped":  methodsOn(n)["clipped"].Scheme(),
	} {
		see := func(p pool) (*spy, string) {
			s := spying(sampling, 20)
			job := decode.Job{Text: draw.Text{Index: 4, Part: 1}, Condition: phrases[1], Method: s.PickMethod}
			texts := write(t, containing(t, newToy(), p, 3), []decode.Job{job})
			return s, texts[4]
		}
		want, text := see(tickets(n))
		differ := false
		for _, p := range []pool{fewer, others} {
			got, same := see(p)
			if same != text || len(got.views) != len(want.views) {
				t.Fatalf("%s: %q with other records, not %q", name, same, text)
			}
			for i, v := range got.views {
				if !slices.Equal(v.Public, want.views[i].Public) || !slices.Equal(v.Base, want.views[i].Base) {
					t.Errorf("%s: rules say something else of token %d with other records", name, i)
				}
				differ = differ || fmt.Sprint(v.Prompts) != fmt.Sprint(want.views[i].Prompts)
			}
		}
		if !differ {
			t.Errorf("%s: prompts are the same, so that nothing is tested", name)
		}
		if !slices.ContainsFunc(want.views, func(v decode.View) bool { return len(v.Base) == 1 }) {
			t.Errorf("%s: the condition was never due, so that less is tested", name)
		}
	}
}

// TestStreamNames: what is drawn from a key for one purpose has a name that no other file
// uses, among all that draw from the key of a run.
func TestStreamNames(t *testing.T) {
	users := map[string][]string{}
	for _, dir := range []string{".", "../draw", "../../run"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Stream" || len(call.Args) == 0 {
					return true
				}
				name, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: a stream whose name is not a constant", path)
					return true
				}
				if !slices.Contains(users[name.Value], path) {
					users[name.Value] = append(users[name.Value], path)
				}
				return true
			})
		}
	}
	if len(users[`"after"`]) != 1 || len(users) < 8 {
		t.Fatalf("found %v", users)
	}
	for name, files := range users {
		if len(files) > 1 {
			t.Errorf("%s is drawn from in %v", name, files)
		}
	}
}

// TestContainErrors: a tokeniser that fails is an error that has no content.
func TestContainErrors(t *testing.T) {
	for _, what := range []string{"encode", "decode"} {
		for at := range 12 {
			model := newToy()
			model.fail = func(did string, times int) error {
				if did == what && times == at {
					return context.DeadlineExceeded
				}
				return nil
			}
			w, err := decode.NewWriter(containing(t, model, marked(20), 1))
			if err != nil {
				t.Fatal(err)
			}
			err = w.Write(t.Context(), jobsOf(methodsOn(20)["clipped"], phrases), func(decode.Job, seal.Output) error { return nil })
			if err == nil {
				t.Errorf("%s %d: no error", what, at)
				continue
			}
			clean(t, what, err)
		}
	}
}
