package suite_test

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sotto-dp/sotto/internal/sys/reference"
	"github.com/sotto-dp/sotto/lab/suite"
)

// TestSchema: suite.schema.json says what a suite may have (-args -rewrite makes it again), built-in suites
// are as it says, and a file with a key that nobody knows is not.
func TestSchema(t *testing.T) {
	const file = "suite.schema.json"
	d := reference.NewDocument("toml")
	// Settings of the method, which docs/methods lists, stand beside its keys.
	d.Open(reflect.TypeFor[suite.Method]())
	d.Open(reflect.TypeFor[suite.Settings]())
	d.Define("root", "", reflect.TypeFor[suite.Suite]())
	reference.Keep(t, file, d.JSON(file, "A suite of sotto-lab suite, in TOML", "root"))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(file, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	// TOML has an infinity, JSON has none.
	infinity := regexp.MustCompile(`\binf\b`)
	for _, name := range suite.Builtins() {
		source, err := suite.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := toml.Unmarshal(infinity.ReplaceAll(source, []byte("1e300")), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if schema.Validate(map[string]any{"unheard_of": true}) == nil {
		t.Error("it describes anything")
	}
}
