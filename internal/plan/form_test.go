package plan_test

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// chats is a model with a chat template, and so many parameters.
func chats(parameters int64) lm.Info {
	info := lm.Info{Can: lm.Capabilities{Chat: true}}
	info.Parameters = parameters
	return info
}

// TestFormFor: turns are for models that have a template and follow it.
func TestFormFor(t *testing.T) {
	for _, c := range []struct {
		name string
		info lm.Info
		want prompt.Form
	}{
		{"no template", lm.Info{}, prompt.TextForm},
		{"a server that does not say its size", chats(0), prompt.ChatForm},
		{"small", chats(135_000_000), prompt.TextForm},
		{"large", chats(1_500_000_000), prompt.ChatForm},
	} {
		if got := plan.FormFor(c.info); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestRequestFor: what a user says about the form, or about reading labels off, stays.
func TestRequestFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		choose plan.ChooseRequest
		want   prompt.Form
	}{
		{"nothing", plan.ChooseRequest{}, prompt.ChatForm},
		{"a form", plan.ChooseRequest{Form: prompt.TextForm}, prompt.TextForm},
		{"calibrated", plan.ChooseRequest{Reading: search.Calibrated}, prompt.TextForm},
		{"raw", plan.ChooseRequest{Reading: search.Raw}, prompt.ChatForm},
		{"probabilities", plan.ChooseRequest{Utility: "soft"}, prompt.TextForm},
	} {
		asked := c.choose
		got := plan.Request{Choosing: &asked}.For(chats(0))
		if got.Choosing.Form != c.want || asked.Form != c.choose.Form {
			t.Errorf("%s: %q, want %q; what was asked is %q", c.name, got.Choosing.Form, c.want, asked.Form)
		}
	}
	if (plan.Request{}).For(chats(0)).Choosing != nil {
		t.Error("records choose where nobody asked")
	}
}

// TestMeasurementForms: a prompt is measured in the form in which it was chosen, and others in the one that
// the user names, or that suits the model.
func TestMeasurementForms(t *testing.T) {
	task := prompt.Task{Name: "t", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"a", "b"}}
	prompts := []plan.NamedPrompt{
		{Name: "chosen as a text", Prompt: prompt.Prompt{Form: prompt.TextForm, Calibrated: true}},
		{Name: "chosen as a message", Prompt: prompt.Prompt{Form: prompt.MessageForm}},
		{Name: "not chosen", Prompt: prompt.Prompt{Calibrated: true}},
	}
	for _, c := range []struct {
		name       string
		form       prompt.Form
		info       lm.Info
		grade      measure.Grade
		want       prompt.Form
		calibrated bool
	}{
		{"a model that chats", "", chats(0), "", prompt.ChatForm, false},
		{"a small model", "", chats(100), "", "", true},
		{"a text", prompt.TextForm, chats(0), "", "", true},
		{"a message", prompt.MessageForm, chats(0), "", prompt.MessageForm, false},
	} {
		r := plan.MeasurementRequest{Task: task, Prompts: prompts, Epsilon: 1, Size: 1000, Form: c.form, Grade: c.grade}
		m, err := plan.NewMeasurement(r.For(c.info))
		if err != nil {
			t.Fatal(err)
		}
		var forms []prompt.Form
		for _, n := range m.Prompts {
			forms = append(forms, n.Prompt.Form)
		}
		want := []prompt.Form{"", prompt.MessageForm, c.want}
		at := expect.At(t, "%s", c.name)
		expect.True(at, "forms equal to want", slices.Equal(forms, want), forms, want)
		expect.Equal(at, "m.Prompts[2].Prompt.Calibrated", m.Prompts[2].Prompt.Calibrated, c.calibrated)
		expect.True(at, "m.Prompts[0].Prompt.Calibrated", m.Prompts[0].Prompt.Calibrated)
		if prompts[2].Prompt.Form != "" {
			t.Error("the request was changed")
		}
	}
	// Probabilities are of texts: what has no form is one, and what was chosen in turns is refused.
	r := plan.MeasurementRequest{Task: task, Prompts: prompts[2:], Epsilon: 1, Size: 1000, Grade: measure.Probability}
	if m, err := plan.NewMeasurement(r.For(chats(0))); err != nil || m.Prompts[0].Prompt.Form != "" {
		t.Errorf("%+v, %v", m.Prompts, err)
	}
	r.Prompts = prompts[1:2]
	if _, err := plan.NewMeasurement(r.For(chats(0))); err == nil {
		t.Error("probabilities of labels are measured in turns")
	}
}
