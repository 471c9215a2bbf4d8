package reference

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	// Deep is far down.
	Deep bool `json:"deep"`
}

type limit float64

func (limit) MarshalJSON() ([]byte, error) { return []byte(`"Infinity"`), nil }

// outer is described.
type outer struct {
	inner
	// First and Second come in turn.
	First  string `json:"first"`
	Second int    `json:"second,omitempty"`
	Third  []*outer
	When   time.Time      `json:"when"`
	Limit  limit          `json:"limit"`
	Any    map[string]any `json:"any"`
	Hidden string         `json:"-"`
	own    int
}

// TestSchema: members, comments, what is required, what may be null, and a type that contains itself.
func TestSchema(t *testing.T) {
	_ = outer{own: 1}.own
	d := NewDocument("json")
	d.Define("root", "what it is for", reflect.TypeFor[*outer]())
	got := strings.Join(strings.Fields(string(d.JSON("a.json", "A", "root"))), " ")
	for _, want := range []string{
		`"$ref": "#/$defs/root", "$defs"`,
		`"root": { "description": "what it is for", "$ref": "#/$defs/reference.outer" }`,
		`"reference.outer": { "description": "outer is described.", "type": "object", "properties": { "deep": { "description": "Deep is far down.", "type": "boolean" }`,
		`"second": { "description": "First and Second come in turn.", "type": "integer" }`,
		`"Third": { "anyOf": [ { "type": "array", "items": { "anyOf": [ { "$ref": "#/$defs/reference.outer" }, { "type": "null" } ] } }, { "type": "null" } ] }`,
		`"when": { "type": "string", "format": "date-time" }`,
		`"limit": { "anyOf": [ { "type": "number" }, { "const": "Infinity" } ] }`,
		`"any": { "anyOf": [ { "type": "object", "additionalProperties": {} }, { "type": "null" } ] }`,
		`"required": [ "deep", "first", "Third", "when", "limit", "any" ], "additionalProperties": false`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
