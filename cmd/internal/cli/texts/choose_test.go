package texts

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
)

// TestChooseFlags: flags that exclude each other, that another method has, or whose values
// are none are refused before anything is opened, and say what to do.
func TestChooseFlags(t *testing.T) {
	clitest.ChoosingHome(t)
	plain := []string{"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf", "--out", "demos"}
	for _, c := range []struct {
		args, want string
	}{
		{"--method clipped --set rounds=2", "--set rounds is for --method choose, and would change nothing for clipped"},
		{"--method clipped --time 5m", "--time is for --method choose"},
		{"--method gaussian --set pool=5", "--set pool is for --method choose, and would change nothing for gaussian"},
		{"--method clipped --examples own.jsonl", "--examples is for --method choose"},
		{"--method clipped --set reading=raw", "--set reading is for --method choose"},
		{"--method clipped --set generation-share=0.5", "--set generation-share is for --method choose"},
		{"--method clipped --set utility=soft", "--set utility is for --method choose"},
		{"--method clipped --set records=5", "--set records is for --method choose"},
		{"--method clipped --instruction x", "--instruction is for --method choose"},
		{"--set generation-share=0 --set batch=16", "--set batch is for"},
		{"--set rounds=0", "--set rounds is 0"},
		{"--set records=-1", "--set records is -1"},
		{"--set pool=0", "there is nothing else to choose from"},
		{"--from own.jsonl --set pool=3", "leave out the settings pool"},
		{"--set pool=-1", "--set pool is -1"},
		{"--time 0s", "--time"},
		{"--set generation-share=1", "the share of ε for writing"},
		{"--set generation-share=x", "generation-share"},
		{"--set reading=best", `reading is "best", it should be one of raw, calibrated`},
		{"--set utility=best", `"best"`},
		{"--set utility=written", "use the utility hard or soft"},
		{"--examples wrong.jsonl", "its queue is none that the task lists"},
		{"--examples absent.jsonl", "absent.jsonl"},
		{"--examples marked.jsonl", "says that it is not private"},
		{"--set sampler=disjoint", "each round of choosing has a draw of its own"},
	} {
		code, out, errs := clitest.Run(t, append(plain, strings.Fields(c.args)...)...)
		at := expect.At(t, "%s", c.args)
		expect.Equal(at, "exit code with "+errs, code, ui.Wrong)
		expect.Contains(at, "errs", errs, c.want)
		expect.Equal(at, "out", out, "")
	}
	if left, err := os.ReadDir("demos"); err == nil {
		t.Errorf("a run that was refused left %v", left)
	}
}

// TestChooseSummary: people and programs are told how many examples were chosen, in how
// many rounds, of how many records as planned. The certificate holds, and a second run is
// beyond the budget.
func TestChooseSummary(t *testing.T) {
	clitest.ChoosingHome(t)
	code, out, errs := clitest.Run(t, clitest.Choosing("--examples", "own.jsonl", "--set", "reading=raw", "--instruction", "Sort.")...)
	if code != 0 {
		t.Fatal(errs)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"a prompt with ", " is in demos: ε ≤ 3.9", "in 2 rounds of about 8 records", "method choose", "boundedrange("} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains(flat, "calibrated") || !strings.Contains(errs, "round 2 of 2: the records chose ") {
		t.Errorf("%s%s", errs, out)
	}
	_, out, _ = clitest.Run(t, clitest.Choosing("--examples", "own.jsonl", "--set", "reading=raw", "--instruction", "Sort.", "--json")...)
	o := clitest.Object(t, out)
	chosen, _ := o["chosen"].(map[string]any)
	expect.True(t, "o['texts'] other than nil", o["texts"] != nil)
	expect.Equal[any](t, "chosen['rounds']", chosen["rounds"], 2.)
	expect.Equal[any](t, "chosen['records']", chosen["records"], 8.)
	expect.Equal[any](t, "chosen['calibrated']", chosen["calibrated"], false)
	if code, out, errs := clitest.Run(t, "verify", "demos"); code != 0 {
		t.Errorf("%s%s", out, errs)
	}
	args := clitest.Choosing()
	args[len(args)-1] = "more"
	if code, _, errs := clitest.Run(t, args...); code != ui.Refused {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestChooseProgress: what programs are told while records choose does not depend on them:
// the same lines come anyone who is drawn, but for the number of examples of a winner.
func TestChooseProgress(t *testing.T) {
	clitest.ChoosingHome(t)
	var told [][]string
	for _, seed := range []string{"1", "2"} {
		args := clitest.Choosing("--json", "--seed", seed)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "demos", "demos-"+seed)
		}
		code, _, errs := clitest.Run(t, args...)
		if code != 0 {
			t.Fatal(errs)
		}
		var kinds []string
		for line := range strings.Lines(errs) {
			o := clitest.Object(t, line)
			kind := o["event"].(string)
			if kind == "token" || kind == "notice" {
				continue // as the clock has it, and of what was made
			}
			for key := range o {
				switch key {
				case "event", "text", "condition", "tokens", "max_tokens", "done", "texts", "round", "rounds", "examples", "charge", "message":
				default:
					t.Errorf("programs are told %s: %s", key, line)
				}
			}
			if kind == "text" {
				kind += " in any order"
			}
			kinds = append(kinds, kind)
		}
		told = append(told, kinds)
	}
	if !reflect.DeepEqual(told[0], told[1]) {
		t.Errorf("told of different draws:\n%v\n%v", told[0], told[1])
	}
	if all := strings.Join(told[0], " "); strings.Contains(all, "judged") || strings.Count(all, "round") != 2 {
		t.Errorf("%s", all)
	}
}

// TestJudgingIsForTerminals: how often records are asked is shown on a terminal alone, and
// its bar moves with the rounds.
func TestJudgingIsForTerminals(t *testing.T) {
	now := time.Unix(0, 0)
	play := func(s *ui.RunProgress, records int) {
		s.Now = func() time.Time { return now }
		for round := int64(1); round <= 3; round++ {
			for range records {
				now = now.Add(time.Second)
				s.Report(sotto.Progress{Kind: sotto.Judged, Round: round, Rounds: 3, Usage: lm.Usage{Computed: 17}})
			}
			s.Report(sotto.Progress{Kind: sotto.Chose, Round: round, Rounds: 3, Examples: int(round) - 1})
		}
	}
	for _, json := range []bool{false, true} {
		var few, many bytes.Buffer
		play(&ui.RunProgress{Progress: &ui.Progress{W: &few, JSON: json}}, 1)
		play(&ui.RunProgress{Progress: &ui.Progress{W: &many, JSON: json}}, 50)
		if few.String() != many.String() || strings.Count(few.String(), "\n") != 3 {
			t.Errorf("json %v: %q and %q", json, few.String(), many.String())
		}
		if !json && few.String() != "round 1 of 3: the records chose no examples\nround 2 of 3: the records chose one example\nround 3 of 3: the records chose 2 examples\n" {
			t.Errorf("%q", few.String())
		}
	}
	var bar bytes.Buffer
	play(&ui.RunProgress{Progress: &ui.Progress{W: &bar, Bar: true}}, 2)
	if !strings.Contains(bar.String(), "round 2 of 3  records are judging  about ") || strings.Contains(bar.String(), "17") {
		t.Errorf("%q", bar.String())
	}
}

// TestEncodingIsForTerminals: how many records are encoded, and how often one is told of it, is shown on a terminal
// alone.
func TestEncodingIsForTerminals(t *testing.T) {
	now := time.Unix(0, 0)
	play := func(s *ui.RunProgress, records int) {
		s.Now = func() time.Time { return now }
		for i := range records {
			now = now.Add(time.Second)
			s.Report(sotto.Progress{Kind: sotto.Encoded, Share: float64(i+1) / 50})
		}
		s.Report(sotto.Progress{Kind: "evidence"})
	}
	for _, json := range []bool{false, true} {
		var few, many bytes.Buffer
		play(&ui.RunProgress{Progress: &ui.Progress{W: &few, JSON: json}}, 1)
		play(&ui.RunProgress{Progress: &ui.Progress{W: &many, JSON: json}}, 50)
		if few.String() != many.String() || strings.Contains(few.String(), "encoded") {
			t.Errorf("json %v: %q and %q", json, few.String(), many.String())
		}
	}
	var bar bytes.Buffer
	play(&ui.RunProgress{Progress: &ui.Progress{W: &bar, Bar: true}}, 30)
	if !strings.Contains(bar.String(), " 20 % of records  records are encoded  about 40s left") {
		t.Errorf("%q", bar.String())
	}
}

// TestRouteOfText: a release that was judged as one text gets a warning where a route asks a server in turns, and none
// where it answers as the records judged; the files name the reading.
func TestRouteOfText(t *testing.T) {
	clitest.ChoosingHome(t)
	clitest.OwnConfiguration(t, "[upstream.far]\nurl = \"http://127.0.0.1:9\"\n")
	clitest.Printed(t, "ledger", "init", "tickets", "--data", "records.jsonl", "--task", "task.toml", "--epsilon", "8", "--delta", "2e-6")
	for _, reading := range []string{"calibrated", "raw"} {
		if code, _, errs := clitest.Run(t, clitest.Choosing("--set", "reading="+reading, "--set", "evidence=0", "--out", reading)...); code != 0 {
			t.Fatal(errs)
		}
		for _, upstream := range []string{"embedded", "far"} {
			code, _, errs := clitest.Run(t, "serve", "route", "set", "mine", "--upstream", upstream, "--release", reading, "--task", "task.toml", "--model", "tiny.gguf")
			warned := strings.Contains(errs, "sotto synth --form chat makes a release for clients that chat")
			if code != 0 || warned != (upstream != "embedded") {
				t.Errorf("%s at %s: exit code %d, %s", reading, upstream, code, errs)
			}
		}
		want := map[string]string{"calibrated": "Labels were read off calibrated for that", "raw": "Labels were read off the probabilities that they have after prompt.txt and a question"}[reading]
		for _, name := range []string{"README.md", "report.html"} {
			data, err := os.ReadFile(filepath.Join(reading, name))
			at := expect.At(t, "%s does not list all files of the release", name)
			expect.NoError(at, err)
			expect.Contains(at, "data", string(data), "journal.jsonl")
			expect.Contains(at, "data", string(data), "plan.json")
		}
		for _, name := range []string{"README.md", "use.md", "report.html"} {
			data, err := os.ReadFile(filepath.Join(reading, name))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), want) || strings.Contains(string(data), "your records") {
				t.Errorf("%s of %s does not say %q", name, reading, want)
			}
		}
	}
}
