package texts

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestApprovedPlan: a plan is proposed without records and without a charge; it is carried out with its digest, and
// nothing else is: no other digest, no other settings, no file that was changed.
func TestApprovedPlan(t *testing.T) {
	for name, settings := range map[string][]string{
		"writing":  {"--method", "clipped", "--set", "batch=16"},
		"choosing": {"--set", "generation-share=0", "--set", "pool=2", "--set", "rounds=1", "--set", "records=8"},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.TicketHome(t)
			clitest.Write(t, "later.jsonl", []byte(clitest.Tickets(400)))
			expect.NoError(t, os.Rename("later.jsonl", "away.jsonl"))
			synth := append([]string{"synth", "--task", "task.toml", "--data", "later.jsonl", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf", "--out", "demos", "--proposal", "plan.json"}, settings...)
			proposed := clitest.Object(t, clitest.Printed(t, append(synth, "--json")...))
			digest := proposed["digest"].(string)
			expect.NoError(t, os.Rename("away.jsonl", "later.jsonl"))
			refused := func(want int, says string, more ...string) {
				t.Helper()
				code, _, errs := clitest.Run(t, append(synth, more...)...)
				if code != want || !strings.Contains(errs, says) {
					t.Errorf("%v: exit code %d: %s", more, code, errs)
				}
			}
			refused(2, "has the SHA-256 "+digest, "--approved", strings.Repeat("0", 64))
			refused(3, "it would now charge", "--approved", digest, "--epsilon", "5")
			if code, out, _ := clitest.Run(t, "ledger", "list"); code == 0 {
				t.Errorf("something was charged: %s", out)
			}
			clitest.Printed(t, append(synth, "--approved", digest)...)
			plan, err := os.ReadFile("plan.json")
			expect.NoError(t, err)
			clitest.Write(t, "plan.json", append(plan, ' '))
			refused(2, "nothing was read or charged", "--approved", digest)
		})
	}
	if code, _, errs := clitest.Run(t, "synth", "--task", "agnews", "--data", "synth.go", "--size", "9", "--epsilon", "1", "--out", "o", "--approved", "x"); code != 2 || !strings.Contains(errs, "--proposal") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
