package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/request"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// asWork is a command line as the store has it, without a plan.
func asWork(t *testing.T, args ...string) json.RawMessage {
	t.Helper()
	c, err := request.Parse((&cli.Program{Root: clitest.TestRoot}).FindVerb, args)
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.Work().Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// baseJob asks for synthetic texts.
var baseJob = []string{"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "200", "--epsilon", "1"}

// TestJobsThatAreRefused: a job decides neither who pays and signs nor whether it protects
// anybody, and is told so when it is added.
func TestJobsThatAreRefused(t *testing.T) {
	clitest.Home(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{append(slices.Clone(baseJob), "--ledger", "other.db"), "--ledger"},
		{append(slices.Clone(baseJob), "--keys=other"), "--keys"},
		{append(slices.Clone(baseJob), "--private", "other"), "--private"},
		{append(slices.Clone(baseJob), "--config", "other"), "--config"},
		{append(slices.Clone(baseJob), "--seed", "1"), "--seed"},
		{append(slices.Clone(baseJob), "--non-private"), "non-private"},
		{append(slices.Clone(baseJob), "--set", "proof=published"), "cannot have proof"},
		{append(slices.Clone(baseJob), "--out", "/tmp/x"), "--out"},
		{append(slices.Clone(baseJob), "--set", "as=others"), "as"},
		{append(slices.Clone(baseJob), "--verbose"), "--verbose"},
		{append(slices.Clone(baseJob), "--url", "http://127.0.0.1:1"), "--url"},
		{append(slices.Clone(baseJob), "--model", "https://host.example"), "server"},
		{append(slices.Clone(baseJob), "--set", "key-env=HOME"), "cannot have key-env"},
		{append(slices.Clone(baseJob), "--pool-model", "https://host.example"), "--pool-model"},
		{append(slices.Clone(baseJob), "--set", "reword=2"), "cannot have reword"},
		{append(slices.Clone(baseJob), "--data", "postgres://me:secret@host/db"), "password"},
		{append(slices.Clone(baseJob), "extra"), "extra"},
		{append(slices.Clone(baseJob), "--epsilom", "1"), "epsilom"},
		{[]string{"table", "perturb", "--schema", "s.toml", "--data", "-", "--epsilon", "1"}, "standard input"},
		{[]string{"answer", "--task", "task.toml", "--input", "a"}, "--input"},
		{[]string{"answer", "--task", "task.toml"}, "--inputs"},
		{[]string{"eval", "--task", "task.toml", "--demos", "real", "--data", "records.jsonl"}, "--data"},
		{[]string{"eval", "--task", "task.toml", "--demos", "zero", "--predictions", "p"}, "--predictions"},
		{[]string{"rehearse", "--data", "records.jsonl"}, "--data"},
		{[]string{"ledger", "grant", "d", "--epsilon", "1"}, "cannot be a job"},
		{[]string{"serve"}, "cannot be a job"},
		{[]string{"job", "add", "synth"}, "cannot be a job"},
		{[]string{"nothing"}, "needs a verb"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, out, errs := clitest.Run(t, append([]string{"job", "add"}, c.args...)...)
			if code != ui.Wrong {
				t.Errorf("exit code %d, want %d", code, ui.Wrong)
			}
			if !strings.Contains(errs, c.says) {
				t.Errorf("no %q in %s", c.says, errs)
			}
			if strings.Contains(errs+out, "secret") {
				t.Errorf("the password is shown: %s%s", out, errs)
			}
		})
	}
}

// TestWorkThatIsRefused: a worker refuses what the store has all the same, before anything is begun.
func TestWorkThatIsRefused(t *testing.T) {
	clitest.Home(t)
	good := string(asWork(t, baseJob...))
	with := func(field string) string { return strings.Replace(good, `"request":{`, `"request":{`+field+`,`, 1) }
	for name, work := range map[string]string{
		"a ledger":            with(`"ledger":"other.db"`),
		"keys":                with(`"keys":"other"`),
		"a private folder":    with(`"private":"other"`),
		"a configuration":     with(`"config":"other"`),
		"a seed":              with(`"seed":1`),
		"no privacy":          with(`"non-private":true`),
		"a claim":             with(`"proof":"published"`),
		"a place":             with(`"out":"/tmp/x"`),
		"a data set":          with(`"as":"others"`),
		"a server":            with(`"url":"http://127.0.0.1:1"`),
		"a server as a model": with(`"model":"https://host.example"`),
		"a key":               with(`"key-env":"HOME"`),
		"an upstream":         with(`"pool-model":"https://host.example"`),
		"JSON":                with(`"json":true`),
		"help":                with(`"help":true`),
		"a field of another":  with(`"schema":"adult"`),
		"a word for a number": with(`"shots":"4"`),
		"a number for a word": strings.Replace(good, `"size":"200"`, `"size":200`, 1),
		"a word for a list":   with(`"label":"a=b"`),
		"standard input":      strings.Replace(good, `"data":"records.jsonl"`, `"data":"-"`, 1),
		"a password":          strings.Replace(good, `"data":"records.jsonl"`, `"data":"postgres://me:secret@host/db"`, 1),
		"another verb":        strings.Replace(good, `"verb":"synth"`, `"verb":"serve"`, 1),
		"a verb and a flag":   strings.Replace(good, `"verb":"synth"`, `"verb":"synth --seed=1"`, 1),
		"a field of its own":  strings.Replace(good, `{`, `{"flags":[],`, 1),
		"another version":     strings.Replace(good, `"version":1`, `"version":2`, 1),
		"no version":          strings.Replace(good, `"version":1,`, ``, 1),
		"two documents":       good + good,
		"a command line":      `["synth","--task","task.toml"]`,
		"nothing":             ``,
	} {
		t.Run(name, func(t *testing.T) {
			if work == good {
				t.Fatal("it is the job that is carried out")
			}
			command, err := request.Command(t.Context(), (&cli.Program{Root: clitest.TestRoot}).FindVerb, "sotto", nil, &store.Job{Work: []byte(work)}, "/place")
			if err == nil {
				t.Errorf("a worker would run %q on %s", command.Args, command.Input)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is shown: %v", err)
			}
		})
	}
	_, err := request.Command(t.Context(), (&cli.Program{Root: clitest.TestRoot}).FindVerb, "sotto", nil, &store.Job{Work: []byte(`["synth"]`)}, "/place")
	if err == nil || !strings.Contains(err.Error(), "sotto job add") {
		t.Errorf("what to do about a job of an older program: %v", err)
	}
}

// TestCommandOfJobs: a worker runs this program, in the job's folder; what is measured exactly is shown
// only if it is of public data.
func TestCommandOfJobs(t *testing.T) {
	clitest.Home(t)
	work := asWork(t, baseJob...)
	command, err := request.Command(t.Context(), (&cli.Program{Root: clitest.TestRoot}).FindVerb, "/bin/sotto", nil, &store.Job{Work: work}, "/place")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/bin/sotto", "job", "carry-out", "--json", "--out", "/place"}; !slices.Equal(command.Args, want) {
		t.Errorf("got %q, want %q", command.Args, want)
	}
	if string(command.Input) != string(work) {
		t.Errorf("it reads %s", command.Input)
	}
	if !slices.Contains(command.Published, "texts") || slices.Contains(command.Published, "warnings") {
		t.Errorf("published: %q", command.Published)
	}
	for _, open := range []bool{false, true} {
		command, err := request.Command(t.Context(), (&cli.Program{Root: clitest.TestRoot}).FindVerb, "/bin/sotto", nil, &store.Job{Work: asWork(t, "eval", "--task", "t", "--demos", "zero", "--test", "f"), Open: open}, "/place")
		if err != nil || len(command.Published) > 0 != open {
			t.Errorf("open %v: %q, %v", open, command.Published, err)
		}
	}
}

// TestShownOfJobs: of a request those fields are shown that say nothing of where records are.
func TestShownOfJobs(t *testing.T) {
	w, err := jobs.ReadWork(asWork(t, "table", "profile", "--data", "/secret/place", "--epsilon=4", "--query", "SELECT secret", "--schema", "/secret/s.toml", "--group", "secret", "--histograms", "--size", "5"))
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]string{{"schema", "s.toml"}, {"histograms", "true"}, {"size", "5"}, {"epsilon", "4"}}
	for _, one := range want {
		if !slices.Contains(w.Shown, one) {
			t.Errorf("no %q in %q", one, w.Shown)
		}
	}
	if len(w.Shown) != len(want) || strings.Contains(fmt.Sprint(w.Shown), "secret") {
		t.Errorf("got %q, want %q", w.Shown, want)
	}
}

// TestFieldsOfJobs: every field that a job may have is a flag of a verb that can be a job, and none names
// what is written, who pays, signs or is asked, or which protection is left out.
func TestFieldsOfJobs(t *testing.T) {
	flags, tags := map[string]bool{"*": true}, map[string]bool{}
	for _, verb := range request.Verbs() {
		c, _, err := request.New((&cli.Program{Root: clitest.TestRoot}).FindVerb, strings.Fields(verb))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Fields) == 0 {
			t.Errorf("%s has no fields: p.asks is not called", verb)
		}
		for _, d := range c.Fields {
			flags[d.Name] = true
			if slices.Contains(strings.Fields("out json verbose config ledger keys private store as seed non-private proof url dialect key-env pool-model pool-key-env encoder predictions cache input"), d.Name) {
				t.Errorf("a job of %s can ask for --%s", verb, d.Name)
			}
		}
		var look func(reflect.Type)
		look = func(of reflect.Type) {
			for i := range of.NumField() {
				if f := of.Field(i); f.Anonymous {
					look(f.Type)
				} else if tag, ok := f.Tag.Lookup("job"); ok {
					name, _, _ := strings.Cut(tag, ",")
					tags[name] = true
				}
			}
		}
		look(reflect.TypeOf(c.Request).Elem())
	}
	for name := range tags {
		if !flags[name] {
			t.Errorf("the tag %q names no flag", name)
		}
	}
}

// valueFor draws the text of a flag's value.
func valueFor(f *pflag.Flag) *rapid.Generator[string] {
	if choices := f.Annotations[settings.Choices]; len(choices) > 0 {
		return rapid.SampledFrom(choices)
	}
	switch f.Value.Type() {
	case "bool":
		return rapid.SampledFrom([]string{"true", "false"})
	case "int", "int64":
		return rapid.Map(rapid.IntRange(-5, 1<<30), strconv.Itoa)
	case "number":
		return rapid.Map(rapid.Float64Range(0, 1e6), func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })
	case "duration":
		return rapid.Map(rapid.IntRange(0, 1e6), func(n int) string { return fmt.Sprint(n, "ms") })
	case "unit":
		return rapid.StringMatching(`(user:)?[a-z]{1,8}`)
	case "stringSlice":
		return rapid.StringMatching(`[a-z]{1,8}`)
	}
	return rapid.StringMatching(`[a-zA-Z"\\<>& é€\n.=/_]{1,12}`)
}

// TestRequestsComeBack: whatever a job's command line gives, the worker's verb has: the same values of the
// same flags, and no other.
func TestRequestsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		verb := rapid.SampledFrom(request.Verbs()).Draw(t, "verb")
		c, _, err := request.New((&cli.Program{Root: clitest.TestRoot}).FindVerb, strings.Fields(verb))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range c.Fields {
			f := settings.Flag(c.Command, d.Name)
			if d.Name != "inputs" && rapid.IntRange(0, 3).Draw(t, "given") > 0 {
				continue
			}
			if err := settings.SetTo(f, valueFor(f).Draw(t, d.Name)); err != nil {
				t.Fatalf("%s: %v", d.Name, err)
			}
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		data, err := c.Work().Encode()
		if err != nil {
			t.Fatal(err)
		}
		w, err := jobs.ReadWork(data)
		if err != nil {
			t.Fatal(err)
		}
		back, err := request.Read((&cli.Program{Root: clitest.TestRoot}).FindVerb, w)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		settings.Visit(c.Command, func(f *pflag.Flag) {
			got := settings.Flag(back.Command, f.Name)
			if got.Value.String() != f.Value.String() {
				t.Errorf("--%s is %q, want %q", f.Name, got.Value, f.Value)
			}
			if got.Changed != f.Changed {
				t.Errorf("--%s is given: %v, want %v", f.Name, got.Changed, f.Changed)
			}
		})
	})
}

// TestChangedPlans: what a worker would do is held against the plan that was approved when the job was
// added. Another one is refused, with a reason that the store may have, and nothing is charged.
func TestChangedPlans(t *testing.T) {
	office(t, "service.db", "ledger.db")
	charged := func() string {
		t.Helper()
		all := ""
		for _, dataset := range []string{"loans", "chats"} {
			code, out, errs := clitest.Run(t, "ledger", "show", dataset, "--json")
			if code != ui.Done {
				t.Fatal(errs)
			}
			all += out
		}
		return all
	}
	edit := func(file, old, replacement string) func(*testing.T) {
		return func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), old) {
				t.Fatalf("no %q in %s", old, file)
			}
			clitest.Write(t, file, []byte(strings.Replace(string(data), old, replacement, 1)))
			t.Cleanup(func() { clitest.Write(t, file, data) })
		}
	}
	before := charged()
	for name, c := range map[string]struct {
		kind   int
		work   func(string) string
		change func(*testing.T)
		says   string
	}{
		"a schema":       {0, nil, edit("loans.toml", "high = 120", "high = 119"), "(schema)"},
		"a task":         {3, nil, edit("chat.toml", "Sum up", "Sum down"), "(task)"},
		"a question":     {2, nil, edit("questions.txt", "Six?\n", "Six?\nSeven?\n"), "other questions"},
		"the charge":     {0, func(s string) string { return strings.Replace(s, `"event":"`, `"event":"gaussian(9) `, 1) }, nil, "it would now charge"},
		"the request":    {1, func(s string) string { return strings.Replace(s, `"epsilon":2,`, `"epsilon":3,`, 1) }, nil, "it would now charge"},
		"a setting only": {3, func(s string) string { return strings.Replace(s, `"tokens":5`, `"tokens":4`, 1) }, nil, "other settings"},
	} {
		t.Run(name, func(t *testing.T) {
			var compact bytes.Buffer
			if err := json.Compact(&compact, shownJob(t, addJob(t, c.kind)).Work); err != nil {
				t.Fatal(err)
			}
			work := compact.String()
			if c.work != nil {
				changed := c.work(work)
				if changed == work {
					t.Fatalf("nothing was changed in %s", work)
				}
				work = changed
			}
			if c.change != nil {
				c.change(t)
			}
			code, out := clitest.CarryOut(t, json.RawMessage(work), filepath.Join(t.TempDir(), "place"))
			if code != ui.Refused {
				t.Errorf("exit code %d, want %d: %s", code, ui.Refused, out)
			}
			for _, want := range []string{"not the one that was approved", c.says, "Nothing is charged"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in %s", want, out)
				}
			}
		})
	}
	if after := charged(); after != before {
		t.Errorf("the ledger had %s and has %s", before, after)
	}
	// Without a plan nothing is carried out, and with the one that was approved it is.
	w, err := jobs.ReadWork(shownJob(t, addJob(t, 0)).Work)
	if err != nil {
		t.Fatal(err)
	}
	approved := jobs.Quote(w)
	w.Approval = nil
	if code, out := clitest.CarryOut(t, jobs.Quote(w), filepath.Join(t.TempDir(), "place")); code != ui.Wrong || !strings.Contains(out, "no plan that somebody approved") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := clitest.CarryOut(t, approved, filepath.Join(t.TempDir(), "place")); code != ui.Done {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestPlanFileOfJobs: a job keeps the settings of a plan file, and no file that decides more than a job may.
func TestPlanFileOfJobs(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "plan.toml", []byte("rounds = 3\nsampler = \"poisson\"\n"))
	w, err := jobs.ReadWork(asWork(t, append(baseJob, "--plan", "plan.toml", "--set", "records=5")...))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"rounds": "3", "records": "5", "sampler": `"poisson"`} {
		t.Run(name, func(t *testing.T) {
			if got := string(w.Request[name]); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		})
	}
	for _, name := range []string{"set", "plan"} {
		w.Request[name] = json.RawMessage(`"rounds=3"`)
		if _, err := request.Read((&cli.Program{Root: clitest.TestRoot}).FindVerb, w); err == nil {
			t.Errorf("a job has %s", name)
		}
		delete(w.Request, name)
	}
	for _, line := range []string{`proof = "published"`, `key-env = "HOME"`, "reword = 2", `dialect = "vllm"`, `pool-key-env = "HOME"`} {
		if err := os.WriteFile("plan.toml", []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := request.Parse((&cli.Program{Root: clitest.TestRoot}).FindVerb, append(baseJob, "--plan", "plan.toml")); err == nil {
			t.Errorf("a job has %s", line)
		}
	}
}
