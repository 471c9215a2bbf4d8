package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/search"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

type demoOptions struct {
	modelFlags
	out      string
	messages int
	epsilon  number
	delta    number
	sets     int
	items    int
}

// demoRequest is what the demo asks of "sotto synth": a pool written from the messages for
// demoWriting of ε, and a prompt of it that the messages choose. The settings were settled on
// development messages, such that all of it takes about three minutes of the default model on
// two processors. The instruction is the task's, and labels are read off in one way, as in
// everything that the demo compares with.
func demoRequest(task prompt.Task, epsilon, delta float64, messages int) plan.Request {
	return plan.Request{
		Task: task, Epsilon: epsilon, Delta: delta, Size: int64(messages),
		// What the messages are about is far down in what the model would say by itself: more
		// records a text and a larger gain lift it, if it is a candidate.
		Settings: method.Values{"batch": 32, "candidates": 1000, "gain": 1.4, "temperature": 0.6},
		Choosing: &plan.Choosing{
			Writing: demoWriting, Pool: 28, Shots: task.Limits.Shots, Most: task.Limits.Shots, Reading: search.Calibrated,
			First: 24, Next: 8, Rounds: 3, Records: 40, Last: -1, Measuring: -1,
			// All candidates are written from the messages and follow the task's instruction.
			Own: -1, OwnWords: true,
		},
	}
}

// demoWriting is the share of ε for writing.
const demoWriting = 0.6

func newDemoCommand(p *program) *cobra.Command {
	opt := demoOptions{epsilon: number{value: 1}, delta: number{value: 1e-6}}
	cmd := &cobra.Command{
		Use:   "demo [--out DIR]",
		Short: "All of it on made-up data: records choose examples that help",
		Long: `Shows on data that is made up what the program is for. People in an office
building that does not exist report what is broken. Four desks take care of it:
Blue, Red, Green and Orange. The names say nothing; only the messages show that
Blue gets the printers. A quarter of them name people, numbers and addresses.

The program does what "sotto synth" does: the model writes examples from the
messages, for three fifths of ε, and the messages choose a prompt made of them,
for the rest. Then the model sorts other messages:

  - without any example (zero-shot),
  - with examples that it made up by itself, from the same task,
  - with the examples that the private messages chose,
  - with real messages, which protects nobody.

Nothing but the examples differs: the instruction is the task's, labels are read
off calibrated, and there are 20 examples, five for each desk; of those that are
chosen up to 20. The model's own examples and real messages are several sets
each; accuracies are means over the sets, with the standard deviation. All are
measured on the same held-out messages; the task and the settings were settled
on others. Everything that was released is searched for the names, numbers and
addresses that were planted in the data, and the certificate is verified.

The default model is fetched if it is not there (98 MB). Everything is put into
DIR, also the ledger and the keys, so that your own are not touched. The same
command goes on with a demo that was interrupted.

` + modelHelp + jsonKeys(demoResult{}, "Accuracies are from 0 to 1, and means over the sets."),
		Example: `  sotto demo
  sotto demo --out /tmp/demo --epsilon 0.5 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), p, opt) },
	}
	opt.modelFlags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&opt.out, "out", "sotto-demo", "the `DIR` to put everything into")
	_ = cmd.MarkFlagDirname("out") // the flag exists
	f.IntVar(&opt.messages, "messages", 50_000, "how many private messages to make up")
	f.Var(&opt.epsilon, "epsilon", "the ε that writing and choosing may cost together")
	f.Var(&opt.delta, "delta", "the δ of the guarantee")
	f.IntVar(&opt.sets, "sets", 3, "how many sets of the model's own examples and of real messages to compare with")
	f.IntVar(&opt.items, "items", 100, "how many held-out messages to sort with each set")
	return cmd
}

func (o *demoOptions) check() error {
	for _, c := range []struct {
		flag  string
		value int
		least int
	}{{"messages", o.messages, 1000}, {"sets", o.sets, 2}, {"items", o.items, 5}} {
		if c.value < c.least {
			return usage("--%s is %d, it should be at least %d", c.flag, c.value, c.least)
		}
	}
	if o.out == "" {
		return usage("--out is empty: give a folder for the demo")
	}
	return nil
}

// demoRun holds what the steps of a demo share.
type demoRun struct {
	demoOptions
	*program
	began time.Time
	model lm.Trusted
	// client has ledger, keys and private folder in the folder of the demo.
	client  *sotto.Client
	request plan.Request
	secrets []string
	// public are examples that the model writes by itself, chosen the prompt that the
	// messages chose.
	public []prompt.Example
	chosen prompt.Prompt
	result demoResult
}

func runDemo(ctx context.Context, p *program, opt demoOptions) error {
	if err := opt.check(); err != nil {
		return err
	}
	d := &demoRun{demoOptions: opt, program: p, began: time.Now()}
	d.result.SecretsFound = []string{} // also in JSON
	defer func() {
		if d.model.Valid() {
			d.model.Close()
		}
	}()
	for _, step := range []func(context.Context) error{d.look, d.plan, d.openModel, d.writeData, d.synthesize, d.imagine, d.search, d.verify, d.evaluate} {
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

// say reports what the demo is doing to people; programs read the result.
func (d *demoRun) say(format string, args ...any) {
	if !d.JSON {
		fmt.Fprintf(d.Stderr, "== "+format+"\n", args...)
	}
}

func (d *demoRun) path(name string) string { return filepath.Join(d.out, name) }

// openModel fetches the model if it is one of the catalogue's and missing.
func (d *demoRun) openModel(ctx context.Context) error {
	spec, err := d.modelSpec(d.modelFlags)
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
	firstContact(spec, func(text string) { d.say("%s", text) })
	if d.model, err = d.openTrusted(ctx, spec); err != nil {
		return err
	}
	d.result.Model = models.NameOf(d.model.Info())
	d.client, err = sotto.Open(d.out, &sotto.Options{Trusted: d.model})
	return err
}

// look leaves a folder alone that holds something else.
func (d *demoRun) look(context.Context) error {
	entries, err := os.ReadDir(d.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return usage("the folder of the demo: %w", err)
	}
	if _, err := os.Stat(d.path("task.toml")); err != nil && len(entries) > 0 {
		return usage("%s holds something else than a demo: choose another folder with --out", d.out)
	}
	return nil
}

// writeData makes up the messages.
func (d *demoRun) writeData(context.Context) error {
	if err := os.MkdirAll(d.out, 0o700); err != nil {
		return fmt.Errorf("the folder of the demo: %w", err)
	}
	tickets := demo.Office().Tickets(d.messages)
	d.secrets = demo.Office().Secrets(d.messages)
	d.say("%s messages about what is broken in an office, with %s secrets in them: %s", ui.Thousands(len(tickets)), ui.Thousands(len(d.secrets)), d.path("messages.jsonl"))
	if err := os.WriteFile(d.path("task.toml"), demo.Office().TaskFile(), 0o600); err != nil {
		return fmt.Errorf("write the task: %w", err)
	}
	d.result.Messages, d.result.Secrets = len(tickets), len(d.secrets)
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

// plan settles what will be done, before anything is fetched or written.
func (d *demoRun) plan(context.Context) error {
	task, err := demo.Office().Task()
	if err != nil {
		return err
	}
	d.request = demoRequest(task, d.epsilon.value, d.delta.value, d.messages)
	planned, err := plan.New(d.request)
	if err != nil {
		return err
	}
	d.say("the plan: method %s, records drawn: %s, %s, for ε = %s at δ = %s", planned.Method(), planned.Draws(), planned.Noise(), ui.Whole(planned.Epsilon), ui.Whole(planned.Delta))
	return nil
}

// synthesize does what "sotto synth" does, with a ledger and keys of the demo's own.
func (d *demoRun) synthesize(ctx context.Context) error {
	d.say("the model writes examples from the messages, and the messages choose a prompt made of them")
	progress := &ui.RunProgress{Progress: d.Progress()}
	observe := func(e sotto.Progress) {
		switch e.Kind {
		case sotto.Notice: // that a demo's ledger and keys are new is no news
		case sotto.Released: // nor are eighty lines about texts
		default:
			progress.Report(e)
		}
	}
	done, err := d.client.Synthesize(ctx, sotto.SynthesizeOptions{
		Use:     sotto.Use{Dataset: "demo", Observe: observe},
		Request: d.request, Out: d.path("release"),
		Source: sotto.Source{Location: d.path("messages.jsonl"), Progress: progress.Reading},
	})
	progress.Clear()
	if err != nil {
		return err
	}
	r := newSynthResult(done)
	d.result.Dir, d.result.Release, d.result.Files, d.result.Texts, d.result.Guarantee = d.out, r.Dir, r.Files, r.Texts, r.Guarantee
	d.result.Epsilon, d.result.Delta, d.result.Adjacency, d.result.Event = r.Epsilon, r.Delta, r.Adjacency, r.Event
	if done.Prompt != nil {
		d.chosen = *done.Prompt
	}
	d.result.Calibrated = d.chosen.Calibrated
	d.result.Instruction = d.chosen.For(d.request.Task).Answer.Instruction
	return nil
}

// imagine lets the model write examples without any message, to see what the chosen ones
// owe to the messages.
func (d *demoRun) imagine(ctx context.Context) error {
	request := d.request
	request.Method, request.Choosing, request.Shots = "public", nil, d.sets*d.request.Task.Limits.Shots
	request.Settings = nil
	done, err := d.client.Synthesize(ctx, sotto.SynthesizeOptions{Request: request, Out: d.path("public")})
	if err != nil {
		return err
	}
	d.public = newSynthResult(done).Texts
	return nil
}

// search looks for planted secrets in every file of the release: also in the plan, the
// journal and the certificate.
func (d *demoRun) search(context.Context) error {
	entries, err := os.ReadDir(d.result.Release)
	if err != nil {
		return fmt.Errorf("search the output: %w", err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(d.result.Release, entry.Name()))
		if err != nil {
			return fmt.Errorf("search the output: %w", err)
		}
		d.result.SecretsFound = append(d.result.SecretsFound, demo.Find(string(text), d.secrets)...)
	}
	d.say("searched %s for %s secrets: %d found", ui.Counted(len(entries), "file"), ui.Thousands(len(d.secrets)), len(d.result.SecretsFound))
	return nil
}

// verify does what "sotto verify" does.
func (d *demoRun) verify(ctx context.Context) error {
	report, err := fault.Await(ctx, func() (*certificate.Report, error) { return d.client.Verify(d.result.Release) })
	if err != nil {
		return err
	}
	if d.result.Verified = report.OK; !report.OK {
		return ui.NotVerified("the certificate of %s does not hold: run sotto verify %s --keys %s", d.result.Release, d.result.Release, d.path("keys"))
	}
	d.say("the certificate holds: ε ≤ %s at δ = %s, computed again", ui.AtMost(d.result.Epsilon), ui.Whole(d.result.Delta))
	return nil
}
