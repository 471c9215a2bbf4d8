package clitest

import (
	"encoding/json"
	"strings"
	"testing"
)

// CarryOut does what a worker's process does, and returns its exit code and what it prints.
func CarryOut(t *testing.T, work json.RawMessage, place string) (code int, out string) {
	t.Helper()
	var printed, errs strings.Builder
	p := NewProgram(&printed, &errs)
	p.Stdin = strings.NewReader(string(work))
	code = execute(t.Context(), p, []string{"job", "carry-out", "--json", "--out", place})
	return code, printed.String()
}
