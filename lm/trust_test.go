package lm_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestTrustedIsItsOwnType: no scorer is assignable or convertible to TrustedScorer, so
// only Trust makes one.
func TestTrustedIsItsOwnType(t *testing.T) {
	trusted := reflect.TypeFor[lm.TrustedScorer]()
	for _, other := range []reflect.Type{reflect.TypeFor[lm.Scorer](), reflect.TypeFor[lm.Model](), reflect.TypeFor[struct{}]()} {
		if other.AssignableTo(trusted) || other.ConvertibleTo(trusted) {
			t.Errorf("%v can be turned into TrustedScorer", other)
		}
	}
	if trusted.Implements(reflect.TypeFor[lm.Scorer]()) || trusted.Implements(reflect.TypeFor[lm.Model]()) {
		t.Error("TrustedScorer can be mistaken for a model of any kind")
	}
	for i := range trusted.NumField() {
		if trusted.Field(i).IsExported() {
			t.Error("a field of TrustedScorer can be set from outside")
		}
	}
	if (lm.TrustedScorer{}).Valid() {
		t.Error("the zero value is trusted")
	}
}

// onlyTop is a scorer that cannot answer for chosen candidates.
type onlyTop struct{ lm.Scorer }

func (onlyTop) Info() lm.Info { return lm.Info{Backend: "server", Can: lm.Capabilities{Top: true}} }

// onlyWrites is a scorer that gives no scores, and writes.
type onlyWrites struct{ lm.Scorer }

func (onlyWrites) Info() lm.Info {
	return lm.Info{Backend: "server", Can: lm.Capabilities{Chat: true}}
}

type able struct{ lm.Scorer }

func (able) Info() lm.Info { return lm.Info{Backend: "server", Can: lm.Capabilities{Candidates: true}} }

// TestTrustedEmbedder: only one in this process sees what was written from records, and no
// conversion makes one.
func TestTrustedEmbedder(t *testing.T) {
	trusted := reflect.TypeFor[lm.TrustedEmbedder]()
	for _, other := range []reflect.Type{reflect.TypeFor[lm.Embedder](), reflect.TypeFor[lm.TrustedScorer](), reflect.TypeFor[struct{}]()} {
		if other.AssignableTo(trusted) || other.ConvertibleTo(trusted) {
			t.Errorf("%v can be turned into TrustedScorerEmbedder", other)
		}
	}
	for i := range trusted.NumField() {
		if trusted.Field(i).IsExported() {
			t.Error("a field of TrustedEmbedder can be set from outside")
		}
	}
	if (lm.TrustedEmbedder{}).Valid() {
		t.Error("the zero value is trusted")
	}
	for basis, ok := range map[lm.Basis]bool{lm.InProcess: true, lm.Declared: false, "a hunch": false} {
		if e, err := lm.TrustEmbedder(encoder{}, basis); (err == nil) != ok || e.Valid() != ok {
			t.Errorf("%q: trusted is %v, %v", basis, e.Valid(), err)
		}
	}
	if _, err := lm.TrustEmbedder(nil, lm.InProcess); err == nil {
		t.Error("no encoder was trusted")
	}
}

type encoder struct{ lm.Embedder }

// fingerprintEncoder is an encoder that has a fingerprint.
type fingerprintEncoder struct{ encoder }

func (fingerprintEncoder) Fingerprint() string { return "sha256:1" }

func TestTrustedFingerprint(t *testing.T) {
	for want, e := range map[string]lm.Embedder{"": encoder{}, "sha256:1": fingerprintEncoder{}} {
		trusted, err := lm.TrustEmbedder(e, lm.InProcess)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := trusted.Within(func(compute func()) { compute() })
		if trusted.Fingerprint() != want || elsewhere.Fingerprint() != want {
			t.Errorf("fingerprints %q and %q, want %q", trusted.Fingerprint(), elsewhere.Fingerprint(), want)
		}
	}
}

func TestTrustRefuses(t *testing.T) {
	var unsupported *lm.UnsupportedError
	if _, err := lm.Trust(onlyTop{}, lm.Declared); !errors.As(err, &unsupported) {
		t.Errorf("a model without candidate scores: %v", err)
	}
	if _, err := lm.Trust(nil, lm.InProcess); err == nil {
		t.Error("no model was trusted")
	}
	m, err := lm.Trust(onlyWrites{}, lm.Declared)
	if err != nil || !m.Valid() {
		t.Fatalf("a model that only writes: %v", err)
	}
	if err := m.NeedScores(); !errors.As(err, &unsupported) {
		t.Errorf("scores of a model that only writes: %v", err)
	}
	if _, err := lm.Isolate(t.Context(), m); !errors.As(err, &unsupported) {
		t.Errorf("a model that only writes was isolated for what needs scores: %v", err)
	}
	var apart *lm.NotIsolatedError
	if _, err := lm.IsolateRecords(t.Context(), m); !errors.As(err, &apart) {
		t.Errorf("a model that cannot keep records apart was isolated: %v", err)
	}
	if _, err := lm.Trust(able{}, "a hunch"); err == nil {
		t.Error("a made-up reason was accepted")
	}
	m, err = lm.Trust(able{}, lm.Declared)
	expect.NoError(t, err)
	expect.Equal(t, "valid", m.Valid(), true)
	expect.Equal(t, "basis", m.Basis(), lm.Declared)
}

// mayTrust lists who may state that a model is trusted, and why.
var mayTrust = map[string]string{
	"internal/evidence/rows": "turns rows of a table into vectors by their public schema, in this process",
	"lm/backend":             "opens the embedded engine, and end points that the configuration marks as trusted",
	"internal/private/worst": "scripts a model of its own for records that are made up",
	"lab/bench/gpu":          "runs seeded comparisons, which have no privacy guarantee, on a GPU of the machine it is started on",
}

// TestTrustIsStatedInOnePlace keeps the statement where a reader looks for it.
func TestTrustIsStatedInOnePlace(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Trust" || s.Sel.Name == "TrustEmbedder") {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "lm" {
					folder, _ := filepath.Rel(root, filepath.Dir(path))
					if _, may := mayTrust[filepath.ToSlash(folder)]; !may {
						t.Errorf("%s calls lm.%s: only these may: %v", folder, s.Sel.Name, mayTrust)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were read", seen)
	}
}
