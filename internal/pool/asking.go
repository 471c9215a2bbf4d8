package pool

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/prompt"
)

// about describes the task to the model, from the task's file alone.
func (r *replyReader) about() string {
	t := r.task
	var b strings.Builder
	b.WriteString("You make up realistic examples for a task.\n")
	if t.Title != "" {
		fmt.Fprintf(&b, "The task: %s\n", t.Title)
	}
	if t.Answer.Instruction != "" {
		fmt.Fprintf(&b, "Its instruction: %s\n", t.Answer.Instruction)
	}
	if g := t.Generate.Instruction; g != "" && g != t.Answer.Instruction {
		fmt.Fprintf(&b, "How examples are written: %s\n", g)
	}
	fmt.Fprintf(&b, "An example is laid out like this:\n%s\n", t.Answer.Template)
	if len(t.Labels) > 0 {
		fmt.Fprintf(&b, "The output is one of: %s\n", strings.Join(t.Labels, ", "))
	}
	return b.String()
}

const (
	varied   = "Make them as different from each other as what different people really write: in content, in length, in style."
	textForm = "Reply with one JSON object a line and nothing else, each with one key: {\"input\": \"the text\"}"
	pairForm = "Reply with one JSON object a line and nothing else, each with two keys: {\"input\": \"the text\", \"output\": \"what is to be answered\"}"
)

// words estimates the number of words of so many tokens.
func words(tokens int) int { return max(3, tokens*3/4) }

// length limits the length of texts.
func (r *replyReader) length() string {
	if r.task.Kind == prompt.Generate {
		return fmt.Sprintf("An input has at most %d words, an output at most %d.", words(r.task.Limits.InputTokens), words(r.task.Limits.AnswerTokens))
	}
	return fmt.Sprintf("A text has at most %d words.", words(r.task.Limits.MaxTokens))
}

// missing asks for what n examples lack.
func (r *replyReader) missing(n int) []request {
	switch {
	case r.task.Kind == prompt.Classify || len(r.task.Labels) > 0:
		return r.forLabels(n)
	case r.task.Kind == prompt.Extract && len(r.conditions) > 0:
		return r.forPhrases(n)
	case r.task.Kind == prompt.Generate && len(r.conditions) > 0:
		inputs := r.forInputs(n)
		return append(inputs, r.pairs(n-len(r.list)-len(inputs))...)
	}
	return r.pairs(n - len(r.list))
}

// lacking shares n examples out evenly over the conditions, at least so many to each, and
// yields how many each of them lacks.
func (r *replyReader) lacking(n, minimum int) iter.Seq2[string, int] {
	have := map[string]int{}
	for _, e := range r.list {
		have[e.Output]++
	}
	return func(yield func(string, int) bool) {
		for i, c := range r.conditions {
			want := n / len(r.conditions)
			if i < n%len(r.conditions) {
				want++
			}
			if !yield(c, max(minimum, want)-have[c]) {
				return
			}
		}
	}
}

// forLabels asks for texts of each label.
func (r *replyReader) forLabels(n int) []request {
	var out []request
	for l, want := range r.lacking(n, 1) {
		for ; want > 0; want -= textsAtOnce {
			q := request{want: min(want, textsAtOnce), tokens: r.task.Limits.MaxTokens, output: l}
			q.text = fmt.Sprintf("%sWrite %d texts whose output is %q, and could be no other. %s %s\n%s", r.about(), q.want, l, varied, r.length(), textForm)
			out = append(out, q)
		}
	}
	return out
}

// forPhrases asks for texts that have given phrases in them.
func (r *replyReader) forPhrases(n int) []request {
	var wanted []string
	for c, times := range r.lacking(n, 0) {
		for range times {
			wanted = append(wanted, c)
		}
	}
	var out []request
	for some := range slices.Chunk(wanted, textsAtOnce) {
		q := request{want: len(some), tokens: r.task.Limits.MaxTokens + r.task.Limits.AnswerTokens, among: r.conditions}
		q.text = fmt.Sprintf("%sWrite one text for each of these outputs, which occurs in the text word for word: %s. %s %s\n%s", r.about(), strings.Join(some, "; "), varied, r.length(), pairForm)
		out = append(out, q)
	}
	return out
}

// forInputs asks for the outputs of given inputs.
func (r *replyReader) forInputs(n int) []request {
	var out []request
	for _, c := range r.conditions[:min(n, len(r.conditions))] {
		if r.seen[key(prompt.Example{Input: r.whole(c)})] {
			continue
		}
		q := request{want: 1, tokens: r.task.Limits.AnswerTokens, input: c}
		q.text = fmt.Sprintf("%sReply with the output alone, at most %d words, on one line.\n%s", r.task.AnswerPrefix(), words(q.tokens), r.task.AnswerItem(c))
		out = append(out, q)
	}
	return out
}

// pairs asks for examples that the model makes up altogether.
func (r *replyReader) pairs(n int) []request {
	var out []request
	for ; n > 0; n -= pairsAtOnce {
		q := request{want: min(n, pairsAtOnce), tokens: r.task.Limits.MaxTokens + r.task.Limits.AnswerTokens}
		shown, rule := "", ""
		switch {
		case r.task.Kind == prompt.Extract:
			rule = " The output is a phrase that occurs in the input word for word."
		case len(r.conditions) > 0:
			shown = "This is what an input looks like:\n" + r.conditions[0] + "\n"
		}
		if r.task.Kind == prompt.Generate {
			q.tokens = r.task.Limits.InputTokens + r.task.Limits.AnswerTokens
		}
		q.text = fmt.Sprintf("%s%sWrite %d examples, inputs with their outputs.%s %s %s\n%s", r.about(), shown, q.want, rule, varied, r.length(), pairForm)
		out = append(out, q)
	}
	return out
}

// like asks for examples like those that are shown.
func (r *replyReader) like(shown []prompt.Example, n int) request {
	q := request{want: n, tokens: r.task.Limits.MaxTokens}
	form, what := textForm, fmt.Sprintf("Write %d other texts like these, with the same output", n)
	if r.task.Kind != prompt.Generate && len(r.task.Labels) > 0 {
		q.output = shown[0].Output
	} else {
		q.tokens += r.task.Limits.AnswerTokens
		form, what = pairForm, fmt.Sprintf("Write %d other examples like these", n)
	}
	if r.task.Kind == prompt.Generate {
		q.tokens = r.task.Limits.InputTokens + r.task.Limits.AnswerTokens
	}
	if r.task.Kind == prompt.Extract && q.output == "" {
		what += "; the output is a phrase that occurs in the input word for word"
	}
	var b strings.Builder
	for _, e := range shown {
		b.WriteString(strings.TrimSpace(r.task.AnswerDemo(e.Input, e.Output)) + "\n\n")
	}
	q.text = fmt.Sprintf("%sThese examples work well:\n\n%s%s. %s %s\n%s", r.about(), b.String(), what, varied, r.length(), form)
	return q
}
