package flags_test

import (
	"reflect"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// TestModelArgs: a verb that is called with a model's arguments uses that model, field by field.
func TestModelArgs(t *testing.T) {
	for _, want := range []flags.Model{{}, {Name: "x", URL: "http://127.0.0.1:1", Dialect: "vllm", KeyEnv: "K", Threads: 3, Activations: 8}} {
		var got flags.Model
		verb := &cobra.Command{Use: "verb", Run: func(*cobra.Command, []string) {}}
		settings.Add(verb)
		got.Add(verb)
		verb.SetArgs(append([]string{}, want.Args()...))
		if err := verb.Execute(); err != nil {
			t.Fatalf("%q: %v", want.Args(), err)
		}
		if got != want {
			t.Errorf("%q: got %+v, want %+v", want.Args(), got, want)
		}
		if v := reflect.ValueOf(want); want.Name != "" {
			for i := range v.NumField() {
				if v.Field(i).IsZero() {
					t.Errorf("no value for %s: the test does not look at it", v.Type().Field(i).Name)
				}
			}
		}
	}
}
