package texts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

type synthOptions struct {
	textFlags
	flags.Model
	cli.SourceFlags
	chooseFlags
	approvalFlags
	method string
	out    string
}

func newSynthCommand(p *cli.Program) *cobra.Command {
	var opt synthOptions
	cmd := &cobra.Command{
		Use:   "synth --task T --data F --size N --epsilon E --out DIR",
		Short: "Synthetic examples from private records, with a certificate",
		Long: `Makes a prompt for a task from private records: an instruction and a few
synthetic examples, (ε, δ)-differentially private all together, with a
certificate that says so. It may then be shown to any model and anyone.

By default the records choose it (--method choose). The model writes texts by
itself first, which costs no ε. Then come rounds: some records are drawn, the
model answers each one's question with each of several sets of those texts, and
with no examples at all, and the prompt that answers most of them correctly is
chosen, with noise. Later rounds vary the winner, and in a last one winners and
no examples meet. Of all rounds only the winners are released: no answer, no
score. All of it takes about five minutes, or what --time says: how much is
done follows from the model's speed. --pool-model has another model write the
texts, such as a large one that somebody hosts: it is shown the task and its
labels, and never a record, so it need not be trusted. --set
generation-share=0.5 spends half of ε on writing texts from the records. With
--method clipped texts are written from the records, and nothing is chosen: that
is quicker, and usually worse. --from chooses among sets of examples that you
have, which are public: nothing is written, and one round does unless --set
rounds=N asks for more.

The data is a file (CSV, JSON, JSONL, Parquet, Excel; also .gz or .zst) or a
database (postgres://…, sqlite:FILE) with --query, which needs an ORDER BY. The
task says which columns hold text and label. The number of records is declared:
it is public, and the sampling rate follows from it.

The cost is charged to the data set's budget in the ledger before anything is
drawn; what the budget does not allow is refused (exit code 3) and nothing is
charged. A data set that the ledger does not know gets a budget of just this
run. ε and δ are those of this run by itself. A budget that adds up charges
takes a share of the δ that it has left for each, and where that is less than
the run's own δ, the ε that it charges is larger: give a budget for N runs N
times their ε and N times their δ ("sotto ledger init --help"). A run that was
interrupted resumes when the same command is repeated: the same texts come out,
and nothing is charged twice.

Where somebody else decides about the data, --proposal FILE writes the plan and
reads no record. The same command with --approved and the SHA-256 of that file
carries it out, or is refused if it would do or charge anything else.

DIR gets the examples as data (demos.jsonl), as the first turns of a chat
(chat.json), as one text (prompt.txt), for DSPy (dspy.json) and for fine-tuning
(finetune.jsonl), code to paste (use.md), a data set card with Croissant
metadata, report.html, the plan (plan.json), what the run released step by step
(journal.jsonl) and the certificate. Where the records chose no example
there is no demos.jsonl and no finetune.jsonl, and chat.json and prompt.txt have
the instruction.

Methods that write texts and choose nothing:
` + cli.MethodHelp(method.Texts) + `

Those that have no privacy guarantee need --non-private, and their files say
NOT PRIVATE. mixing with --set proof=published follows its paper's rule, whose
guarantee is claimed and not proven: there is no charge and no certificate.
See "sotto plan" for what each costs.

For a task of kind generate, --inputs is a public file of inputs, and what is
written are outputs for them. With --task table:SCHEMA the data is a table
("sotto table schema"): the public schema puts each row into words, and the rows
choose among rows that are made up from what the schema allows, which are free.
--examples puts others in their place, such as those of "sotto table profile".

` + flags.ModelHelp + ui.JSONKeys(synthResult{}, "model_tokens_planned and the records of a round are as planned, no matter who is drawn. What the run really took depends on the records: --verbose reports it on standard error; do not publish it.", ui.ProgressHelp),
		Example: `  sotto synth --task agnews --data news.jsonl --size 120000 --epsilon 1 --out demos
  sotto synth --task agnews --data news.jsonl --size 120000 --epsilon 1 --pool-model http://gpu:8000#qwen --out demos
  sotto synth --task mine.toml --data tickets.csv --size auto --epsilon 2 --shots 8 --unit customer --out demos
  sotto synth --task mine.toml --data tickets.csv --size 20000 --epsilon 0.5 --from ours.jsonl --from demos --out chosen
  sotto synth --task mit-g --data films.jsonl --size 2953 --epsilon 4 --set discover-labels=auto --out demos
  sotto synth --task table:adult --data adult.csv --size 32561 --epsilon 1 --out demos
  sotto synth --task samsum --method mixing --data chats.jsonl --inputs public.jsonl --size 14732 --epsilon 2 --out demos
  sotto synth --task agnews --method nonprivate --non-private --data news.jsonl --size 120000 --out baseline`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.settle(opt.Given); err != nil {
				return err
			}
			if err := cli.Require(cmd, opt.needs()...); err != nil {
				return err
			}
			return runSynth(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd)
	return cmd
}

// settle finds out which method is meant, and flags that it has no use for.
func (o *synthOptions) settle(given func(flag string) bool) (err error) {
	switch {
	case !given("method") && o.Claims():
		o.method = ""
	}
	if o.method, err = o.Named(o.method); err != nil {
		return err
	}
	if o.method != cli.MethodChoose {
		for _, name := range []string{"time", "from", "examples", "instruction", "rounds", "records", "utility", "form", "reading", "pool", "generation-share", "evidence", "nearest", "measurement-share", "pool-model", "pool-key-env", "reword", "vary"} {
			if given(name) {
				return cli.Usage("%s is for --method choose, and would change nothing for %s: leave it out", o.Called(name), o.method)
			}
		}
		return o.explicit(o.method)
	}
	if o.writing.Value == 0 {
		return o.explicit("public")
	}
	return o.explicit(plan.DefaultWriter, "public")
}

// needs lists the flags that a run of the method cannot do without.
func (o *synthOptions) needs() []string {
	names := []string{"task"}
	if o.method != "public" {
		names = append(names, "data")
	}
	return append(append(names, o.spends(o.method)...), "out")
}

func (o *synthOptions) add(cmd *cobra.Command) {
	o.textFlags.add(cmd, method.Texts)
	o.Model.AddFew(cmd)
	o.SourceFlags.Add(cmd, "texts")
	o.chooseFlags.add(cmd)
	o.addSettings(cmd)
	o.addPool(cmd)
	o.Rest.Group(settings.Choosing)
	o.addMethod(cmd)
	o.approvalFlags.add(cmd)
	cli.AddDir(cmd, &o.out, "out", "the `DIR` to write to, also to continue with a run; required")
}

// addMethod adds the flags that say how examples are made.
func (o *synthOptions) addMethod(cmd *cobra.Command) {
	cli.AddChoice(cmd, &o.method, "method", cli.MethodChoose, "choose (the records choose among prompts that are made up), or how texts are written from them: "+strings.Join(method.Names(method.List(method.Texts)), ", "), append([]string{cli.MethodChoose}, method.Names(method.List(method.Texts))...)...)
}

// options makes of the flags what the library takes.
func (o *synthOptions) options(p *cli.Program) (sotto.SynthesizeOptions, error) {
	var s sotto.SynthesizeOptions
	request, err := o.request(o.method)
	var by sotto.Pool
	if err == nil && o.method == cli.MethodChoose {
		if err = o.choosing(&request, &o.SettingFlags); err == nil {
			by, err = o.pooled(p, &request, o.Given)
		}
	}
	if err == nil && request.Choosing != nil {
		err = cli.FromSchema(o.Task, &request, o.pool, o.Seed.Value)
	}
	if err != nil {
		return s, err
	}
	o.Columns(&request.Task)
	if o.out == "" {
		return s, cli.Usage("--out is missing: the folder to write to")
	}
	s = sotto.SynthesizeOptions{
		Request: ask.As[sotto.Request](request), Out: o.out, Parallel: o.Parallel, Time: o.time, Pool: by,
	}
	o.Later = o.proposal != "" && o.approved == ""
	s.Source, s.Use, err = o.Source(o.Task, o.method)
	s.NonPrivate = s.NonPrivate || o.Claims()
	if err == nil {
		s.Approval, err = o.approval()
	}
	return s, err
}

func runSynth(ctx context.Context, p *cli.Program, opt synthOptions) error {
	o, err := opt.options(p)
	if err != nil {
		return err
	}
	opt.warnUnfilled(p)
	client, progress, err := p.Begin(opt.Model)
	if err != nil {
		return err
	}
	if err := encoderFor(ctx, p, ask.As[plan.Request](o.Request)); err != nil {
		return err
	}
	o.Observe, o.Source.Progress = progress.Report, progress.Reading
	err = cli.CarryOut(ctx, p, client, progress, client.Synthesize, o, newSynthResult)
	if errors.Is(err, sotto.ErrUnapproved) {
		return opt.propose(p, o.Approval)
	}
	return err
}

type synthResult struct {
	cli.ReleaseResult
	Method    string           `json:"method"`
	Claim     string           `json:"claim,omitempty"`
	Count     float64          `json:"count_epsilon,omitempty"`
	Discover  float64          `json:"discover_epsilon,omitempty"`
	Ending    string           `json:"ending,omitempty"`
	EndingFor float64          `json:"ending_epsilon,omitempty"`
	Texts     []prompt.Example `json:"texts"`
	Chosen    *synthChoice     `json:"chosen,omitempty"`
	Model     string           `json:"model"`
	Worth     *release.Worth   `json:"worth,omitempty"`
	Planned   int64            `json:"model_tokens_planned"`
	// Ungained says that nothing was gained, and what to do next.
	Ungained *release.NoGain `json:"nothing_gained,omitempty"`

	seeded bool
	// labels is how many the task's list has.
	labels int
	// generate: texts are outputs, and what they are for inputs.
	generate bool
}

func newSynthResult(d *sotto.Run) *synthResult {
	r := &synthResult{
		ReleaseResult: cli.NewReleaseResult(d.Result, "", d.Plan.Delta, d.Plan.Adjacency, d.Plan.Unit), Method: d.Plan.Method(), Claim: d.Plan.Claim(),
		Model: d.Model, Planned: d.Planned, Worth: d.Worth, seeded: d.Plan.Private() && !d.Private, generate: d.Plan.Task.Kind == prompt.Generate,
	}
	if c := d.Plan.Count; c != nil {
		r.Count = c.Epsilon
	}
	if c := d.Plan.Discover; c != nil {
		r.Discover = c.Epsilon
	}
	if c := d.Plan.Ending; c != nil {
		r.Ending, r.EndingFor = d.Ending, c.Epsilon
	}
	r.Chosen, r.Texts = newSynthChoice(d), append([]prompt.Example{}, d.Examples...)
	r.Ungained = release.Gained(d.Plan.Task, d.Prompt, d.Worth)
	if !d.Plan.Task.Open() {
		r.labels = len(d.Plan.Task.Labels)
	}
	return r
}

// what there is, in words.
func (r *synthResult) what() string {
	if r.Chosen.alone() {
		return "a classifier is"
	}
	if r.Chosen != nil {
		return "a prompt with " + ui.Examples(len(r.Texts)) + " is"
	}
	return ui.Are(len(r.Texts), "text")
}

// uncounted says why the commonest label does not stand beside a number, and how it can.
func uncounted(p *ui.Page, w *release.Worth) {
	if w.Commonest == nil {
		p.Text(2, "How many have the commonest label is not known: among so few records counting it would take too much from this number. Declared, it stands here: --set label-size=LABEL=N.")
	}
}

// ungained is said before anything else.
func ungained(p *ui.Page, u *release.NoGain) {
	if u == nil {
		return
	}
	p.Painted(ui.Yellow, 0, u.Text)
	p.Sentences(u.Next)
}

func (r *synthResult) Print(p *ui.Page) {
	ungained(p, r.Ungained)
	switch {
	case r.seeded:
		p.Alarm("%s in %s: NOT PRIVATE, the random numbers are known", r.what(), r.Dir)
	case r.Claim != "":
		p.Painted(ui.Red, 0, fmt.Sprintf("%s in %s: NOT PRIVATE; %s", r.what(), r.Dir, r.Claim))
		p.Line("")
	case !r.Private:
		p.Alarm("%s in %s: NOT PRIVATE, the method %s has no privacy guarantee", r.what(), r.Dir, r.Method)
	default:
		p.Head("%s in %s: ε ≤ %s at δ = %s, %s", r.what(), r.Dir, ui.AtMost(r.Epsilon), ui.Whole(r.Delta), r.Adjacency)
	}
	t := ui.NewTable("#", "for", "text")
	for i, text := range r.Texts {
		condition, body := text.Output, text.Input
		if r.generate {
			condition, body = body, condition
		}
		t.Add(fmt.Sprint(i+1), ui.Cut(ui.Visible(condition), 20), ui.Visible(body))
	}
	if !t.Empty() {
		p.Table(t)
		p.Line("")
	}
	if r.Worth != nil {
		p.Painted(ui.Bold, 2, r.Worth.Sentence())
		if said := r.Worth.Against(r.labels); said != "" {
			p.Text(2, said)
			uncounted(p, r.Worth)
		}
		p.Line("")
	}
	if r.Chosen.alone() {
		p.Text(2, fmt.Sprintf("The records chose what all of them say, without a language model: none is needed. sotto predict %s --data FILE labels texts by it, and a route of sotto serve answers without an upstream model. sotto learn makes such a classifier with all of ε.", r.Dir))
		p.Line("")
	}
	p.Sentences(r.Guarantee)
	r.Facts(p,
		"method", r.Method,
		"chosen", r.Chosen.words(len(r.Texts)),
		"prompt", r.Chosen.instruction(),
		"event", r.Event,
		"sizes", paid("counted with noise", r.Count),
		"labels", paid("discovered", r.Discover),
		"ending", paid(endingInWords(r.Ending), r.EndingFor),
		"cost", cmp.Or(r.Free(), fmt.Sprintf("about %s tokens through %s, as planned", ui.Thousands(r.Planned), r.Model)),
	)
}

// endingInWords says what most records end with.
func endingInWords(ending string) string {
	if ending == "" {
		return "none that most records share was found"
	}
	return fmt.Sprintf("%q, which most records share", ui.Visible(ending))
}

// paid says what was bought with a part of ε, if anything was.
func paid(what string, epsilon float64) string {
	if epsilon == 0 {
		return ""
	}
	return fmt.Sprintf("%s, for ε = %s of it", what, ui.Whole(epsilon))
}
