package schema

import (
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/sys/reference"
)

// TestFileSchema: docs/reference has the JSON Schema of schema files.
func TestFileSchema(t *testing.T) {
	d := reference.NewDocument("toml")
	d.Define("root", "", reflect.TypeFor[file]())
	reference.Keep(t, "../docs/reference/schemas/schema.schema.json", d.JSON("schema.schema.json", "A schema of sotto's tables, in TOML", "root"))
}
