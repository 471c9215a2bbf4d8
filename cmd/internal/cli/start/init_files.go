package start

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// files are what the other verbs need.
func (o *initOptions) files() ([]initFile, error) {
	main, err := o.taskFile()
	if o.kind == kindTable {
		main, err = o.schemaFile()
	}
	files := []initFile{main, {"sotto.toml", o.settings()}}
	if o.template() {
		made, failed := o.examplesFile()
		files, err = append(files, made), errors.Join(err, failed)
	}
	return files, err
}

// exampleFile is to be filled in.
const exampleFile = "examples.csv"

// template reports whether there is a file of examples to fill in.
func (o *initOptions) template() bool {
	return o.kind != kindTable && o.kind != string(prompt.Generate) && len(o.labels) > 0
}

// examplesFile has two lines for each label, whose texts are missing: "sotto synth --examples" leaves those out.
func (o *initOptions) examplesFile() (initFile, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	lines := [][]string{{o.text, o.label}}
	for _, l := range o.labels {
		lines = append(lines, []string{"", l}, []string{"", l})
	}
	err := w.WriteAll(lines)
	return initFile{exampleFile, b.String()}, err
}

// initModel is a model that is larger than the default.
type initModel struct {
	Title string `json:"title"`
	Bytes int64  `json:"bytes"`
	Pull  string `json:"pull"`
}

// largerModels are some of docs/models.md, the smallest first.
var largerModels = []initModel{
	{"Qwen2.5-0.5B-Instruct", 0.5e9, "sotto model pull hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf"},
	{"Qwen2.5-1.5B-Instruct", 1.1e9, "sotto model pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf"},
	{"Qwen3-4B", 2.5e9, "sotto model pull hf:Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf"},
}

// larger is the largest that takes no more than a third of the free memory, so that there is room to work in; nil if
// there is none, or one was named.
func (o *initOptions) larger(free int64) *initModel {
	if o.model != "" || o.kind == kindTable {
		return nil
	}
	var found *initModel
	for i, m := range largerModels {
		if m.Bytes <= free/3 {
			found = &largerModels[i]
		}
	}
	return found
}

// taskFile is the task, whose instructions are made from the names of columns and labels.
func (o *initOptions) taskFile() (initFile, error) {
	file := initFile{name: "task.toml"}
	if o.kind == kindTable {
		return file, nil
	}
	q := document.TOML
	var b strings.Builder
	fmt.Fprintf(&b, "# A task is public: nothing in it was read off the records. The instructions are made from the names\n# of columns: say in them what the records are about. \"sotto task check task.toml\" shows the prompts.\ntitle = %s\nkind = %s\n", q(o.title()), q(o.kind))
	if o.kind == string(prompt.Generate) {
		fmt.Fprintf(&b, "input = %s\noutput = %s\n\n[generate]\ninstruction = %s\n\n[answer]\ninstruction = %[3]s\n",
			q(o.input), q(o.output), q(fmt.Sprintf("Write the %s that belongs to the %s.", plain(o.output), plain(o.input))))
		file.text = b.String()
		return file, checkTask(file.text)
	}
	fmt.Fprintf(&b, "text = %s\nlabel = %s\n", q(o.text), q(o.label))
	answer := fmt.Sprintf("Find the %s in each %s.", plain(o.label), plain(o.text))
	list := make([]string, len(o.labels))
	for i, l := range o.labels {
		list[i] = q(l)
	}
	switch {
	case o.labels != nil && o.kind == string(prompt.Extract):
		fmt.Fprintf(&b, "# What texts are written for. There may be others.\nconditions = [%s]\n", strings.Join(list, ", "))
	case o.labels != nil:
		fmt.Fprintf(&b, "labels = [%s]\n", strings.Join(list, ", "))
		last := len(o.labels) - 1
		answer = fmt.Sprintf("Sort each %s by its %s: %s or %s.", plain(o.text), plain(o.label), strings.Join(o.labels[:last], ", "), o.labels[last])
	case o.kind == string(prompt.Classify):
		answer = fmt.Sprintf("Name the %s of each %s.", plain(o.label), plain(o.text))
	}
	fmt.Fprintf(&b, "\n[generate]\ninstruction = %s\n\n[answer]\ninstruction = %s\n",
		q(fmt.Sprintf("Given a %s, write a %s that belongs to it.", plain(o.label), plain(o.text))), q(answer))
	file.text = b.String()
	return file, checkTask(file.text)
}

// title is what the release will be called, from the names of columns.
func (o *initOptions) title() string {
	of := map[string][3]string{
		string(prompt.Classify): {o.label, "of each", o.text}, string(prompt.Extract): {o.label, "in each", o.text},
		string(prompt.Generate): {o.output, "for each", o.input}, kindTable: {o.label, "of each", "row"},
	}[o.kind]
	name := []rune(plain(of[0]) + " " + of[1] + " " + plain(of[2]))
	return strings.ToUpper(string(name[:1])) + string(name[1:])
}

// plain makes words of the name of a column.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", " ", "-", " ", "{", "", "}", "").Replace(name))
}

// checkTask refuses answers that make no task.
func checkTask(text string) error {
	_, found := prompt.Examine("task", []byte(text))
	return refused(found)
}

// refused makes an error of usage of what is wrong with a file before it is written.
func refused(found []document.Problem) error {
	for _, p := range found {
		if !p.Warning {
			return cli.Usage("%s: %s; %s (see the flags of \"sotto init --help\")", p.Place(), p.What, p.Fix)
		}
	}
	return nil
}

// schemaFile is the schema, or what there is to fill in.
func (o *initOptions) schemaFile() (initFile, error) {
	file := initFile{name: "schema.toml"}
	if o.columns == nil {
		s := schema.Infer(o.names, o.kinds)
		s.Label = o.label
		file.text = string(s.Skeleton())
		return file, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# A schema is public: nothing in it was read off the rows. \"sotto table schema check schema.toml\" shows\n# how a row reads.\ntitle = %s\nlabel = %s\n", document.TOML(o.title()), document.TOML(o.label))
	for _, spec := range o.columns {
		c, err := columnOf(spec)
		if err != nil {
			return file, err
		}
		fmt.Fprintf(&b, "\n[[column]]\nname = %s\nkind = %q\n", document.TOML(c.Name), c.Kind)
		if c.Kind == schema.Numeric {
			wide := (c.High - c.Low) / 4
			fmt.Fprintf(&b, "low = %v\nhigh = %v\nclamp = true # what is outside counts as the nearest bound\n# edges = [%v, %v, %v] # where bins meet, public numbers: \"table perturb\" needs them\n", c.Low, c.High, c.Low+wide, c.Low+2*wide, c.Low+3*wide)
			continue
		}
		list := make([]string, len(c.Values))
		for i, v := range c.Values {
			list[i] = document.TOML(v)
		}
		fmt.Fprintf(&b, "values = [%s]\n", strings.Join(list, ", "))
	}
	file.text = b.String()
	_, found := schema.Examine("schema", []byte(file.text))
	return file, refused(found)
}

// settings are what a configuration in the working directory may say.
func (o *initOptions) settings() string {
	name := "# name = " + document.TOML(models.Default) + "   # docs/models.md names others"
	if o.model != "" {
		name = "name = " + document.TOML(o.model)
	}
	return fmt.Sprintf(`# Settings of commands that run in this folder. Such a file may choose the model and nothing else:
# ledger, keys, servers and sources of the dashboard are in your own configuration,
# %s
[model]
%s
# threads = 8
`, config.Own(), name)
}

// initStep is a command to run, and why.
type initStep struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

type initResult struct {
	Dir      string     `json:"dir"`
	Kind     string     `json:"kind"`
	Files    []string   `json:"files"`
	Columns  []string   `json:"columns"`
	Commands []initStep `json:"commands"`
	Later    []initStep `json:"later"`
	Model    *initModel `json:"larger_model,omitempty"`

	unfinished bool
}

// shellWord quotes a word of a command line where that is needed.
func shellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// command joins the words of one; a flag without a value is left out.
func command(words ...string) string {
	var out []string
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "--") && i+1 < len(words) && words[i+1] == "", w == "":
		default:
			out = append(out, shellWord(w))
		}
	}
	return strings.Join(out, " ")
}

// result lists the commands that follow.
func (o *initOptions) result() *initResult {
	r := &initResult{Dir: o.out, Kind: o.kind, Columns: append([]string{}, o.names...), unfinished: o.kind == kindTable && o.columns == nil}
	epsilon := ui.Whole(o.epsilon.Value)
	add := func(why string, words ...string) {
		r.Commands = append(r.Commands, initStep{command(words...), why})
	}
	later := func(why string, words ...string) { r.Later = append(r.Later, initStep{command(words...), why}) }
	add(fmt.Sprintf("the budget of the data: ε = %s for all runs together; reads the records and charges nothing", ui.Whole(o.budget.Value)), o.entering()...)
	first := r.Commands[0]
	r.Commands = nil
	route := []string{"sotto", "serve", "route", "set", "mine", "--upstream", "embedded", "--release", "demos", "--task", "task.toml"}
	if o.kind == kindTable {
		add("show the schema, and what is wrong with it", "sotto", "table", "schema", "check", "schema.toml")
		r.Commands = append(r.Commands, first)
		add("predict what comes out, before a row is read", "sotto", "table", "plan", "--schema", "schema.toml", "--size", o.size, "--epsilon", epsilon, "--unit", o.unit.Words())
		add("make the examples; this is charged", "sotto", "table", "profile", "--schema", "schema.toml", "--data", o.source(), "--query", o.Query, "--size", o.size, "--epsilon", epsilon, "--unit", o.unit.Words(), "--out", "demos")
		if o.label != "" && o.size != cli.SizeAuto {
			later("or, to predict the label without a language model: the rows make a private classifier; this is charged, too", "sotto", "learn", "--task", cli.TablePrefix+"schema.toml", "--data", o.source(), "--query", o.Query, "--size", o.size, "--epsilon", epsilon, "--unit", o.unit.Words(), "--out", "classifier")
			later("predict the label of rows in a public file, and how often that is right if they have it", "sotto", "predict", "classifier", "--data", "test.csv")
		}
		route[len(route)-1] = cli.TablePrefix + "schema.toml"
	} else {
		discover := ui.If(o.discover, "--set=discover-labels=auto")
		inputs := o.beside(o.inputs)
		add("show the two prompts", "sotto", "task", "check", "task.toml")
		const minutes = "5m"
		own := ui.If(o.template(), exampleFile)
		add("compare what methods cost, before a record is read", "sotto", "plan", "--task", "task.toml", "--size", o.size, "--epsilon", epsilon, "--unit", o.unit.Words(), discover, "--inputs", inputs, "--time", minutes)
		rehearse := []string{"sotto", "rehearse", "--task", "task.toml", "--size", o.size, "--epsilon", epsilon, "--time", minutes, "--examples", own}
		if o.kind == string(prompt.Classify) && !o.discover && o.size != cli.SizeAuto {
			add("try the whole run on made-up records, in about five minutes, with nothing charged", rehearse...)
		} else {
			later("try the whole run on public records like yours, with nothing charged", append(rehearse, discover, "--inputs", inputs, "--stand-in", "public.jsonl")...)
		}
		r.Commands = append(r.Commands, first)
		add("make the prompt, in about five minutes; this is charged", "sotto", "synth", "--task", "task.toml", "--data", o.source(), "--query", o.Query, "--size", o.size, "--epsilon", epsilon, "--unit", o.unit.Words(), discover, "--inputs", inputs, "--time", minutes, "--examples", own, "--out", "demos")
		if len(o.labels) > 0 && o.kind == string(prompt.Classify) && o.size != cli.SizeAuto {
			later("or, where a label is all you need, without a language model; this is charged, too", "sotto", "learn", "--task", "task.toml", "--data", o.source(), "--query", o.Query, "--size", o.size, "--epsilon", epsilon, "--unit", o.unit.Words(), "--out", "classifier")
		}
		later("measure the examples on public questions with their answers", "sotto", "eval", "--task", "task.toml", "--demos", "zero", "--demos", "demos", "--test", "test.jsonl")
	}
	add("check the certificate", "sotto", "verify", "demos")
	add("serve them: a route, and a key for the one who may ask", route...)
	add("", "sotto", "serve", "key", "add", "me", "--route", "mine")
	later("serve, until you stop it", "sotto", "serve")
	return r
}

// entering gives the data a budget.
func (o *initOptions) entering() []string {
	delta := 1e-6
	if n, err := strconv.ParseInt(o.size, 10, 64); err == nil {
		delta = privacy.DefaultDelta(n)
	}
	words := []string{"sotto", "ledger", "init", o.dataset(), "--data", o.source(), "--query", o.Query, "--unit", o.unit.Words()}
	if o.kind == kindTable {
		words = append(words, "--schema", "schema.toml")
	} else {
		words = append(words, "--task", "task.toml")
	}
	// As many times its δ as its ε: see "sotto ledger init".
	return append(words, "--epsilon", ui.Whole(o.budget.Value), "--delta", strconv.FormatFloat(delta*o.budget.Value/o.epsilon.Value, 'g', 3, 64))
}

// dataset is what the ledger calls the data: as its file.
func (o *initOptions) dataset() string {
	file, _ := convert.Split(strings.TrimPrefix(o.Data, "sqlite:"))
	name, _, _ := strings.Cut(filepath.Base(filepath.Clean(file)), ".")
	if config.IsURL(o.Data) || strings.Trim(name, "-") == "" || strings.HasPrefix(name, "-") {
		return "mine"
	}
	return name
}

// beside is a path as a command in the folder of the files names it.
func (o *initOptions) beside(path string) string {
	if path == "" {
		return ""
	}
	return (&initOptions{DataFlags: cli.DataFlags{Data: path}, out: o.out}).source()
}

// page is NEXT.md.
func (r *initResult) page(o initOptions) string {
	var b strings.Builder
	b.WriteString("# What to run next\n\nRun these in this folder, one after another.")
	if r.unfinished {
		b.WriteString(" First fill in schema.toml, which says what is missing.")
	}
	if o.template() {
		fmt.Fprintf(&b, " First fill in %s: two texts for each label, or more, as you would write them yourself. They are the best that there is to choose from, and they are public: write them, do not copy records. Lines without a text are left out.", exampleFile)
	}
	b.WriteString("\n\n```sh\n")
	for _, s := range r.Commands {
		b.WriteString(ui.If(s.Why != "", "# "+s.Why+"\n") + s.Command + "\n")
	}
	b.WriteString("```\n\nWith a public file of your own, and when all is ready:\n\n```sh\n")
	for _, s := range r.Later {
		b.WriteString("# " + s.Why + "\n" + s.Command + "\n")
	}
	b.WriteString("```\n")
	r.advice(&b, o)
	if o.size != cli.SizeAuto {
		data := o.Data
		if to, err := filepath.Abs(data); err == nil && !config.IsURL(data) && !strings.HasPrefix(data, "sqlite:") {
			data = to
		}
		task := filepath.Join(o.out, "task.toml")
		if to, err := filepath.Abs(task); err == nil {
			task = to
		}
		if o.kind == kindTable {
			task = cli.TablePrefix + strings.TrimSuffix(task, "task.toml") + "schema.toml"
		}
		fmt.Fprintf(&b, "\nFor runs from the dashboard of `sotto serve`, your own configuration (%s) may say:\n\n```toml\n[source.mine]\ndata = %s\ntask = %s\nsize = %s\n```\n",
			config.Own(), document.TOML(data), document.TOML(task), o.size)
	}
	return b.String()
}

// advice is about models, clients and time.
func (r *initResult) advice(b *strings.Builder, o initOptions) {
	if o.kind == kindTable {
		return
	}
	if o.model == "" {
		enough := "For what is written and not picked from a list, take a larger one first: it decides what a prompt is worth."
		if o.template() && o.kind == string(prompt.Classify) {
			enough = "It is enough to begin with where the answer is one of a list of labels: there all records are added up as evidence, which does most of the work."
		}
		fmt.Fprintf(b, "\n## Which model\n\nThe default model, %s, is small and quick. %s", models.Default, enough)
		b.WriteString(" docs/models.md lists larger ones.\n")
	}
	if m := r.Model; m != nil {
		fmt.Fprintf(b, "%s, %.1f GB to download, fits the memory that is free here:\n\n```sh\n%s\n```\n\n`sotto model list` then has its name, for sotto.toml, and `sotto model bench` measures it.\n", m.Title, float64(m.Bytes)/1e9, m.Pull)
	}
	b.WriteString("\n## How clients ask\n\nA route of `sotto serve` with `--upstream embedded` answers as the records judged. For clients that chat with a model behind an API, add `--form chat` to rehearse and synth: the records then judge what such clients get.\n")
	fmt.Fprintf(b, "\n## How long, and how much\n\n`--time` is for all of a run: writing, choosing and measuring. With 15m more records choose. A run costs ε = %s of the budget of %s, for good, also if it gained nothing; so rehearse first. If a run is interrupted, the same command continues it, without another charge.\n", ui.Whole(o.epsilon.Value), ui.Whole(o.budget.Value))
}

func (r *initResult) Print(p *ui.Page) {
	where := r.Dir
	if where == "." {
		where = "this folder"
	}
	p.Head("%s are in %s: no record was read, nothing is charged", strings.Join(r.Files, ", "), where)
	if r.unfinished {
		p.Painted(ui.Yellow, 2, "Fill in schema.toml first: it says what is missing.")
		p.Line("")
	}
	if slices.Contains(r.Files, exampleFile) {
		p.Text(2, fmt.Sprintf("Fill in %s: two texts or more for each label, written by hand. They are public: do not copy records. Lines without a text are left out.", exampleFile))
		p.Line("")
	}
	if m := r.Model; m != nil {
		p.Text(2, fmt.Sprintf("%s (%.1f GB to download) fits the memory that is free here: %s. The default model, %s, is quicker and knows less.", m.Title, float64(m.Bytes)/1e9, m.Pull, models.Default))
		p.Line("")
	}
	p.Line("Run next%s:\n", ui.If(r.Dir != ".", ", in "+r.Dir))
	for _, s := range r.Commands {
		if s.Why != "" {
			p.Line("  # %s", s.Why)
		}
		p.Line("  %s", s.Command)
	}
	p.Line("\nLater, with a public file of your own, and when all is ready:\n")
	for _, s := range r.Later {
		p.Line("  # %s", s.Why)
		p.Line("  %s", s.Command)
	}
}
