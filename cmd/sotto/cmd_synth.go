package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"sotto"
	"sotto/privacy"
	"sotto/private/decode"
	"sotto/private/record"
	"sotto/prompt"
)

type synthOptions struct {
	requestFlags
	modelFlags
	method      string
	data, query string
	onError     string
	textColumn  string
	labelColumn string
	out         string
	nonPrivate  bool
	seed        int64
	name        string
	scope       []string
	ledger      string
	keys        string
	parallel    int
}

func newSynthCommand(p *program) *cobra.Command {
	var opt synthOptions
	cmd := &cobra.Command{
		Use:   "synth --task T --data F --size N --epsilon E --out DIR",
		Short: "Synthetic examples from private records, with a certificate",
		Long: `Writes a few synthetic examples of a task from private records, such that all of
them together are (ε, δ)-differentially private, and a certificate that says so.
The examples may then be shown to any model and anyone.

The data is a JSONL, CSV or Parquet file (also .gz or .zst), or a database
(postgres://…, sqlite:FILE) with --query, which needs an ORDER BY. The task says
which columns hold text and label. The number of records is declared: it is
public, and the sampling rate follows from it.

The cost is charged to the data set's budget in the ledger before anything is
drawn; what the budget does not allow is refused (exit code 3) and nothing is
charged. A data set that the ledger does not know gets a budget of just this
run. A run that was interrupted goes on when the same command is repeated: the
same texts come out, and nothing is charged twice.

DIR gets the examples in several formats (demos.jsonl, messages.jsonl,
prompt.txt, dspy.json, langchain.json), a data set card, report.html, the plan
and the certificate. Methods: clipped (the default), gaussian, noisymax, radius;
public reads no record; nonprivate and real protect nobody, need --non-private,
and their files say NOT PRIVATE. See "sotto plan" for what each costs.

` + modelHelp + `

Keys of --json: dir, files, method, private, event, epsilon, delta, adjacency,
unit, guarantee (sentences), inner (event, epsilon), count_epsilon,
discover_epsilon, texts (input, output), model, model_tokens, seconds, charge,
ledger, keys, resumed, warnings. model_tokens and seconds depend on the records
that were drawn: do not publish them. With --json and no terminal, progress is
on standard error, a JSON object a line.`,
		Example: `  sotto synth --task agnews --data news.jsonl --size 120000 --epsilon 1 --out demos
  sotto synth --task mine.toml --data tickets.csv --size auto --epsilon 2 --shots 8 --unit customer --out demos
  sotto synth --task mit-g --data films.jsonl --size 2953 --epsilon 4 --discover-labels --out demos
  sotto synth --task agnews --method nonprivate --non-private --data news.jsonl --size 120000 --out baseline`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.explicit(cmd.Flags().Changed, opt.method); err != nil {
				return err
			}
			return runSynth(cmd.Context(), p, opt, cmd.Flags().Changed("seed"))
		},
	}
	opt.add(cmd)
	return cmd
}

func (o *synthOptions) add(cmd *cobra.Command) {
	o.requestFlags.add(cmd)
	o.modelFlags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.method, "method", "clipped", "how tokens are chosen: clipped, gaussian, noisymax, radius, public, nonprivate or real")
	complete(cmd, "method", decode.Names()...)
	f.StringVar(&o.data, "data", "", "the private records: a `FILE`, or the address of a database; required")
	f.StringVar(&o.query, "query", "", "the rows of a database, as `SQL` with an ORDER BY that leaves no ties")
	f.StringVar(&o.onError, "on-error", string(record.Fail), "what to do about records that cannot be used: fail, or skip them")
	complete(cmd, "on-error", string(record.Fail), string(record.Skip))
	f.StringVar(&o.textColumn, "text-column", "", "the `COLUMN` of the text, if not the task's (for generation: of the output)")
	f.StringVar(&o.labelColumn, "label-column", "", "the `COLUMN` of the label, if not the task's (for generation: of the input)")
	f.StringVar(&o.out, "out", "", "the `DIR` to write to, also to go on with a run; required")
	_ = cmd.MarkFlagDirname("out") // the flag exists
	f.BoolVar(&o.nonPrivate, "non-private", false, "allow a method that protects nobody, for comparisons")
	f.Int64Var(&o.seed, "seed", 0, "take all random numbers from `N`, for tests: what comes out is NOT PRIVATE")
	f.StringVar(&o.name, "name", "", "what people call the data set, for the ledger if it is new there (default: the name of the file)")
	f.StringArrayVar(&o.scope, "label", nil, "a `LABEL=VALUE` of the charge, for scoped budgets; may be repeated")
	f.StringVar(&o.ledger, "ledger", "", "the ledger: a `PATH`, or a postgres:// URL (default: SOTTO_LEDGER, sotto.toml, the user's data directory)")
	addKeys(cmd, &o.keys)
	f.IntVar(&o.parallel, "parallel", 0, "write this many texts at once (default: what suits the method)")
}

// options makes of the flags what the library takes.
func (o *synthOptions) options(p *program, seeded bool) (sotto.SynthesizeOptions, error) {
	var s sotto.SynthesizeOptions
	request, err := o.request(o.method)
	if err != nil {
		return s, err
	}
	for _, c := range []struct {
		flag, value string
		column      *string
	}{{"text-column", o.textColumn, &request.Task.Text}, {"label-column", o.labelColumn, &request.Task.Label}} {
		if c.value != "" {
			*c.column = c.value
		}
	}
	switch {
	case o.out == "":
		return s, usage("--out is missing: the folder to write to")
	case o.data == "" && o.method != "public":
		return s, usage("--data is missing: a file of records, or the address of a database")
	case o.onError != string(record.Fail) && o.onError != string(record.Skip):
		return s, usage("--on-error is %q, it should be fail or skip", o.onError)
	case o.parallel < 0:
		return s, usage("--parallel is %d, it should be positive", o.parallel)
	}
	s = sotto.SynthesizeOptions{
		Request: request, Out: o.out, Dataset: o.name, NonPrivate: o.nonPrivate, Parallel: o.parallel, Version: thisVersion().Version,
		Source: sotto.Source{Location: o.data, Query: o.query, SkipMalformed: o.onError == string(record.Skip)},
	}
	if o.name == "" && !isURL(o.data) {
		s.Dataset = strings.TrimSuffix(filepath.Base(o.data), filepath.Ext(o.data))
	}
	if seeded {
		seed := uint64(o.seed)
		s.Seed = &seed
	}
	if s.Labels, err = labels("label", o.scope); err != nil {
		return s, err
	}
	if s.Model, err = p.modelSpec(o.modelFlags); err != nil {
		return s, err
	}
	if s.Ledger, err = p.ledgerAddress(o.ledger); err != nil {
		return s, err
	}
	if s.Keys, err = p.keysDir(o.keys); err != nil {
		return s, err
	}
	dir, err := dataDir()
	if err != nil {
		return s, usage("there is no place for the key of data sets: %w", err)
	}
	s.Source.Private = filepath.Join(dir, "private")
	return s, nil
}

func runSynth(ctx context.Context, p *program, opt synthOptions, seeded bool) error {
	o, err := opt.options(p, seeded)
	if err != nil {
		return err
	}
	progress := newSynthProgress(p)
	o.Observe, o.Source.Progress = progress.tell, progress.reading
	done, err := sotto.Synthesize(ctx, o)
	progress.clear()
	if err != nil {
		var stopped *sotto.InterruptedError
		if ctx.Err() != nil && errors.As(err, &stopped) {
			progress.say(fmt.Sprintf("%d of %d texts are done; the same command goes on from here, and nothing is charged twice", stopped.Done, stopped.Texts))
		}
		return err
	}
	r := newSynthResult(done)
	r.Ledger, r.Keys = redact(o.Ledger), o.Keys
	return p.emit(r)
}

type synthResult struct {
	Dir         string            `json:"dir"`
	Files       []string          `json:"files"`
	Method      string            `json:"method"`
	Private     bool              `json:"private"`
	Event       string            `json:"event"`
	Epsilon     real              `json:"epsilon"`
	Delta       float64           `json:"delta"`
	Adjacency   privacy.Adjacency `json:"adjacency"`
	Unit        privacy.Unit      `json:"unit"`
	Guarantee   []string          `json:"guarantee"`
	Inner       []synthInner      `json:"inner,omitempty"`
	Count       float64           `json:"count_epsilon,omitempty"`
	Discover    float64           `json:"discover_epsilon,omitempty"`
	Texts       []synthText       `json:"texts"`
	Model       string            `json:"model"`
	ModelTokens int64             `json:"model_tokens"`
	Seconds     float64           `json:"seconds"`
	Charge      string            `json:"charge,omitempty"`
	Ledger      string            `json:"ledger,omitempty"`
	Keys        string            `json:"keys,omitempty"`
	Resumed     bool              `json:"resumed"`
	Warnings    []string          `json:"warnings,omitempty"`

	finished bool
	seeded   bool
	// generate: texts are outputs, and what they are for inputs.
	generate bool
}

type synthText struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

type synthInner struct {
	Event   string `json:"event"`
	Epsilon real   `json:"epsilon"`
}

func newSynthResult(d *sotto.Run) *synthResult {
	r := &synthResult{
		Dir: d.Dir, Files: d.Files, Method: d.Plan.Method(), Private: d.Private, Event: d.Event.String(),
		Epsilon: real(math.Inf(1)), Delta: d.Plan.Delta, Adjacency: d.Plan.Adjacency, Unit: d.Plan.Unit,
		Guarantee: d.Words(), Model: d.Model, ModelTokens: d.Usage.Computed, Seconds: d.Seconds,
		Charge: string(d.Charge), Resumed: d.Resumed, Warnings: d.Warnings,
		finished: d.Finished, seeded: d.Plan.Private() && !d.Private, generate: d.Plan.Task.Kind == prompt.Generate,
	}
	if d.Private {
		r.Epsilon = real(d.Guarantee.Epsilon.Upper)
		for _, g := range d.Inner {
			r.Inner = append(r.Inner, synthInner{g.Event.String(), real(g.Epsilon.Upper)})
		}
	}
	if c := d.Plan.Count; c != nil {
		r.Count = c.Epsilon
	}
	if c := d.Plan.Discover; c != nil {
		r.Discover = c.Epsilon
	}
	if n := d.Problems.Count; n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d records were left out: they cannot be used", n))
	}
	for _, e := range d.Examples {
		r.Texts = append(r.Texts, synthText(e))
	}
	return r
}

func (r *synthResult) print(p *page) {
	switch {
	case r.seeded:
		p.line("%s\n", p.paint(red, fmt.Sprintf("%d texts are in %s: NOT PRIVATE, the random numbers are known", len(r.Texts), r.Dir)))
	case !r.Private:
		p.line("%s\n", p.paint(red, fmt.Sprintf("%d texts are in %s: NOT PRIVATE, the method %s protects nobody", len(r.Texts), r.Dir, r.Method)))
	default:
		p.line("%s\n", p.paint(bold, fmt.Sprintf("%d texts are in %s: ε ≤ %s at δ = %s, %s", len(r.Texts), r.Dir, atMost(float64(r.Epsilon)), whole(r.Delta), r.Adjacency)))
	}
	t := table{head: []string{"", "for", "text"}, numeric: map[int]bool{0: true}}
	for i, text := range r.Texts {
		condition, body := text.Output, text.Input
		if r.generate {
			condition, body = body, condition
		}
		t.rows = append(t.rows, []string{fmt.Sprint(i + 1), cutTo(visible(condition), 20), visible(body)})
	}
	p.table(t)
	p.line("")
	for _, w := range r.Guarantee {
		for i, line := range fold(w, pageWidth-4) {
			p.line("  %s %s", map[bool]string{true: "-", false: " "}[i == 0], line)
		}
	}
	if len(r.Guarantee) > 0 {
		p.line("")
	}
	cost := fmt.Sprintf("%s tokens through %s in %s", thousands(r.ModelTokens), r.Model, span(r.Seconds))
	if r.finished {
		cost = "nothing: the run was complete already"
	}
	p.facts(
		fact{"method", r.Method},
		fact{"event", r.Event},
		fact{"sizes", paid("counted with noise", r.Count)},
		fact{"labels", paid("discovered", r.Discover)},
		fact{"cost", cost},
		fact{"charge", r.Charge},
		fact{"files", strings.Join(r.Files, ", ")},
		fact{"look at", filepath.Join(r.Dir, "report.html")},
		fact{"check", map[bool]string{true: "sotto verify " + r.Dir}[r.Private]},
	)
}

// paid says what was bought with a part of ε, if anything was.
func paid(what string, epsilon float64) string {
	if epsilon == 0 {
		return ""
	}
	return fmt.Sprintf("%s, for ε = %s of it", what, whole(epsilon))
}

// visible keeps what a model wrote from controlling the terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// cutTo shortens a text for a column.
func cutTo(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
