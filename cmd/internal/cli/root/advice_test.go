package root

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// mistake is a command line of somebody who is new to the program.
type mistake struct {
	args string
	code int
	// says is part of the message.
	says string
}

// firstMistakes are on files that [TestMessages] writes. "…" stands for the flags of a run that is right.
var firstMistakes = []mistake{
	{"synth", 2, "not set"},
	{"synth --task task.toml --data t.csv --size 200 --epsilon 1", 2, "not set"},
	{"synth --task task.toml --data t.csv --epsilon 1 --out o", 2, "not set"},
	{"synth --task task.toml --data nothere.csv --size 200 --epsilon 1 --out o", 2, "there is no file nothere.csv: give the path of the records with --data"},
	{"synth --task task.toml --data no/where.csv --size 200 --epsilon 1 --out o", 2, "there is no folder no: give"},
	{"synth --task nothere.toml --data t.csv --size 200 --epsilon 1 --out o", 2, "there is no file nothere.toml (--task)"},
	{"synth --task agnew --data t.csv --size 200 --epsilon 1 --out o", 2, "did you mean agnews?"},
	{"synth --task broken.toml --data t.csv --size 200 --epsilon 1 --out o", 2, "sotto task check FILE"},
	{"synth task.toml --data t.csv", 2, `"task.toml": if it is what --task names, write --task task.toml`},
	{"synth … --set text-column=body", 2, "text-column and label-column, and --unit, name columns"},
	{"synth … --unit nobody", 2, "text-column and label-column, and --unit, name columns"},
	{"synth … --data empty.csv", 2, "empty.csv is empty (--data FILE)"},
	{"synth … --data head.csv", 2, "the source has no records (--data FILE)"},
	{"synth … --data nohead.csv", 2, "is there a header row?"},
	{"synth … --data folder", 2, "(--data FILE)"},
	{"synth … --data sqlite:nothere.db", 2, "there is no file nothere.db"},
	{"synth … --data postgres://localhost:1/x", 2, "(--query SQL)"},
	{"synth … --query select", 2, "leave the query out, or give a database (--query SQL)"},
	{"synth … --epsilon 0", 2, "an ε above 0 is needed, such as 1, not 0"},
	{"synth … --epsilon -1", 2, "(--epsilon E)"},
	{"synth … --epsilon x", 2, `"--epsilon" flag: "x" is not a number`},
	{"synth … --size 0", 2, `--size is "0", it should be a number of records`},
	{"synth … --size 20", 2, "16 records are to be drawn from a part of 10"},
	{"synth … --size 1", 2, "(--size N)"},
	{"synth … --delta 0", 2, "--delta is 0, it should be above 0"},
	{"synth … --delta 2", 2, "--delta is 2, it should be below 1"},
	{"synth --task task.toml --data t.csv --size 200 --epsilon 1 --delta 0.3 --out o", 2, "δ = 0.3 is not below 1/200"},
	{"synth … --method nope", 2, "unknown method"},
	{"synth … --method real", 2, "(--non-private)"},
	{"synth … --set sampler=nope", 2, "sampler is \"nope\", it should be one of poisson, fixed-size, disjoint"},
	{"synth … --inputs t.csv", 2, "--inputs is for generation and for open labels"},
	{"synth … --out t.csv", 2, "it is not a folder; choose another name (--out DIR)"},
	{"synth … --out full", 2, "choose a new or an empty folder (--out DIR)"},
	{"synth … --model nope", 2, "docs/models.md"},
	{"synth … --model nope.gguf", 2, "sotto model list"},
	{"synth … --url http://127.0.0.1:1", 2, "--config"},
	{"synth … --set known", 2, "sotto ledger init"},
	{"synth --task chat.toml --data chats.jsonl --size 300 --epsilon 1 --method clipped --out o", 2, "(--inputs FILE)"},
	{"synth --task open.toml --data t.csv --size 300 --epsilon 1 --method clipped --out o", 2, "(--inputs FILE, or --set discover-labels)"},
	{"synth --task table:people --data t.csv --size 200 --epsilon 1 --out o", 2, `there is no schema "people"`},
	{"synth --from zero", 2, "not set"},
	{"synth --task task.toml --data t.csv --size 200 --epsilon 1 --from nothere --out o", 2, "there is no folder or file nothere"},
	{"init", 2, "--data, --kind, --size are missing, and without a terminal nobody can be asked: sotto init --data FILE --kind classify"},
	{"init --data t.csv --kind classify", 2, "--text, --label, --labels, --size are missing"},
	{"init --data t.csv --yes --size 200", 2, "--discover-labels has them found for a tenth of ε"},
	{"init --data t.csv --yes --size 200 --labels a,b --text body", 2, "it has text, queue"},
	{"init --data t.csv --yes --size 200 --labels a", 2, "there is only one; list all labels"},
	{"init --data chats.jsonl --kind generate --input chat --output summary --size 20 --inputs nothere.txt", 2, "there is no file nothere.txt: --inputs names"},
	{"init --data t.csv --kind table --size 200 --label queue --column queue", 2, "NAME=LOW..HIGH"},
	{"plan --task task.toml", 2, "not set"},
	{"plan --task task.toml --size 200 --epsilon 0", 2, "(--epsilon E)"},
	{"rehearse --task task.toml --size 200", 2, "not set"},
	{"answer --task task.toml --data t.csv --size 200 --epsilon 1", 2, "at least one of the flags"},
	{"answer --task task.toml --data t.csv --size 200 --epsilon 1 --inputs nothere.txt", 2, "there is no file nothere.txt (--inputs)"},
	{"answer --task task.toml --data t.csv --size 200 --epsilon 1 --model tiny.gguf --input x --out no/where.jsonl", 2, "there is no folder no (--out)"},
	{"eval", 2, "not set"},
	{"eval --task task.toml --demos zero --test nothere.csv", 2, "there is no file nothere.csv"},
	{"eval --task task.toml --demos zero --test empty.csv", 2, "empty.csv"},
	{"eval private --task task.toml --data t.csv --size 200 --epsilon 1", 2, "not set"},
	{"table profile --schema adult", 2, "not set"},
	{"table profile --schema adult --data t.csv --size 10 --epsilon 1 --out o", 2, "sotto table schema infer --data FILE"},
	{"table profile --schema adult --data nothere.csv --size 10 --epsilon 1 --out o", 2, "there is no file nothere.csv"},
	{"table perturb --schema adult --data t.csv --epsilon 1 --out o", 2, "give it edges in the schema"},
	{"table plan", 2, "not set"},
	{"table schema infer", 2, "not set"},
	{"table schema infer s.csv", 2, "write --data s.csv"},
	{"table schema infer --data folder/a", 2, "format"},
	{"table schema infer --data empty.csv", 2, "empty.csv is empty"},
	{"ledger", 2, "sotto ledger needs a verb"},
	{"ledger show --ledger nothere.db", 2, "sotto ledger init --ledger nothere.db"},
	{"ledger init d", 2, "a budget needs --epsilon and --delta"},
	{"ledger init known --epsilon 1 --delta 1e-6", 2, "see sotto ledger grant"},
	{"ledger show nothere", 2, "sotto ledger show names those it knows"},
	{"ledger grant known", 2, "give the amount with --epsilon"},
	{"ledger grant known --epsilon 1", 2, "--reason is missing"},
	{"ledger reserve known pure(5) --run r --proof proven", 3, "(sotto ledger grant DATASET --epsilon E --reason TEXT)"},
	{"ledger commit nothere", 2, "sotto ledger show DATASET lists its charges"},
	{"keys list --keys nothere", 2, "sotto keys new makes one"},
	{"verify nothere --key ring", 2, `name the folder that "sotto synth"`},
	{"verify . --key nothere.pem", 2, "there is no file nothere.pem (--key)"},
	{"account gaussian(3)", 2, "--delta is missing"},
	{"account gaussian 3", 2, "goes in quotes, as in sotto account"},
	{"calibrate gaussian(x) --delta 1e-6", 2, "--epsilon is missing"},
	{"task show", 2, "NAME is missing: sotto task show NAME|FILE"},
	{"task show nothere.toml", 2, "there is no file nothere.toml"},
	{"model pull nope", 2, "docs/models.md"},
	{"model score", 2, "not set"},
	{"serve --store nothere.db", 2, "sotto serve route set makes it"},
	{"serve route set x", 2, "--upstream is missing"},
	{"serve route answer x", 2, "not set"},
	{"serve key add t --store s.db", 2, "--route is missing"},
	{"audit --mechanism nope", 2, "--mechanism"},
	{"demo --size 0", 2, "unknown flag: --size"},
	{"version now", 2, "sotto version"},
	{"ledger show --config nothere.toml", 2, "there is no file nothere.toml (--config)"},
}

// TestMessages: what somebody new to the program does wrong ends with a message that says what is
// wrong and names a flag or a command to continue with. Nothing is left behind.
func TestMessages(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	for name, text := range map[string]string{
		"task.toml": clitest.TicketTask, "chat.toml": clitest.ChatTask, "chats.jsonl": clitest.Chats(20), "empty.csv": "", "head.csv": "text,queue\n",
		"nohead.csv": "my parcel is late,delivery\n", "broken.toml": "kind = classify\n", "full/notes.txt": "",
		"open.toml": "kind = \"extract\"\ntext = \"text\"\nlabel = \"queue\"\n[generate]\ninstruction = \"Write one.\"\n[answer]\ninstruction = \"Find it.\"\n",
		"t.csv":     "text,queue\n" + strings.Repeat("my parcel is late,billing\n", 200), "folder/a": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, name, []byte(text))
	}
	for _, args := range [][]string{{"keys", "new", "--keys", "ring"}, {"ledger", "init", "known", "--epsilon", "1", "--delta", "1e-6"}} {
		if code, _, errs := clitest.Run(t, args...); code != 0 {
			t.Fatal(errs)
		}
	}
	for _, m := range firstMistakes {
		line := m.args
		if rest, ok := strings.CutPrefix(line, "synth …"); ok {
			line = "synth --method clipped --task task.toml --data t.csv --size 400 --epsilon 4 --model tiny.gguf --out o" + rest
		}
		code, _, errs := clitest.Run(t, strings.Fields(line)...)
		message, _, _ := strings.Cut(errs[max(0, strings.LastIndex("\n"+errs, "\nsotto: ")):], "\nRun \"")
		if code != m.code || !strings.Contains(message, m.says) {
			t.Errorf("sotto %s\nexit code %d, want %d: %s\nwant %q", m.args, code, m.code, errs, m.says)
		}
		if !ui.Actionable(message) {
			t.Errorf("sotto %s: nothing to continue with: %s", m.args, errs)
		}
		for _, name := range []string{"o", "no", "nothere.db"} {
			if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("sotto %s left %s", m.args, name)
			}
		}
	}
}
