package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/serve/agents"
	tablerun "github.com/sotto-dp/sotto/internal/run"
)

// TestOutputs: docs/security.md has a row for everything that puts something out, and for nothing
// else. A new verb, route or file has to say who sees it, which records it depends on and which
// charge covers that.
func TestOutputs(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := outputRows(string(page))
	var verbs []string
	for path := range clitest.Verbs(clitest.TestRoot(&cli.Program{})) {
		verbs = append(verbs, strings.TrimPrefix(path, "sotto "))
	}
	for section, want := range map[string][]string{
		"Verbs": verbs,
		"Flags": outputFlags(t),
		"Files": outputFiles(t),
		"Routes": slices.Concat(routesIn(t, "../../cmd/internal/serve/gateway", "openapi.json"), routesIn(t, "../../cmd/internal/serve", "openapi.json"),
			routesIn(t, "../../cmd/internal/serve/web", ""), []string{"/"}),
		"Metrics": literalsOf(t, "../../cmd/internal/serve/metrics.go", regexp.MustCompile(`^(sotto|go|process)_[a-z_]+$`)),
		"Tools":   agents.ToolNames,
	} {
		t.Run(section, func(t *testing.T) {
			for _, name := range want {
				if !slices.Contains(rows[section], name) {
					t.Errorf("no row for %s: say who sees it, which records it depends on, and which charge covers that", name)
				}
			}
			for _, name := range rows[section] {
				if !slices.Contains(want, name) {
					t.Errorf("a row for %s, which the code does not have", name)
				}
			}
		})
	}
}

// outputRows reads the names in the first column of each section's table.
func outputRows(page string) map[string][]string {
	name := regexp.MustCompile("`([^`]+)`")
	rows, section := map[string][]string{}, ""
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			section = strings.TrimSpace(heading)
		}
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
				rows[section] = append(rows[section], m[1])
			}
		}
	}
	return rows
}

// readingFlags name files and folders that are read.
var readingFlags = strings.Fields(`candidates checkpoint config data estimate examples from inputs key near-rows plan profile release
	releases service-key-file stand-in task test tls-cert tls-client-ca tls-key with without`)

// outputFlags are the flags that name a file or a folder, and not one that is only read.
func outputFlags(t *testing.T) (names []string) {
	t.Helper()
	read := map[string]bool{}
	look := func(f *pflag.Flag) {
		if value, _ := pflag.UnquoteUsage(f); !slices.Contains([]string{"FILE", "DIR", "PATH", "FOLDER"}, value) {
			return
		}
		if slices.Contains(readingFlags, f.Name) {
			read[f.Name] = true
			return
		}
		names = append(names, "--"+f.Name)
	}
	for _, cmd := range clitest.Verbs(clitest.TestRoot(&cli.Program{})) {
		cmd.Flags().VisitAll(look)
		cmd.InheritedFlags().VisitAll(look)
	}
	for _, name := range readingFlags {
		if !read[name] {
			t.Errorf("--%s is listed as one that is read, and no verb has it", name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// routesIn are the patterns that the code of a folder serves, and those that its description adds.
func routesIn(t *testing.T, dir, description string) (patterns []string) {
	t.Helper()
	pattern := regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) /\S*$`)
	patterns = literals(t, dir, pattern)
	if dir == "../../cmd/internal/serve/gateway" { // health is added to it
		patterns = append(patterns, literalsOf(t, "../../cmd/internal/serve/server.go", pattern)...)
	}
	if description != "" {
		data, err := os.ReadFile(filepath.Join(dir, description))
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Paths map[string]map[string]json.RawMessage
		}
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		for at, methods := range d.Paths {
			for method := range methods {
				p := fmt.Sprintf("%s %s", strings.ToUpper(method), at)
				// A name of a path may have several parts in the code, which OpenAPI cannot say.
				if !slices.Contains(patterns, strings.Replace(p, "{name}", "{name...}", 1)) {
					patterns = append(patterns, p)
				}
			}
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// outputFiles are names of files in the packages that write what others get, or that the owner keeps.
func outputFiles(t *testing.T) (names []string) {
	t.Helper()
	file := regexp.MustCompile(`^[A-Za-z.-]+\.(jsonl|json|txt|md|html|csv|parquet|toml|pem|key|db|lock)$`)
	extension := regexp.MustCompile(`^\.[a-z]+$`)
	for _, dir := range []string{
		".", "internal/evidence", "internal/release", "internal/run", "internal/run/answer", "engines/internal/tablecmd", "privacy/certificate",
		"internal/private/internal/keys", "internal/private/record", "engines/beam",
	} {
		names = append(names, literals(t, filepath.Join("../..", dir), file)...)
	}
	names = append(slices.DeleteFunc(names, extension.MatchString), tablerun.SidecarFile)
	slices.Sort(names)
	return slices.Compact(names)
}

// literals are the strings of a pattern in the code of one folder, without its tests.
func literals(t *testing.T, dir string, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			found = append(found, literalsOf(t, path.Join(filepath.ToSlash(dir), name), pattern)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func literalsOf(t *testing.T, file string, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && pattern.MatchString(text) {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}
