package release

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/prompt"
)

// shown is the number of examples on the card.
const shown = 3

// card returns a data set card: front matter in YAML as the Hugging Face hub reads it, then
// Markdown. The licence is for the owner of the data to choose.
func card(r Release) ([]byte, error) {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	title := r.title()
	p("---")
	p("pretty_name: %s", quoted(title))
	p("# license and language: for the owner of the data to state")
	p("task_categories: [%s]", category(r.Task))
	p("tags: [%s]", strings.Join(r.tags(), ", "))
	if !r.learned() {
		p("size_categories: [%s]", sizeCategory(len(r.Examples)))
	}
	if !r.bare() && !r.learned() {
		p("configs:\n- config_name: default\n  data_files: demos.jsonl")
	}
	p("---\n")
	if r.NotPrivate() {
		p("> **%s**: %s.\n", Mark, r.why())
	}
	p("# %s\n", inline(title))
	if u := Gained(r.Task, r.Prompt, r.Worth); u != nil {
		p("**%s** %s\n", u.Text, strings.Join(u.Next, " "))
	}
	p("%s\n", r.summary())
	switch {
	case r.learned():
		p("%s\n", r.reading())
	case r.Prompt != nil:
		p("Private records chose this prompt. %s\n", r.reading())
	}
	if r.Worth != nil {
		p("%s\n", strings.TrimSpace(r.Worth.Sentence()+" "+r.measuredAs()))
	}
	if err := r.cardExamples(p); err != nil {
		return nil, err
	}
	p("## Files\n")
	p("| file | what it is |\n|---|---|")
	for _, f := range r.contents() {
		p("| `%s` | %s |", f[0], f[1])
	}
	r.cardGuarantee(p)
	r.cardMaking(p)
	p("## What this is not\n")
	for _, limit := range r.limits() {
		p("- %s", limit)
	}
	return []byte(b.String()), nil
}

// tags returns words to find the release by.
func (r Release) tags() []string {
	switch {
	case r.copies():
		return []string{"few-shot", "not-private"}
	case r.learned() && r.NotPrivate():
		return []string{"classifier", "not-private"}
	case r.learned():
		return []string{"classifier", "differential-privacy"}
	case r.NotPrivate():
		return []string{"synthetic", "few-shot", "not-private"}
	}
	return []string{"synthetic", "few-shot", "differential-privacy"}
}

// sizeCategory is one of the hub's.
func sizeCategory(n int) string {
	for _, c := range []struct {
		below int
		name  string
	}{{1_000, "n<1K"}, {10_000, "1K<n<10K"}, {100_000, "10K<n<100K"}, {1_000_000, "100K<n<1M"}} {
		if n < c.below {
			return c.name
		}
	}
	return "n>1M"
}

// title returns the title of the release.
func (r Release) title() string {
	name := cmp.Or(r.Task.Title, r.Task.Name, "Examples")
	switch {
	case r.copies():
		return name + ", real examples"
	case r.Origin == Averaged:
		return name + ", profiles of groups"
	case r.learned():
		return name + ", a classifier"
	case r.bare():
		return name + ", a prompt without examples"
	}
	return name + ", synthetic examples"
}

// bare: the records chose no example.
func (r Release) bare() bool { return r.Prompt != nil && len(r.Examples) == 0 }

// signed: there is a certificate beside the files.
func (r Release) signed() bool { return !r.NotPrivate() && !r.Unsigned }

// copies: the examples are records.
func (r Release) copies() bool { return r.Method == "real" }

func (r Release) summary() string {
	if r.copies() {
		if len(r.Examples) == 1 {
			return "1 record of the data as it is, to compare with."
		}
		return fmt.Sprintf("%d records of the data as they are, to compare with.", len(r.Examples))
	}
	if r.learned() {
		return fmt.Sprintf("A linear classifier of texts for %d labels, from noisy sums over all records. It needs no language model.", len(r.Task.Labels))
	}
	if r.bare() {
		return "An instruction and no examples: private records chose it over all sets of examples that it was tried against."
	}
	if len(r.Examples) == 1 {
		return fmt.Sprintf("One synthetic example, %s, to show other models how to do a task.", originWords[r.Origin])
	}
	return fmt.Sprintf("%d synthetic examples, %s, to show other models how to do a task.", len(r.Examples), originWords[r.Origin])
}

func (r Release) cardExamples(p func(string, ...any)) error {
	if r.learned() {
		p("Labels: %s.\n", inline(strings.Join(r.Task.Labels, ", ")))
		return nil
	}
	if r.bare() {
		p("```\n%s\n```\n", strings.TrimSpace(r.Task.AnswerPrefix()))
		return nil
	}
	input, output := columns(r.Task)
	p("```json")
	for _, e := range r.Examples[:min(shown, len(r.Examples))] {
		line, err := encode(r.mark(object{{input, e.Input}, {output, e.Output}}), "")
		if err != nil {
			return err
		}
		p("%s", line)
	}
	p("```\n")
	return nil
}

// contents lists the other files.
func (r Release) contents() [][2]string {
	input, output := fields(r.Task)
	list := [][2]string{
		{"demos.jsonl", "the examples, a line each"},
		{"chat.json", "instruction and examples as the first turns of a chat, for any chat API; the question goes after them as it says"},
		{"prompt.txt", "the same as the beginning of a text; append the question and let the model continue"},
		{"use.md", "code to paste for openai, LangChain, LlamaIndex, DSPy and others"},
		{"dspy.json", fmt.Sprintf("for DSPy: `dspy.Predict(\"%s -> %s\").load(\"dspy.json\")`", input, output)},
		{"finetune.jsonl", "for fine-tuning, not for prompts: a conversation a line, as OpenAI's fine-tuning takes them"},
		{ReportFile, "for people who decide: a conclusion, the guarantee in words, the budget, what it is worth, and the texts"},
	}
	if r.bare() {
		list = slices.DeleteFunc(list, func(f [2]string) bool { return forExamples[f[0]] })
	}
	if r.learned() {
		list = learnedContents()
	} else if r.Evidence != nil {
		list = append(list, [2]string{evidence.File, "what all records say about labels: for each a vector, whose inner product with that of a text is the logarithm of its odds"})
	}
	if !r.bare() {
		list = append(list, [2]string{croissantFile, "what demos.jsonl has, for programs that look for data sets (Croissant)"})
	}
	if r.Prompt != nil && !r.learned() {
		list = append(list, [2]string{promptFile, "the prompt that the records chose: instruction, examples, and how labels are read off"})
	}
	list = append(list, r.ExtraFiles...)
	if r.signed() {
		list = append(list, [2]string{"plan.json", "what was planned: task, draws and noise, which decide what it costs"},
			[2]string{"journal.jsonl", "what the run released, step by step; it has no record"},
			[2]string{"certificate.json", "what is guaranteed, signed; `sotto verify .` checks it"})
	}
	return list
}

func (r Release) cardGuarantee(p func(string, ...any)) {
	p("\n## Guarantee\n")
	if r.NotPrivate() {
		p("None: %s.\n", r.why())
		return
	}
	p("| | |\n|---|---|")
	for _, f := range r.guaranteed() {
		p("| %s | %s |", f.Name, inline(f.Value))
	}
	p("")
	for _, w := range r.Words {
		p("- %s", w)
	}
	p("\nWhat was done to the records, as an event:\n\n```\n%s\n```\n", r.Guarantee.Event)
	p("Anyone can evaluate it again: `sotto account '%s' --delta %s --adjacency %s`.\n", r.Guarantee.Event, number(r.Guarantee.Delta), r.Guarantee.Adjacency)
}

// guaranteed lists the terms of the guarantee.
func (r Release) guaranteed() []tableLine {
	g := r.Guarantee
	list := []tableLine{{"ε", "at most " + atMost(g.Epsilon.Upper)}, {"δ", number(g.Delta)}, {"unit", unit(*g)}, {"neighbours", neighbours(*g)}}
	if r.signed() {
		list = append(list, tableLine{"certificate", "certificate.json, signed; sotto verify checks it"})
	}
	return list
}

func (r Release) cardMaking(p func(string, ...any)) {
	p("## How it was made\n")
	p("| | |\n|---|---|")
	for _, f := range append(r.facts(), r.settings()...) {
		p("| %s | %s |", inline(f.Name), inline(f.Value))
	}
	p("")
}

// limits lists what readers must not expect.
func (r Release) limits() []string {
	if r.copies() {
		return []string{"Synthetic. These are records.", "Private. It must not leave the place where the data may be."}
	}
	list := slices.Clone(madeLimits[r.Origin])
	if r.NotPrivate() {
		return append(list, "Private. It must not leave the place where the data may be.")
	}
	if r.Guarantee.Unit == "record" {
		list = append(list, "A guarantee about people with several records: it is about one record, and what several records say together is protected less.")
	}
	list = append(list, "Silence about what most records have in common: that is what it is made to pass on.")
	switch {
	case r.signed():
		return append(list, "Unconditional: the certificate lists what the guarantee rests on.")
	case r.Origin == Drawn:
		return append(list, "Certified by itself: the guarantee comes from the profile that it was drawn from, whose certificate lists what it rests on.")
	}
	return append(list, "Certified: nobody signed it, and the guarantee comes from the perturbed rows, by the word of who perturbed them.")
}

// tableLine is a line of a table.
type tableLine struct{ Name, Value string }

// facts lists the model, the method and the cost.
func (r Release) facts() []tableLine {
	list := []tableLine{{"task", r.Task.Name}, {"method", r.Method}, {"model", r.Model}}
	if r.learned() {
		list[2].Value = "none: " + r.Model + ", an encoder of sentences, saw the records"
	} else if r.Prompt != nil {
		list = append(list, tableLine{"form", string(r.Prompt.Form.Name())})
	}
	if r.Prompt != nil && r.Prompt.Calibrated {
		list = append(list, tableLine{"labels", "calibrated: of those that the model may answer, take the one whose probability is the largest multiple of what it is after a question without content"})
	}
	list = append(list, r.sizes()...)
	if r.ModelTokens > 0 {
		list = append(list, tableLine{"model tokens", "about " + grouped(r.ModelTokens)})
	}
	list = append(list, tableLine{"program", strings.TrimSpace("Sotto " + r.Version)})
	return slices.DeleteFunc(list, func(f tableLine) bool { return f.Value == "" })
}

// sizes lists the numbers of units, in one line if all parts are equal.
func (r Release) sizes() []tableLine {
	if r.Guarantee != nil && free(*r.Guarantee) {
		return nil // nobody is drawn from them
	}
	how := "declared"
	if r.Counted {
		how = "counted with noise"
	}
	same := len(r.Sizes) > 1
	var list []tableLine
	for _, s := range r.Sizes {
		same = same && s.Units == r.Sizes[0].Units
		name := "size"
		if s.Part != "" {
			name += " of " + s.Part
		}
		list = append(list, tableLine{name, fmt.Sprintf("%s, %s", grouped(s.Units), how)})
	}
	if same {
		return []tableLine{{"sizes", fmt.Sprintf("%s in each of %d parts, %s", grouped(r.Sizes[0].Units), len(r.Sizes), how)}}
	}
	return list
}

// settings of the method, nested ones by their path, by name.
func (r Release) settings() []tableLine {
	var list []tableLine
	var walk func(path string, v any)
	walk = func(path string, v any) {
		if m, ok := v.(map[string]any); ok {
			for k, v := range m {
				walk(strings.TrimPrefix(path+"."+k, "."), v)
			}
			return
		}
		text := fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			text = plain(strconv.FormatFloat(f, 'g', 6, 64))
		}
		list = append(list, tableLine{strings.ReplaceAll(path, "_", " "), text})
	}
	walk("", r.Settings)
	if len(r.Settings) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b tableLine) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func category(t prompt.Task) string {
	switch t.Kind {
	case prompt.Classify:
		return "text-classification"
	case prompt.Extract:
		return "question-answering"
	}
	return "text-generation"
}

// quoted returns a string in YAML, which takes JSON's.
func quoted(s string) string {
	data, err := encode(s, "")
	if err != nil { // a string always has a JSON form
		return `""`
	}
	return string(data)
}

// inline makes a text safe within a line and a table of Markdown.
func inline(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "`", "'", "*", `\*`, "[", `\[`).Replace(s)
}

// grouped prints a number with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
