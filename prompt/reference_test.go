package prompt

import (
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/reference"
)

// TestFileSchema: built-in files fit the JSON Schema that is made from the type, which make docs writes.
func TestFileSchema(t *testing.T) {
	d := reference.NewDocument("toml")
	d.Define("root", "", reflect.TypeFor[file]())
	document := d.JSON("task.schema.json", "A task of sotto, in TOML", "root")
	reference.Write(t, "schemas/task.schema.json", document)
	reference.BuiltinsFit(t, document, Builtins(), Source)
}
