package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lab/attack"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// TestAttacksTeach: what is wrong with the flags of attacks is said before a model is opened.
func TestAttacksTeach(t *testing.T) {
	home(t)
	write(t, "bad.jsonl", []byte(`{"text":"a","label":"Nobody"}`+"\n"))
	write(t, "few.jsonl", []byte(`{"text":"a","label":"Sports"}`+"\n"))
	for want, args := range map[string][]string{
		"--trials is 2":                    {"members", "--trials", "2"},
		"a ratio needs 8 releases of each": {"members", "--trials", "10"},
		"score at most as many":            {"members", "--size", "8", "--scored", "40"},
		"belong together":                  {"members", "--data", "few.jsonl"},
		"none that the task lists":         {"members", "--task", "agnews", "--data", "bad.jsonl"},
		"has no list of labels":            {"members", "--task", "samsum", "--data", "few.jsonl"},
		"should be one of clipped":         {"members", "--method", "public"},
		"real demonstrations are attacked": {"members", "--epsilon", "0"},
		"given twice":                      {"members", "--epsilon", "1", "--epsilon", "1.0"},
		"--confidence is 1":                {"secrets", "--confidence", "1"},
		"give a larger --size":             {"secrets", "--copies", "500"},
		"--copies is 0":                    {"secrets", "--copies", "0"},
		"a number twice":                   {"secrets", "--copies", "4", "--copies", "4"},
		"--secrets is 1":                   {"secrets", "--secrets", "1"},
		"one of clipped, mixing, gaussian": {"secrets", "--method", "choose"},
	} {
		if code, _, errs := run(t, args...); code != 2 || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
			t.Errorf("%v: code %d, %s", args, code, errs)
		}
	}
	lmtest.TinyModel(t, "tiny.gguf")
	if code, _, errs := run(t, "members", "--task", "agnews", "--data", "few.jsonl", "--model", "tiny.gguf"); code != 2 || !strings.Contains(errs, "give more records") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// TestAuditMembers: with a model that says nothing, nobody is found; what is printed fits 80
// columns.
func TestAuditMembers(t *testing.T) {
	home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	args := []string{"members", "--model", "tiny.gguf", "--trials", "8", "--canaries", "1", "--size", "16", "--scored", "2", "--epsilon", "8", "--tokens", "4", "--seed", "3"}
	code, out, errs := run(t, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	var found membersResult
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatal(err)
	}
	expect.True(t, "not found.Beyond", !found.Beyond)
	expect.Min(t, "number of found.Rows", len(found.Rows), 10)
	expect.Len(t, "found.Papers", found.Papers, 3)
	expect.True(t, "found.Seeded", found.Seeded)
	expect.True(t, "found.Tokens other than 0", found.Tokens != 0, found.Tokens)
	found.Rows = append(found.Rows, attack.Row{Attack: attack.OfCanary + attack.Choice, Conclusion: attack.NotShown, AUC: 1, AUCHigh: 1})
	var printed strings.Builder
	found.Print(&ui.Page{W: &printed})
	if !strings.Contains(printed.String(), "exact  canary, choice") {
		t.Error(printed.String())
	}
	for line := range strings.Lines(printed.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > ui.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestMembersConclusion: a release that gives too much away is a failure, and an attack that finds no real
// demonstration says that it is weak.
func TestMembersConclusion(t *testing.T) {
	for _, c := range []struct {
		rows         []attack.Row
		beyond, weak bool
		headline     string
	}{
		{[]attack.Row{{AUCLow: 0.7, Conclusion: attack.Attackable}, {Private: true, Conclusion: attack.Within}}, false, false, "Real demonstrations are attackable"},
		{[]attack.Row{{AUCLow: 0.7, Conclusion: attack.Attackable}, {Private: true, Conclusion: attack.Beyond}}, true, false, "BEYOND"},
		{[]attack.Row{{AUCLow: 0.55, Conclusion: attack.Attackable}, {Private: true, AUCLow: 0.7, Conclusion: attack.Within}}, false, true, "too weak"},
	} {
		r := membersResult{Rows: c.rows}
		r.judge()
		expect.Equal(t, "r.Beyond", r.Beyond, c.beyond)
		expect.Equal(t, "r.Weak", r.Weak, c.weak)
		expect.Contains(t, "r.headline()", r.headline(), c.headline)
	}
	var out, errs strings.Builder
	err := newProgram(&out, &errs).finishMembers(&membersResult{Rows: []attack.Row{{Private: true, Conclusion: attack.Beyond}}}, membersOptions{attackFlags: attackFlags{method: "clipped"}})
	if err == nil || !strings.Contains(out.String(), "BEYOND") {
		t.Errorf("%v, %s", err, out.String())
	}
}

// TestAuditSecrets: with a model that says nothing no code is exposed.
func TestAuditSecrets(t *testing.T) {
	home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	code, out, errs := run(t, "secrets", "--model", "tiny.gguf", "--secrets", "2", "--copies", "1", "--copies", "4", "--size", "16", "--shots", "1", "--epsilon", "8", "--tokens", "4", "--seed", "3")
	if code != 0 || !strings.Contains(out, "ε = 8") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > ui.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
