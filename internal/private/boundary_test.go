package private_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path that all packages of the program begin with.
const module = "github.com/sotto-dp/sotto"

// goPackage is a package as the go command knows it. Tests are not among its files.
type goPackage struct {
	ImportPath, Dir        string
	GoFiles, Imports, Deps []string
}

// packages lists those of the root, of bench and of the engines.
func packages(t *testing.T) []goPackage {
	t.Helper()
	all, err := listing()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d packages were found", len(all))
	}
	return all
}

var listing = sync.OnceValues(func() ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...", "./lab/...", "./engines/...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOWORK=auto") // the laboratory and engines are modules of their own
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// under reports whether an import path is a package or below it.
func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func inside(path string) bool { return under(path, module+"/internal/private") }

// decoders lie outside, because public files are read by them too, and see what records hold:
// the rules about what code inside may do with it are theirs as well.
var decoders = map[string]string{
	"internal/rows":               "rows of files, one after the other",
	"internal/rows/origin":        "files of rows, and what can be the matter with one",
	"internal/rows/convert":       "rows of workbooks and JSON",
	"internal/rows/convert/pages": "pages of Parquet files",
	"internal/reply":              "what models answer to records, and whether it is right",
	"internal/evidence/rows":      "rows of tables in words, as vectors",
}

func decodes(path string) bool {
	below, ok := strings.CutPrefix(path, module+"/")
	_, listed := decoders[below]
	return ok && listed
}

// forbidden are packages that nothing below private/ may import, and why.
var forbidden = map[string]string{
	"log":                        "a log line may hold a record",
	"expvar":                     "publishes variables on the default server",
	"net/http":                   "records leave by a trusted model only, which package lm reaches",
	"net/http/pprof":             "publishes memory on the default server",
	"net/rpc":                    "records leave by a trusted model only",
	"net/smtp":                   "records leave by a trusted model only",
	"math/rand":                  "all private randomness comes from package noise",
	"math/rand/v2":               "all private randomness comes from package noise",
	"os/exec":                    "another program may keep what it is given",
	"flag":                       "settings come as values, so that plans and certificates have all of them",
	"testing":                    "is for tests",
	"text/template":              "templates print whatever they reach",
	"html/template":              "templates print whatever they reach",
	"runtime/debug":              "dumps memory",
	module + "/cmd":              "the program uses the boundary, not the other way round",
	module + "/internal/run":     "run folders hold, and sessions hand out, what was released",
	module + "/internal/icl":     "in-context learning sees released texts only",
	module + "/internal/release": "in-context learning sees released texts only",
	module + "/eval":             "in-context learning sees released texts only",
	module + "/lab":              "the laboratory uses the product, not the other way round",
	module + "/internal/metric":  "measures texts that may be shown",
	module + "/internal/stat":    "measures what was released",
}

// allowed are packages below forbidden ones that may be imported all the same, and why.
var allowed = map[string]string{
	module + "/internal/metric/rouge": "compares two texts, and keeps neither",
}

// parties are modules of others that may see a record below private/, and why.
var parties = map[string]string{
	"github.com/jackc/pgx/v5":            "reads records from PostgreSQL, where the user keeps them",
	"modernc.org/sqlite":                 "reads records from SQLite files",
	"github.com/parquet-go/parquet-go":   "reads records from Parquet files",
	"github.com/klauspost/compress/zstd": "unpacks files of records",
	"github.com/andybalholm/brotli":      "unpacks pages of Parquet files, to count what they unfold to",
	"golang.org/x/text/unicode/norm":     "composes letters, so that a record is known again",
}

// importers of what is below private/, and why they need it. Go keeps everybody else
// from opening a record; this keeps them from holding one.
var importers = map[string]map[string]string{
	"record": {
		module:                             "the front door opens sources",
		module + "/cmd/internal/cli":       "opens the source that the user names",
		module + "/cmd/internal/cli/root":  "opens the source that the user names",
		module + "/internal/ui":            "distinguishes errors of users",
		module + "/internal/run":           "a run reads its data set",
		module + "/internal/private/count": "counts units of a source",
		module + "/lab/bench/synth":        "measures with made-up records",
		module + "/internal/run/answer":    "a session reads its data set",
	},
	"decode": {
		module + "/internal/private/worst":    "plays on made-up inputs, for audits",
		module + "/internal/run":              "a run writes its texts",
		module + "/internal/plan":             "chooses settings of methods; reads no record",
		module + "/lab/bench/synth":           "measures methods on made-up records",
		module + "/internal/private/ensemble": "labels are chosen by soft votes as tokens are",

		module + "/internal/run/answer": "a session writes answers",
	},
	"ensemble": {
		module + "/internal/private/worst": "plays on made-up inputs, for audits",
		module + "/internal/run/answer":    "a session answers questions",
		module + "/internal/plan":          "chooses settings of methods; reads no record",
	},
	"choose": {
		module:                             "the front door names the settings and the results, and reads no record",
		module + "/internal/private/worst": "plays on made-up inputs, for audits",
		module + "/cmd/internal/cli/texts": "reads the settings of choosing",
		module + "/internal/run":           "a run has its records choose",
		module + "/internal/plan":          "chooses settings of choosing; reads no record",
	},
	"measure": {
		module:                             "the front door names the settings and the results, and reads no record",
		module + "/cmd/internal/cli/check": "reads what was measured",
		module + "/internal/run":           "a run measures prompts on its records",
		module + "/internal/plan":          "chooses settings of a measurement; reads no record",
	},
	"sums": {
		module + "/internal/run":           "a run adds up its records",
		module + "/internal/plan":          "chooses settings of sums; reads no record",
		module + "/internal/private/worst": "plays on made-up inputs, for audits",
	},
	"draw": {
		module + "/internal/private/worst":           "plays on made-up inputs, for audits",
		module + "/internal/private/internal/grader": "draws the records that judge prompts",

		module + "/internal/run":              "a run names its texts",
		module + "/lab/bench/synth":           "measures methods on made-up records",
		module + "/internal/private/decode":   "writes texts from draws",
		module + "/internal/private/ensemble": "answers questions from draws",
		module + "/internal/private/choose":   "judges prompts by draws",
		module + "/internal/private/measure":  "measures prompts by draws",
		module + "/internal/private/sums":     "adds up all records of a pool",
		module + "/internal/run/answer":       "a session names its answers",
	},
	"draw/drawtest": {},
	"worst": {
		module + "/cmd/internal/cli/check": "audits mechanisms on made-up inputs",
	},
	"table": {
		module + "/internal/private/worst":           "plays on made-up inputs, for audits",
		module:                                       "the front door opens tables",
		module + "/internal/run":                     "a run reads its table",
		module + "/cmd/internal/cli":                 "reads public rows that questions are about",
		module + "/cmd/internal/cli/root":            "reads public rows that questions are about",
		module + "/cmd/internal/cli/start":           "reads public rows that questions are about",
		module + "/cmd/internal/cli/tables":          "reads public rows that questions are about",
		module + "/internal/ui":                      "distinguishes errors of users",
		module + "/lab/tabular":                      "tries methods on rows that may be shown, by seeds",
		module + "/internal/private/record":          "puts rows into words as they are encoded",
		module + "/internal/private/table/stream":    "encodes rows as they come",
		module + "/internal/private/table/local":     "perturbs rows",
		module + "/internal/private/table/global":    "adds rows up",
		module + "/lab/trainer/private":              "fits a model to rows that may be shown",
		module + "/internal/private/table/tabletest": "states what every source does",
		module + "/lab/bench/table":                  "measures with made-up rows",
		module + "/internal/run/compute":             "says what engines do with a table",
		module + "/engines/internal/tablecmd":        "reads the settings of tables",
	},
	"table/tabletest": {},
	"table/learn": {
		module + "/lab/tabular":           "measures private baselines",
		module + "/cmd/internal/estimate": "predicts from released profiles",
	},
	"table/global": {
		module:                                   "the front door names the settings and the results, and reads no record",
		module + "/internal/private/worst":       "plays on made-up inputs, for audits",
		module + "/internal/private/table/learn": "makes naive Bayes of released profiles",
		module + "/cmd/internal/cli/tables":      "reads the settings of profiles",
		module + "/cmd/internal/estimate":        "reads released profiles",
		module + "/internal/run":                 "a run makes a profile",
		module + "/internal/plan":                "chooses settings of profiles; reads no row",
		module + "/lab/tabular":                  "tries profiles on rows that may be shown, by seeds",
		module + "/lab/bench/table":              "measures with made-up rows",
		module + "/internal/run/compute":         "says what engines add up",
		module + "/engines/internal/tablecmd":    "reads the settings of profiles",
	},
	"table/stream": {
		module:                  "the front door perturbs rows as they come",
		module + "/internal/ui": "distinguishes errors of users",
	},
	"table/local": {
		module + "/internal/private/worst":        "plays on made-up inputs, for audits",
		module + "/internal/private/table/stream": "perturbs rows as they come",
		module + "/internal/run":                  "a run perturbs a table",
		module + "/internal/plan":                 "chooses settings of perturbing; reads no row",
		module + "/lab/tabular":                   "tries perturbing on rows that may be shown, by seeds",
		module + "/lab/bench/table":               "measures with made-up rows",
		module + "/internal/run/compute":          "says what engines perturb",
	},
	"folder": {
		module:                              "the front door asks whether a key is there before it makes a ledger",
		module + "/cmd/internal/cli/budget": "shares the key of data sets as a file",
	},
	"count": {
		module + "/internal/run": "a run pays for sizes and labels",
	},
}

// apart are packages that must not depend on private/ at all, and why.
var apart = map[string]string{
	module + "/lm":                   "models see tokens, whosever they are",
	module + "/prompt":               "tasks are public",
	module + "/schema":               "schemas are public",
	module + "/internal/learn":       "sees rows that may be seen",
	module + "/internal/icl":         "in-context learning sees released texts only, and may use a model that is not trusted",
	module + "/internal/metric":      "measures and compares texts that may be shown",
	module + "/internal/stat":        "sees numbers alone",
	module + "/internal/demo":        "fictional data is not private",
	module + "/privacy":              "describes and accounts; the ledger and certificates hold no record",
	module + "/internal/release":     "handles what was released",
	module + "/internal/evidence":    "reads questions by what was released",
	module + "/internal/reconstruct": "learns from perturbed rows only",
}

// TestImportGraph states who may know what, and that nobody is on the list who does not.
func TestImportGraph(t *testing.T) {
	for path := range decoders {
		if !slices.ContainsFunc(packages(t), func(p goPackage) bool { return p.ImportPath == module+"/"+path }) {
			t.Errorf("there is no package %s", path)
		}
	}
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, problem := range importProblems(p) {
			t.Errorf("%s %s", p.ImportPath, problem)
		}
		for _, i := range p.Imports {
			used[p.ImportPath+" "+i] = true
		}
	}
	for below, may := range importers {
		for who := range may {
			if !used[who+" "+module+"/internal/private/"+below] {
				t.Errorf("%s may import %s and does not: take it off the list", who, below)
			}
		}
	}
}

func importProblems(p goPackage) []string {
	var out []string
	for _, i := range p.Imports {
		if inside(p.ImportPath) || decodes(p.ImportPath) {
			for path, why := range forbidden {
				if _, fine := allowed[i]; !fine && (i == path || strings.HasPrefix(path, module+"/") && under(i, path)) {
					out = append(out, fmt.Sprintf("imports %s: %s", i, why))
				}
			}
			if strings.Contains(strings.Split(i, "/")[0], ".") && !under(i, module) && !party(i) {
				out = append(out, fmt.Sprintf("imports %s: code of others sees records only for a reason that is listed in this test", i))
			}
		} else if under(i, module+"/internal/private/internal") {
			out = append(out, fmt.Sprintf("imports %s: only packages below private/ open a record", i))
		}
		if below, ok := strings.CutPrefix(i, module+"/internal/private/"); ok && !under(below, "internal") {
			may, known := importers[below]
			if _, ok := may[p.ImportPath]; !ok && known {
				out = append(out, fmt.Sprintf("imports %s: who may hold records is listed in this test", i))
			}
			if !known {
				out = append(out, fmt.Sprintf("imports %s: say in this test who may", i))
			}
		}
	}
	for folder, why := range apart {
		for _, dep := range p.Deps {
			if under(p.ImportPath, folder) && inside(dep) {
				out = append(out, fmt.Sprintf("depends on %s: %s", dep, why))
			}
		}
	}
	if p.ImportPath == module+"/internal/plan" {
		for _, dep := range p.Deps {
			if dep == module+"/internal/private/record" {
				out = append(out, "depends on private/record: a plan reads no data")
			}
		}
	}
	return out
}

func party(path string) bool {
	for m := range parties {
		if under(path, m) {
			return true
		}
	}
	return false
}

// callers of functions that somebody has to answer for, and why they may.
var callers = map[string]map[string]string{
	"lm.Trust": {
		module + "/internal/private/worst": "a model of its own, for made-up records",
		module + "/lm/backend":             "opens the engine, or a server that the configuration trusts",
		module + "/lab/bench/gpu":          "measures on data that may be shown",
	},
	"lm.TrustEmbedder": {
		module + "/internal/private/worst": "scripts encoders of its own for records that are made up",
		module + "/lm/backend":             "opens the encoder of this process",
		module + "/internal/evidence/rows": "the encoder is a function of a public schema, in this process",
		module + "/lab/bench/gpu":          "measures on data that may be shown",
	},
	"certificate.NewStatement": {
		module + "/internal/run": "what a run did is the event of methods that this program has a proof of",
	},
	"certificate.Sign": {
		module + "/internal/run": "signs what it has charged and released",
	},
	"seal.Admit": {
		module + "/internal/private/worst":    "a pool of made-up records",
		module + "/internal/private/decode":   "its methods",
		module + "/internal/private/ensemble": "its methods",
		module + "/internal/private/record":   "sources that are enrolled",
	},
	"seal.Release": {
		module + "/internal/private/decode": "hands out texts with what they cost",
	},
	"seal.ReleasePart": {
		module + "/internal/private/ensemble": "hands out answers with what they cost",
	},
}

// TestCallers states who may trust a model, sign a certificate, admit a type to private
// values, and release.
func TestCallers(t *testing.T) {
	found := map[string]bool{}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range calls(file) {
				found[call] = true
				if _, ok := callers[call][p.ImportPath]; !ok {
					t.Errorf("%s/%s uses %s: who may is listed in this test", p.ImportPath, name, call)
				}
			}
		}
	}
	for call := range callers {
		if !found[call] {
			t.Errorf("nobody uses %s: the rule is about nothing", call)
		}
	}
}

// calls are the functions of callers that a file names, whether it calls them or hands
// them on.
func calls(file *ast.File) []string {
	names := map[string]string{} // of packages, in the file
	for _, i := range file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		base := path[strings.LastIndex(path, "/")+1:]
		if !under(path, module) {
			continue
		}
		names[base] = base
		if i.Name != nil {
			names[i.Name.Name] = base
		}
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && names[x.Name] != "" {
				if call := names[x.Name] + "." + s.Sel.Name; callers[call] != nil {
					out = append(out, call)
				}
			}
		}
		return true
	})
	return out
}

// TestNothingInsidePrints reads the files below private/.
func TestNothingInsidePrints(t *testing.T) {
	read := 0
	for _, p := range packages(t) {
		if !inside(p.ImportPath) && !decodes(p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			read++
			for _, problem := range printing(file) {
				t.Errorf("%s/%s %s", p.ImportPath, name, problem)
			}
		}
	}
	if read < 20 {
		t.Fatalf("only %d files were read", read)
	}
}

// printing finds what writes where somebody may read.
func printing(file *ast.File) []string {
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := x.Name + "." + n.Sel.Name
			switch {
			case x.Name == "fmt" && strings.HasPrefix(n.Sel.Name, "Print"):
				out = append(out, "uses "+name+": what is inside does not print")
			case name == "os.Stdout" || name == "os.Stderr":
				out = append(out, "uses "+name+": what is inside does not print")
			case x.Name == "slog" && name != "slog.Value" && name != "slog.StringValue":
				out = append(out, "uses "+name+": sealed values hide from logs by slog.Value, and nothing logs")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				out = append(out, "calls "+f.Name+": what is inside does not print")
			}
		}
		return true
	})
	return out
}

// TestTheRulesBite: each rule finds what it is about.
func TestTheRulesBite(t *testing.T) {
	for _, p := range []goPackage{
		{ImportPath: module + "/internal/private/decode", Imports: []string{"log"}},
		{ImportPath: module + "/internal/rows/convert", Imports: []string{"log"}},
		{ImportPath: module + "/internal/private/record", Imports: []string{"net/http"}},
		{ImportPath: module + "/internal/private/draw", Imports: []string{"math/rand/v2"}},
		{ImportPath: module + "/internal/private/decode", Imports: []string{module + "/cmd/sotto"}},
		{ImportPath: module + "/internal/private/decode", Imports: []string{"example.org/collector"}},
		{ImportPath: module + "/internal/run", Imports: []string{module + "/internal/private/internal/seal"}},
		{ImportPath: module + "/internal/icl", Deps: []string{module + "/internal/private/record"}},
		{ImportPath: module + "/lm/backend", Deps: []string{module + "/internal/private"}},
		{ImportPath: module + "/prompt", Deps: []string{module + "/internal/private/decode"}},
		{ImportPath: module + "/internal/plan", Deps: []string{module + "/internal/private/record"}},
		{ImportPath: module + "/web", Imports: []string{module + "/internal/private/record"}},
		{ImportPath: module + "/internal/run", Imports: []string{module + "/internal/private/newcomer"}},
	} {
		if len(importProblems(p)) == 0 {
			t.Errorf("%s may import %v and depend on %v", p.ImportPath, p.Imports, p.Deps)
		}
	}
	for _, code := range []string{
		`import "github.com/sotto-dp/sotto/lm"; var f = lm.Trust`,
		`import x "github.com/sotto-dp/sotto/internal/private/internal/seal"; func init() { x.Admit[int]() }`,
		`import "github.com/sotto-dp/sotto/privacy/certificate"; func f() { certificate.Sign(nil, nil) }`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(calls(file)) == 0 {
			t.Errorf("%s is not seen", code)
		}
	}
	for _, body := range []string{`fmt.Println(1)`, `print(1)`, `fmt.Fprint(os.Stderr, 1)`, `slog.Info("x")`, `w := os.Stdout; _ = w`} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+body+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(printing(file)) == 0 {
			t.Errorf("%s is allowed", body)
		}
	}
}

// TestLaboratoryOutside: nothing imports the laboratory, a module of its own, but itself.
func TestLaboratoryOutside(t *testing.T) {
	all, err := listing()
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, p := range all {
		if under(p.ImportPath, module+"/lab") {
			seen = true
			continue
		}
		for _, i := range p.Imports {
			if under(i, module+"/lab") {
				t.Errorf("%s imports %s, which is of the laboratory", p.ImportPath, i)
			}
		}
	}
	if !seen {
		t.Error("there is no laboratory")
	}
}
