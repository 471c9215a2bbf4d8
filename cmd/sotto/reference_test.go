package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/reference"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// TestReference writes the reference pages for make docs. It fails on what has no description.
func TestReference(t *testing.T) {
	for name, page := range map[string]func(*testing.T) string{
		"cli.md": cliPage, "configuration.md": configurationPage, "events.md": eventsPage, "http.md": httpPage,
	} {
		t.Run(name, func(t *testing.T) { reference.Write(t, name, []byte(page(t))) })
	}
	reference.Write(t, "schemas/configuration.schema.json", configurationSchema())
	reference.Write(t, "schemas/certificate.schema.json", certificateSchema())
}

func configurationSchema() []byte {
	d := reference.NewDocument("toml")
	d.Define("root", "", reflect.TypeFor[config.Settings]())
	return d.JSON("configuration.schema.json", "Sotto's configuration, sotto.toml", "root")
}

func certificateSchema() []byte {
	d := reference.NewDocument("json")
	d.Define("root", "", reflect.TypeFor[certificate.Predicate]())
	return d.JSON("certificate.schema.json", "The predicate of a certificate's in-toto statement", "root")
}

// cliPage lists every verb and flag.
func cliPage(*testing.T) string {
	var b strings.Builder
	b.WriteString("# Command line\n\n`sotto VERB --help` prints the same. Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 refused by the\nbudget, 4 verification failed. [What `--json` prints](json.md) has a page of its own.\n")
	root := clitest.TestRoot(&cli.Program{})
	b.WriteString("\n## Flags of every verb\n")
	flagTable(&b, "--", root.PersistentFlags())
	var all func(*cobra.Command, int)
	all = func(cmd *cobra.Command, level int) {
		for _, c := range cmd.Commands() {
			if c.Hidden || !c.IsAvailableCommand() {
				continue
			}
			verbPage(&b, c, level)
			all(c, level+1)
		}
	}
	all(root, 2)
	return b.String()
}

func verbPage(b *strings.Builder, c *cobra.Command, level int) {
	fmt.Fprintf(b, "\n%s %s\n\n%s.\n\n", strings.Repeat("#", min(level, 4)), c.CommandPath(), escapeMarkdown(c.Short))
	if !c.HasAvailableSubCommands() || c.Annotations[cli.RunsItself] != "" {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", c.UseLine())
	}
	b.WriteString(prose(c.Long))
	if c.HasExample() {
		fmt.Fprintf(b, "\nExamples:\n\n```text\n%s\n```\n", unindent(c.Example))
	}
	flagTable(b, "--", c.LocalNonPersistentFlags())
	if s := settings.Of(c); s != nil {
		b.WriteString("\nFor `--set NAME=VALUE`:\n")
		flagTable(b, "", s.Flags)
	}
}

// flagTable lists flags with what they take and their defaults.
func flagTable(b *strings.Builder, before string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n| Flag | Takes | Default | |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		takes, about := pflag.UnquoteUsage(f)
		otherwise := f.DefValue
		if otherwise == "[]" || otherwise == "0" || otherwise == "false" || otherwise == "0s" {
			otherwise = ""
		}
		if otherwise != "" {
			otherwise = "`" + otherwise + "`"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s | %s |\n", before, f.Name, takes, otherwise, cell(about))
	})
}

// prose is a help text as Markdown: paragraphs, and what is indented as it is.
func prose(s string) string {
	var b strings.Builder
	for _, part := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if strings.HasPrefix(part, " ") {
			fmt.Fprintf(&b, "```text\n%s\n```\n\n", unindent(part))
		} else {
			fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(part))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func unindent(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(l, "  "), " ")
	}
	return strings.Join(lines, "\n")
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "#", `\#`, "~", `\~`).Replace(s)
}

// cell is text in a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(escapeMarkdown(s)), " "), "|", `\|`)
}

// without are variables that no flag stands for.
var without = map[string]string{
	"SOTTO_CONFIG":      "the configuration file, if `--config` does not name one",
	"SOTTO_MODELS":      "the directory of model files (default: the user's cache)",
	"SOTTO_MODELS_LOCK": "the file that pins models from Hugging Face (default: `models.lock` beside your configuration)",
}

// configurationPage lists the keys of sotto.toml, and variables.
func configurationPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Configuration

Flags come first, then variables, then your configuration, then your data directory. Your configuration is
the file that ` + "`--config` or `SOTTO_CONFIG` names, else `sotto/sotto.toml`" + ` in the folder where your programs keep
theirs. Nobody else may be able to write to it, a key that it does not know is an error, and paths in it
are relative to it. A ` + "`sotto.toml` in the working directory may set `name`, `threads` and `context` of `[model]`" + `,
and nothing else. [Its JSON Schema](schemas/configuration.schema.json) is for editors that check TOML.
`)
	table := func(heading string, of reflect.Type) {
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		if about := reference.Comment(of); about != "" && heading != "Top level" {
			fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(about))
		}
		b.WriteString("| Key | Takes | |\n|---|---|---|\n")
		for _, f := range reference.Fields(of, "toml") {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Key, taken(f.Type), cell(f.Comment))
		}
	}
	table("Top level", reflect.TypeFor[config.Settings]())
	table("[model]", reflect.TypeFor[config.Model]())
	table("[upstream.NAME]", reflect.TypeFor[config.Upstream]())
	table("[oidc]", reflect.TypeFor[config.OIDC]())
	b.WriteString("\n## Variables\n\n| Variable | Flag | |\n|---|---|---|\n")
	flags := flagsOfVariables()
	for _, name := range variables(t) {
		f, about := flags[name], without[name]
		flag := ""
		if f != nil {
			_, usage := pflag.UnquoteUsage(f)
			flag, about = "`--"+f.Name+"`", cell(usage)
		}
		if about == "" {
			t.Errorf("no flag's help names %s: describe it in without", name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, flag, about)
	}
	b.WriteString("| `HF_TOKEN` | | a token for models of Hugging Face that are not public; it is sent there alone |\n| `NO_COLOR` | | no colours |\n")
	return b.String()
}

// taken is a type in words.
func taken(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Pointer:
		return "a table"
	case reflect.Map:
		return "tables by name"
	}
	return "a whole number"
}

var variable = regexp.MustCompile(`"(SOTTO_[A-Z_]+[A-Z])"`)

// variables lists those that the program reads: literals of the code, except of tests.
func variables(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "testdata" || d.Name() == "bench" || d.Name() == "tools") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range variable.FindAllSubmatch(text, -1) {
			if name := string(m[1]); !strings.HasPrefix(name, "SOTTO_TEST_") {
				found[name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}

// flagsOfVariables finds the flag whose help names a variable.
func flagsOfVariables() map[string]*pflag.Flag {
	flags := map[string]*pflag.Flag{}
	all := clitest.Verbs(clitest.TestRoot(&cli.Program{}))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		look := func(f *pflag.Flag) {
			for _, name := range regexp.MustCompile(`SOTTO_[A-Z_]+[A-Z]`).FindAllString(f.Usage, -1) {
				flags[name] = cmp.Or(flags[name], f)
			}
		}
		all[path].Flags().VisitAll(look)
		all[path].InheritedFlags().VisitAll(look)
	}
	return flags
}

// events are one of each kind.
var events = []privacy.Event{
	privacy.Gaussian{Sigma: 2},
	privacy.Laplace{B: 2},
	privacy.Pure{Epsilon: 1},
	privacy.Approx{Epsilon: 1, Delta: 1e-9},
	privacy.BoundedRange{C: 1},
	privacy.RandomizedResponse{Epsilon: 1, K: 4},
	privacy.ZCDP{Rho: 0.1},
	privacy.NonPrivate{},
	privacy.Compose{Events: []privacy.Event{privacy.Pure{Epsilon: 1}, privacy.Gaussian{Sigma: 2}}},
	privacy.Repeat{N: 10, Event: privacy.Gaussian{Sigma: 8}},
	privacy.Poisson{Q: 0.01, Event: privacy.Gaussian{Sigma: 1}},
	privacy.FixedSize{N: 1000, M: 10, Event: privacy.Gaussian{Sigma: 1}},
	privacy.Parallel{Events: []privacy.Event{privacy.Gaussian{Sigma: 2}, privacy.Gaussian{Sigma: 3}}},
}

const grammar = "```text" + `
event  = name "(" [ item { "," item } ] ")"
item   = number | event
number = decimal [ "/" decimal ]
` + "```"

// eventsPage lists the events, and which accountant gives a number for which.
func eventsPage(t *testing.T) string {
	_, err := privacy.Parse("nothing()")
	var b strings.Builder
	b.WriteString("# Events\n\nAn event describes a mechanism without saying how private it is.\nNumbers may be fractions such as `20/30000`; white space does not matter. In `sotto calibrate`, `x` stands for the number to find.\n\n" + grammar + "\n\n| Event | Means | Parameters |\n|---|---|---|\n")
	for _, e := range events {
		if err == nil || !strings.Contains(err.Error(), e.Node()) {
			t.Errorf("the parser does not know %s: %v", e.Node(), err)
		}
		v := reflect.TypeOf(e)
		var takes, about []string
		for i := range v.NumField() {
			f := v.Field(i)
			switch f.Type.Kind() {
			case reflect.Slice:
				takes = append(takes, "e, …")
				continue
			case reflect.Interface:
				takes = append(takes, "e")
				continue
			}
			takes = append(takes, strings.ToLower(f.Name))
		}
		for _, f := range reference.Fields(v, "json") {
			if f.Comment != "" && !slices.Contains(about, f.Comment) {
				about = append(about, f.Comment)
			}
		}
		fmt.Fprintf(&b, "| `%s(%s)` | %s | %s |\n", e.Node(), strings.Join(takes, ", "), cell(reference.Comment(v)), cell(strings.Join(about, " ")))
	}
	if names := strings.Count(err.Error(), ", ") + 1; names < len(events) {
		t.Errorf("%d events are listed, the parser has %d: %v", len(events), names, err)
	}
	b.WriteString("\n## Who computes what\n\nThe upper end of ε at δ = 1e-6, by each accountant, of an example of each event; a dash where it has no theorem. `auto` takes the least.\n\n| Event | Adjacency | auto | pld | rdp |\n|---|---|---|---|---|\n")
	for _, e := range events {
		for _, adjacency := range []privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne} {
			var row []string
			for _, name := range []string{"auto", "pld", "rdp"} {
				by, err := accountant.ByName(name)
				if err != nil {
					t.Fatal(err)
				}
				r, err := by.Epsilon(e, adjacency, 1e-6)
				switch {
				case err != nil:
					row = append(row, "–")
				default:
					row = append(row, fmt.Sprintf("%.3g", r.Upper))
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e, adjacency, strings.ReplaceAll(strings.Join(row, " | "), "+Inf", "∞"))
		}
	}
	return b.String()
}
