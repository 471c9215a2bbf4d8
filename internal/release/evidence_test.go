package release

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// evidential is a release with evidence, which its prompt uses.
func evidential(t *testing.T, u prompt.Use) Release {
	t.Helper()
	r := news(t)
	r.Origin = Chosen
	if u.How == prompt.Alone { // no model reads them
		r.Examples = nil
	}
	r.Prompt = &prompt.Prompt{Examples: r.Examples, Evidence: u}
	r.Evidence = &evidence.Evidence{
		Encoder: "minilm 12ab", Labels: r.Task.Labels, Sums: 16, Sigma: 23.549778693553566,
		Vectors: [][]float64{{1, -0.000001}, {0.1, 2}, {-300.25, 0}, {0, 1e5}},
	}
	return r
}

// TestEvidenceFile: evidence.json is read as it was, marked or not, and there is none of a release without.
func TestEvidenceFile(t *testing.T) {
	for _, private := range []bool{true, false} {
		r := evidential(t, prompt.Use{How: prompt.Alone})
		if r.Private = private; !private {
			r.Guarantee, r.Drawn = nil, nil
		}
		data := rendered(t, r)[evidence.File]
		name := filepath.Join(t.TempDir(), evidence.File)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := evidence.Read(name); err != nil || !reflect.DeepEqual(got, r.Evidence) {
			t.Errorf("private %v: %s is read as %+v, %v", private, data, got, err)
		}
		if marked := strings.Contains(string(data), `"not_private":true`); marked == private {
			t.Errorf("private %v: %s", private, data)
		}
	}
	r := evidential(t, prompt.Use{})
	r.Evidence.Vectors = r.Evidence.Vectors[:2]
	if _, err := Render(r); err == nil {
		t.Error("evidence without vectors for all labels is released")
	}
	r.Evidence = nil
	if _, there := rendered(t, r)[evidence.File]; there {
		t.Error("there is a file of no evidence")
	}
}

// TestEvidenceIsSaid: each way to use evidence is in prompt.json, and in words in use.md; a prompt that does not use it has
// neither.
func TestEvidenceIsSaid(t *testing.T) {
	ways := map[prompt.How]string{
		prompt.Combined: "at a weight of 2.5", prompt.Hinted: "to tell the model in each question", prompt.Alone: "without a language model", "": "",
	}
	for how, words := range ways {
		u := prompt.Use{How: how}
		switch how {
		case prompt.Combined:
			u.Weight = 2.5
		case prompt.Hinted:
			u.Wording = 1
		}
		r := evidential(t, u)
		r.Worth = &Worth{Metric: "accuracy", Value: 0.8, Low: 0.7, High: 0.9, Epsilon: 0.1}
		files := rendered(t, r)
		var p struct {
			Evidence prompt.Use `json:"evidence"`
		}
		err := json.Unmarshal(files[promptFile], &p)
		at := expect.At(t, "%q: prompt.json", how)
		expect.NoError(at, err)
		expect.Equal(at, "p.Evidence", p.Evidence, u)
		expect.Equal(at, "strings.Contains(string(files[promptFile]), `'evidence'`)", strings.Contains(string(files[promptFile]), `"evidence"`), u.Used())
		use := string(files["use.md"])
		for other, said := range ways {
			if other != "" && strings.Contains(use, said) != (other == how) {
				t.Errorf("%q: use.md says %q: %v", how, said, other != how)
			}
		}
		if words != "" && !strings.Contains(use, evidence.File) {
			t.Errorf("%q: use.md does not name %s", how, evidence.File)
		}
		for _, name := range []string{"use.md", "report.html"} {
			if got := strings.Contains(string(files[name]), "It was measured with the evidence"); got != u.Used() {
				t.Errorf("%q: %s says that it was measured with evidence: %v", how, name, got)
			}
		}
	}
}
