package reply

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Read returns the answer in what a model wrote as its turn: without white space around it, without
// the name that a question ends with ("Answer:"), up to an end of the task's texts. Of a closed list it
// is the label that this begins with, as a word and in any case, and "" if it begins with none.
func Read(t prompt.Task, written string) string {
	text, _ := t.Cut(bare(t, written))
	if Listed(t) {
		return Match(t, text)
	}
	return text
}

// Listed reports whether answers are of a closed list.
func Listed(t prompt.Task) bool { return t.Kind != prompt.Generate && !t.Open() }

// bare is what a model wrote without white space and the answer's name in front.
func bare(t prompt.Task, written string) string {
	text := strings.TrimLeftFunc(written, unicode.IsSpace)
	if rest, ok := cutFold(text, answerName(t)); ok {
		text = strings.TrimLeftFunc(rest, unicode.IsSpace)
	}
	return text
}

func answerName(t prompt.Task) string { return t.Answer.Output + ":" }

// Limit is how many tokens of an answer are of interest: as many as the task allows, and enough for
// the longest label.
func Limit(ctx context.Context, tok lm.Tokenizer, t prompt.Task) (int, error) {
	limit := t.Limits.AnswerTokens
	if tok == nil || !Listed(t) {
		return limit, nil
	}
	for _, label := range t.Labels {
		tokens, err := tok.Encode(ctx, " "+label)
		if err != nil {
			return 0, err
		}
		limit = max(limit, len(tokens)+1) // one more shows that the label has ended
	}
	return limit, nil
}

// Match returns the label that a text is, or begins with as a word, in any case: the
// longest, or "" if there is none. Aliases count.
func Match(t prompt.Task, text string) string {
	if label, ok := t.ResolveLabel(text); ok {
		return label
	}
	best, found := "", ""
	for spelling, label := range spellings(t) {
		rest, ok := cutFold(text, spelling)
		if next, _ := utf8.DecodeRuneInString(rest); !ok || unicode.IsLetter(next) || unicode.IsDigit(next) {
			continue
		}
		// Of spellings that differ in case alone, the order of the list decides.
		if len(spelling) > len(best) || len(spelling) == len(best) && before(t.Labels, label, found) {
			best, found = spelling, label
		}
	}
	return found
}

// spellings are the labels and their aliases, each with its label.
func spellings(t prompt.Task) map[string]string {
	out := map[string]string{}
	for from := range t.Aliases {
		if label, ok := t.ResolveLabel(from); ok {
			out[from] = label
		}
	}
	for _, l := range t.Labels {
		out[l] = l
	}
	return out
}

// settled reports whether nothing that a model goes on to write changes what is read.
func settled(t prompt.Task, written string) bool {
	text := bare(t, written)
	if cut, stopped := t.Cut(text); stopped && cut != "" {
		return true
	}
	text = complete(text)
	if !Listed(t) || open(answerName(t), text) {
		return false
	}
	for spelling := range spellings(t) {
		if open(spelling, text) {
			return false
		}
	}
	return true
}

// open reports whether it depends on what follows whether a text begins with a spelling.
func open(spelling, text string) bool {
	return len(text) <= len(spelling) && strings.EqualFold(spelling[:len(text)], text)
}

func before(list []string, a, b string) bool {
	for _, l := range list {
		if l == a || l == b {
			return l == a
		}
	}
	return false
}

// cutFold cuts a beginning off, whatever its case.
func cutFold(s, beginning string) (string, bool) {
	if len(s) < len(beginning) || !strings.EqualFold(s[:len(beginning)], beginning) {
		return s, false
	}
	return s[len(beginning):], true
}
