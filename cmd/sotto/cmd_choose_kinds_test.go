package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm/lmtest"
)

// phraseTask finds a phrase in a text.
const phraseTask = `kind = "extract"
text = "text"
label = "place"

[generate]
instruction = "Given a place, write a line that names it."

[answer]
instruction = "Which place is named?"
input = "Line"
output = "Place"

[limits]
max_tokens = 16
input_tokens = 32
answer_tokens = 4
`

// TestPlainChooseKinds: records choose for tasks of every kind, among what is written, ready-made
// sets and examples, with and without a number in the end.
func TestPlainChooseKinds(t *testing.T) {
	home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	write(t, "chat.toml", []byte(chatTask))
	write(t, "chats.jsonl", []byte(chats(60)))
	write(t, "inputs.txt", []byte("Ann: Hi. Ben: Hi.\nAnn: At six? Ben: Yes.\n"))
	write(t, "own-chats.jsonl", []byte(chats(2)))
	write(t, "phrases.toml", []byte(phraseTask))
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, `{"text": "to %s at %d", "place": %q}`+"\n", []string{"Rome", "Oslo"}[i%2], i, []string{"Rome", "Oslo"}[i%2])
	}
	write(t, "lines.jsonl", []byte(lines.String()))
	write(t, "places.txt", []byte("Rome\nOslo\n"))
	write(t, "own-lines.jsonl", []byte(`{"text": "from Oslo", "place": "Oslo"}`+"\n"))
	kinds := map[string][]string{
		"chat":   {"--task", "chat.toml", "--data", "chats.jsonl"},
		"phrase": {"--task", "phrases.toml", "--data", "lines.jsonl"},
	}
	for kind, where := range kinds {
		own := map[string]string{"chat": "own-chats.jsonl", "phrase": "own-lines.jsonl"}[kind]
		list := map[string][]string{"chat": {"--inputs", "inputs.txt"}, "phrase": {"--labels", "places.txt"}}[kind]
		for name, args := range map[string][]string{
			"written": append([]string{"synth", "--set", "generation-share=0", "--set", "pool=2", "--set", "tokens=3", "--set", "rounds=2", "--set", "measurement-share=0"}, list...),
			"mixed":   append([]string{"synth", "--set", "generation-share=0.5", "--set", "pool=2", "--set", "tokens=3", "--set", "batch=4", "--set", "rounds=1", "--examples", own, "--instruction", "Do it."}, list...),
			"sets":    {"choose", "--from", own},
			"own":     {"choose", "--examples", own, "--set", "rounds=1", "--set", "measurement-share=0"},
		} {
			args = append(args, where...)
			out := kind + "-" + name
			code, said, errs := run(t, append(args, "--size", "60", "--epsilon", "4", "--delta", "1e-6", "--shots", "1", "--set", "records=4", "--model", "tiny.gguf", "--seed", "1", "--json", "--out", out)...)
			if code != 0 {
				t.Errorf("%s, %s: %s", kind, name, errs)
				continue
			}
			o := object(t, said)
			measured := strings.Contains(strings.Join(args, " "), "measurement-share=0")
			if o["chosen"] == nil || (o["worth"] == nil) != measured {
				t.Errorf("%s, %s: %s", kind, name, said)
			}
			test := strings.TrimPrefix(own, "own-")
			if code, _, errs := run(t, "eval", "--task", where[1], "--demos", out, "--demos", "zero", "--test", test, "--limit", "2", "--model", "tiny.gguf"); code != 0 {
				t.Errorf("%s, %s: %s", kind, name, errs)
			}
		}
	}
}
