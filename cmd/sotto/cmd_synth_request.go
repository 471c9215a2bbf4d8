package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sotto/plan"
	"sotto/privacy"
	"sotto/private/decode"
	"sotto/private/draw"
	"sotto/prompt"
)

// requestFlags say what is to be written, as "sotto synth" and "sotto plan" have them.
type requestFlags struct {
	task       string
	size       string
	least      int64
	labelSizes []string
	epsilon    number
	delta      number
	shots      int
	tokens     int
	unit       string

	labels, inputs string
	discover       string

	batch       int
	temperature number
	gain        number
	centre      string
	candidates  int
	sampler     string
	prompts     int
	perPrompt   int
	choose      string
}

// everything is what --candidates takes for the whole vocabulary.
const everything = 0

func (r *requestFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.task, "task", "", "the task: a `NAME` of \"sotto task list\", or the path of a task file; required")
	f.StringVar(&r.size, "size", "", "how many records (or units) there are, a public number `N`; \"auto\" counts them with noise, for a twentieth of ε")
	f.Int64Var(&r.least, "least", 0, "with --size auto: assume at least `N` in each part (default 1000)")
	f.StringArrayVar(&r.labelSizes, "label-size", nil, "how many of them have a label, as `LABEL=N`; may be repeated (default: all labels have as many)")
	f.Var(&r.epsilon, "epsilon", "the most ε that all texts together may cost, such as 1; required")
	f.Var(&r.delta, "delta", "the δ of the guarantee (default: min(1e-6, N^-1.1))")
	f.IntVar(&r.shots, "shots", 0, "how many texts to write (default: the task's)")
	f.IntVar(&r.tokens, "tokens", 0, "the most tokens that a text has (default: the task's)")
	f.StringVar(&r.unit, "unit", "", "protect all records with one value of `COLUMN` together (default: each record)")
	f.StringVar(&r.labels, "labels", "", "for open labels: write for the labels in `FILE`, a line each; the list is public")
	f.StringVar(&r.inputs, "inputs", "", "for generation: write for the inputs in `FILE`, public ones: a line each, or JSONL")
	f.StringVar(&r.discover, "discover-labels", "", "for open labels: find those that many records have, for `EPSILON` of ε (default: a tenth)")
	f.Lookup("discover-labels").NoOptDefVal = "auto"
	f.IntVar(&r.batch, "batch", 0, "clipped: how many records to draw for a text (default: the fewest of 16, 32, 64, 128 that leave room)")
	f.Var(&r.temperature, "temperature", "clipped, public: how freely to choose tokens (default 0.5; public 1)")
	f.IntVar(&r.candidates, "candidates", 100, "choose among the `K` most likely tokens; 0 takes the whole vocabulary, where a method can")
	f.StringVar(&r.sampler, "sampler", string(draw.Poisson), "how to draw: poisson, fixed-size or disjoint")
	complete(cmd, "sampler", string(draw.Poisson), string(draw.FixedSize), string(draw.Disjoint))
	f.IntVar(&r.prompts, "prompts", 0, "gaussian, noisymax, radius: prompts for a token (default 10)")
	f.IntVar(&r.perPrompt, "per-prompt", 0, "gaussian, noisymax, radius: records in a prompt, on average (default 2)")
	f.Var(&r.gain, "gain", "clipped: how much what records say counts; 1 is their mean (default 2)")
	f.StringVar(&r.centre, "centre", "", "clipped: how a record's differences are centred before they are clipped: median, mid-range or none (default median)")
	complete(cmd, "centre", string(decode.Median), string(decode.MidRange), string(decode.Uncentred))
	f.StringVar(&r.choose, "choose", "", "gaussian: how to pick from the noisy sum: argmax, sample or nucleus (default argmax)")
	complete(cmd, "choose", string(decode.ArgMax), string(decode.Sample), string(decode.Nucleus))
	_ = cmd.RegisterFlagCompletionFunc("task", completeTasks) // the flag exists
}

// flagMethods are the methods that a flag is for.
var flagMethods = map[string][]string{
	"batch": {"clipped"}, "gain": {"clipped"}, "centre": {"clipped"}, "choose": {"gaussian"}, "temperature": {"clipped", "public"},
	"prompts": {"gaussian", "noisymax", "radius", "nonprivate"}, "per-prompt": {"gaussian", "noisymax", "radius", "nonprivate"},
}

// explicit finds flags that are given, and would be taken for not given, or not be used
// by any of the methods.
func (r *requestFlags) explicit(given func(flag string) bool, methods ...string) error {
	for name, n := range map[string]float64{
		"shots": float64(r.shots), "tokens": float64(r.tokens), "batch": float64(r.batch), "prompts": float64(r.prompts),
		"per-prompt": float64(r.perPrompt), "least": float64(r.least), "temperature": r.temperature.value, "gain": r.gain.value,
	} {
		if given(name) && !(n > 0) {
			return usage("--%s is %s, it should be positive; leave it out for the default", name, whole(n))
		}
	}
	for name, of := range flagMethods {
		used := slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(of, m) })
		if given(name) && !used && slices.Contains(decode.Names(), methods[0]) {
			return usage("--%s is for %s, and would change nothing for %s: leave it out", name, strings.Join(of, ", "), strings.Join(methods, ", "))
		}
	}
	return nil
}

// request reads the flags.
func (r *requestFlags) request(method string) (plan.Request, error) {
	var q plan.Request
	if r.task == "" {
		return q, usage("--task is missing: one of %s, or the path of a task file", strings.Join(prompt.Builtins(), ", "))
	}
	task, err := prompt.Find(r.task)
	if err != nil {
		return q, taskError(err)
	}
	q = plan.Request{
		Task: task, Method: method, Epsilon: r.epsilon.value, Delta: r.delta.value, Shots: r.shots, Tokens: r.tokens,
		Sampler: draw.Kind(r.sampler), Batch: r.batch, Temperature: r.temperature.value, Gain: r.gain.value, Centre: decode.Centre(r.centre), Candidates: r.candidates,
		Prompts: r.prompts, PerPrompt: r.perPrompt, Choose: decode.Chooser(r.choose),
	}
	if r.candidates == everything {
		q.Candidates = -1
	}
	if r.unit != "" {
		q.Unit = privacy.Unit("user:" + r.unit)
	}
	for name, n := range map[string]int{"shots": r.shots, "tokens": r.tokens, "batch": r.batch, "candidates": r.candidates, "prompts": r.prompts, "per-prompt": r.perPrompt} {
		if n < 0 {
			return q, usage("--%s is %d, it should be positive", name, n)
		}
	}
	if r.delta.set && !(r.delta.value > 0) {
		return q, usage("--delta is %s, it should be above 0, such as 1e-6", whole(r.delta.value))
	}
	if err := r.sizes(&q); err != nil {
		return q, err
	}
	return q, r.conditions(&q)
}

// sizes reads how many there are.
func (r *requestFlags) sizes(q *plan.Request) error {
	switch {
	case r.size == "auto":
		q.Count, q.Least = true, r.least
	case r.least != 0:
		return usage("--least goes with --size auto")
	case r.size != "":
		n, err := strconv.ParseInt(strings.ReplaceAll(r.size, "_", ""), 10, 64)
		if err != nil || n < 1 {
			return usage("--size is %q, it should be a number of records such as 20000, or auto", r.size)
		}
		q.Size = n
	case q.Method == "public" && len(r.labelSizes) == 0:
		q.Size = int64(max(1, len(q.Task.Labels))) // nobody is drawn from them
	}
	for _, pair := range r.labelSizes {
		at := strings.LastIndexByte(pair, '=')
		if at < 0 {
			return usage("--label-size is %q, it should be LABEL=N, such as Sports=5000", pair)
		}
		n, err := strconv.ParseInt(pair[at+1:], 10, 64)
		if err != nil || n < 1 {
			return usage("--label-size is %q: %q should be a number of records", pair, pair[at+1:])
		}
		label, known := q.Task.Canon(pair[:at])
		if !known || q.Task.Open() {
			return usage("--label-size is %q, and %q is not on the task's list of labels", pair, pair[:at])
		}
		if q.Sizes == nil {
			q.Sizes = map[string]int64{}
		}
		if _, twice := q.Sizes[label]; twice {
			return usage("--label-size gives %q twice", label)
		}
		q.Sizes[label] = n
	}
	return nil
}

// conditions reads what texts are written for.
func (r *requestFlags) conditions(q *plan.Request) error {
	if r.discover != "" {
		q.Discover = true
		if r.discover != "auto" {
			var n number
			if err := n.Set(r.discover); err != nil {
				return usage("--discover-labels: %w", err)
			}
			q.DiscoverEpsilon = n.value
		}
	}
	generate := q.Task.Kind == prompt.Generate
	switch {
	case r.labels != "" && r.inputs != "":
		return usage("--labels and --inputs exclude each other: tasks of kind generate have inputs, others labels")
	case r.labels != "" && generate:
		return usage("--labels is for tasks with labels, and this one writes outputs for inputs: use --inputs")
	case r.inputs != "" && !generate:
		return usage("--inputs is for tasks of kind generate: use --labels")
	}
	path := r.labels + r.inputs
	if path == "" {
		return nil
	}
	list, err := readConditions(path, q.Task.Label)
	if err != nil {
		return err
	}
	q.Conditions = list
	return nil
}

// readConditions reads a public list: a line each, or JSONL of texts or of objects with
// the task's column.
func readConditions(path, column string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("the list of conditions: %w", err)
	}
	defer f.Close()
	structured := filepath.Ext(path) == ".jsonl" || filepath.Ext(path) == ".ndjson"
	var list []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if structured {
			if line, err = conditionOf([]byte(line), column); err != nil {
				return nil, usage("%s, line %d: %w", path, n, err)
			}
		}
		list = append(list, line)
	}
	if err := lines.Err(); err != nil {
		return nil, usage("%s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, usage("%s is empty: it should hold a condition a line", path)
	}
	return list, nil
}

func conditionOf(line []byte, column string) (string, error) {
	var text string
	if json.Unmarshal(line, &text) == nil {
		return text, nil
	}
	var object map[string]any
	if err := json.Unmarshal(line, &object); err != nil {
		return "", fmt.Errorf("it is neither a text nor an object in JSON")
	}
	text, ok := object[column].(string)
	if !ok {
		return "", fmt.Errorf("the object has no text under %q, the column of the task", column)
	}
	return text, nil
}

// deltaWarning tells of a δ that protects nobody.
func deltaWarning(p plan.Plan) []string {
	var n int64
	for _, part := range p.Parts {
		n += part.Size
	}
	if p.Method() == "public" || !p.Private() || p.Delta < 1/float64(n) {
		return nil
	}
	return []string{fmt.Sprintf("δ = %s is not below 1/%d: such a guarantee permits to release one of the records in clear; use a smaller --delta", whole(p.Delta), n)}
}
