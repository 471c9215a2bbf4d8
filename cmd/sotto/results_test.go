package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/reference"
	"github.com/sotto-dp/sotto/internal/ui"
)

// results are the types of what verbs print with --json, and what they printed.
type results struct {
	last    reflect.Type
	types   map[string][]reflect.Type
	printed map[string][]string
}

// failures is the name of what any verb prints when it fails.
const failures = "error"

// listen keeps the types of results until the test ends.
func listen(t *testing.T) *results {
	t.Helper()
	r := &results{types: map[string][]reflect.Type{}, printed: map[string][]string{}}
	clitest.OnJSON = func(v any) { r.last = reflect.TypeOf(v) }
	t.Cleanup(func() { clitest.OnJSON = nil })
	return r
}

// add takes what a verb printed last.
func (r *results) add(path string, code int, printed string) {
	if code != 0 {
		var o map[string]any
		if json.Unmarshal([]byte(printed), &o); o["error"] == nil {
			return // a conclusion, such as a certificate that does not verify
		}
		path = failures
	}
	if r.last != nil && !slices.Contains(r.types[path], r.last) {
		r.types[path] = append(r.types[path], r.last)
	}
	r.printed[path] = append(r.printed[path], printed)
	r.last = nil
}

// definition is what the schema calls the result of a verb.
func definition(path string) string { return strings.ReplaceAll(path, " ", "-") }

// check holds what was printed against the schema of the types.
func (r *results) check(t *testing.T) {
	t.Helper()
	d := reference.NewDocument("json")
	all := clitest.Verbs(clitest.TestRoot(&cli.Program{}))
	for path, types := range r.types {
		about := "What any verb prints when it fails"
		if cmd := all[path]; cmd != nil {
			about = cmd.Short
		}
		slices.SortFunc(types, func(a, b reflect.Type) int { return cmp.Compare(a.String(), b.String()) })
		d.Define(definition(path), about, types...)
	}
	document := d.JSON("results.schema.json", "What verbs of sotto print with --json", "")
	reference.Write(t, "schemas/results.schema.json", document)
	reference.Write(t, "json.md", []byte(r.page()))
	checked := 0
	for path, printed := range r.printed {
		s := reference.Compile(t, document, "#/$defs/"+definition(path))
		for _, text := range printed {
			fits(t, path, s, []byte(text))
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("%d results were checked", checked)
	}
}

// fits checks JSON against a schema.
func fits(t *testing.T, what string, s *jsonschema.Schema, data []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s is not as its schema says: %v", what, err)
	}
}

// TestFilesFitTheirSchemas: a configuration and a certificate are as their schemas say.
func TestFilesFitTheirSchemas(t *testing.T) {
	own := "ledger = 'a.db'\n[model]\nthreads = 2\n[upstream.x]\nurl = 'https://x'\n"
	if err := reference.Compile(t, configurationSchema(), "").Validate(reference.DecodeTOML(t, []byte(own))); err != nil {
		t.Error(err)
	}

	dir := t.TempDir()
	ring := filepath.Join(dir, "ring")
	if code, _, errs := clitest.Run(t, "keys", "new", "--keys", ring); code != 0 {
		t.Fatal(errs)
	}
	clitest.Write(t, filepath.Join(dir, "a.jsonl"), []byte("{}\n"))
	if err := clitest.Certify(dir, ring, "gaussian(3)"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "certificate.json"))
	var envelope struct{ Payload []byte }
	var statement struct{ Predicate json.RawMessage }
	if err := errors.Join(err, json.Unmarshal(data, &envelope), json.Unmarshal(envelope.Payload, &statement)); err != nil {
		t.Fatal(err)
	}
	fits(t, "a certificate", reference.Compile(t, certificateSchema(), ""), statement.Predicate)
}

// page lists the members of each verb's result.
func (r *results) page() string {
	var b strings.Builder
	b.WriteString("# What --json prints\n" + `
With ` + "`--json`" + ` a verb prints exactly one JSON object on standard output (` + "`sotto answer --inputs`" + ` one a line), also
when it fails. Numbers that may be infinite are then the text "Infinity". JSON Schemas, which tests hold real
results against:

- [results.schema.json](schemas/results.schema.json): all verbs; the result of ` + "`sotto ledger show`" + ` is its ` + "`#/$defs/sotto-ledger-list`" + `
- [certificate.schema.json](schemas/certificate.schema.json): the predicate of a certificate
- [task.schema.json](schemas/task.schema.json), [schema.schema.json](schemas/schema.schema.json),
  [configuration.schema.json](schemas/configuration.schema.json): files that people write, in TOML
`)
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		title := name
		if name == failures {
			title = "Any verb that fails"
		}
		fmt.Fprintf(&b, "\n## %s\n", title)
		for _, t := range r.types[name] {
			for t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if t.Kind() != reflect.Struct {
				b.WriteString("\nAny object.\n")
				continue
			}
			b.WriteString("\n| Key | Type | | |\n|---|---|---|---|\n")
			for _, f := range reference.Fields(t, "json") {
				always := "always"
				if !f.Required {
					always = "if there is one"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Key, shown(f.Type), always, cell(f.Comment))
			}
		}
	}
	return b.String()
}

// shown is the type of a member in words.
func shown(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return shown(t.Elem())
	case reflect.Uint8:
		return "JSON"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return ui.If(t != reflect.TypeFor[json.RawMessage](), "list of ") + shown(t.Elem())
	case reflect.Map:
		return "object of " + shown(t.Elem())
	case reflect.Struct:
		if t.Name() == "Time" {
			return "time"
		}
		return "object"
	case reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	}
	return "whole number"
}
