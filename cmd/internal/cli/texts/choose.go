package texts

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

// chooseFlags say how records choose a prompt.
type chooseFlags struct {
	pool         int
	examples     []string
	sets         []string
	instructions []string
	rounds       int64
	records      int64
	utility      string
	form         string
	reading      string
	writing      cli.Number
	evidence     cli.Number
	nearest      int
	measuring    cli.Number
	time         time.Duration
	// unfilled are files of --examples in which there is no text yet, and "" for others.
	unfilled []string
	poolFlags
}

// warnUnfilled says of files of --examples that nothing is in them.
func (c *chooseFlags) warnUnfilled(p *cli.Program) {
	for _, path := range c.unfilled {
		if path != "" {
			p.Warn(fmt.Sprintf("%s has no text yet, and is left out: fill in two or more for each label, written by hand, to have better prompts to choose from", path))
		}
	}
}

func (c *chooseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	addTime(cmd, &c.time)
	f.StringArrayVar(&c.sets, "from", nil, "choose among sets of examples that you have, each a public `FILE` or the folder of a release, and write nothing; may be repeated")
	f.StringArrayVar(&c.examples, "examples", nil, "choose: public examples of your own in `FILE`, which prompts may be made from too; may be repeated")
	f.StringArrayVar(&c.instructions, "instruction", nil, "choose: an instruction to try beside the task's own; may be repeated")
	cli.AddChoice(cmd, &c.form, "form", "", "choose: the form in which records judge prompts: chat, as clients ask (turns, and what the model writes), or text (one text, and the probabilities of labels) (default: chat, where the model has a chat template and half a billion parameters or more)", string(prompt.ChatForm), string(prompt.TextForm))
	addEvidence(cmd, &c.evidence)
	c.poolFlags.add(cmd)
}

// addSettings adds settings of the rounds, and of the number in the end.
func (c *chooseFlags) addSettings(cmd *cobra.Command) {
	f := settings.Flags(cmd)
	f.Int64Var(&c.rounds, "rounds", 0, "in how many rounds, before a last one between their winners (default: what time and ε allow, up to 25)")
	f.Int64Var(&c.records, "records", 0, "how many records judge in a round, on average (default: what time allows, up to 400)")
	settings.Choice(cmd, &c.utility, "utility", "", "what a record says of a prompt: hard (is the answer right?) or soft (how probable is it?); for outputs: written (how probable are its tokens?) or rouge (how much of it does the model write?) (default: hard; for generate: rouge)", string(choose.Hard), string(choose.Soft), string(choose.Written), string(choose.Rouge))
	settings.Choice(cmd, &c.reading, "reading", "", "in the form text: how labels are read off probabilities: raw or calibrated (default: what is better)", string(search.Raw), string(search.Calibrated))
	f.IntVar(&c.nearest, "nearest", 0, "prompts compete that give each question its `N` nearest examples of the pool, by the sentence encoder, and half as many; for tasks without a list of labels (default: none)")
	f.IntVar(&c.vary, "vary", 0, "after each round, have `N` texts written like the winner's examples, by --pool-model or else the model, for the next to try (default: none)")
	f.IntVar(&c.reword, "reword", 0, "try `N` other wordings of the task's instruction, by --pool-model or else the model (default: 4 with --pool-model, else none; 0 for none)")
	f.StringVar(&c.poolKeyEnv, "pool-key-env", "", "the environment `VARIABLE` that holds the key of --pool-model's server (default: it needs none)")
	f.Var(&c.measuring, "measurement-share", "the share of ε for saying in the end on how many records the model is right; 0 does not say it (default: 0.05, with evidence 0.1)")
}

// addTime adds the flag of how long a run may take in which records choose.
func addTime(cmd *cobra.Command, to *time.Duration) {
	cmd.Flags().DurationVar(to, "time", 0, "choose: about how long the whole run may take: writing the texts to choose from, all rounds, and measuring; the model's speed is measured, and how much is done follows from it (default 5m)")
}

// addEvidence adds the flag of the share of ε for evidence.
func addEvidence(cmd *cobra.Command, to *cli.Number) {
	settings.Flags(cmd).Var(to, "evidence", "choose: the share of ε for adding up all records as evidence for labels, which prompts may use: the records choose whether and how; 0 for none (default: 0.7 for a closed list of labels, with 60 records for each at ε = 1)")
}

// addPool adds settings of what is written to choose from.
func (c *chooseFlags) addPool(cmd *cobra.Command) {
	f := settings.Flags(cmd)
	f.IntVar(&c.pool, "pool", 0, "how many texts to write and choose from; 0 writes none, and chooses among --examples (default: 40, or 24 if they are written from records; more for many labels, and fewer where time is short)")
	f.Var(&c.writing, "generation-share", "the share of ε for writing the texts from the records, by clipped, such as 0.5; with 0 the model writes them by itself, and all of ε chooses (default: 0)")
}

// choosing fills in the request.
func (c *chooseFlags) choosing(q *plan.Request, of *cli.SettingFlags) error {
	if err := of.Positive(map[string]float64{"nearest": float64(c.nearest), "rounds": float64(c.rounds), "records": float64(c.records), "time": c.time.Seconds()}); err != nil {
		return err
	}
	bare := len(c.sets) > 0 || of.Given("pool") && c.pool == 0
	switch {
	case c.pool < 0:
		return cli.Usage("--set pool is %d, it should be a number of texts, or 0 to write none", c.pool)
	case len(c.sets) > 0 && (of.Given("pool") || of.Given("generation-share")):
		return cli.Usage("--from chooses among what there is, and writes nothing: leave out the settings pool and generation-share")
	case bare && len(c.sets)+len(c.examples) == 0:
		return cli.Usage("--set pool=0 writes nothing, and there is nothing else to choose from: name sets of examples (--from), or public examples to make sets from (--examples)")
	}
	q.Method = ""
	q.Choosing = &plan.ChooseRequest{
		Measuring: c.measuring.Share(),
		Pool:      c.pool, Writing: c.writing.Value, Evidence: c.evidence.Share(), Nearest: c.nearest, Rounds: c.rounds, Records: c.records,
		Utility: choose.Utility(c.utility), Form: prompt.Form(c.form), Reading: search.Reading(c.reading), Instructions: c.instructions,
	}
	q.Choosing.NoGeneration = bare
	for _, path := range c.sets {
		list, err := readExamples(path, q.Task)
		if err != nil {
			return err
		}
		q.Choosing.Sets = append(q.Choosing.Sets, list)
	}
	for _, path := range c.examples {
		list, err := readExamples(path, q.Task)
		if err != nil {
			return err
		}
		// Lines of a template that nobody filled in.
		list = slices.DeleteFunc(list, func(e prompt.Example) bool { return strings.TrimSpace(e.Input) == "" })
		c.unfilled = append(c.unfilled, ui.If(len(list) == 0, path))
		q.Choosing.Examples = append(q.Choosing.Examples, list...)
	}
	return nil
}

// readExamples reads public examples of a task.
func readExamples(path string, t prompt.Task) ([]prompt.Example, error) {
	set, err := worth.ReadSet(path, t)
	if err != nil {
		return nil, cli.AsUsage[*worth.InputError](err)
	}
	if set.NotPrivate {
		return nil, cli.Usage("%s says that it is not private: examples to choose from are public, and those may not be", path)
	}
	return set.Examples, nil
}

// poolFlags say who makes up what prompts are built from, beside the model of the run. What is made up before
// the plan is not for jobs: nobody can have approved a plan with it.
type poolFlags struct {
	poolModel  string
	poolKeyEnv string
	reword     int
	vary       int
}

func (p *poolFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.poolModel, "pool-model", "", "choose: have another model write the texts to choose from: that of a server at `URL`, or URL#NAME, or a model as --model takes it; it sees the task and no record, so that any will do")
}

// pooled fills in who writes.
func (p *poolFlags) pooled(of *cli.Program, q *plan.Request, given func(flag string) bool) (sotto.Pool, error) {
	var out sotto.Pool
	switch {
	case p.reword < 0 || p.vary < 0:
		return out, cli.Usage("--set reword and --set vary should be numbers of texts, or 0 for none")
	case p.poolKeyEnv != "" && p.poolModel == "":
		return out, cli.Usage("--set pool-key-env is about the server of --pool-model: name that")
	case given("pool-model") && p.poolModel == "":
		return out, cli.Usage("--pool-model is empty: it should be the URL of a server, or a model")
	}
	out.Reword, q.Choosing.Vary = p.reword, p.vary
	if given("reword") && p.reword == 0 {
		out.Reword = -1
	}
	if p.poolModel == "" {
		return out, nil
	}
	hosted := flags.Model{Name: p.poolModel, KeyEnv: p.poolKeyEnv}
	if flags.IsHTTP(p.poolModel) {
		hosted.URL, hosted.Name, _ = strings.Cut(p.poolModel, "#")
	} else if p.poolKeyEnv != "" {
		return out, cli.Usage("--set pool-key-env is about a server, and --pool-model names none: give its URL")
	}
	spec, err := of.ModelSpec(hosted)
	out.Model = &spec
	return out, err
}

// synthChoice is the prompt that records chose, and how: as planned, no matter who was drawn.
type synthChoice struct {
	Rounds      int64       `json:"rounds"`
	Records     int64       `json:"records"`
	LastRecords int64       `json:"last_records,omitempty"`
	Instruction string      `json:"instruction,omitempty"`
	Form        prompt.Form `json:"form"`
	Calibrated  bool        `json:"calibrated"`
	PoolModel   string      `json:"pool_model,omitempty"`
	// Evidence is how the prompt uses what all records say, if it does.
	Evidence *prompt.Use `json:"evidence,omitempty"`
}

func newSynthChoice(d *sotto.Run) *synthChoice {
	c := d.Plan.Choose
	if c == nil || d.Prompt == nil {
		return nil
	}
	var n int64
	for _, part := range d.Plan.Parts {
		n += part.Size
	}
	out := &synthChoice{Rounds: c.Rounds, Records: int64(math.Round(c.Draw.Expected(n))), Instruction: d.Prompt.Instruction, Form: d.Prompt.Form.Name(), Calibrated: d.Prompt.Calibrated}
	if d.Prompt.Evidence.Used() {
		out.Evidence = &d.Prompt.Evidence
	}
	if c.Last != nil {
		out.LastRecords = int64(math.Round(c.Last.Draw.Expected(n)))
	}
	if c.Made != nil {
		out.PoolModel = c.Made.Model
	}
	return out
}

// words say how the examples of a prompt were chosen.
func (c *synthChoice) words(examples int) string {
	if c == nil {
		return ""
	}
	said := fmt.Sprintf("%s, in %s of about %s records", ui.Examples(examples), ui.Counted(int(c.Rounds), "round"), ui.Thousands(c.Records))
	said += ui.If(c.LastRecords > 0, fmt.Sprintf(" and a last one of about %s between the winners", ui.Thousands(c.LastRecords)))
	said += ui.If(c.PoolModel != "", "; from texts by "+ui.Visible(c.PoolModel)+", which saw no record")
	switch {
	case c.alone():
	case c.Form.Turns():
		said += "; judged as clients ask, in turns and by what the model writes"
	case c.Calibrated:
		said += "; judged as one text, with labels read off calibrated, as \"sotto eval\" does; for clients that chat use --form chat"
	default:
		said += "; judged as one text; for clients that chat use --form chat"
	}
	return said
}

// alone reports whether the records chose evidence without a language model.
func (c *synthChoice) alone() bool {
	return c != nil && c.Evidence != nil && c.Evidence.How == prompt.Alone
}

// instruction is the one that was chosen in place of the task's own.
func (c *synthChoice) instruction() string {
	if c == nil {
		return ""
	}
	return ui.Visible(c.Instruction)
}
