package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

type demoOptions struct {
	flags.Model
	out      string
	messages int
	epsilon  cli.Number
	delta    cli.Number
	sets     int
	items    int
}

// demoQuestion is one of the two questions about messages: a task, a release and what it is worth.
type demoQuestion struct {
	name    string // of the task's file, the release's folder and the route
	file    []byte
	request plan.Request
	// of is what a message's answer is.
	of func(demo.Ticket) string
	// made are public examples, which the messages choose from.
	made    []prompt.Example
	release string
	result  demoAnswers
}

// demoShare is each question's share of ε and δ: there are two.
const demoShare = 0.5

// newDemoQuestion plans a question. The settings were settled on development messages, such that all of the
// demo takes less than three minutes of the default model on two processors. The instruction is the task's, and
// labels are read off in one way, as in everything that the demo compares with.
func newDemoQuestion(task prompt.Task, file []byte, of func(demo.Ticket) string, o demoOptions) (*demoQuestion, error) {
	q := &demoQuestion{name: task.Name, file: file, of: of}
	made, err := demo.Repairs().MadeUp()
	if err != nil {
		return nil, err
	}
	q.made = demoExamples(made, of)
	c := &plan.ChooseRequest{
		Examples: q.made, NoGeneration: true, OwnWords: true, Form: prompt.TextForm,
		Shots: task.Limits.Shots, MaxShots: task.Limits.Shots, First: 8, Next: 5, Rounds: 3, Records: 24, Last: -1, Work: 40_000,
	}
	if !task.Open() {
		c.Reading, c.Rounds = search.Calibrated, 2 // evidence leaves less to choose
	}
	q.request = plan.Request{
		Task: task, Epsilon: demoShare * o.epsilon.Value, Delta: demoShare * o.delta.Value, Size: int64(o.messages), Choosing: c,
	}
	return q, nil
}

// demoExamples makes examples of messages.
func demoExamples(tickets []demo.Ticket, of func(demo.Ticket) string) []prompt.Example {
	out := make([]prompt.Example, len(tickets))
	for i, t := range tickets {
		out[i] = prompt.Example{Input: t.Text, Output: of(t)}
	}
	return out
}

func newDemoCommand(p *cli.Program) *cobra.Command {
	opt := demoOptions{epsilon: cli.Number{Value: 1}, delta: cli.Number{Value: 1e-6}}
	cmd := &cobra.Command{
		Use:   "demo [--out DIR]",
		Short: "All of it on made-up data: what private records add to a prompt",
		Long: `Shows on data that is made up what the program is for. People at a company that
does not exist report what is broken; two in five name people, numbers and
addresses. Two questions are asked about each message: which desk takes care of
it (one of a list), and what is broken, in the words of the message, for which a
language model is needed.

For each question the program does what "sotto synth" does, for half of ε. The
messages choose a prompt among public examples, two dozen that were written by
hand; and where the answer is one of a list, all messages are added up as
evidence for it, by a public encoder of sentences. Both are charged to one
budget. Then other messages are answered:

  - without any example,
  - with sets of the examples that were written by hand,
  - for the desk by the evidence alone: a private classifier, no language model,
  - with what the private messages chose, as clients of "sotto serve" get it,
  - with real messages as examples, which has no privacy guarantee.

Nothing but examples and evidence differs: the instruction is the task's, labels
are read off calibrated, and there are at most 8 examples. Those by hand and the
real messages are several sets each; what is shown are means over the sets, with
the standard deviation. All are measured on the same held-out messages; tasks
and settings were settled on others. Everything that was released is searched
for the names, numbers and addresses that were planted in the data, and the
certificates are verified.

The default model (98 MB) and the encoder (91 MB) are fetched if they are not
there. Everything is put into DIR, also the ledger and the keys, so that your
own are not touched. The same command resumes with a demo that was interrupted.

` + flags.ModelHelp + ui.JSONKeys(demoResult{}, "Accuracies are from 0 to 1, and means over the sets; rows are none, made_up, classifier, chosen and real."),
		Example: `  sotto demo
  sotto demo --out /tmp/demo --epsilon 0.5 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), p, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.out, "out", "sotto-demo", "the `DIR` to put everything into")
	_ = cmd.MarkFlagDirname("out") // the flag exists
	f.IntVar(&opt.messages, "messages", 6_000, "how many private messages to make up")
	f.Var(&opt.epsilon, "epsilon", "the ε that both questions may cost together")
	f.Var(&opt.delta, "delta", "the δ that they may have together")
	f.IntVar(&opt.sets, "sets", 2, "how many sets of examples by hand and of real messages to compare with")
	f.IntVar(&opt.items, "items", 100, "how many held-out messages to answer with each set")
	return cmd
}

func (o *demoOptions) check() error {
	for _, c := range []struct {
		flag  string
		value int
		min   int
	}{{"messages", o.messages, 1000}, {"sets", o.sets, 2}, {"items", o.items, 5}} {
		if c.value < c.min {
			return cli.Usage("--%s is %d, it should be at least %d", c.flag, c.value, c.min)
		}
	}
	if o.sets > demoMaxSets {
		return cli.Usage("--sets is %d, and there are %d sets that were written by hand", o.sets, demoMaxSets)
	}
	if o.out == "" {
		return cli.Usage("--out is empty: give a folder for the demo")
	}
	return nil
}

// demoMaxSets is how many sets of examples were written by hand.
const demoMaxSets = 3

// demoRun holds what the steps of a demo share.
type demoRun struct {
	demoOptions
	*cli.Program
	began time.Time
	model lm.TrustedScorer
	// client has ledger, keys and private folder in the folder of the demo.
	client *sotto.Client
	// encoder reads evidence where questions are answered.
	encoder   lm.Embedder
	questions []*demoQuestion
	secrets   []string
	result    demoResult
}

func runDemo(ctx context.Context, p *cli.Program, opt demoOptions) error {
	if err := opt.check(); err != nil {
		return err
	}
	d := &demoRun{demoOptions: opt, Program: p, began: time.Now()}
	d.result.SecretsFound = []string{} // also in JSON
	defer func() {
		if d.model.Valid() {
			d.model.Close()
		}
		if d.encoder != nil {
			d.encoder.Close()
		}
	}()
	for _, step := range []func(context.Context) error{d.look, d.plan, d.openModel, d.writeData, d.grant, d.choose, d.search, d.verify, d.evaluate} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.result.Seconds = time.Since(d.began).Seconds()
	n := len(d.result.SecretsFound)
	if err := p.Emit(&d.result); err != nil || n == 0 {
		return err
	}
	return ui.Reported("%d planted secrets are in the output", n)
}

// demoWidth is how many columns a screen has.
const demoWidth = 100

// say reports what the demo is doing to people; programs read the result.
func (d *demoRun) say(format string, args ...any) {
	if d.JSON {
		return
	}
	mark := "== "
	for _, line := range ui.Fold(fmt.Sprintf(format, args...), demoWidth-len(mark)) {
		fmt.Fprintf(d.Stderr, "%s%s\n", mark, line)
		mark = "   "
	}
}

func (d *demoRun) path(name string) string { return filepath.Join(d.out, name) }

// openModel fetches the model if it is one of the catalogue's and missing.
func (d *demoRun) openModel(ctx context.Context) error {
	spec, err := d.ModelSpec(d.Model)
	if err != nil {
		return err
	}
	if entry, known := models.Lookup(spec.Model); known && !spec.Remote() {
		if _, _, err := models.Find(spec.Model); err != nil {
			d.say("fetching the model %s, once", entry.Title)
			report := &ui.PullProgress{Progress: d.Progress()}
			_, err := models.Pull(ctx, spec.Model, models.Options{Progress: report.Report})
			report.Clear()
			if err != nil {
				return err
			}
		}
	}
	cli.FirstContact(spec, func(text string) { d.say("%s", text) })
	if d.model, err = d.OpenTrusted(ctx, spec); err != nil {
		return err
	}
	d.result.Model = models.NameOf(d.model.Info())
	if err := d.FetchEncoder(ctx); err != nil {
		return err
	}
	if d.encoder, err = d.Encoder(); err != nil {
		return err
	}
	d.client, err = sotto.Open(d.out, &sotto.Options{Trusted: d.model, Model: backend.Spec{Encoder: spec.Encoder}})
	return err
}

// look leaves a folder alone that holds something else.
func (d *demoRun) look(context.Context) error {
	entries, err := os.ReadDir(d.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return cli.Usage("the folder of the demo: %w", err)
	}
	if _, err := os.Stat(d.path("desk.toml")); err != nil && len(entries) > 0 {
		return cli.Usage("%s holds something else than a demo: choose another folder with --out", d.out)
	}
	return nil
}

// plan settles what will be done, before anything is fetched or written.
func (d *demoRun) plan(context.Context) error {
	desk, err := demo.Repairs().Task()
	if err != nil {
		return err
	}
	broken, err := demo.Repairs().ItemTask()
	if err != nil {
		return err
	}
	desk.Name = "desk"
	for _, of := range []struct {
		task   prompt.Task
		file   []byte
		answer func(demo.Ticket) string
	}{
		{desk, demo.Repairs().TaskFile(), func(t demo.Ticket) string { return t.Label }},
		{broken, demo.Repairs().ItemFile(), func(t demo.Ticket) string { return t.Item }},
	} {
		q, err := newDemoQuestion(of.task, of.file, of.answer, d.demoOptions)
		if err != nil {
			return err
		}
		dry := q.request
		own := *dry.Choosing
		dry.Choosing, own.Encoder = &own, "any"
		if _, err := plan.New(dry); err != nil {
			return err
		}
		q.release = d.path("release-" + q.name)
		d.questions = append(d.questions, q)
	}
	return nil
}

// writeData makes up the messages.
func (d *demoRun) writeData(context.Context) error {
	if err := os.MkdirAll(d.out, 0o700); err != nil {
		return fmt.Errorf("the folder of the demo: %w", err)
	}
	tickets := demo.Repairs().Tickets(d.messages)
	d.secrets = demo.Repairs().Secrets(d.messages)
	d.say("%s messages about what is broken, with %s secrets in them: %s", ui.Thousands(len(tickets)), ui.Thousands(len(d.secrets)), d.path("messages.jsonl"))
	for _, q := range d.questions {
		if err := os.WriteFile(d.path(q.name+".toml"), q.file, 0o600); err != nil {
			return fmt.Errorf("write the task: %w", err)
		}
	}
	d.result.Dir, d.result.Messages, d.result.Secrets = d.out, len(tickets), len(d.secrets)
	return writeTickets(d.path("messages.jsonl"), tickets)
}

// writeTickets writes a file unless it is there already: the records of a run that goes
// on must be the same file.
func writeTickets(path string, tickets []demo.Ticket) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the messages: %w", err)
	}
	if err := errors.Join(demo.WriteJSONL(f, tickets), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the messages: %w", err), os.Remove(path))
	}
	return nil
}

// grant gives the messages one budget for both questions, in a ledger of the demo's own.
func (d *demoRun) grant(ctx context.Context) error {
	d.result.Epsilon, d.result.Delta = d.epsilon.Value, d.delta.Value
	id, err := d.client.Identity(ctx, sotto.Source{Location: d.path("messages.jsonl")}, d.questions[0].request.Task)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, d.client.Ledger(), ledger.Options{Create: true})
	if err != nil {
		return err
	}
	_, err = l.Init(ctx, ledger.InitRequest{
		Dataset: id.Fingerprint, Sketch: id.Sketch, KeyID: id.KeyID, KeyPath: id.KeyPath,
		Name: "demo", Budget: ledger.Budget{Epsilon: d.epsilon.Value, Delta: d.delta.Value},
	})
	if _, before := errors.AsType[*ledger.ExistsError](err); before {
		err = nil
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	d.say("they have one budget of ε = %s at δ = %s, half of it for each question", ui.Whole(d.epsilon.Value), ui.Whole(d.delta.Value))
	return nil
}

// choose does what "sotto synth" does, for each question.
func (d *demoRun) choose(ctx context.Context) error {
	for _, q := range d.questions {
		if q.request.Task.Open() {
			d.say("what is broken? The messages choose a prompt")
		} else {
			d.say("which desk? All messages are added up as evidence, and choose a prompt")
		}
		progress := &ui.RunProgress{Progress: d.Progress()}
		observe := func(e sotto.Progress) {
			if e.Kind != sotto.Notice { // that a demo's ledger and keys are new is no news
				progress.Report(e)
			}
		}
		done, err := d.client.Synthesize(ctx, sotto.SynthesizeOptions{
			Use:     sotto.Use{Dataset: "demo", Known: true, Observe: observe},
			Request: ask.As[sotto.Request](q.request), Out: q.release,
			Source: sotto.Source{Location: d.path("messages.jsonl"), Progress: progress.Reading},
		})
		progress.Clear()
		if err != nil {
			return err
		}
		q.keep(done)
	}
	return nil
}

// keep notes what was released.
func (q *demoQuestion) keep(done *sotto.Run) {
	r := cli.NewReleaseResult(done.Result, "", done.Plan.Delta, done.Plan.Adjacency, done.Plan.Unit)
	q.result = demoAnswers{
		Question: q.name, Release: r.Dir, Files: r.Files, Epsilon: r.Epsilon, Delta: r.Delta, Adjacency: r.Adjacency, Event: r.Event,
		Guarantee: r.Guarantee, Texts: append([]prompt.Example{}, done.Examples...), Worth: done.Worth, planned: q.request.Epsilon,
	}
	if p := done.Prompt; p != nil {
		q.result.Calibrated, q.result.Evidence = p.Calibrated, p.Evidence.How
		q.result.Instruction = p.For(q.request.Task).Answer.Instruction
	}
}

// search looks for planted secrets in every file of the releases: also in plans, journals and
// certificates.
func (d *demoRun) search(context.Context) error {
	files := 0
	for _, q := range d.questions {
		entries, err := os.ReadDir(q.release)
		if err != nil {
			return fmt.Errorf("search the output: %w", err)
		}
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(q.release, entry.Name()))
			if err != nil {
				return fmt.Errorf("search the output: %w", err)
			}
			d.result.SecretsFound = append(d.result.SecretsFound, demo.Find(string(text), d.secrets)...)
		}
		files += len(entries)
	}
	d.say("searched %s for %s secrets: %d found", ui.Counted(files, "file"), ui.Thousands(len(d.secrets)), len(d.result.SecretsFound))
	return nil
}

// verify does what "sotto verify" does.
func (d *demoRun) verify(ctx context.Context) error {
	d.result.Verified = true
	for _, q := range d.questions {
		report, err := fault.Await(ctx, func() (*certificate.Report, error) { return d.client.Verify(q.release) })
		if err != nil {
			return err
		}
		if !report.OK {
			d.result.Verified = false
			return ui.NotVerified("the certificate of %s does not hold: run sotto verify %s --keys %s", q.release, q.release, d.path("keys"))
		}
		d.say("the certificate of %s holds: ε ≤ %s at δ = %s, computed again", filepath.Base(q.release), ui.AtMost(q.result.Epsilon), ui.Whole(q.result.Delta))
	}
	return nil
}
