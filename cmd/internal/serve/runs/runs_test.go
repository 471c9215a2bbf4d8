package runs

import (
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// TestUnits: the unit of a source means what --unit does.
func TestUnits(t *testing.T) {
	table := func(string) (*schema.Schema, error) { return nil, nil }
	r := &Maker{Options: Options{Environment: serve.Environment{Task: prompt.Find, Table: table}}}
	for text, want := range map[string]privacy.Unit{
		"record": privacy.Record, "author": "user:author", "user:record": "user:record", "user:user:a": "user:user:a", "Record": "user:Record",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := r.request(resolvedRequest{RunRequest: web.RunRequest{Size: 100, Epsilon: 1, Unit: text}, task: "agnews"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Unit != want {
				t.Errorf("got %q, want %q", got.Unit, want)
			}
		})
	}
}
