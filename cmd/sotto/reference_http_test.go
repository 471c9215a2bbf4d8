package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// httpPage describes what the service's two addresses answer, from the descriptions that it serves.
func httpPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# HTTP\n\n`sotto serve` answers at two addresses, and each serves its own description, in OpenAPI 3.1, as `/openapi.json`.\n")
	for _, file := range []string{"../../cmd/internal/serve/gateway/openapi.json", "../../cmd/internal/serve/openapi.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d description
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		d.page(&b)
	}
	return b.String()
}

// description is what is used of an OpenAPI description.
type description struct {
	Info  struct{ Title, Description string }
	Paths map[string]map[string]struct {
		Summary, Description string
		Security             []any
		Parameters           []struct {
			Name, In string
			Required bool
			Schema   map[string]any
		}
		RequestBody *struct {
			Content map[string]struct{ Schema map[string]any }
		}
		Responses map[string]map[string]any
	}
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]map[string]any
	}
}

func (d *description) page(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", d.Info.Title, d.Info.Description)
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op := d.Paths[path][method]
			fmt.Fprintf(b, "\n### %s %s\n\n%s.", strings.ToUpper(method), path, op.Summary)
			if len(op.Security) > 0 {
				b.WriteString(" Needs a key: `Authorization: Bearer sk-sotto-…`.")
			}
			b.WriteString("\n")
			if op.Description != "" {
				fmt.Fprintf(b, "\n%s\n", op.Description)
			}
			var rows []string
			for _, p := range op.Parameters {
				rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", p.Name, p.In, required(p.Required), d.shape(p.Schema)))
			}
			if op.RequestBody != nil {
				for _, kind := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
					rows = append(rows, d.members(op.RequestBody.Content[kind].Schema)...)
				}
			}
			if len(rows) > 0 {
				fmt.Fprintf(b, "\n| Name | In | | Type |\n|---|---|---|---|\n%s\n", strings.Join(rows, "\n"))
			}
			b.WriteString("\n| Status | |\n|---|---|\n")
			var same []string
			all := slices.Sorted(maps.Keys(op.Responses))
			for i, status := range all {
				same = append(same, status)
				about := d.answer(op.Responses[status])
				if i+1 < len(all) && d.answer(op.Responses[all[i+1]]) == about {
					continue
				}
				fmt.Fprintf(b, "| %s | %s |\n", strings.Join(same, ", "), cell(about))
				same = nil
			}
		}
	}
}

func required(yes bool) string {
	if yes {
		return "required"
	}
	return ""
}

// answer describes a response.
func (d *description) answer(r map[string]any) string {
	if ref, ok := r["$ref"].(string); ok {
		r = d.Components.Responses[ref[strings.LastIndexByte(ref, '/')+1:]]
	}
	about, _ := r["description"].(string)
	return about
}

// follow returns the schema that another refers to.
func (d *description) follow(s map[string]any) map[string]any {
	if ref, ok := s["$ref"].(string); ok {
		return d.Components.Schemas[ref[strings.LastIndexByte(ref, '/')+1:]]
	}
	return s
}

// members lists the members of a request's body.
func (d *description) members(s map[string]any) []string {
	s = d.follow(s)
	properties, _ := s["properties"].(map[string]any)
	needed, _ := s["required"].([]any)
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, _ := properties[name].(map[string]any)
		rows = append(rows, fmt.Sprintf("| `%s` | body | %s | %s |", name, required(slices.Contains(needed, any(name))), d.shape(p)))
	}
	return rows
}

// shape is a schema in words.
func (d *description) shape(s map[string]any) string {
	s = d.follow(s)
	kind := ""
	switch v := s["type"].(type) {
	case string:
		kind = v
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, fmt.Sprint(one))
		}
		kind = strings.Join(all, " or ")
	}
	if items, ok := s["items"].(map[string]any); ok {
		kind += " of " + d.shape(items)
	}
	if about, ok := s["description"].(string); ok {
		kind += ": " + cell(about)
	}
	return cmp.Or(kind, "any")
}
