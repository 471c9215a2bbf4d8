package private_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tokens are methods of a foreign decode.Method, all that can be written down.
const tokens = `
func (method) Name() string { return "clipped" }
func (method) Proof() string { return "trust me" }
func (method) Check() error { return nil }
func (method) Scheme() scheme.Scheme { return scheme.Scheme{} }
func (method) Amounts() []specs.Amount { return nil }
`

const writes = tokens + `
func (method) Step() privacy.Event { return privacy.Compose{} }
func (method) Shortlist() decode.Shortlist { return decode.Shortlist{} }
func (method) Select(decode.View, *noise.Stream) (int, error) { return 0, nil }
`

const answers = tokens + `
func (method) Event() privacy.Event { return privacy.Compose{} }
func (method) Serves(prompt.Task) error { return nil }
func (method) Loud(float64) bool { return false }
func (method) Work() ensemble.Work { return ensemble.Work{} }
`

// imports of the packages that are built.
const imports = `
import (
	"context"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	specs "github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/prompt"
)
var (
	_ context.Context
	_ lm.Info
	_ privacy.Event
	_ noise.Key
	_ private.Output
	_ decode.Rules
	_ scheme.Scheme
	_ specs.Spec
	_ ensemble.Job
	_ record.Options
	_ global.Settings
	_ prompt.Task
)
`

// outside are packages beside private/, with what the compiler says about each; "" if
// they are fine.
var outside = map[string]struct{ code, says string }{
	"uses_methods":        {`var _ decode.Method = &decode.Clipped{}; var _ ensemble.Method = &ensemble.Vote{}`, ""},
	"embeds_a_method":     {`type method struct{ *decode.Clipped }; func (method) Proof() string { return "trust me" }; var _ decode.Method = method{}`, ""}, // refused when it is used
	"a_method_of_tokens":  {`type method struct{}` + writes + `var _ decode.Method = method{}`, "method draw"},
	"a_sealed_method":     {`type method struct{}` + writes + `func (method) draw(scheme.Scheme) decode.Method { return method{} }; var _ decode.Method = method{}`, "method draw"},
	"a_claiming_method":   {`type method struct{}` + writes + `func (method) Claim() string { return "" }; var _ decode.Claimer = method{}`, "method draw"},
	"a_method_of_answers": {`type method struct{}` + answers + `var _ ensemble.Method = method{}`, "method answer"},
	"a_released_text":     {`var _ = private.Output{text: "free"}`, "unexported field text"},
	"a_released_profile":  {`var _ = global.Release{private: true}`, "unexported field private"},
	"a_trusted_model":     {`var m lm.Scorer; var _ lm.TrustedScorer = m`, "cannot use m"},
	"a_trust_of_its_own":  {`var m lm.Scorer; var _ = lm.TrustedScorer{scorer: m}`, "unexported field scorer"},
	"reads_a_record":      {`func f(d *record.Data) { r, _ := d.Fetch(context.Background(), nil); _ = r[0].text }`, "unexported field text"},
	"counts_a_part":       {`func f(d *record.Data) int { return d.Size(0).n }`, "unexported field n"},
	"a_key_of_its_own":    {`var _ = noise.Key{s: nil}`, "unexported field s"},
}

// TestOutsideDoesNotCompile builds packages beside private/ that try to be a method, to
// forge a release, and to look into sealed values. It is what the compiler guarantees:
// what it lets through, an embedded method, is refused when it is used (package run,
// TestForeignMethodsGetNoCertificate).
func TestOutsideDoesNotCompile(t *testing.T) {
	sources := map[string]string{}
	for name, p := range outside {
		sources[name] = imports + p.code
	}
	said := compiled(t, sources)
	for name, p := range outside {
		if got := said[name]; (p.says == "") != (got == "") || !strings.Contains(got, p.says) {
			t.Errorf("%s: the compiler says %q, and should say %q", name, got, p.says)
		}
	}
}

// TestOutsideDoesNotImport: what opens and seals private values is out of reach, also for
// a package of a nested module, whose path is not below private/ either.
func TestOutsideDoesNotImport(t *testing.T) {
	said := compiled(t, map[string]string{"admits_itself": `
import "github.com/sotto-dp/sotto/internal/private/internal/seal"
type method struct{}
func init() { seal.Admit[method]() }`})
	if !strings.Contains(said[""], "use of internal package github.com/sotto-dp/sotto/internal/private/internal/seal not allowed") {
		t.Errorf("the go command says %q", said)
	}
}

// compiled builds packages of the module that are on no disk, and returns what was said
// about each; under "" what was said before any was compiled.
func compiled(t *testing.T, sources map[string]string) map[string]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	args := []string{"build", "-gcflags=-e", "-o", os.DevNull, "-overlay", filepath.Join(dir, "overlay.json")}
	for name, code := range sources {
		path := filepath.Join(dir, name+".go")
		if err := os.WriteFile(path, []byte("package "+name+"\n"+code), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, "outside", name, name+".go")] = path
		args = append(args, "./outside/"+name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	said, at := map[string]string{}, ""
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "# "+module+"/outside/"); ok {
			at = strings.TrimSpace(name)
			continue
		}
		said[at] += line
	}
	return said
}
