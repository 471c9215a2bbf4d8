package cli

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/plan"
	tables "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// FromSchema gives the records of a table something to choose from, see [plan.Request.FromSchema].
func FromSchema(task string, q *plan.Request, n int, seed *uint64) error {
	of, err := TableOf(task)
	if err == nil && of != nil {
		q.FromSchema(*of, n, seed)
	}
	return err
}

// SchemaFlag names a schema, as all verbs on tables have it.
type SchemaFlag struct {
	Ref string
}

// Add adds the flag to a verb.
func (s *SchemaFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Ref, "schema", "", "the schema: a `NAME` of \"sotto table schema\", or the path of a schema file; required")
	_ = cmd.RegisterFlagCompletionFunc("schema", CompleteSchemas) // the flag exists
}

// Schema finds the schema that the flag names.
func (s *SchemaFlag) Schema() (schema.Schema, error) {
	if s.Ref == "" {
		return schema.Schema{}, Usage("--schema is missing: one of %s, or the path of a schema file", strings.Join(schema.Builtins(), ", "))
	}
	found, err := schema.Find(s.Ref)
	return found, DocumentError(err)
}

// TablePrefix comes before the schema whose rows, in words, are a task's records.
const TablePrefix = "table:"

// TableOf is the schema of a task that is about rows of a table, table:SCHEMA; nil for others.
func TableOf(ref string) (*schema.Schema, error) {
	name, ok := strings.CutPrefix(ref, TablePrefix)
	if !ok {
		return nil, nil
	}
	of, err := (&SchemaFlag{name}).Schema()
	return &of, err
}

// FindTask finds a task by name or path, or that of a table's rows in words.
func FindTask(ref string) (prompt.Task, error) {
	of, err := TableOf(ref)
	if err != nil {
		return prompt.Task{}, err
	}
	if of == nil {
		task, err := prompt.Find(ref)
		return task, DocumentError(err)
	}
	task, err := of.Task()
	if err != nil {
		return task, Usage("%w", err)
	}
	return task, nil
}

// TableSourceError makes of a source that cannot be used as it is named an error of usage.
func TableSourceError(err error) error {
	var e *tables.Error
	if errors.As(err, &e) && (e.Code == tables.Unusable || e.Code == tables.Columns) || errors.Is(err, fs.ErrNotExist) {
		return Usage("%w", err)
	}
	return err
}
