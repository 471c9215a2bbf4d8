package sotto_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// rehearsal has options of a short one, with public records, and a folder of temporary files
// of its own.
func rehearsal(t *testing.T) (o rehearsalCall, temporary string) {
	t.Helper()
	temporary = t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("HOME", filepath.Join(temporary, "no home"))
	seed := uint64(7)
	o = rehearsalCall{world{sotto.Options{Trusted: toyModel()}, filepath.Join(temporary, "state")}, sotto.RehearseOptions{
		Request: sotto.Request{
			Task: task(), Size: 500, Epsilon: 4, Tokens: 3,
			Choosing: &sotto.ChooseRequest{Writing: -1, Pool: 3, First: 3, Next: 2, Rounds: 2, Records: 8},
		},
		Seed: &seed, Items: 20, Sets: 2,
	}}
	for i := range 60 {
		for _, queue := range task().Labels {
			o.StandIn = append(o.StandIn, prompt.Example{Input: fmt.Sprintf("public %s %d", queue, i), Output: queue})
		}
	}
	return o, temporary
}

// left are names of what is in a folder.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// standIns are the records that a rehearsal wrote, found while it continues.
func standIns(t *testing.T, temporary string) (dir string, rows []map[string]string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(temporary, "sotto-rehearse-*", "records.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row map[string]string
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return filepath.Dir(found[0]), rows
}

// TestRehearse: the plan equals that of the real run, as many records stand in as are declared,
// those that are measured on are not among them, and nothing is left.
func TestRehearse(t *testing.T) {
	o, temporary := rehearsal(t)
	looked := false
	o.Observe = func(e sotto.Progress) {
		if e.Kind != sotto.Chose || looked {
			return
		}
		looked = true
		dir, rows := standIns(t, temporary)
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		different := map[string]int{}
		for _, row := range rows {
			different[row["text"]]++
		}
		if len(rows) != 500 || len(different) != 100 {
			t.Errorf("%d records, %d of them different", len(rows), len(different))
		}
		for text, n := range different {
			if n != 5 {
				t.Errorf("%s is there %d times", text, n)
			}
		}
	}
	done, err := rehearse(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	asked, own := o.Request, *o.Request.Choosing
	own.Work = done.Plan.Choose.Work // by the speed of now
	asked.Choosing = &own
	real, err := plan.New(asked.Internal())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(done.Plan, real) {
		t.Errorf("what was rehearsed is not the real run's plan:\n%+v\n%+v", done.Plan, real)
	}
	expect.True(t, "looked", looked)
	expect.True(t, "not done.Private", !done.Private)
	expect.True(t, "not done.Certificate", !done.Certificate)
	expect.Equal(t, "done.Charge", done.Charge, "")
	expect.Equal(t, "done.Dir", done.Dir, "")
	expect.True(t, "not done.Invented", !done.Invented)
	expect.Equal(t, "done.Records", done.Records, 120)
	expect.Equal(t, "done.Items", done.Items, 20)
	expect.Equal(t, "done.Copies", done.Copies, 500)
	var kinds []string
	for _, row := range done.Rows {
		kinds = append(kinds, row.Examples)
		if !(row.Low <= row.Value && row.Value <= row.High) || row.Metric != "accuracy" {
			t.Errorf("%+v", row)
		}
	}
	if want := []string{sotto.RehearsedNone, sotto.RehearsedOwn, sotto.RehearsedRun, sotto.RehearsedReal, sotto.RehearsedCommonest}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("%v", kinds)
	}
	if len(done.Gains) != 4 {
		t.Errorf("%+v", done.Gains)
	}
	// The run had a part of the time, and its figures say how long it takes with all of it.
	whole := done.Seconds / done.Share
	at := expect.At(t, "the real run")
	expect.Max(at, "math.Abs(done.RunLow-whole)", math.Abs(done.RunLow-whole), 1e-9)
	expect.Min(at, "done.RunHigh", done.RunHigh, done.RunLow)
	expect.Min(at, "done.Total", done.Total, done.Seconds)
	if names := left(t, temporary); len(names) > 0 {
		t.Errorf("it left %v", names)
	}
	again, err := rehearse(t.Context(), o)
	at = expect.At(t, "the same seed")
	expect.NoError(at, err)
	expect.True(at, "again.Examples equal to done.Examples", reflect.DeepEqual(again.Examples, done.Examples), again.Examples, done.Examples)
	expect.True(at, "again.Gains equal to done.Gains", reflect.DeepEqual(again.Gains, done.Gains), again.Gains, done.Gains)
}

// TestRehearseInterrupted: nothing stays of a rehearsal that ends early.
func TestRehearseInterrupted(t *testing.T) {
	for _, when := range []string{sotto.RehearsedRun, "held out"} {
		o, temporary := rehearsal(t)
		ctx, cancel := context.WithCancel(t.Context())
		o.Out = filepath.Join(t.TempDir(), "out")
		o.Observe = func(e sotto.Progress) {
			if e.Kind == sotto.Chose && when == sotto.RehearsedRun || strings.Contains(e.Message, when) {
				cancel()
			}
		}
		if _, err := rehearse(ctx, o); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "continues") {
			t.Errorf("%s: %v", when, err)
		}
		cancel()
		if names := left(t, temporary); len(names) > 0 {
			t.Errorf("%s: it left %v", when, names)
		}
		if _, err := os.Stat(o.Out); err == nil {
			t.Errorf("%s: there is a folder of what did not come out", when)
		}
	}
}

// TestRehearseOut: what is kept has no certificate, does not verify, and says what it is.
func TestRehearseOut(t *testing.T) {
	o, _ := rehearsal(t)
	o.Out = filepath.Join(t.TempDir(), "out")
	done, err := rehearse(t.Context(), o)
	if err != nil || done.Dir != o.Out {
		t.Fatal(err)
	}
	for _, name := range left(t, o.Out) {
		at := expect.At(t, "it kept %s", name)
		expect.True(at, "no certificate in name", !strings.Contains(name, "certificate"), name)
		expect.True(at, "name other than private", name != "private", name)
		expect.True(at, "name other than records.jsonl", name != "records.jsonl", name)
	}
	if text, err := os.ReadFile(filepath.Join(o.Out, "REHEARSAL.md")); err != nil || !strings.Contains(string(text), "nothing is signed") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(o.Out, "demos.jsonl")); err != nil || len(done.Examples) > 0 && !strings.Contains(string(text), `"not_private":true`) {
		t.Errorf("%s, %v", text, err)
	}
	if report, err := sotto.Verify(o.Out, nil); err == nil && report.OK {
		t.Error("a rehearsal verifies")
	}
	var input *plan.InputError
	if _, err := rehearse(t.Context(), o); !errors.As(err, &input) {
		t.Errorf("it writes into a folder that holds something: %v", err)
	}
}

// TestRehearseInvented: the model makes records up. The pool is not made of the same ones:
// texts of each step come from a seed of their own.
func TestRehearseInvented(t *testing.T) {
	o, temporary := rehearsal(t)
	o.StandIn, o.Invent = nil, 60
	o.Request.Unit, o.Request.Sizes = "user:who", map[string]int64{"billing": 100}
	o.Observe = func(e sotto.Progress) {
		if e.Kind != sotto.Chose {
			return
		}
		_, rows := standIns(t, temporary)
		people, labels := map[string]bool{}, map[string]int{}
		for _, row := range rows {
			people[row["who"]] = true
			labels[row["queue"]]++
		}
		expect.Equal(t, "number of people", len(people), len(rows))
		expect.Equal(t, "labels['billing']", labels["billing"], 100)
		expect.Equal(t, "labels['repairs']", labels["repairs"], 400)
	}
	done, err := rehearse(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expect.True(t, "done.Invented", done.Invented)
	expect.Len(t, "done.Rows", done.Rows, 4)
	expect.Max(t, "done.Records", done.Records, 60)
}

// TestRehearseNeeds: what cannot be rehearsed is an error that says what to do.
func TestRehearseNeeds(t *testing.T) {
	for want, change := range map[string]func(*rehearsalCall){
		"public inputs and": func(o *rehearsalCall) {
			o.StandIn, o.Request.Task = nil, prompt.Task{Kind: prompt.Generate, Text: "out", Label: "in"}.WithDefaults()
		},
		"needs labels": func(o *rehearsalCall) {
			o.StandIn, o.Request.Discover = nil, true
			o.Request.Task = prompt.Task{Kind: prompt.Extract, Text: "text", Label: "genre"}.WithDefaults()
		},
		"cannot be counted":     func(o *rehearsalCall) { o.StandIn, o.Request.Count, o.Request.Size = nil, true, 0 },
		"too few to choose by":  func(o *rehearsalCall) { o.StandIn, o.Invent = nil, 3 },
		"too few to stand in":   func(o *rehearsalCall) { o.StandIn = o.StandIn[:5] },
		"cannot be used":        func(o *rehearsalCall) { o.StandIn[3].Output = "nonsense" },
		"has no guarantee":      func(o *rehearsalCall) { o.Request.Method, o.Request.Choosing = "real", nil },
		"there is nothing to":   func(o *rehearsalCall) { o.Request.Method, o.Request.Choosing = "public", nil },
		"number of records has": func(o *rehearsalCall) { o.Request.Size = 0 },
		"no stand-in record has": func(o *rehearsalCall) {
			o.StandIn, o.Request.Sizes = labelled(o.StandIn), map[string]int64{"billing": 9}
		},
		"needs records, some of ": func(o *rehearsalCall) { o.Items = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			o, temporary := rehearsal(t)
			change(&o)
			var input *plan.InputError
			if _, err := rehearse(t.Context(), o); !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if names := left(t, temporary); len(names) > 0 {
				t.Errorf("it left %v", names)
			}
		})
	}
}

// labelled are those with the first label.
func labelled(list []prompt.Example) (out []prompt.Example) {
	for _, e := range list {
		if e.Output == task().Labels[0] {
			out = append(out, e)
		}
	}
	return out
}

// TestRehearseLarge: a size that is too large to write out is rehearsed as a smaller one, and
// that is said.
func TestRehearseLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200,000 records")
	}
	o, _ := rehearsal(t)
	o.Request.Size = 10_000_000
	said := ""
	o.Observe = func(e sotto.Progress) { said += e.Message + "\n" }
	done, err := rehearse(t.Context(), o)
	expect.NoError(t, err)
	expect.Equal(t, "done.Copies", done.Copies, 200_000)
	expect.Contains(t, "said", said, "rehearsed as 200000")
}
