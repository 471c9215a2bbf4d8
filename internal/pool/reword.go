package pool

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/prompt"
)

// Rewordings returns the instruction by which questions are answered said in n other ways.
// Fewer may come, or none: what lost a label is no wording of it.
func (a *Author) Rewordings(ctx context.Context, n int) ([]string, Tally, error) {
	r := a.reading()
	own := r.task.Answer.Instruction
	if n < 1 || own == "" {
		return nil, r.tally, nil
	}
	r.seen[wordingKey(own)] = true
	err := a.gather(ctx, r, func() []request {
		want := n - len(r.texts)
		if want < 1 {
			return nil
		}
		const tokens = 4 // bytes of a token, at least about
		return []request{{
			wordings: true, want: want, tokens: len(own)/tokens + 16,
			text: fmt.Sprintf("Here is the instruction of a task:\n%q\nWrite it in %d other ways, with the same meaning, each as clear as it can be.%s\nReply with %d lines and nothing else, a JSON object each: {\"instruction\": \"the other wording\"}", own, want, r.keep(), want),
		}}
	})
	if err != nil {
		return nil, r.tally, a.failed(err, r)
	}
	return r.texts[:min(n, len(r.texts))], r.tally, nil
}

// kept returns the labels that an instruction has, and another wording of it needs.
func (r *replyReader) kept() (out []string) {
	own := r.task.Answer.Instruction
	for _, l := range r.task.Labels {
		if strings.Contains(own, l) {
			out = append(out, l)
		}
	}
	return out
}

func (r *replyReader) keep() string {
	if kept := r.kept(); len(kept) > 0 {
		return " Each has all of these words in it: " + strings.Join(kept, ", ") + "."
	}
	return ""
}

func wordingKey(s string) string {
	return strings.Trim(key(prompt.Example{Input: s}), ". ")
}

// addWording takes another wording that keeps what it should.
func (r *replyReader) addWording(text string) {
	own := r.task.Answer.Instruction
	text, ok := r.cleanWording(text)
	long := utf8.RuneCountInString(own)
	size := utf8.RuneCountInString(text)
	for _, k := range r.kept() {
		if !strings.Contains(text, k) { // models write labels small
			text = regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(k)+`\b`).ReplaceAllLiteralString(text, k)
		}
		ok = ok && strings.Contains(text, k)
	}
	switch {
	case !ok || size < max(8, long/5) || size > 3*long+120 || strings.ContainsAny(text, "{}"):
		r.tally.Malformed++
	case r.seen[wordingKey(text)]:
		r.tally.Duplicates++
	default:
		r.seen[wordingKey(text)] = true
		r.tally.Usable++
		r.texts = append(r.texts, text)
	}
}

var called = regexp.MustCompile(`^(?i)[*_"']*instruction[*_"']*\s*:[*_]*\s*`)

// cleanWording makes one line of a wording.
func (r *replyReader) cleanWording(text string) (string, bool) {
	text = strings.Join(strings.Fields(text), " ")
	text, ok := r.clean(called.ReplaceAllString(text, ""), 0)
	return strings.Join(strings.Fields(text), " "), ok
}
