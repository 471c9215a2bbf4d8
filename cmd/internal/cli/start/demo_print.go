package start

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// The rows of what the demo compares.
const (
	demoNone       = "none"
	demoMade       = "made_up"
	demoClassifier = "classifier"
	demoChosen     = "chosen"
	demoReal       = "real"
)

// demoRow is how often answers are right. Sets are those of several.
type demoRow struct {
	Name     string    `json:"name"`
	Accuracy float64   `json:"accuracy"`
	Std      float64   `json:"std"`
	Sets     []float64 `json:"sets,omitempty"`
}

// demoAnswers is one question, what was released for it, and what that is worth.
type demoAnswers struct {
	Question    string            `json:"question"`
	Rows        []demoRow         `json:"rows"`
	Epsilon     ui.Real           `json:"epsilon"`
	Delta       float64           `json:"delta"`
	Adjacency   privacy.Adjacency `json:"adjacency"`
	Event       string            `json:"event"`
	Guarantee   []string          `json:"guarantee"`
	Instruction string            `json:"instruction"`
	Texts       []prompt.Example  `json:"texts"`
	Calibrated  bool              `json:"calibrated"`
	Evidence    prompt.How        `json:"evidence"`
	Worth       *release.Worth    `json:"worth,omitempty"`
	Release     string            `json:"release"`
	Files       []string          `json:"files"`

	planned float64 // the ε that it was given
}

// row is the accuracy of a row; 0 if there is none.
func (a *demoAnswers) row(name string) float64 {
	for _, r := range a.Rows {
		if r.Name == name {
			return r.Accuracy
		}
	}
	return 0
}

type demoResult struct {
	Questions    []demoAnswers `json:"questions"`
	Items        int           `json:"items"`
	Epsilon      float64       `json:"epsilon"`
	Delta        float64       `json:"delta"`
	Messages     int           `json:"messages"`
	Secrets      int           `json:"secrets"`
	SecretsFound []string      `json:"secrets_found"`
	Verified     bool          `json:"verified"`
	Model        string        `json:"model"`
	Seconds      float64       `json:"seconds"`
	Dir          string        `json:"dir"`

	sets, shots int
}

func (r *demoResult) Print(p *ui.Page) {
	p.Head("What %s private messages add, for ε = %s", ui.Thousands(r.Messages), ui.Whole(r.Epsilon))
	for i := range r.Questions {
		r.Questions[i].print(p)
	}
	p.Text(2, fmt.Sprintf("In percent of the same %d held-out messages. Examples by hand and real messages are %d sets of %d each: means ± standard deviations. The evidence alone is a private classifier, and asks no language model. What was chosen is what a client of the gateway got.", r.Items, r.sets, r.shots))
	p.Line("")
	p.Line("  %s\n", p.Paint(ui.Bold, "What the messages chose to show a model, of two dozen examples by hand"))
	t := ui.NewTable("for", "example", "answer")
	for _, q := range r.Questions {
		texts := slices.Clone(q.Texts)
		slices.SortStableFunc(texts, func(a, b prompt.Example) int { return strings.Compare(a.Output, b.Output) })
		for _, text := range texts {
			t.Add(q.Question, ui.Visible(text.Input), ui.Visible(text.Output))
		}
	}
	p.Table(t)
	p.Line("")
	secrets := p.Paint(ui.Green, fmt.Sprintf("none of %s in the output", ui.Thousands(r.Secrets)))
	if n := len(r.SecretsFound); n > 0 {
		secrets = p.Paint(ui.Red, fmt.Sprintf("%d of %s are in the output", n, ui.Thousands(r.Secrets)))
	}
	desk := filepath.Join(r.Dir, "release-desk")
	p.Facts(
		"secrets", secrets,
		"certificates", p.Paint(ui.Green, "hold"),
		"data", filepath.Join(r.Dir, "messages.jsonl"),
		"tasks", filepath.Join(r.Dir, "desk.toml")+", "+filepath.Join(r.Dir, "broken.toml"),
		"report", filepath.Join(desk, "report.html"),
		"check", fmt.Sprintf("sotto verify %s --keys %s", desk, filepath.Join(r.Dir, "keys")),
		"budget", fmt.Sprintf("sotto ledger show demo --ledger %s", filepath.Join(r.Dir, "ledger.db")),
		"time", ui.Span(r.Seconds),
	)
}

// print shows one question's rows.
func (a *demoAnswers) print(p *ui.Page) {
	asked := map[string]string{"desk": "Which desk takes care of it? One of Computers, Building, Vehicles and Kitchen", "broken": "What is broken? In the words of the message"}[a.Question]
	p.Line("  %s\n", p.Paint(ui.Bold, asked))
	t := ui.NewTable("answered with", "#right", "#", "", "who is protected")
	all := "everybody, ε ≤ " + ui.Whole(a.planned)
	chosen := "chosen by the messages"
	if a.Evidence != "" {
		chosen = "chosen, with evidence"
	}
	for _, r := range a.Rows {
		name := map[string]string{
			demoNone: "no examples", demoMade: "examples by hand", demoClassifier: "the evidence alone", demoChosen: chosen, demoReal: "real messages",
		}[r.Name]
		protects := map[string]string{demoNone: "everybody, ε = 0", demoMade: "everybody, ε = 0", demoReal: "nobody"}[r.Name]
		if protects == "" {
			protects = all
		}
		deviation := ""
		if len(r.Sets) > 0 {
			deviation = fmt.Sprintf("± %.1f", 100*r.Std)
		}
		t.Add(name, ui.Percent(r.Accuracy), deviation, demoBar(r.Accuracy), protects)
	}
	p.Table(t)
	p.Line("")
}

// demoBar draws a share from 0 to 1, rounded.
func demoBar(share float64) string { return ui.Gauge(share+0.5/12, 12) }
