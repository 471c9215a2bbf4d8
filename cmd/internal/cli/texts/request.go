package texts

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

// textFlags say what texts are to be written, as "sotto synth" and "sotto plan" have them.
type textFlags struct {
	cli.RequestFlags
	minSize    int64
	labelSizes []string
	shots      int
	tokens     int

	inputs   string
	discover string
	ending   string
}

func (r *textFlags) add(cmd *cobra.Command, kinds ...method.Kind) {
	r.RequestFlags.Add(cmd, "all texts together", "\"auto\" counts them with noise, for a twentieth of ε", kinds...)
	f := cmd.Flags()
	r.Rest.Flags.StringArrayVar(&r.labelSizes, "label-size", nil, "how many of them have a label, as `LABEL=N`; may be repeated (default: all labels have as many)")
	f.IntVar(&r.shots, "shots", 0, "how many texts to write (default: the task's)")
	f.StringVar(&r.inputs, "inputs", "", "write for what is in `FILE`, which is public, a line each, or JSONL: the inputs of generation, or open labels")
	r.Rest.Flags.StringVar(&r.discover, "discover-labels", "", "for open labels: find those that many records have, for `EPSILON` of ε (default: a tenth)")
	r.Rest.Flags.Lookup("discover-labels").NoOptDefVal = "auto"
	s := r.Rest.Flags
	s.IntVar(&r.tokens, "tokens", 0, "the most tokens that a text has (default: the task's)")
	s.Int64Var(&r.minSize, "min-size", 0, "with --size auto: assume at least `N` in each part (default 1000)")
	s.StringVar(&r.ending, "shared-ending", "", "find the last two words that most records share, such as a signature, and end every text that is written with them: auto, or the `EPSILON` of ε for it (default: none; auto takes a twentieth)")
	s.Lookup("shared-ending").NoOptDefVal = "auto"
	r.Rest.Group(settings.Texts)
}

// spends lists the flags that a method needs which spends ε.
func (r *textFlags) spends(name string) (flags []string) {
	if spec, known := method.Lookup(name); name != cli.MethodChoose && (!known || !spec.Bounded()) {
		return nil
	}
	if len(r.labelSizes) == 0 {
		flags = append(flags, "size")
	}
	return append(flags, "epsilon")
}

// explicit finds flags that are given, and would be taken for not given, or not be used
// by any of the methods.
func (r *textFlags) explicit(methods ...string) error {
	if err := r.Positive(map[string]float64{"shots": float64(r.shots), "tokens": float64(r.tokens), "min-size": float64(r.minSize)}); err != nil {
		return err
	}
	return r.SettingFlags.Explicit(methods...)
}

// request reads the flags.
func (r *textFlags) request(method string) (plan.Request, error) {
	q, err := r.RequestFlags.Request(method)
	if err != nil {
		return q, err
	}
	q.Shots, q.Tokens = r.shots, r.tokens
	if err := r.sizes(&q); err != nil {
		return q, err
	}
	return q, r.conditions(&q)
}

// sizes reads how many there are.
func (r *textFlags) sizes(q *plan.Request) error {
	switch {
	case r.Size == cli.SizeAuto:
		q.Count, q.MinSize = true, r.minSize
	case r.minSize != 0:
		return cli.Usage("--set min-size goes with --size auto")
	case r.Size == "" && q.Method == "public" && len(r.labelSizes) == 0:
		q.Size = int64(max(1, len(q.Task.Labels))) // nobody is drawn from them
	}
	for _, pair := range r.labelSizes {
		at := strings.LastIndexByte(pair, '=')
		if at < 0 {
			return cli.Usage("--set label-size is %q, it should be LABEL=N, such as Sports=5000", pair)
		}
		n, err := strconv.ParseInt(pair[at+1:], 10, 64)
		if err != nil || n < 1 {
			return cli.Usage("--set label-size is %q: %q should be a number of records", pair, pair[at+1:])
		}
		label, known := q.Task.ResolveLabel(pair[:at])
		if !known || q.Task.Open() {
			return cli.Usage("--set label-size is %q, and %q is not on the task's list of labels", pair, pair[:at])
		}
		if q.Sizes == nil {
			q.Sizes = map[string]int64{}
		}
		if _, twice := q.Sizes[label]; twice {
			return cli.Usage("--set label-size gives %q twice", label)
		}
		q.Sizes[label] = n
	}
	return nil
}

// conditions reads what texts are written for.
func (r *textFlags) conditions(q *plan.Request) error {
	var err error
	if q.Discover, q.DiscoverEpsilon, err = partOf("--set discover-labels", r.discover); err != nil {
		return err
	}
	if q.Ending, q.EndingEpsilon, err = partOf("--set shared-ending", r.ending); err != nil {
		return err
	}
	if r.inputs == "" {
		return nil
	}
	if q.Task.Kind != prompt.Generate && !q.Task.Open() {
		return cli.Usage("--inputs is for generation and for open labels, and this task has a list of labels: leave it out")
	}
	q.Conditions, err = prompt.ReadList(r.inputs, q.Task.Label, "condition")
	return ui.AsUsage(err)
}

// partOf reads a flag that asks for something, for a part of ε if one is given.
func partOf(flag, value string) (asked bool, epsilon float64, err error) {
	if value == "" || value == "auto" {
		return value != "", 0, nil
	}
	var n cli.Number
	if err := n.Set(value); err != nil {
		return false, 0, cli.Usage("%s: %w", flag, err)
	}
	return true, n.Value, nil
}

// deltaWarning warns of a δ that has no privacy guarantee.
func deltaWarning(p plan.Plan) []string {
	var n int64
	for _, part := range p.Parts {
		n += part.Size
	}
	if p.Method() == "public" || !p.Private() {
		return nil
	}
	return cli.DeltaAbove(p.Delta, n)
}
