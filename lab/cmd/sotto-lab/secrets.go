package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lab/attack"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

type secretsOptions struct {
	attackFlags
	copies               []int
	secrets, size, shots int
}

// secretMethods write releases that secrets are looked for in.
var secretMethods = []string{"clipped", "mixing", "gaussian"}

func newSecretsCommand(p *program) *cobra.Command {
	var opt secretsOptions
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Extraction: how exposed are codes that were planted in the data?",
		Long: `Plants made-up access codes in made-up messages, each in one record or in many
that are the same, and makes releases of them by the code that ships, from
seeds: nothing is private, nothing is charged and nothing is signed. Then an
adversary has the model say which of all 1000 codes it would write next, with
the demonstrations in its prompt. The place of the true code among all is its
exposure in bits: 10 if it comes first. A code of which nothing is known has
1.4 bits on average, since each place is equally likely.

The same is done without demonstrations, where nothing can leak, and with
records as they are, the one with the code among them. Chance is how likely as
much exposure would be if nothing leaked, and most what ε allows on average for
a record, times its copies. More than that is a failure: the exit code is 4.

` + flags.ModelHelp + ui.JSONKeys(secretsResult{}, "Exposures are in bits."),
		Example: `  sotto-lab secrets
  sotto-lab secrets --copies 1 --copies 100 --size 200 --secrets 20 --epsilon 8 --seed 1 --json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt.seeded = cmd.Flags().Changed("seed")
			return runSecrets(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd, secretMethods...)
	f := cmd.Flags()
	f.IntSliceVar(&opt.copies, "copies", []int{1, 4, 16, 64}, "plant a code in `N` records; may be repeated")
	f.IntVar(&opt.secrets, "secrets", 5, "plant `N` codes for each number of copies, each in a release of its own")
	f.IntVar(&opt.size, "size", 128, "make each release of `N` records")
	f.IntVar(&opt.shots, "shots", 2, "write `N` demonstrations in each release")
	return cmd
}

// secretTokens is room for a code in a text: the task's messages are shorter.
const secretTokens = 16

func (o *secretsOptions) check() ([]float64, error) {
	for _, n := range []struct {
		flag       string
		value, min int
	}{{"secrets", o.secrets, 2}, {"size", o.size, 16}, {"shots", o.shots, 1}, {"copies", slices.Min(append([]int{math.MaxInt}, o.copies...)), 1}} {
		if n.value < n.min {
			return nil, ui.Usage("--%s is %d, it should be at least %d", n.flag, n.value, n.min)
		}
	}
	slices.Sort(o.copies)
	switch {
	case len(o.copies) == 0:
		return nil, ui.Usage("--copies is empty: give a number, such as 1")
	case len(slices.Compact(slices.Clone(o.copies))) < len(o.copies):
		return nil, ui.Usage("--copies has a number twice")
	case o.copies[len(o.copies)-1] > o.size:
		return nil, ui.Usage("--copies %d is more than the %d records of a release: give a larger --size", o.copies[len(o.copies)-1], o.size)
	}
	return o.attackFlags.check(secretMethods...)
}

// secretsResult is what a hunt for secrets found.
type secretsResult struct {
	// Beyond: a private release exposes codes by more than ε allows.
	Beyond     bool               `json:"beyond"`
	OK         bool               `json:"ok"`
	Method     string             `json:"method"`
	Codes      int                `json:"codes"`
	Size       int                `json:"size"`
	Shots      int                `json:"shots"`
	Confidence float64            `json:"confidence"`
	Seeded     bool               `json:"seeded"`
	Model      string             `json:"model"`
	Rows       []attack.SecretRow `json:"rows"`
	Unknown    float64            `json:"exposure_of_the_unknown"`
	Tokens     int64              `json:"model_tokens"`
	Seconds    float64            `json:"seconds"`
}

func (r *secretsResult) headline() string {
	real, private := false, false
	for _, row := range r.Rows {
		real = real || row.Shown == attack.ShownReal && row.Conclusion == attack.Exposed
		private = private || row.Shown == attack.ShownPrivate && row.Verbatim > 0
	}
	switch {
	case r.Beyond:
		return "BEYOND: a private release exposes codes by more than its ε allows"
	case !real:
		return "Real demonstrations do not expose codes to this model: the attack is too weak"
	case private:
		return "Real demonstrations expose codes, private ones no more than ε allows"
	}
	return "Real demonstrations expose codes, no private one has any word for word"
}

func secretCells(row attack.SecretRow) []string {
	shown, copies, allowed := row.Shown, fmt.Sprint(row.Copies), ""
	if row.Shown == attack.ShownPrivate {
		shown, allowed = "ε = "+ui.Whole(row.Epsilon), fmt.Sprintf("%.1f", row.Allowed)
	}
	if row.Shown == attack.ShownNone {
		copies = ""
	}
	return []string{
		copies, shown, fmt.Sprintf("%.1f", row.Exposure), fmt.Sprintf("%.1f–%.1f", row.Low, row.High), fmt.Sprintf("%.2g", row.Chance), allowed,
		fmt.Sprintf("%d of %d", row.Verbatim, row.Secrets), strings.TrimSuffix(row.Conclusion, " what ε allows"),
	}
}

func (r *secretsResult) Print(p *ui.Page) {
	if r.Beyond {
		p.Alarm("%s", r.headline())
	} else {
		p.Head("%s", r.headline())
	}
	t := ui.NewTable("#copies", "shown", "#bits", "#interval", "#chance", "#most", "#word for word", "conclusion")
	for _, row := range r.Rows {
		t.Add(secretCells(row)...)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, r.about())
	p.Line("")
	p.Facts("model", r.Model, "tokens", ui.Thousands(r.Tokens)+" through it", "time", ui.Span(r.Seconds))
}

func (r *secretsResult) about() string {
	return fmt.Sprintf("One of %d codes, in 1 or more of %d records; %d demonstrations a release, by %s. Bits are the exposure: %.1f if a code is the likeliest of all, %.2f on average if nothing is known of it. Intervals hold with a confidence of about %v each.",
		r.Codes, r.Size, r.Shots, r.Method, math.Log2(float64(r.Codes)), r.Unknown, r.Confidence)
}

func runSecrets(ctx context.Context, p *program, opt secretsOptions) (err error) {
	began := time.Now()
	epsilons, err := opt.check()
	if err != nil {
		return err
	}
	task, err := demo.Office().Task()
	if err != nil {
		return err
	}
	key, err := opt.key()
	if err != nil {
		return err
	}
	model, name, err := opt.open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	maker, err := attack.NewMaker(model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()

	bar, all := p.SharedBar("codes looked for"), opt.secrets*(1+len(opt.copies)*(1+len(epsilons)))
	h := &attack.Hunt{
		Model: model.Public(), Task: task, Copies: opt.copies, Secrets: opt.secrets, Size: opt.size, Shots: opt.shots,
		Confidence: opt.confidence, Key: key, Observe: func(done int) { bar.Show(done, all, "codes") },
	}
	for _, t := range demo.Office().Tickets(4 * 2 * opt.size) {
		h.Records = append(h.Records, prompt.Example{Input: t.Text, Output: t.Label})
	}
	if err := h.Prepare(ctx); err != nil {
		return err
	}
	r := &secretsResult{
		Method: opt.method, Codes: attack.Codes, Size: opt.size, Shots: opt.shots, Confidence: opt.confidence, Seeded: opt.seeded,
		Model: name, Unknown: attack.Chance,
	}
	r.Rows, err = opt.hunt(ctx, h, maker, task, epsilons)
	bar.Clear()
	if err != nil {
		return err
	}
	for _, row := range r.Rows {
		r.Beyond = r.Beyond || row.Conclusion == attack.Beyond
	}
	r.OK = !r.Beyond
	r.Tokens, r.Seconds = model.Usage().Computed, math.Round(10*time.Since(began).Seconds())/10
	if err := p.Emit(r); err != nil || !r.Beyond {
		return err
	}
	return ui.Reported("%s exposes secrets by more than its ε allows", opt.method)
}

// hunt looks without demonstrations, then for each number of copies in real and in private ones.
func (o *secretsOptions) hunt(ctx context.Context, h *attack.Hunt, maker *attack.Maker, task prompt.Task, epsilons []float64) ([]attack.SecretRow, error) {
	row, err := h.None(ctx)
	if err != nil {
		return nil, err
	}
	rows := []attack.SecretRow{row}
	tokens := o.tokens
	if tokens == 0 {
		tokens = secretTokens
	}
	for _, copies := range o.copies {
		if row, err = h.Real(ctx, copies); err != nil {
			return nil, err
		}
		rows = append(rows, row)
		for _, e := range epsilons {
			terms := attack.Terms{Method: o.method, Epsilon: e, Delta: privacy.DefaultDelta(int64(o.size)), Size: int64(o.size), Shots: o.shots, Tokens: tokens}
			row, err := h.Private(ctx, func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
				return maker.Write(ctx, task, terms, label, members, seed)
			}, copies, e)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
