package reference

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile returns the schema of a document, or of the part of it that a fragment such as "#/$defs/root" names.
func Compile(t testing.TB, document []byte, fragment string) *jsonschema.Schema {
	t.Helper()
	const name = "document.json"
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := parsed.(map[string]any); ok {
		delete(o, "$id") // which would be fetched
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, parsed); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile(name + fragment)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var infinity = regexp.MustCompile(`\binf\b`)

// DecodeTOML returns a file as a validator takes it: TOML has an infinity, JSON has none.
func DecodeTOML(t testing.TB, data []byte) any {
	t.Helper()
	var v map[string]any
	if err := toml.Unmarshal(infinity.ReplaceAll(data, []byte("1e300")), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// BuiltinsFit validates built-in files, and sees that a key that nobody knows is refused.
func BuiltinsFit(t testing.TB, document []byte, names []string, source func(string) ([]byte, error)) {
	t.Helper()
	s := Compile(t, document, "")
	for _, name := range names {
		data, err := source(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(DecodeTOML(t, data)); err != nil {
			t.Errorf("%s does not fit its schema: %v", name, err)
		}
	}
	if len(names) == 0 || s.Validate(map[string]any{"unheard_of": true}) == nil {
		t.Error("the schema accepts anything")
	}
}
