package check

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/ui"
)

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
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(name, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := worth.Marked(name); got != c.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
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
	clitest.TicketHome(t)
	server := httptest.NewServer(vectorServer())
	t.Cleanup(server.Close)
	command := []string{
		"eval", "--task", "task.toml", "--test", "records.jsonl", "--limit", "20", "--model", "tiny.gguf",
		"--form", "text", "--metric", "embedding_f1", "--set", "encoder=" + server.URL, "--json",
	}
	code, out, errs := clitest.Run(t, append(command, "--demos", "zero")...)
	if code != 0 {
		t.Fatal(errs)
	}
	o := clitest.Object(t, out)
	if o["metric"] != "embedding_f1 (openai/lengths, word by word)" || o["value"].(float64) != 1 {
		t.Errorf("both labels have seven letters, so that all match: %v of %v", o["value"], o["metric"])
	}
	if code, _, errs := clitest.Run(t, append(command, "--demos", "real", "--data", "records.jsonl")...); code != ui.Wrong || !strings.Contains(errs, "answers may repeat them: leave out the setting encoder") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := clitest.Run(t, append(command, "--demos", "zero", "--metric", "accuracy")...); code != ui.Wrong || !strings.Contains(errs, "encoder is for embedding metrics") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	chat := httptest.NewServer(clitest.ChatServer())
	t.Cleanup(chat.Close)
	if code, _, errs := clitest.Run(t, append(command, "--demos", "zero", "--set", "encoder="+chat.URL)...); code != ui.Wrong || !strings.Contains(errs, "embed") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
