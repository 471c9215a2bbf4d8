package texts

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// TestResultsSayNothingOfTheDraw runs verbs twice, with other records drawn. What is
// printed for programs is the same but for what was released; what the work was is told
// with --verbose alone, on standard error, and differs.
func TestResultsSayNothingOfTheDraw(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	for name, text := range map[string]string{
		"task.toml": clitest.TicketTask, "records.jsonl": clitest.Tickets(200), "chat.toml": clitest.ChatTask, "chats.jsonl": clitest.Chats(300),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command       string
		ReleaseResult []string
	}{
		{"synth --method clipped --task task.toml --data records.jsonl --size 400 --epsilon 4 --set batch=16 --model tiny.gguf --out demos-SEED", []string{"texts", "dir"}},
		{"answer --task chat.toml --data chats.jsonl --size 300 --epsilon 4 --set batch=16 --model tiny.gguf --input Six?", []string{"answer", "tokens"}},
	} {
		results, took := []map[string]any{}, map[string]bool{}
		for _, seed := range []string{"1", "2"} {
			args := strings.Fields(strings.ReplaceAll(c.command, "SEED", seed))
			code, out, errs := clitest.Run(t, append(args, "--seed", seed, "--json")...)
			if code != 0 {
				t.Fatal(errs)
			}
			result := clitest.Object(t, out)
			for _, key := range c.ReleaseResult {
				if _, ok := result[key]; !ok {
					t.Errorf("%s: there is no %s: %s", args[0], key, out)
				}
				delete(result, key)
			}
			results = append(results, result)
			if strings.Contains(errs, "took ") || strings.Contains(errs, "computed") {
				t.Errorf("%s tells unasked what the work was: %s", args[0], errs)
			}
			for i, arg := range args {
				args[i] = strings.ReplaceAll(arg, "demos-", "verbose-")
			}
			_, out, errs = clitest.Run(t, append(args, "--seed", seed, "--json", "--verbose")...)
			for key := range clitest.Object(t, out) {
				if _, ok := result[key]; !ok && !slices.Contains(c.ReleaseResult, key) {
					t.Errorf("%s: --verbose adds %s to the result", args[0], key)
				}
			}
			line := errs[max(0, strings.Index(errs, "took ")):]
			work, _, found := strings.Cut(line, " in ")
			if !found || !strings.Contains(line, "do not publish it") {
				t.Errorf("%s --verbose does not tell what the work was: %s", args[0], errs)
			}
			took[work] = true
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Errorf("%s: results depend on the draw:\n%v\n%v", c.command, results[0], results[1])
		}
		if len(took) < 2 {
			t.Errorf("%s: both took %v, so that nothing is tested", c.command, took)
		}
	}
}
