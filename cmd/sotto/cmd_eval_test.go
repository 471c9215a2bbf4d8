package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/ui"
)

// ticketSuite compares what can be had quickly.
const ticketSuite = `title = "Tickets"
seeds = 2
items = 10
epsilon = [4]

[[dataset]]
name = "tickets"
task = "task.toml"
train = "records.jsonl"
test = "records.jsonl"
size = 400

[[method]]
method = "zero"

[[method]]
method = "public"

[[method]]
method = "clipped"
batch = 16

[[method]]
method = "real"
`

// suiteHome is a home with a suite on the tiny model.
func suiteHome(t *testing.T) {
	t.Helper()
	home(t)
	tinyModel(t, "tiny.gguf")
	if err := errors.Join(
		os.WriteFile("task.toml", []byte(ticketTask), 0o600), os.WriteFile("records.jsonl", []byte(tickets(200)), 0o600),
		os.WriteFile("suite.toml", []byte(ticketSuite), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentSuiteInterrupt: an interrupt leaves a suite that the same command completes, and
// the rows are those of a suite that was not interrupted.
func TestConcurrentSuiteInterrupt(t *testing.T) {
	suiteHome(t)
	command := func(out, cache string) []string {
		return []string{"eval", "suite", "suite.toml", "--model", "tiny.gguf", "--out", out, "--cache", cache}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &stopping{at: "2 of 7", cancel: cancel}
	p := newProgram(&bytes.Buffer{}, errs)
	if code := p.main(ctx, command("a", "cache")); code != ui.Failed {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if text := errs.String(); !strings.Contains(text, "of 7 sets are done; the same command resumes") || !strings.Contains(text, "sotto: interrupted") {
		t.Errorf("%s", text)
	}
	code, out, text := run(t, append(command("a", "cache"), "--json")...)
	if code != 0 {
		t.Fatal(text)
	}
	o := object(t, out)
	reused, answered := o["reused_answers"].(float64), o["answered"].(float64)
	if reused < 2 || reused+answered != 7 {
		t.Errorf("%v reused, %v answered", reused, answered)
	}
	if code, _, text := run(t, command("b", "other")...); code != 0 || !strings.Contains(text, "7 of 7") || strings.Contains(text, "from the cache") {
		t.Errorf("exit code %d: %s", code, text)
	}
	a, errA := eval.ReadRows("a/rows.jsonl")
	b, errB := eval.ReadRows("b/rows.jsonl")
	if errA != nil || errB != nil || len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%d and %d rows, %v, %v", len(a), len(b), errA, errB)
	}
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Value != b[i].Value {
			t.Errorf("row %d is %s %v after an interrupt, and %s %v without", i, a[i].Key, a[i].Value, b[i].Key, b[i].Value)
		}
	}
}

// TestSuiteProgress: programs get a JSON object a line, people a line a set or a bar that
// fits a terminal and tells how long it takes.
func TestSuiteProgress(t *testing.T) {
	cells := []suite.Cell{
		{Dataset: suite.Dataset{Name: "agnews"}, Method: "zero", Name: "zero"},
		{Dataset: suite.Dataset{Name: "agnews"}, Method: "real", Name: "a method with a name that does not end where others do", Shots: 4, Seed: 1},
		{Dataset: suite.Dataset{Name: "agnews"}, Method: "real", Name: "a method with a name that does not end where others do", Shots: 4, Seed: 2},
	}
	now := time.Unix(0, 0)
	play := func(s *suiteProgress) {
		s.Now = func() time.Time { now = now.Add(time.Second); return now }
		s.report(suite.Progress{Kind: suite.Begun, Cells: 3})
		for i, c := range cells {
			s.report(suite.Progress{Kind: suite.Answered, Cell: c, Done: i, Cells: 3, Cached: i == 0, Tokens: 100})
			s.report(suite.Progress{Kind: suite.Finished, Cell: c, Done: i + 1, Cells: 3, Rows: []eval.Row{{Metric: "accuracy", Value: 0.5, WriteSeconds: 30 * float64(i), AnswerSeconds: 10}}})
		}
		s.report(suite.Progress{Kind: suite.Failed, Cell: cells[0], Done: 3, Cells: 3, Err: errors.New("no luck")})
		s.Clear()
	}
	var people, bar, programs bytes.Buffer
	play(newSuiteProgress(&program{Terminal: ui.Terminal{Stderr: &people}}, cells, 1))
	lines := strings.Split(strings.TrimSpace(people.String()), "\n")
	if len(lines) != 4 || lines[0] != "1 of 3  agnews, zero: accuracy 50.0 %, from the cache" || !strings.HasSuffix(lines[1], "seed 1: accuracy 50.0 %") || lines[3] != "agnews, zero failed: no luck" {
		t.Errorf("%q", lines)
	}
	play(newSuiteProgress(&program{Terminal: ui.Terminal{Stderr: &bar, Screen: true}}, cells, 1))
	for _, want := range []string{"0 of 3 sets", "1 of 3 sets  5s  19s left  agnews, zero", "2 of 3 sets  9s  39s left  agnews, a method", "agnews, zero failed: no luck\n"} {
		if !strings.Contains(bar.String(), want) {
			t.Errorf("no %q in %q", want, bar.String())
		}
	}
	for line := range strings.FieldsFuncSeq(strings.ReplaceAll(bar.String(), "\x1b[K", ""), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := len([]rune(line)); n >= ui.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	play(newSuiteProgress(&program{Terminal: ui.Terminal{Stderr: &programs, JSON: true}}, cells, 1))
	kinds := map[string]int{}
	for line := range strings.Lines(programs.String()) {
		kinds[object(t, line)["event"].(string)]++
	}
	if kinds["begun"] != 1 || kinds["answered"] != 3 || kinds["finished"] != 3 || kinds["failed"] != 1 {
		t.Errorf("%v", kinds)
	}
}

// TestSuiteAnswerer: a server that only chats can answer with what another model wrote,
// if it may see records: texts of suites are not private.
func TestSuiteAnswerer(t *testing.T) {
	suiteHome(t)
	server := httptest.NewServer(chatServer())
	t.Cleanup(server.Close)
	text := fmt.Sprintf("models = [\"tiny.gguf\"]\nanswerers = [%q]\ncalibrate = [false]\n", server.URL) + ticketSuite
	if err := os.WriteFile("suite.toml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := []string{"eval", "suite", "suite.toml", "--out", "rows", "--cache", "cache", "--seeds", "1", "--json"}
	if code, _, errs := run(t, command...); code != ui.Wrong || !strings.Contains(errs, "trusted") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if _, err := os.Stat("rows"); err == nil {
		t.Error("something was done with a server that is not trusted")
	}
	ownConfiguration(t, fmt.Sprintf("[model]\nurl = %q\ntrusted = true\n", server.URL))
	code, out, errs := run(t, command...)
	if code != 0 {
		t.Fatal(errs)
	}
	rows := object(t, out)["rows"].([]any)
	if len(rows) != 4 {
		t.Fatalf("%d rows: %s", len(rows), out)
	}
	for _, r := range rows {
		row := r.(map[string]any)
		// It repeats the prompt, which begins with no label.
		if row["answerer"] != "parrot" || row["mean"].(float64) != 0 || row["method"] != "zero" && row["model"] != "tiny" {
			t.Errorf("%v", row)
		}
	}
}

// TestMarked: the mark of demonstrations that are not private is found in any line and
// under compression.
func TestMarked(t *testing.T) {
	t.Chdir(t.TempDir())
	plain := `{"text": "not_private: true", "label": "a"}` + "\n"
	open := plain + `{"text": "b", "label": "a", "not_private": true}` + "\n"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(open)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want bool
	}{
		"plain.jsonl": {[]byte(plain), false}, "open.jsonl": {[]byte(open), true},
		"first.jsonl":   {[]byte("\ufeff" + `{"text": "b", "label": "a", "not_private": true}`), true},
		"word.jsonl":    {[]byte(`{"text": "b", "label": "a", "not_private": "True"}`), true},
		"false.jsonl":   {[]byte(`{"text": "b", "label": "a", "not_private": false}`), false},
		"open.jsonl.gz": {zipped.Bytes(), true}, "open.jsonl.zst": {encoder.EncodeAll([]byte(open), nil), true},
	} {
		if err := os.WriteFile(name, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := worth.Marked(name); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if err := os.WriteFile("broken.gz", []byte("plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := worth.Marked("broken.gz"); err == nil {
		t.Error("a file that cannot be unpacked is taken for private")
	}
}

// TestEvalPage: results fit 80 columns with any labels and names, and colours do not move
// columns.
func TestEvalPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Zε/._-]{1,60}`)
		labels := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Zε]{1,30}`), 2, 20, rapid.ID[string]).Draw(t, "labels")
		r := &evalResult{Test: "test.jsonl", Result: &worth.Result{Metric: rapid.SampledFrom(metric.Names()).Draw(t, "metric"), Model: "tiny", Task: "task", How: "the label with the best score", N: 100, Seconds: 1}}
		for i := range rapid.IntRange(1, 3).Draw(t, "sets") {
			row := worth.Row{Demos: name.Draw(t, "name"), Shots: i, N: 100, Value: 0.5, Low: 0.4, High: 0.6, Seconds: 1, Private: i != 1, ModelTokens: 1_234_567, Uncalibrated: new(float64), Metrics: map[string]float64{"macro_f1": 0.5}}
			var pairs []metric.Pair
			for range 10 {
				pairs = append(pairs, metric.Pair{Want: rapid.SampledFrom(labels).Draw(t, "want"), Got: rapid.SampledFrom(labels).Draw(t, "got")})
			}
			row.Tally(labels, pairs)
			right := 0
			for j := range labels {
				right += row.Confusion[j][j]
			}
			for _, p := range pairs {
				if p.Want == p.Got {
					right--
				}
			}
			if right != 0 {
				t.Fatalf("the diagonal is off by %d", right)
			}
			r.Rows = append(r.Rows, row)
		}
		for i, b := range r.Rows {
			for _, a := range r.Rows[i+1:] {
				r.Comparisons = append(r.Comparisons, worth.Comparison{A: a.Demos, B: b.Demos, Difference: 0.1, Low: -0.1, High: 0.3, P: 0.04, Adjusted: 0.0001})
			}
		}
		var plain, coloured strings.Builder
		r.Print(&ui.Page{W: &plain})
		r.Print(&ui.Page{W: &coloured, Colour: true})
		if regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured.String(), "") != plain.String() {
			t.Fatalf("colours change the page:\n%s", coloured.String())
		}
		for line := range strings.Lines(plain.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > ui.Width {
				t.Fatalf("%d columns: %s", n, line)
			}
		}
	})
}

// TestCommandLine: reports tell a command that can be repeated, and leave out what does
// not change the result.
func TestCommandLine(t *testing.T) {
	var got string
	cmd := newSuiteCommand(&program{})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		got = commandLine(cmd, args)
		return nil
	}
	cmd.SetArgs([]string{"my suite.toml", "--out", "it's here", "--methods", "zero,real", "--parallel", "3", "--cache", "c", "--seeds", "2"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := `suite 'my suite.toml' --methods zero,real --out 'it'\''s here' --seeds 2`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// vectorServer embeds: a text's vector points where its length says.
func vectorServer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"lengths","object":"model","owned_by":"someone"}]}`)
	})
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		var data []string
		for i, text := range q.Input {
			vector := make([]float32, 16)
			vector[len(text)%16] = 1
			numbers, _ := json.Marshal(vector)
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, numbers))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	})
	return mux
}

// TestEvalEncoder: a server's vectors score answers, under a name that says so; what is
// not private does not go there.
func TestEvalEncoder(t *testing.T) {
	suiteHome(t)
	server := httptest.NewServer(vectorServer())
	t.Cleanup(server.Close)
	command := []string{
		"eval", "--task", "task.toml", "--test", "records.jsonl", "--limit", "20", "--model", "tiny.gguf",
		"--form", "text", "--metric", "embedding_f1", "--encoder", server.URL, "--json",
	}
	code, out, errs := run(t, append(command, "--demos", "zero")...)
	if code != 0 {
		t.Fatal(errs)
	}
	o := object(t, out)
	if o["metric"] != "embedding_f1 (openai/lengths, word by word)" || o["value"].(float64) != 1 {
		t.Errorf("both labels have seven letters, so that all match: %v of %v", o["value"], o["metric"])
	}
	if code, _, errs := run(t, append(command, "--demos", "real", "--data", "records.jsonl")...); code != ui.Wrong || !strings.Contains(errs, "answers may repeat them: leave out --encoder") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := run(t, append(command, "--demos", "zero", "--metric", "accuracy")...); code != ui.Wrong || !strings.Contains(errs, "--encoder is for embedding metrics") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	chat := httptest.NewServer(chatServer())
	t.Cleanup(chat.Close)
	if code, _, errs := run(t, append(command, "--demos", "zero", "--encoder", chat.URL)...); code != ui.Wrong || !strings.Contains(errs, "embed") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
