package sotto_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// measureOptions are for two prompts on the records of [options].
func measureOptions(t *testing.T) measureCall {
	t.Helper()
	o := options(t)
	return measureCall{o.world, sotto.MeasureOptions{
		Request: sotto.MeasureRequest{
			Task: task(), Size: 200, Epsilon: 0.5,
			Prompts: []plan.NamedPrompt{{Name: "zero"}, {Name: "two", Prompt: prompt.Prompt{Examples: []prompt.Example{{Input: "an invoice", Output: "billing"}, {Input: "a door", Output: "repairs"}}}}},
		},
		Use: o.Use, Source: o.Source, Out: o.Out,
	}}
}

// TestMeasure: two prompts on all records, with a certificate that holds; the budget is then
// used up, and a second measurement is refused.
func TestMeasure(t *testing.T) {
	o := measureOptions(t)
	var said []string
	o.Observe = func(e sotto.Progress) { said = append(said, e.Message) }
	done, err := measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "about 200 of 200 records are going to be asked") || strings.Contains(all, marker) {
		t.Errorf("it was not reported what to expect: %s", all)
	}
	// The toy answers the same whatever is asked, and half of the records have each label.
	for _, s := range done.Shares {
		at := expect.At(t, "%+v", s)
		expect.Max(at, "s.Low", s.Low, 0.5)
		expect.Min(at, "s.High", s.High, 0.5)
		expect.Max(at, "s.High-s.Low", s.High-s.Low, 0.4)
	}
	expect.True(t, "done.Difference other than nil", done.Difference != nil)
	expect.True(t, "done.Charge that is not empty", done.Charge != "")
	expect.Min(t, "number of done.Words()", len(done.Words()), 3)
	trust, err := certificate.LoadTrust(o.client().Keys())
	if err != nil {
		t.Fatal(err)
	}
	if report, err := sotto.Verify(o.Out, trust); err != nil || !report.OK {
		t.Errorf("%v, %+v", err, report)
	}
	for _, name := range []string{"measurement.json", "plan.json", "journal.jsonl"} {
		data, err := os.ReadFile(filepath.Join(o.Out, name))
		if err != nil || strings.Contains(string(data), marker) {
			t.Errorf("%s: %v, %s", name, err, data)
		}
	}
	o.Out += "-again"
	var refused *ledger.RefusedError
	if _, err := measure(t.Context(), o); !errors.As(err, &refused) {
		t.Errorf("a second measurement: %v", err)
	}
}

// TestMeasureUnits: with a column that distinguishes people, the guarantee is about a person.
func TestMeasureUnits(t *testing.T) {
	o := measureOptions(t)
	o.Request.Unit, o.Request.Size, o.Request.Prompts = "user:who", 100, o.Request.Prompts[:1]
	done, err := measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "done.Guarantee.Unit", done.Guarantee.Unit, "user:who")
	expect.True(t, "no done.Difference", done.Difference == nil, done.Difference)
	expect.Len(t, "done.Shares", done.Shares, 1)
	// One record of each of the 100 people is asked.
	if c := done.Outcome.Counts[0]; c.Right+c.Wrong < 40 || c.Right+c.Wrong > 160 {
		t.Errorf("%+v", c)
	}
}

// TestMeasureMissing: what is missing is reported before anything is opened or made.
func TestMeasureMissing(t *testing.T) {
	for want, change := range map[string]func(*measureCall){
		"folder to write to":  func(o *measureCall) { o.Out = "" },
		"the data is missing": func(o *measureCall) { o.Source.Location = "" },
		"number of records":   func(o *measureCall) { o.Request.Size = 0 },
		"carried out":         func(o *measureCall) { o.Plan = &plan.Measurement{} },
	} {
		t.Run(want, func(t *testing.T) {
			o := measureOptions(t)
			change(&o)
			_, err := measure(t.Context(), o)
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			for _, path := range append(o.state(), o.Out) {
				if path == "" {
					continue
				}
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s was made", filepath.Base(path))
				}
			}
		})
	}
}
