package start

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// TestDemoSearch: a secret in any file of any release is found, whatever its case.
func TestDemoSearch(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	secrets := demo.Repairs().Secrets(1000)
	put := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := demoRun{Program: &cli.Program{Terminal: ui.Terminal{JSON: true}}, secrets: secrets, questions: []*demoQuestion{{release: dirs[0]}, {release: dirs[1]}}}
	put(dirs[0], "a.txt", "My landlord does not answer.")
	if err := d.search(t.Context()); err != nil || len(d.result.SecretsFound) > 0 {
		t.Errorf("found %q (%v)", d.result.SecretsFound, err)
	}
	for i, dir := range dirs {
		put(dir, "journal.jsonl", `{"text": "I am `+strings.ToUpper(secrets[i])+`."}`)
		if err := d.search(t.Context()); err != nil || !slices.Contains(d.result.SecretsFound, secrets[i]) {
			t.Errorf("found %q (%v), want %q", d.result.SecretsFound, err, secrets[i])
		}
	}
	d.questions[1].release = filepath.Join(dirs[0], "none")
	if err := d.search(t.Context()); err == nil {
		t.Error("a folder that cannot be read was not searched")
	}
}

// demoQuestions are those of a demo with the defaults.
func demoQuestions(t *testing.T) []*demoQuestion {
	t.Helper()
	d := &demoRun{Program: &cli.Program{Terminal: ui.Terminal{JSON: true}}}
	d.messages, d.epsilon, d.delta, d.out = 6000, cli.Number{Value: 1}, cli.Number{Value: 1e-6}, t.TempDir()
	if err := d.plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d.questions
}

// TestDemoIsFair: nothing but examples and evidence differs between what the demo compares. All are asked with
// the task's own instruction, labels are read off in one way, and sets have as many examples, of each
// label equally often. What is chosen has no instruction and no example that the others have not.
func TestDemoIsFair(t *testing.T) {
	for _, q := range demoQuestions(t) {
		t.Run(q.name, func(t *testing.T) { testDemoIsFair(t, q) })
	}
}

func testDemoIsFair(t *testing.T, q *demoQuestion) {
	const sets = demoMaxSets
	task, c := q.request.Task, q.request.Choosing
	at := expect.At(t, "choosing has more to choose from than examples by hand")
	expect.Max(at, "len(c.Instructions)+len(c.Sets)", len(c.Instructions)+len(c.Sets), 0)
	expect.True(at, "c.OwnWords", c.OwnWords)
	expect.True(at, "c.NoGeneration", c.NoGeneration)
	expect.Max(at, "c.Writing", c.Writing, 0)
	expect.True(at, "c.Examples equal to q.made", slices.Equal(c.Examples, q.made), c.Examples, q.made)
	expect.Equal(at, "c.Shots", c.Shots, task.Limits.Shots)
	expect.Equal(at, "c.MaxShots", c.MaxShots, task.Limits.Shots)
	if open := task.Open(); open != (q.request.Evident() == 0) || open != (c.Reading == "") {
		t.Errorf("a share of %v is for evidence, and labels are read %q", q.request.Evident(), c.Reading)
	}
	if err := os.Mkdir(q.release, 0o700); err != nil {
		t.Fatal(err)
	}
	if !task.Open() {
		said := &evidence.Evidence{Encoder: "made up", Labels: task.Labels, Sums: 1, Sigma: 1}
		for range task.Labels {
			said.Vectors = append(said.Vectors, []float64{1})
		}
		data, err := said.Encode()
		if err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, filepath.Join(q.release, evidence.File), data)
	}
	var asked []worth.Set
	err := q.compare(sets, func(s worth.Set) (float64, error) {
		asked = append(asked, s)
		return float64(len(asked)) / 100, nil
	}, func() (float64, error) { return 0.99, nil })
	if err != nil {
		t.Fatal(err)
	}
	byHand, real := 0, 0
	for i, s := range asked {
		if s.Chosen.Evidence.How == prompt.Alone && i > 0 {
			if len(s.Examples) > 0 || s.Evidence == nil {
				t.Errorf("the classifier has examples, or no evidence: %+v", s)
			}
			continue
		}
		at := expect.At(t, "set %d is asked otherwise: %+v", i, s)
		expect.Equal(at, "s.Chosen.For(task).Answer.Instruction", s.Chosen.For(task).Answer.Instruction, task.Answer.Instruction)
		expect.True(at, "s.Chosen.Calibrated other than task.Open()", s.Chosen.Calibrated != task.Open(), s.Chosen.Calibrated)
		expect.True(at, "not s.Chosen.Evidence.Used()", !s.Chosen.Evidence.Used(), s.Chosen.Evidence)
		expect.Equal(at, "s.Chosen.Form", s.Chosen.Form, prompt.TextForm)
		if i == 0 {
			if len(s.Examples) > 0 {
				t.Error("there are examples where there should be none")
			}
			continue
		}
		if slices.Contains(q.made, s.Examples[0]) {
			byHand++
		} else {
			real++
		}
		testDemoSet(t, q, s.Examples)
	}
	if byHand != sets || real != sets {
		t.Errorf("%d sets by hand and %d real ones, want %d", byHand, real, sets)
	}
	r := q.result
	at = expect.At(t, "the numbers are mixed up")
	expect.Equal(at, "r.row(demoNone)", r.row(demoNone), 0.01)
	expect.Max(at, "math.Abs(r.row(demoMade)-0.03)", math.Abs(r.row(demoMade)-0.03), 1e-12)
	expect.Equal(at, "r.row(demoChosen)", r.row(demoChosen), 0.99)
	expect.Min(at, "r.row(demoReal)", r.row(demoReal), 0.05)
	expect.Equal(at, "r.row(demoClassifier) == 0", r.row(demoClassifier) == 0, task.Open())
}

// testDemoSet: a set is of one kind, and has every desk equally often.
func testDemoSet(t *testing.T, q *demoQuestion, set []prompt.Example) {
	t.Helper()
	if len(set) != q.request.Task.Limits.Shots {
		t.Errorf("a set has %d examples", len(set))
	}
	count := map[string]int{}
	made := slices.Contains(q.made, set[0])
	for _, e := range set {
		count[e.Output]++
		if slices.Contains(q.made, e) != made {
			t.Errorf("a set has examples by hand and real ones: %q", e.Input)
		}
	}
	for _, l := range q.request.Task.Labels {
		if count[l] != len(set)/len(q.request.Task.Labels) {
			t.Errorf("a set has %d examples of %s", count[l], l)
		}
	}
}

// TestConcurrentDemoClient: what counts is what a client of the gateway reads, and an error is none of the answers.
func TestConcurrentDemoClient(t *testing.T) {
	q := demoQuestions(t)[0]
	messages := demo.Repairs().Development(8)
	broken := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model    string
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) != 1 {
			t.Errorf("a client asks %+v, %v", asked, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		expect.Equal(t, "asked.Model", asked.Model, "desk")
		expect.Equal(t, "asked.Messages[0].Role", asked.Messages[0].Role, "user")
		if !slices.ContainsFunc(messages, func(m demo.Ticket) bool { return m.Text == asked.Messages[0].Content }) {
			t.Error("a client asks something else than a message")
		}
		if broken {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":" kitchen\n"}}]}`)
	}))
	defer server.Close()
	g := &demoGateway{url: server.URL}
	if got, err := g.accuracy(t.Context(), q, messages); err != nil || got != 0.25 { // each desk has two of eight
		t.Errorf("%v (%v)", got, err)
	}
	broken = true
	if _, err := g.accuracy(t.Context(), q, messages); err == nil {
		t.Error("a gateway that fails has an accuracy")
	}
}

func TestDemoBar(t *testing.T) {
	for share, want := range map[float64]string{-1: "░░░░░░░░░░░░", 0: "░░░░░░░░░░░░", 0.5: "██████░░░░░░", 1: "████████████", 2: "████████████"} {
		if got := demoBar(share); got != want {
			t.Errorf("%v: %s", share, got)
		}
	}
}

// TestDemoFits: what the demo prints fits a hundred columns, whatever the numbers.
func TestDemoFits(t *testing.T) {
	r := &demoResult{Messages: 6000, Items: 100, Epsilon: 1, Delta: 1e-6, Secrets: 4481, Dir: "sotto-demo", Seconds: 170}
	for _, q := range demoQuestions(t) {
		a := demoAnswers{Question: q.name, Epsilon: 0.499987, planned: 0.5, Evidence: prompt.Combined, Texts: q.made}
		for _, name := range []string{demoNone, demoMade, demoClassifier, demoChosen, demoReal} {
			a.Rows = append(a.Rows, demoRow{Name: name, Accuracy: 1, Std: 0.123, Sets: []float64{1, 1}})
		}
		r.Questions = append(r.Questions, a)
	}
	var out strings.Builder
	r.Print(&ui.Page{W: &out})
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Count(out.String(), "everybody, ε ≤ 0.5\n") != 4 {
		t.Errorf("a row does not say who is protected, or not in one line:\n%s", out.String())
	}
}
