package budget

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestLedgerInitSays: the first command of all does not suspect the key that it makes itself, a new
// ledger beside a key of before does, and records that are known are said to be.
func TestLedgerInitSays(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "task.toml", []byte(clitest.TicketTask))
	clitest.Write(t, "records.jsonl", []byte(clitest.Tickets(20)))
	enter := func(name string, more ...string) (int, string) {
		code, _, errs := clitest.Run(t, append([]string{"ledger", "init", name, "--data", "records.jsonl", "--task", "task.toml", "--epsilon", "2", "--delta", "2e-6"}, more...)...)
		return code, errs
	}
	code, errs := enter("tickets")
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.Contains(t, "errs", errs, "is a NEW one")
	expect.True(t, "no may have been used with another ledger in errs", !strings.Contains(errs, "may have been used with another ledger"), errs)
	code, errs = enter("other")
	expect.Equal(t, "exit code with "+errs, code, 2)
	expect.Contains(t, "errs", errs, `these records are the data set "tickets" already`)
	expect.True(t, "no choose another name in errs", !strings.Contains(errs, "choose another name"), errs)
	if code, errs := enter("tickets"); code != 2 || !strings.Contains(errs, `"tickets" already`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, errs := enter("tickets", "--ledger", "second.db"); code != 0 || !strings.Contains(errs, "may have been used with another ledger") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestBudgetForRuns: a budget of N times the ε and δ of a run holds N of them, as "sotto ledger init"
// advises; with the δ of one it does not, and the refusal says why.
func TestBudgetForRuns(t *testing.T) {
	clitest.Home(t)
	// That of synth --method clipped --epsilon 1 for 800 records.
	const event = "poisson(0.32, repeat(60, boundedrange(0.11389918893008985)))"
	reserve := func(name, key string) (int, string) {
		code, _, errs := clitest.Run(t, "ledger", "reserve", name, event, "--run", "r", "--key", name+key, "--proof", "proven")
		return code, errs
	}
	clitest.Printed(t, "ledger", "init", "enough", "--epsilon", "2", "--delta", "2e-6")
	clitest.Printed(t, "ledger", "init", "less", "--epsilon", "2", "--delta", "1e-6")
	for _, key := range []string{"a", "b"} {
		if code, errs := reserve("enough", key); code != 0 {
			t.Errorf("run %s: exit code %d: %s", key, code, errs)
		}
	}
	if code, errs := reserve("less", "a"); code != 0 {
		t.Error(errs)
	}
	if code, errs := reserve("less", "b"); code != 3 || !strings.Contains(errs, "needs the sum of their ε and of their δ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
