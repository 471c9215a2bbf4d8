package icl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// letterCounts encodes a text by how often it has some letters.
type letterCounts struct {
	texts []string
	fail  bool
}

func (e *letterCounts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.fail {
		return nil, errToy
	}
	e.texts = append(e.texts, texts...)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = letterVector(text)
	}
	return out, nil
}

func letterVector(text string) []float32 {
	v := []float64{1}
	sum := 1.0
	for _, letter := range []string{"e", "o", "t"} {
		n := float64(strings.Count(text, letter))
		v, sum = append(v, n), sum+n*n
	}
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i] / math.Sqrt(sum))
	}
	return out
}

func (e *letterCounts) Dimension() int { return 4 }
func (e *letterCounts) Name() string   { return "letters" }

// letterEvidence is for three labels.
func letterEvidence() *evidence.Evidence {
	return &evidence.Evidence{
		Encoder: "letters", Labels: []string{"yes", "no", "perhaps"},
		Vectors: [][]float64{{0, 3, 0, 0}, {0, 0, 3, 0}, {0.5, 0, 0, 3}},
	}
}

func letterReader(t *testing.T, e *letterCounts) *evidence.Reader {
	t.Helper()
	r, err := evidence.Open(letterEvidence(), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	answersOf = []string{"yes", "no", "perhaps"}
	asking    = []string{"one", "two to the tee", "", "seven eels", "not at all that"}
)

// TestCombinedIsTheProduct: scores are the model's, raw or calibrated, times the evidence to the power of
// the weight.
func TestCombinedIsTheProduct(t *testing.T) {
	demos := []prompt.Example{{Input: "a", Output: "no"}}
	reader := letterReader(t, &letterCounts{})
	for _, weight := range []float64{0.5, 2} {
		plain, err := NewClassifier(t.Context(), newToy(" yes", " no"), task(answersOf...), demos, Options{Calibrate: true})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Calibrate: true, Evidence: reader, Use: prompt.Use{How: prompt.Combined, Weight: weight}}
		combined, err := NewClassifier(t.Context(), newToy(" yes", " no"), task(answersOf...), demos, o)
		if err != nil {
			t.Fatal(err)
		}
		before, err := plain.Classify(t.Context(), asking)
		if err != nil {
			t.Fatal(err)
		}
		after, err := combined.Classify(t.Context(), asking)
		if err != nil {
			t.Fatal(err)
		}
		for i, input := range asking {
			for what, c := range map[string][2]Classification{"raw": {before[i].Raw, after[i].Raw}, "calibrated": {before[i].Classification, after[i].Classification}} {
				t.Run(what, func(t *testing.T) {
					want := multiplied(c[0].Scores, input, weight)
					for l := range want {
						if math.Abs(want[l]-c[1].Scores[l]) > 1e-9 {
							t.Errorf("weight %g, %q: %v, want %v", weight, input, c[1].Scores, want)
							break
						}
					}
					if best := answersOf[slices.Index(c[1].Scores, slices.Max(c[1].Scores))]; best != c[1].Label {
						t.Errorf("the label of %v is %s", c[1].Scores, c[1].Label)
					}
				})
			}
		}
		if got, want := combined.Describe(), fmt.Sprintf("%s, calibrated, combined with evidence of weight %g", howScores, weight); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := errors.Join(plain.Close(), combined.Close()); err != nil {
			t.Error(err)
		}
	}
}

// multiplied are probabilities times what evidence says of a text, to the power of a weight.
func multiplied(p []float64, text string, weight float64) []float64 {
	out, sum := make([]float64, len(p)), 0.0
	for l, v := range letterEvidence().Vectors {
		var product float64
		for i, x := range letterVector(text) {
			product += float64(x) * v[i]
		}
		out[l] = p[l] * math.Pow(math.Exp(product), weight)
		sum += out[l]
	}
	for l := range out {
		out[l] /= sum
	}
	return out
}

// TestHintsAreTold: the answers with hints are those to questions and demonstrations that have them, in
// every form, and demonstrations are encoded once.
func TestHintsAreTold(t *testing.T) {
	demos := []prompt.Example{{Input: "the tree", Output: "no"}, {Input: "on foot", Output: "yes"}}
	for _, form := range prompt.Forms() {
		for _, model := range []string{"shares", "writes whole prompts", "only writes"} {
			for wording := range prompt.Hints() {
				name := fmt.Sprintf("%s, %s, wording %d", form, model, wording)
				open := func() (lm.Model, *toy) {
					m := chatty(" yes", " no")
					m.info.Can.SharedPrefix = model == "shares"
					if model == "only writes" {
						m.info.Can.Candidates = false
						return plain{m}, m
					}
					return m, m
				}
				encoder := &letterCounts{}
				reader := letterReader(t, encoder)
				told, err := reader.Hinted(t.Context(), wording, asking)
				if err != nil {
					t.Fatal(err)
				}
				shown, err := reader.Examples(t.Context(), wording, demos)
				if err != nil {
					t.Fatal(err)
				}
				m, of := open()
				by, err := Open(t.Context(), m, task(answersOf...), shown, Options{Form: form})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				want, err := by.Answer(t.Context(), told)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				seen := fmt.Sprint(of.prompts)
				encoder.texts = nil
				m, of = open()
				a, err := Open(t.Context(), m, task(answersOf...), demos, Options{Form: form, Evidence: reader, Use: prompt.Use{How: prompt.Hinted, Wording: wording}})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for range 2 {
					of.prompts = nil
					got, err := a.Answer(t.Context(), asking)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %q, want %q, %v", name, got, want, err)
					}
				}
				if got := fmt.Sprint(of.prompts); got != seen {
					t.Errorf("%s: the model is asked\n%s\nwant\n%s", name, got, seen)
				}
				if got, want := len(encoder.texts), len(demos)+2*len(asking); got != want {
					t.Errorf("%s: %d texts are encoded, want %d", name, got, want)
				}
				if got := a.Describe(); got != by.Describe()+", with hints of the evidence" {
					t.Errorf("%s: %q", name, got)
				}
				if err := errors.Join(a.Close(), by.Close()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestAlone: evidence answers without a model.
func TestAlone(t *testing.T) {
	o := Options{Evidence: letterReader(t, &letterCounts{}), Use: prompt.Use{How: prompt.Alone}}
	a, err := Open(t.Context(), nil, task(answersOf...), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Answer(t.Context(), []string{"eee", "ooo", "ttt", "eeo", ""})
	if want := []string{"yes", "no", "perhaps", "yes", "perhaps"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	predictions, err := a.(*Alone).Classify(t.Context(), asking)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range predictions {
		for l, want := range multiplied([]float64{1, 1, 1}, asking[i], 1) {
			if math.Abs(p.Scores[l]-want) > 1e-9 {
				t.Errorf("%q: %v", asking[i], p)
			}
		}
	}
	if none, err := a.Answer(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("no questions: %q, %v", none, err)
	}
	expect.Equal(t, "a.Describe()", a.Describe(), howAlone)
	expect.Equal(t, "a.Usage()", a.Usage(), lm.Usage{})
	expect.NoError(t, a.Close())
}

// TestWrongUses of evidence are refused, in words that say what to do.
func TestWrongUses(t *testing.T) {
	reader := letterReader(t, &letterCounts{})
	combined, hinted, alone := prompt.Use{How: prompt.Combined, Weight: 1}, prompt.Use{How: prompt.Hinted}, prompt.Use{How: prompt.Alone}
	for name, c := range map[string]struct {
		model lm.Model
		task  prompt.Task
		demos []prompt.Example
		o     Options
		want  string
	}{
		"combined, none":        {o: Options{Use: combined}, want: "evidence.json"},
		"hinted, none":          {o: Options{Use: hinted}, want: "evidence.json"},
		"alone, none":           {o: Options{Use: alone}, want: "evidence.json"},
		"other labels":          {task: task("yes", "no"), o: Options{Use: combined, Evidence: reader}, want: "other labels"},
		"alone, other labels":   {task: task("yes", "no"), o: Options{Use: alone, Evidence: reader}, want: "other labels"},
		"no labels":             {task: writeTask(prompt.Extract), o: Options{Use: hinted, Evidence: reader}, want: "no closed list"},
		"no weight":             {o: Options{Use: prompt.Use{How: prompt.Combined}, Evidence: reader}, want: "positive weight"},
		"combined in turns":     {model: chatty(), o: Options{Use: combined, Evidence: reader, Form: prompt.ChatForm}, want: "use it as a hint"},
		"combined, no scores":   {model: plain{newToy()}, o: Options{Use: combined, Evidence: reader}, want: "use a model that gives scores"},
		"alone with examples":   {demos: []prompt.Example{{Input: "a", Output: "no"}}, o: Options{Use: alone, Evidence: reader}, want: "no demonstrations"},
		"alone, normalised":     {o: Options{Use: alone, Evidence: reader, Normalise: true}, want: "nothing to normalise"},
		"alone, calibrated":     {o: Options{Use: alone, Evidence: reader, Calibrate: true}, want: "no model reads them"},
		"no such way":           {o: Options{Use: prompt.Use{How: "x"}, Evidence: reader}, want: "combined, hinted or alone"},
		"an encoder that broke": {demos: []prompt.Example{{Input: "a", Output: "no"}}, o: Options{Use: hinted, Evidence: letterReader(t, &letterCounts{fail: true})}, want: errToy.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if c.model == nil {
				c.model = newToy()
			}
			if c.task.Name == "" {
				c.task = task(answersOf...)
			}
			a, err := Open(t.Context(), c.model, c.task, c.demos, c.o)
			if a != nil {
				t.Error("it answers")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want it to say %q", err, c.want)
			}
		})
	}
	if _, err := NewClassifier(t.Context(), newToy(), task(answersOf...), nil, Options{Use: alone, Evidence: reader}); err == nil {
		t.Error("a classifier with evidence alone asks a model")
	}
	for _, use := range []prompt.Use{combined, alone} {
		if _, err := NewWriter(t.Context(), newToy(), task(answersOf...), nil, Options{Use: use, Evidence: reader}); err == nil {
			t.Errorf("what a model writes is %s", use.How)
		}
	}
}

// TestEncoderThatBreaks: there are no answers, and asking again gives them.
func TestEncoderThatBreaks(t *testing.T) {
	for _, use := range []prompt.Use{{How: prompt.Combined, Weight: 1}, {How: prompt.Hinted}, {How: prompt.Alone}} {
		encoder := &letterCounts{}
		a, err := Open(t.Context(), newToy(), task(answersOf...), nil, Options{Use: use, Evidence: letterReader(t, encoder)})
		if err != nil {
			t.Fatal(err)
		}
		encoder.fail = true
		if got, err := a.Answer(t.Context(), asking); !errors.Is(err, errToy) || got != nil {
			t.Errorf("%s: %q, %v", use.How, got, err)
		}
		encoder.fail = false
		if got, err := a.Answer(t.Context(), asking); err != nil || len(got) != len(asking) {
			t.Errorf("%s: %q, %v", use.How, got, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestEvidenceThatIsNotUsed: evidence that is at hand changes nothing where the prompt does not use it.
func TestEvidenceThatIsNotUsed(t *testing.T) {
	encoder := &letterCounts{}
	demos := []prompt.Example{{Input: "the tree", Output: "no"}}
	var got [2][]Prediction
	for i, o := range []Options{{Calibrate: true}, {Calibrate: true, Evidence: letterReader(t, encoder)}} {
		c, err := NewClassifier(t.Context(), newToy(" yes", " no"), task(answersOf...), demos, o)
		if err != nil {
			t.Fatal(err)
		}
		if got[i], err = c.Classify(t.Context(), asking); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range asking {
		if !slices.Equal(got[0][i].Scores, got[1][i].Scores) {
			t.Errorf("%q has %v with evidence at hand, and without %v", asking[i], got[1][i].Scores, got[0][i].Scores)
		}
	}
	if len(encoder.texts) > 0 {
		t.Errorf("%d texts are encoded", len(encoder.texts))
	}
}
