package grader

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/prompt"
)

// TestAloneNeedsNoModel: evidence alone is judged without a language model as with one; other prompts are not
// judged without one, nor is anything where it is not said that all are evidence alone.
func TestAloneNeedsNoModel(t *testing.T) {
	task := tasks()[prompt.Classify]
	o := evident(t, Options{Task: task, Utility: Hard, Forms: []prompt.Form{}})
	j := newGrader(t, o)
	with := o
	with.Model, with.Forms = trust(t, &gradertest.Toy{}), nil
	var records []seal.Record
	for i, label := range append(slices.Clone(task.Labels), task.Labels...) {
		records = append(records, record(task, i+1, "question "+label, label))
	}
	alone := []prompt.Prompt{{Evidence: prompt.Use{How: prompt.Alone}}}
	got, err := j.Judge(t.Context(), alone, records)
	if err != nil {
		t.Fatal(err)
	}
	want, err := newGrader(t, with).Judge(t.Context(), alone, records)
	if err != nil || !slices.Equal(got[0], want[0]) {
		t.Errorf("without a model %v, with one %v: %v", got, want, err)
	}
	for _, use := range uses()[:len(uses())-1] {
		if _, err := j.Judge(t.Context(), []prompt.Prompt{{Evidence: use}}, records); err == nil {
			t.Errorf("%+v is judged without a model", use)
		}
	}
	for name, change := range map[string]func(*Options){
		"forms":       func(o *Options) { o.Forms = nil },
		"a form":      func(o *Options) { o.Forms = []prompt.Form{prompt.TextForm} },
		"no evidence": func(o *Options) { o.Evidence = nil },
	} {
		wrong := o
		change(&wrong)
		if _, err := New(t.Context(), wrong); err == nil {
			t.Errorf("%s: it judges without a model", name)
		}
	}
}
