package texts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
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
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Write(t, "chat.toml", []byte(clitest.ChatTask))
	clitest.Write(t, "chats.jsonl", []byte(clitest.Chats(60)))
	clitest.Write(t, "inputs.txt", []byte("Ann: Hi. Ben: Hi.\nAnn: At six? Ben: Yes.\n"))
	clitest.Write(t, "own-chats.jsonl", []byte(clitest.Chats(2)))
	clitest.Write(t, "phrases.toml", []byte(phraseTask))
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, `{"text": "to %s at %d", "place": %q}`+"\n", []string{"Rome", "Oslo"}[i%2], i, []string{"Rome", "Oslo"}[i%2])
	}
	clitest.Write(t, "lines.jsonl", []byte(lines.String()))
	clitest.Write(t, "places.txt", []byte("Rome\nOslo\n"))
	clitest.Write(t, "own-lines.jsonl", []byte(`{"text": "from Oslo", "place": "Oslo"}`+"\n"))
	kinds := map[string][]string{
		"chat":   {"--task", "chat.toml", "--data", "chats.jsonl"},
		"phrase": {"--task", "phrases.toml", "--data", "lines.jsonl"},
	}
	for kind, where := range kinds {
		own := map[string]string{"chat": "own-chats.jsonl", "phrase": "own-lines.jsonl"}[kind]
		list := map[string][]string{"chat": {"--inputs", "inputs.txt"}, "phrase": {"--inputs", "places.txt"}}[kind]
		for name, args := range map[string][]string{
			"written": append([]string{"synth", "--set", "generation-share=0", "--set", "pool=2", "--set", "tokens=3", "--set", "rounds=2", "--set", "measurement-share=0"}, list...),
			"mixed":   append([]string{"synth", "--set", "generation-share=0.5", "--set", "pool=2", "--set", "tokens=3", "--set", "batch=4", "--set", "rounds=1", "--examples", own, "--instruction", "Do it."}, list...),
			"sets":    {"synth", "--from", own},
			"own":     {"synth", "--set", "pool=0", "--examples", own, "--set", "rounds=1", "--set", "measurement-share=0"},
		} {
			t.Run(name, func(t *testing.T) {
				args = append(args, where...)
				out := kind + "-" + name
				code, said, errs := clitest.Run(t, append(args, "--size", "60", "--epsilon", "4", "--delta", "1e-6", "--shots", "1", "--set", "records=4", "--model", "tiny.gguf", "--seed", "1", "--json", "--out", out)...)
				if code != 0 {
					t.Errorf("%s, %s: %s", kind, name, errs)
					return
				}
				o := clitest.Object(t, said)
				measured := strings.Contains(strings.Join(args, " "), "measurement-share=0")
				if o["chosen"] == nil || (o["worth"] == nil) != measured {
					t.Errorf("%s, %s: %s", kind, name, said)
				}
				test := strings.TrimPrefix(own, "own-")
				if code, _, errs := clitest.Run(t, "eval", "--task", where[1], "--demos", out, "--demos", "zero", "--test", test, "--limit", "2", "--model", "tiny.gguf"); code != 0 {
					t.Errorf("%s, %s: %s", kind, name, errs)
				}
			})
		}
	}
}
