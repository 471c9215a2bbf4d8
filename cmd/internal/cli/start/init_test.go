package start

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// quicker settings of runs that take long.
var quicker = map[string][]string{
	"rehearse": {"--set", "rounds=1", "--set", "records=8", "--set", "pool=4", "--set", "tokens=6", "--set", "invent=60", "--set", "items=5", "--set", "sets=1"},
	"synth":    {"--set", "rounds=1", "--set", "records=8", "--set", "pool=4", "--set", "tokens=6"},
}

// begun runs "sotto init", and then, in the folder that it wrote to, the commands that it lists. No
// file says anything that only a record knows.
func begun(t *testing.T, secret string, args ...string) {
	t.Helper()
	code, out, errs := clitest.Run(t, append([]string{"init", "--json", "--model", clitest.Abs(t, "tiny.gguf"), "--out", "begun"}, args...)...)
	if code != 0 {
		t.Fatalf("%v: %s", args, errs)
	}
	r := clitest.Object(t, out)
	for _, f := range r["files"].([]any) {
		data, err := os.ReadFile(filepath.Join("begun", f.(string)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), secret) {
			t.Errorf("%s has what is in the records:\n%s", f, data)
		}
	}
	next, err := os.ReadFile("begun/NEXT.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("begun")
	for _, step := range r["commands"].([]any) {
		command := step.(map[string]any)["command"].(string)
		if !strings.Contains(string(next), "\n"+command+"\n") {
			t.Errorf("NEXT.md lacks %s", command)
		}
		if code, _, errs := clitest.Run(t, append(clitest.Split(command)[1:], quicker[clitest.Split(command)[1]]...)...); code != 0 {
			t.Fatalf("%s: exit code %d, %s", command, code, errs)
		}
	}
	for _, step := range r["later"].([]any) {
		words := clitest.Split(step.(map[string]any)["command"].(string))
		cmd, rest, err := clitest.TestRoot(&cli.Program{}).Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("%v: %v", words, err)
		}
	}
}

// TestInit: the commands that "sotto init" lists work one after another.
func TestInit(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes examples of three kinds")
	}
	for kind, args := range map[string][]string{
		"classify": {"--data", "my tickets.csv", "--kind", "classify", "--text", "message", "--label", "queue", "--labels", "billing,repairs", "--size", "400", "--epsilon", "4", "--unit", "customer"},
		"found":    {"--data", "my tickets.csv", "--yes", "--discover-labels", "--size", "400", "--epsilon", "4"},
		"generate": {"--data", "chats.jsonl", "--kind", "generate", "--input", "chat", "--output", "summary", "--inputs", "public.txt", "--size", "300", "--epsilon", "4"},
		"table":    {"--data", "loans.csv", "--kind", "table", "--label", "repaid", "--column", "age=18..80", "--column", "income=0..120", "--column", "repaid=yes|no", "--size", "300", "--epsilon", "4"},
	} {
		t.Run(kind, func(t *testing.T) {
			clitest.Home(t)
			lmtest.TinyModel(t, "tiny.gguf")
			var b strings.Builder
			b.WriteString("message,queue,customer\n")
			for i := range 400 {
				fmt.Fprintf(&b, "zanzibar %d is broken,%s,%d\n", i*i, []string{"billing", "repairs"}[i%2], i)
			}
			clitest.Write(t, "my tickets.csv", []byte(b.String()))
			clitest.Write(t, "chats.jsonl", []byte(clitest.Chats(300)))
			clitest.Write(t, "public.txt", []byte("Ann: Seven? Ben: Fine.\nRui: It is late.\n"))
			rows, err := clitest.Loans(300)
			if err != nil {
				t.Fatal(err)
			}
			clitest.Write(t, "loans.csv", rows)
			begun(t, "zanzibar", args...)
		})
	}
}

// TestInitAsks: on a terminal what flags do not say is asked for, and an empty line takes what the names of columns
// suggest.
func TestInitAsks(t *testing.T) {
	for _, c := range []struct {
		file, header, answers string
		wrote, has            string
		asked                 []string
	}{
		{"t.csv", "message,queue,customer", "\n\n\nBilling, Delivery\n2000\n2\ncustomer\n", "task.toml", `labels = ["Billing", "Delivery"]`, []string{"[classify]", "[message]", "[queue]"}},
		{"t.csv", "message,queue,customer", "extract\n\n\n\nauto\n\n\n", "NEXT.md", "--size auto --epsilon 1 --set=discover-labels=auto --time 5m --out demos", nil},
		{"l.csv", "age,home town,repaid", "table\n18..80\n\nyes|no\nrepaid\n2000\n\n\n", "schema.toml", "name = \"age\"\nkind = \"numeric\"\nlow = 18\nhigh = 80\n", []string{"home town: "}},
		{"l.csv", "age,home town,repaid", "\n\n\n\n2000\n\n\n", "schema.toml", "name = \"home town\"\nkind = \"\"", []string{"[table]"}},
	} {
		clitest.Home(t)
		clitest.Write(t, c.file, []byte(c.header+"\nzanzibar,zanzibar,zanzibar\n"))
		var out, errs bytes.Buffer
		p := &cli.Program{Root: clitest.TestRoot, Terminal: ui.Terminal{Stdin: strings.NewReader(c.answers), Stdout: &out, Stderr: &errs, Keyboard: true, Screen: true}}
		if code := root.Run(t.Context(), p, []string{"init", "--data", c.file}); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		data, err := os.ReadFile(c.wrote)
		expect.NoError(t, err)
		expect.Contains(t, "data", string(data), c.has)
		expect.True(t, "no zanzibar in out.String()+errs.String()+string(data)", !strings.Contains(out.String()+errs.String()+string(data), "zanzibar"), out.String()+errs.String()+string(data))
		for _, q := range c.asked {
			if !strings.Contains(errs.String(), q) {
				t.Errorf("%q is not asked: %s", q, errs.String())
			}
		}
	}
	// An answer that never comes.
	clitest.Home(t)
	clitest.Write(t, "t.csv", []byte("message,queue\n"))
	var out, errs bytes.Buffer
	p := &cli.Program{Root: clitest.TestRoot, Terminal: ui.Terminal{Stdin: strings.NewReader("\n"), Stdout: &out, Stderr: &errs, Keyboard: true, Screen: true}}
	if code := root.Run(t.Context(), p, []string{"init", "--data", "t.csv"}); code != 2 || !strings.Contains(errs.String(), "--size is missing") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestInitReadsNoJSON: keys of records may be content. Nothing that is written or printed has them, whatever the file is
// called.
func TestInitReadsNoJSON(t *testing.T) {
	for _, data := range []string{"t.jsonl", "T.JSON", "hub/train.ndjson"} {
		clitest.Home(t)
		if err := os.MkdirAll("hub", 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, data, []byte(`{"message":"m","queue":"q","zanzibar":1}`+"\n"))
		code, out, errs := clitest.Run(t, "init", "--json", "--data", data, "--kind", "classify", "--text", "message", "--label", "queue", "--labels", "a,b", "--size", "200")
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", data, code, errs)
		}
		next, err := os.ReadFile("NEXT.md")
		if err != nil || strings.Contains(string(next)+out+errs, "zanzibar") {
			t.Errorf("%s: %v\n%s%s", data, err, out, errs)
		}
		code, out, errs = clitest.Run(t, "table", "schema", "infer", "--data", data)
		at := expect.At(t, "%s", data)
		expect.Equal(at, "exit code with "+errs, code, 2)
		expect.Contains(at, "errs", errs, "sotto init --data "+data+" --kind table --column")
		expect.True(at, "no zanzibar in out+errs", !strings.Contains(out+errs, "zanzibar"), out+errs)
	}
}

// TestInitWritesNoPassword: the address of a database is in what "sotto init" writes and prints.
func TestInitWritesNoPassword(t *testing.T) {
	clitest.Home(t)
	for _, address := range []string{"postgres://ann:zanzibar@localhost:1/shop", "postgresql://localhost:1/shop?user=ann&password=zanzibar", "postgres://ann:zanzi%zzbar@localhost"} {
		code, out, errs := clitest.Run(t, "init", "--data", address, "--query", "SELECT 1", "--kind", "classify", "--text", "m", "--label", "q", "--labels", "a,b", "--size", "200")
		expect.Equal(t, "exit code with "+errs, code, 2)
		expect.True(t, "no zanzi in out+errs", !strings.Contains(out+errs, "zanzi"), out+errs)
		expect.Contains(t, "errs", errs, "address of the data")
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestPartsOfData: what follows # after a path is found where a file has to be there.
func TestPartsOfData(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "t.csv", []byte("message;queue\nm;a\n"))
	if code, _, errs := clitest.Run(t, "init", "--data", "t.csv#;", "--yes", "--labels", "a,b", "--size", "200", "--out", "begun"); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	next, err := os.ReadFile("begun/NEXT.md")
	expect.NoError(t, err)
	expect.Contains(t, "NEXT.md", string(next), "--data '../t.csv#;'")
	if code, _, errs := clitest.Run(t, "init", "--data", "none#train", "--yes", "--labels", "a,b", "--size", "200", "--out", "begun"); code != 2 || !strings.Contains(errs, "there is no file none") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestInitSays: what is missing is said at once, with the names of columns, which init has read; names
// that suggest a text suggest no table; and the task has a title.
func TestInitSays(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "t.csv", []byte("id,message,team\n"))
	clitest.Write(t, "u.csv", []byte("id,message,colour\n"))
	for _, c := range []struct{ args, want string }{
		{"--data t.csv", "--kind, --size are missing, and without a terminal nobody can be asked: sotto init --data t.csv --kind classify --text COLUMN --label COLUMN --labels A,B,C --size N"},
		{"--data t.csv --kind generate --input id", "--output, --inputs, --size are missing"},
		{"--data t.csv --yes", "--labels and --size are missing"},
		{"--data t.csv --yes --size 300", "--labels is missing"},
		{"--data u.csv --yes --size 300", "--label is missing, the column of the label, and no name suggests it: the columns are id, message, colour"},
		{"--data t.csv --kind classify --text mesage --label team --labels a,b --size 300", `--text is "mesage", and t.csv has no such column: it has id, message, team; did you mean message?`},
		{"--data t.csv --kind classify --text words --label team --labels a,b --size 300", "it has id, message, team\n"},
	} {
		if code, _, errs := clitest.Run(t, append([]string{"init"}, clitest.Split(c.args)...)...); code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, errs)
		}
	}
	clitest.Printed(t, "init", "--data", "t.csv", "--yes", "--labels", "a,b", "--size", "300")
	for name, wants := range map[string][]string{
		"task.toml": {`title = "Team of each message"`, `kind = "classify"`, `text = "message"`, `label = "team"`},
		"NEXT.md": {
			"sotto rehearse --task task.toml --size 300 --epsilon 1 --time 5m --examples examples.csv\n", "--epsilon 1 --time 5m --examples examples.csv --out demos\n",
			"sotto ledger init t --data t.csv --task task.toml --epsilon 2 --delta 2e-06\n", "## Which model", "--form chat", "do not copy records", "sotto learn ",
		},
		"examples.csv": {"message,team\n,a\n,a\n,b\n,b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range wants {
				if !strings.Contains(string(data), want) {
					t.Errorf("%s lacks %s:\n%s", name, want, data)
				}
			}
		})
	}
	if code, _, errs := clitest.Run(t, "init", "--data", "t.csv", "--yes", "--labels", "a,b", "--size", "300", "--epsilon", "2", "--budget", "1", "--force"); code != 2 || !strings.Contains(errs, "does not pay for a run") {
		t.Errorf("a budget below a run: exit code %d, %s", code, errs)
	}
	// What a table lacks for other verbs is in its schema, and they say so.
	clitest.Write(t, "l.csv", []byte("age,repaid\n30,yes\n"))
	clitest.Printed(t, "init", "--data", "l.csv", "--kind", "table", "--label", "repaid", "--column", "age=20..80", "--column", "repaid=yes|no", "--size", "300", "--out", "table")
	data, err := os.ReadFile("table/schema.toml")
	expect.NoError(t, err)
	expect.Contains(t, "data", string(data), "# edges = [35, 50, 65]")
	expect.Contains(t, "data", string(data), `title = "Repaid of each row"`)
	next, err := os.ReadFile("table/NEXT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"sotto learn --task table:schema.toml --data ../l.csv --size 300 --epsilon 1 --out classifier\n",
		"sotto predict classifier --data test.csv\n",
	} {
		if !strings.Contains(string(next), want) {
			t.Errorf("NEXT.md does not have %q:\n%s", want, next)
		}
	}
	for args, want := range map[string]string{
		"perturb --epsilon 1 --out perturbed":               "edges in the schema (--schema FILE)",
		"profile --size 300 --epsilon 1 --groups 4 --out p": "group by columns (--group COLUMN",
	} {
		t.Run(args, func(t *testing.T) {
			args := append([]string{"table"}, append(clitest.Split(args), "--schema", "table/schema.toml", "--data", "l.csv")...)
			code, _, errs := clitest.Run(t, args...)
			expect.Equal(t, "exit code with "+errs, code, 2)
			expect.Contains(t, "errs", errs, want)
			expect.True(t, "no (--out) in errs", !strings.Contains(errs, "(--out)"), errs)
		})
	}
	if code, _, errs := clitest.Run(t, "help", "nope"); code != 2 || strings.Contains(errs, "help --help") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
