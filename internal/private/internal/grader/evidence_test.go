package grader

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// evident adds evidence for a task's labels to options.
func evident(t testing.TB, o Options) Options {
	t.Helper()
	o.Encoder = trustEncoder(t, &gradertest.Encoder{})
	o.Evidence = (&gradertest.Encoder{}).Evidence(o.Task.Labels)
	return o
}

func trustEncoder(t testing.TB, e lm.Embedder) lm.TrustedEmbedder {
	t.Helper()
	trusted, err := lm.TrustEmbedder(e, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

// uses are ways to use evidence, the first none.
func uses() []prompt.Use {
	return []prompt.Use{
		{},
		{How: prompt.Combined, Weight: 0.5},
		{How: prompt.Combined, Weight: 3},
		{How: prompt.Hinted},
		{How: prompt.Hinted, Wording: 1},
		{How: prompt.Alone},
	}
}

// TestGradesWithEvidenceAreTheDefinition computes grades by hand: of each record, from its own input, by
// the toy's scores of whole texts and the vectors of the evidence.
func TestGradesWithEvidenceAreTheDefinition(t *testing.T) {
	task := tasks()[prompt.Classify]
	for _, u := range served[prompt.Classify] {
		j := newGrader(t, evident(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: u}))
		var prompts []prompt.Prompt
		for _, use := range uses() {
			p := prompt.Prompt{Evidence: use}
			prompts = append(prompts, p)
			if use.How == prompt.Alone {
				continue
			}
			p.Calibrated = true
			prompts = append(prompts, p)
			p.Examples = []prompt.Example{{Input: "text", Output: "b"}, {Input: "other", Output: "cab"}}
			prompts = append(prompts, p)
		}
		var records []seal.Record
		for i := range 40 {
			records = append(records, record(task, i+1, fmt.Sprint("question ", i), task.Labels[i%3]))
		}
		got, err := j.Judge(t.Context(), prompts, records)
		if err != nil {
			t.Fatal(err)
		}
		some := 0
		for at, p := range prompts {
			for i := range records {
				want := handEvidence(j.Evidence, task, u, p, fmt.Sprint("question ", i), i%3)
				if d := got[at][i] - want; d > 1 || d < -1 {
					t.Fatalf("%s, %+v, record %d: the grade is %d, by hand %d", u, p, i, got[at][i], want)
				}
				if want > 0 {
					some++
				}
			}
		}
		if some < 50 {
			t.Errorf("%s: only %d grades are above 0", u, some)
		}
	}
}

// logsOf is what evidence says of a text.
func logsOf(e *evidence.Evidence, text string) []float64 {
	out := make([]float64, len(e.Labels))
	for l, v := range e.Vectors {
		for i, x := range gradertest.Vector(text) {
			out[l] += float64(x) * v[i]
		}
	}
	return lm.LogSoftmax(out)
}

// handEvidence is a grade on a record by the definition.
func handEvidence(e *evidence.Evidence, task prompt.Task, u Utility, p prompt.Prompt, question string, label int) int64 {
	by := logsOf(e, question)
	told := func(text string) string {
		if p.Evidence.How != prompt.Hinted {
			return text
		}
		return prompt.Hint(p.Evidence.Wording, text, e.Said(logsOf(e, text)))
	}
	before := task.AnswerPrefix()
	for _, x := range p.Examples {
		before += task.AnswerDemo(told(x.Input), x.Output)
	}
	after := func(input string) []float64 {
		out := make([]float64, len(task.Labels))
		for l, name := range task.Labels {
			text := before + task.AnswerItem(input)
			for _, b := range []byte(" " + name) {
				out[l] += lm.LogSoftmax(gradertest.Hash(text))[b]
				text += string(b)
			}
		}
		return lm.LogSoftmax(out)
	}
	scores := make([]float64, len(task.Labels))
	if p.Evidence.How != prompt.Alone {
		free := make([]float64, len(scores))
		for _, input := range prompt.ContentFree() {
			for l, x := range after(input) {
				free[l] += math.Exp(x) / 3
			}
		}
		for l, x := range after(told(question)) {
			scores[l] = math.Exp(x)
			if p.Calibrated {
				scores[l] /= free[l]
			}
		}
	}
	var sum float64
	for l := range scores {
		switch p.Evidence.How {
		case prompt.Combined:
			scores[l] *= math.Pow(math.Exp(by[l]), p.Evidence.Weight)
		case prompt.Alone:
			scores[l] = math.Exp(by[l])
		}
		sum += scores[l]
	}
	if u == Soft {
		return fixed(scores[label] / sum)
	}
	if slices.Index(scores, slices.Max(scores)) == label {
		return One
	}
	return 0
}

// TestEvidenceIsOfTheInputAlone: a record's label changes nothing about what evidence says of it, and what
// a prompt that is hinted shows the model holds nothing of the label.
func TestEvidenceIsOfTheInputAlone(t *testing.T) {
	task := tasks()[prompt.Classify]
	for wording := range prompt.Hints() {
		var shown [3][]string
		for l, label := range task.Labels {
			toy := &gradertest.Toy{Logits: func(text string) []float64 {
				shown[l] = append(shown[l], text)
				return gradertest.Hash(text)
			}}
			j := newGrader(t, evident(t, Options{Model: trust(t, toy), Task: task, Utility: Soft}))
			p := prompt.Prompt{Evidence: prompt.Use{How: prompt.Hinted, Wording: wording}}
			if _, err := j.Judge(t.Context(), []prompt.Prompt{p}, []seal.Record{record(task, 1, "question", label)}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(shown[0], shown[1]) || !slices.Equal(shown[0], shown[2]) {
			t.Errorf("wording %d: what the model sees depends on the record's label", wording)
		}
		e := (&gradertest.Encoder{}).Evidence(task.Labels)
		want := prompt.Hint(wording, "question", e.Said(logsOf(e, "question")))
		if !slices.ContainsFunc(shown[0], func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("wording %d: the model does not see %q", wording, want)
		}
	}
}

// TestEvidenceSharesScores: further weights and readings of a prompt cost no work of the model, evidence
// alone costs none at all, and records are encoded once in a call, and only where a prompt needs it.
func TestEvidenceSharesScores(t *testing.T) {
	task := tasks()[prompt.Classify]
	examples := []prompt.Example{{Input: "text", Output: "b"}}
	var records []seal.Record
	for i := range 7 {
		records = append(records, record(task, i+1, fmt.Sprint("question ", i), task.Labels[i%3]))
	}
	work := func(prompts ...prompt.Prompt) (computed int64, encoded int) {
		encoder := &gradertest.Encoder{}
		o := Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Soft, Evidence: encoder.Evidence(task.Labels), Encoder: trustEncoder(t, encoder)}
		o.Usage = func(u lm.Usage) { computed = u.Computed }
		if _, err := newGrader(t, o).Judge(t.Context(), prompts, records); err != nil {
			t.Fatal(err)
		}
		return computed, encoder.Texts
	}
	plain := prompt.Prompt{Examples: examples, Calibrated: true}
	all := []prompt.Prompt{plain, {Examples: examples}}
	for _, w := range []float64{0.5, 1, 2} {
		use := prompt.Use{How: prompt.Combined, Weight: w}
		all = append(all, prompt.Prompt{Examples: examples, Evidence: use}, prompt.Prompt{Examples: examples, Calibrated: true, Evidence: use})
	}
	want, encoded := work(plain)
	if want == 0 {
		t.Fatal("the toy counts no work")
	}
	if encoded != 0 {
		t.Errorf("%d texts are encoded, and no prompt uses evidence", encoded)
	}
	got, encoded := work(append(all, prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}})...)
	if got != want {
		t.Errorf("eight readings take %d tokens, one takes %d", got, want)
	}
	if encoded != len(records) {
		t.Errorf("%d texts are encoded for %d records", encoded, len(records))
	}
	if got, _ := work(prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}); got != 0 {
		t.Errorf("evidence alone takes %d tokens of a model", got)
	}
	hinted := prompt.Prompt{Examples: append(examples, examples...), Evidence: prompt.Use{How: prompt.Hinted}}
	other := hinted
	other.Evidence.Wording = 1
	if _, encoded := work(hinted, other); encoded > len(records)+2 {
		t.Errorf("%d texts are encoded for %d records and one example", encoded, len(records))
	}
}

// TestAloneNeedsNoScores: evidence alone is judged where a model only writes, in any form.
func TestAloneNeedsNoScores(t *testing.T) {
	task := tasks()[prompt.Classify]
	s := &server{Toy: &gradertest.Toy{}, writes: true}
	j := newGrader(t, evident(t, Options{Model: trust(t, s), Task: task, Utility: Hard, Forms: []prompt.Form{prompt.ChatForm}, Isolation: lm.RecordsExclusive}))
	records := []seal.Record{record(task, 1, "one", "a"), record(task, 2, "one", "b"), record(task, 3, "one", "cab"), record(task, 4, "one", "unknown")}
	var got [2][][]int64
	for i, form := range []prompt.Form{"", prompt.ChatForm} {
		var err error
		if got[i], err = j.Judge(t.Context(), []prompt.Prompt{{Form: form, Evidence: prompt.Use{How: prompt.Alone}}}, records); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got[0][0], got[1][0]) {
		t.Errorf("its form changes grades: %v", got)
	}
	var sum int64
	for _, g := range got[0][0] {
		sum += g
	}
	if sum != One {
		t.Errorf("of three labels, one is right: %v", got[0][0])
	}
	if len(s.calls) > 0 {
		t.Errorf("the server is asked %d times", len(s.calls))
	}
}

// TestWrongEvidence is refused before any record is read.
func TestWrongEvidence(t *testing.T) {
	task := tasks()[prompt.Classify]
	encoder := &gradertest.Encoder{}
	good := Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Hard, Evidence: encoder.Evidence(task.Labels), Encoder: trustEncoder(t, encoder)}
	for want, change := range map[string]func(*Options){
		"trusted encoder":             func(o *Options) { o.Encoder = lm.TrustedEmbedder{} },
		"other labels":                func(o *Options) { o.Evidence = encoder.Evidence([]string{"a", "b"}) },
		"order":                       func(o *Options) { o.Evidence = encoder.Evidence([]string{"b", "a", "cab"}) },
		"not comparable":              func(o *Options) { o.Evidence.Encoder = "another one" },
		"does not name its encoder":   func(o *Options) { o.Evidence.Encoder = "" },
		"vectors for":                 func(o *Options) { o.Evidence.Vectors = o.Evidence.Vectors[:2] },
		"too large or none":           func(o *Options) { o.Evidence.Vectors[0][0] = math.NaN() },
		"there is no list, no labels": func(o *Options) { o.Task = tasks()[prompt.Extract] },
	} {
		o := good
		o.Evidence = encoder.Evidence(task.Labels)
		change(&o)
		if want == "order" || strings.HasPrefix(want, "there is") {
			want = "other labels"
		}
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	none := good
	none.Evidence = nil
	j := newGrader(t, none)
	for _, use := range uses()[1:] {
		_, err := j.Judge(t.Context(), []prompt.Prompt{{}, {Evidence: use}}, []seal.Record{record(task, 1, canary, "a")})
		if err == nil || !strings.Contains(err.Error(), "prompt 2 uses evidence") {
			t.Errorf("%s without evidence: %v", use.How, err)
		}
		clean(t, "no evidence", err)
	}
	if encoder.Texts > 0 {
		t.Errorf("%d texts were encoded", encoder.Texts)
	}
}

// TestEncoderFaults: an encoder that breaks at any call ends the round without a word of the records.
func TestEncoderFaults(t *testing.T) {
	task := tasks()[prompt.Classify]
	prompts := []prompt.Prompt{{}, {Examples: []prompt.Example{{Input: "in", Output: "a"}}, Evidence: prompt.Use{How: prompt.Hinted}}}
	failed := 0
	for fail := 1; ; fail++ {
		calls := 0
		toy, encoder := &gradertest.Toy{}, &gradertest.Encoder{}
		encoder.Fail = func(string) error {
			if calls++; calls == fail {
				return errInjected
			}
			return nil
		}
		j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: Hard, Evidence: encoder.Evidence(task.Labels), Encoder: trustEncoder(t, encoder)})
		got, err := j.Judge(t.Context(), prompts, []seal.Record{record(task, 1, canary, "a")})
		if calls < fail {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		failed++
		clean(t, "embed", err)
		if !errors.Is(err, errInjected) || got != nil {
			t.Errorf("call %d: %v, %v", fail, got, err)
		}
		if toy.Opened != 0 {
			t.Errorf("call %d: %d sequences are open", fail, toy.Opened)
		}
	}
	if failed != 2 {
		t.Errorf("%d calls of the encoder, want one for records and one for examples", failed)
	}
}

// TestPlainEncoderReadsRecordsAlone: with the encoder that is embedded, what evidence says of a record does
// not depend on the others of a draw, their lengths or their order, to the last bit.
func TestPlainEncoderReadsRecordsAlone(t *testing.T) {
	encoder, err := backend.TrustedEncoder("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = encoder.Close() })
	task := tasks()[prompt.Classify]
	vectors, err := encoder.Embed(t.Context(), []string{"sport", "money", "science"})
	if err != nil {
		t.Fatal(err)
	}
	e := &evidence.Evidence{Encoder: encoder.Name(), Labels: task.Labels}
	for _, v := range vectors {
		var wide []float64
		for _, x := range v {
			wide = append(wide, 8*float64(x))
		}
		e.Vectors = append(e.Vectors, wide)
	}
	j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{Context: 1 << 20}), Task: task, Utility: Soft, Evidence: e, Encoder: encoder})
	judges := func(p []prompt.Prompt, r []seal.Record) ([][]int64, error) { return j.Judge(t.Context(), p, r) }
	var records []seal.Record
	for i, text := range []string{"The striker scored", "", strings.Repeat("shares fell and rose, and fell. ", 40), "a comet", "größe 日本 🎬", "A marathon in the rain, won by a baker of forty"} {
		records = append(records, record(task, i+1, text, task.Labels[i%3]))
	}
	prompts := []prompt.Prompt{{Evidence: prompt.Use{How: prompt.Alone}}, {Evidence: prompt.Use{How: prompt.Combined, Weight: 1}}, {Evidence: prompt.Use{How: prompt.Hinted}}}
	if err := dependent(judges, judges, prompts, records); err != nil {
		t.Error(err)
	}
	slices.Reverse(records)
	if err := dependent(judges, judges, prompts[:1], records); err != nil {
		t.Errorf("backward: %v", err)
	}
}

// TestNobodyToRead: a draw of nobody, or of records that the task does not know, is no error of the encoder.
func TestNobodyToRead(t *testing.T) {
	task := tasks()[prompt.Classify]
	encoder := &gradertest.Encoder{Fail: func(string) error { return errInjected }}
	j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Soft, Evidence: encoder.Evidence(task.Labels), Encoder: trustEncoder(t, encoder)})
	for _, records := range [][]seal.Record{nil, {record(task, 1, "question", "unknown")}} {
		for _, use := range uses()[1:] {
			got, err := j.Judge(t.Context(), []prompt.Prompt{{Evidence: use}}, records)
			if err != nil {
				t.Fatalf("%s: %v", use.How, err)
			}
			if !slices.Equal(got[0], make([]int64, len(records))) {
				t.Errorf("%s: %v", use.How, got)
			}
		}
	}
}
