package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

func measuring(t *testing.T, change func(*MeasurementRequest)) (Measurement, error) {
	t.Helper()
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	r := MeasurementRequest{Task: task, Prompts: []NamedPrompt{{Name: "zero"}}, Epsilon: 0.1, Size: 20_000}
	if change != nil {
		change(&r)
	}
	return NewMeasurement(r)
}

// TestMeasurementKeepsToEpsilon: whatever is asked for, the ε of the plan's event is at most
// that, and nearly that.
func TestMeasurementKeepsToEpsilon(t *testing.T) {
	for name, change := range map[string]func(*MeasurementRequest){
		"defaults": nil,
		"three": func(r *MeasurementRequest) {
			r.Prompts = append(r.Prompts, NamedPrompt{Name: "a"}, NamedPrompt{Name: "b"})
		},
		"all of few": func(r *MeasurementRequest) { r.Size = 300 },
		"much":       func(r *MeasurementRequest) { r.Epsilon = 5 },
		"little":     func(r *MeasurementRequest) { r.Epsilon = 0.01 },
		"exchange":   func(r *MeasurementRequest) { r.Sampler = scheme.FixedSize },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := measuring(t, change)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			got, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency(), p.Delta)
			expect.NoError(t, err)
			expect.Within(t, "got.Upper", got.Upper, 0.99*p.Epsilon, p.Epsilon)
			if own, err := Own(p); err != nil || own.Event().String() != p.Event().String() {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestMeasurementNumbers: who has 20,000 records and spends 0.1 on one number knows it to
// about three points, and two prompts cost no more than one.
func TestMeasurementNumbers(t *testing.T) {
	one, err := measuring(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if asked := one.Asked(); asked < 999 || asked > 1001 {
		t.Errorf("%v are asked", asked)
	}
	half, err := one.Expected(0.8)
	expect.NoError(t, err)
	expect.Within(t, "half", half, 0.024, 0.035)
	two, err := measuring(t, func(r *MeasurementRequest) { r.Prompts = append(r.Prompts, NamedPrompt{Name: "a"}) })
	if err != nil || two.Event().String() != one.Event().String() {
		t.Errorf("two cost %v, one %v: %v", two.Event(), one.Event(), err)
	}
	rows, err := two.Rows(measure.Outcome{Counts: []measure.Count{{Right: 800, Wrong: 200}, {Right: 700, Wrong: 300}}, Pair: &measure.Pair{Both: 650, First: 150, Second: 50, Neither: 150}})
	expect.NoError(t, err)
	expect.Len(t, "rows", rows, 2)
	expect.Equal(t, "rows[0].Value", rows[0].Value, 0.8)
	expect.Equal(t, "rows[1].Value", rows[1].Value, 0.7)
	d, err := two.Difference(measure.Outcome{Pair: &measure.Pair{Both: 650, First: 150, Second: 50, Neither: 150}})
	expect.NoError(t, err)
	expect.Equal(t, "d.Value", d.Value, 0.1)
	expect.Min(t, "d.Low", d.Low, 0.03)
	expect.Max(t, "d.High", d.High, 0.17)
	if d, err := one.Difference(measure.Outcome{}); d != nil || err != nil {
		t.Errorf("one prompt differs from none by %v, %v", d, err)
	}
}

// said is some evidence for the labels of a task.
func said(t prompt.Task) *evidence.Evidence {
	e := &evidence.Evidence{Encoder: "toy", Labels: slices.Clone(t.Labels)}
	for l := range t.Labels {
		e.Vectors = append(e.Vectors, []float64{float64(l) / 3, 0.1})
	}
	return e
}

// TestMeasurementEvidence: a plan has the evidence as it is, to the last bit; evidence alone needs no form, and suits
// grades that turns of a chat do not.
func TestMeasurementEvidence(t *testing.T) {
	p, err := measuring(t, func(r *MeasurementRequest) {
		r.Evidence, r.Form, r.Grade = said(r.Task), prompt.ChatForm, measure.Probability
		r.Prompts[0].Prompt.Evidence.How = prompt.Alone
	})
	if err != nil {
		t.Fatal(err)
	}
	if forms := p.Forms(); forms == nil || len(forms) != 0 {
		t.Errorf("forms %v, which are not an empty list", forms)
	}
	own, err := Checked(p)
	expect.NoError(t, err)
	expect.True(t, "own.Evidence equal to said(p.Task)", reflect.DeepEqual(own.Evidence, said(p.Task)), own.Evidence)
	expect.True(t, "own.Evidence other than p.Evidence", own.Evidence != p.Evidence, own.Evidence)
}

func TestMeasurementRefusals(t *testing.T) {
	for want, change := range map[string]func(*MeasurementRequest){
		"an ε":              func(r *MeasurementRequest) { r.Epsilon = 0 },
		"number of records": func(r *MeasurementRequest) { r.Size = 0 },
		"are to be asked":   func(r *MeasurementRequest) { r.Records = -1 },
		"prompts":           func(r *MeasurementRequest) { r.Prompts = nil },
		"name of its own":   func(r *MeasurementRequest) { r.Prompts = []NamedPrompt{{Name: "a"}, {Name: "a"}} },
		"labels of a list":  func(r *MeasurementRequest) { r.Grade = measure.Written },
		"unknown way":       func(r *MeasurementRequest) { r.Sampler = "dice" },
		"which is not one": func(r *MeasurementRequest) {
			r.Prompts[0].Prompt.Examples = []prompt.Example{{Input: "x", Output: "no label"}}
		},
		"uses evidence, and there is none": func(r *MeasurementRequest) { r.Prompts[0].Prompt.Evidence.How = prompt.Alone },
		"no prompt uses it":                func(r *MeasurementRequest) { r.Evidence = said(r.Task) },
		"other labels": func(r *MeasurementRequest) {
			r.Prompts[0].Prompt.Evidence.How, r.Evidence = prompt.Alone, said(r.Task)
			r.Evidence.Labels[1] = "gossip"
		},
		"does not name its encoder": func(r *MeasurementRequest) {
			r.Prompts[0].Prompt.Evidence.How, r.Evidence = prompt.Alone, said(r.Task)
			r.Evidence.Encoder = ""
		},
		"is not":     func(r *MeasurementRequest) { r.Delta = 2 },
		"cannot be ": func(r *MeasurementRequest) { r.Epsilon = 1e-300 },
	} {
		t.Run(want, func(t *testing.T) {
			_, err := measuring(t, change)
			if err == nil || want != "is not" && !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := measuring(t, func(r *MeasurementRequest) { r.Unit = privacy.Unit("user:who") }); err != nil {
		t.Error(err)
	}
}

// TestLabelsAreAffordable: records are counted by label where that adds little to the noise of a share, as it does where
// many are asked, and not where few are, where labels are declared or where there is no list of them. It costs no more ε.
func TestLabelsAreAffordable(t *testing.T) {
	for _, c := range []struct {
		task      string
		size      int64
		records   int64
		uncounted bool
		want      int
	}{{"agnews", 120000, 1000, false, 4}, {"agnews", 1500, 60, false, 0}, {"agnews", 120000, 1000, true, 0}, {"samsum", 14000, 1000, false, 0}} {
		task, err := prompt.Builtin(c.task)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewMeasurement(MeasurementRequest{Task: task, Prompts: []NamedPrompt{{Name: "one"}}, Epsilon: 0.05, Size: c.size, Records: c.records, Uncounted: c.uncounted})
		if err != nil {
			t.Fatal(err)
		}
		if m.Measure.Labels != c.want {
			t.Errorf("%+v: by %d labels, with noise of %v", c, m.Measure.Labels, m.Measure.Scale)
		}
		spent, err := accountant.Auto{}.Epsilon(m.Event(), m.Adjacency(), m.Delta)
		if err != nil || spent.Upper > 0.05 {
			t.Errorf("%+v costs %v, %v", c, spent.Upper, err)
		}
	}
}
