package prompt

import (
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/sys/reference"
)

// TestFileSchema: docs/reference has the JSON Schema of task files.
func TestFileSchema(t *testing.T) {
	d := reference.NewDocument("toml")
	d.Define("root", "", reflect.TypeFor[file]())
	reference.Keep(t, "../docs/reference/schemas/task.schema.json", d.JSON("task.schema.json", "A task of sotto, in TOML", "root"))
}
