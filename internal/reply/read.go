package reply

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Read returns the answer in what a model wrote as its turn: without white space around it, without
// the name that a question ends with ("Answer:"), up to an end of the task's texts. Of a closed list it
// is the label that this begins with, as a word and in any case, and "" if it begins with none.
func Read(t prompt.Task, written string) string { return newReader(t).read(written) }

// Listed reports whether answers are of a closed list.
func Listed(t prompt.Task) bool { return t.Kind != prompt.Generate && !t.Open() }

// Match returns the label that a text begins with as a word, in any case: the longest, or "" if
// there is none. Aliases count.
func Match(t prompt.Task, text string) string { return newReader(t).match(text) }

// Limit is how many tokens of an answer are of interest: as many as the task allows, and enough for
// the longest label. Without a tokenizer a token is taken to be as short as it can be, a byte.
func Limit(ctx context.Context, tok lm.Tokenizer, t prompt.Task) (int, error) {
	t = t.WithDefaults()
	limit := t.Limits.AnswerTokens
	if !Listed(t) {
		return limit, nil
	}
	for _, s := range spellings(t) {
		length := len(s.text)
		if tok != nil {
			length = 0
			for _, lead := range []string{"", " "} { // a turn begins without a space, a line with one
				tokens, err := tok.Encode(ctx, lead+s.text)
				if err != nil {
					return 0, err
				}
				length = max(length, len(tokens))
			}
		}
		limit = max(limit, length+1) // one more shows that the label has ended
	}
	return limit, nil
}

// spelling is a label or an alias, with its label.
type spelling struct{ text, label string }

// spellings are the labels and their aliases, in the order of the list.
func spellings(t prompt.Task) []spelling {
	var out []spelling
	for _, l := range t.Labels {
		if label, ok := t.ResolveLabel(l); ok && l != "" {
			out = append(out, spelling{l, label})
		}
	}
	labels := len(out)
	for from := range t.Aliases {
		if label, ok := t.ResolveLabel(from); ok && from != "" && !slices.Contains(t.Labels, from) {
			out = append(out, spelling{from, label})
		}
	}
	slices.SortFunc(out[labels:], func(a, b spelling) int { return strings.Compare(a.text, b.text) })
	return out
}

// reader reads the answers of a task.
type reader struct {
	task      prompt.Task
	name      string
	spellings []spelling // of a closed list
}

func newReader(t prompt.Task) *reader {
	r := &reader{task: t.WithDefaults(), name: Name(t)}
	if Listed(t) {
		r.spellings = spellings(t)
	}
	return r
}

// Name is the name that a question ends with, "Answer:", which models write once more before the
// answer; "" if the layout has none.
func Name(t prompt.Task) string {
	const input = "\U000F0000" // no layout has it
	item := t.AnswerItem(input)
	item = item[strings.LastIndex(item, input)+len(input):]
	name := strings.TrimSpace(item[strings.LastIndexByte(item, '\n')+1:])
	if !strings.HasSuffix(name, ":") {
		return ""
	}
	return name
}

func (r *reader) read(written string) string { return r.value(r.bare(written)) }

// value is the answer in a text without anything in front of it.
func (r *reader) value(text string) string {
	text, _ = r.task.Cut(text)
	if r.spellings != nil {
		return r.match(text)
	}
	return text
}

// bare is what a model wrote without white space and the answer's name in front.
func (r *reader) bare(written string) string {
	text := strings.TrimLeftFunc(written, unicode.IsSpace)
	if rest, ok := cutFold(text, r.name); ok {
		text = strings.TrimLeftFunc(rest, unicode.IsSpace)
	}
	return text
}

func (r *reader) match(text string) string {
	var found spelling
	longest, exact := 0, false
	for _, s := range r.spellings {
		rest, ok := cutFold(text, s.text)
		if next, _ := utf8.DecodeRuneInString(rest); !ok || unicode.IsLetter(next) || unicode.IsDigit(next) {
			continue
		}
		// Of spellings that differ in case alone, one that is written so comes first, then the
		// first of the list.
		length, same := len(text)-len(rest), strings.HasPrefix(text, s.text)
		if length > longest || length == longest && same && !exact {
			found, longest, exact = s, length, same
		}
	}
	return found.label
}

// naming reports whether what is written may become the answer's name, which is not part of the
// answer.
func (r *reader) naming(written string) bool {
	return r.name != "" && open(r.name, complete(strings.TrimLeftFunc(written, unicode.IsSpace)))
}

// settled reports whether nothing that a model continues to write changes what is read.
func (r *reader) settled(written string) bool {
	if r.naming(written) {
		return false
	}
	text, now := complete(r.bare(written)), r.read(written)
	for _, end := range r.ending(text) {
		if r.value(text[:end]) != now {
			return false
		}
	}
	if _, stopped := r.task.Cut(text); stopped {
		return true
	}
	return r.spellings != nil && !slices.ContainsFunc(r.spellings, func(s spelling) bool { return open(s.text, text) })
}

// ending returns where a text would end if what it has at its end became one of the task's ends.
func (r *reader) ending(text string) (at []int) {
	for _, stop := range r.task.Stop {
		for n := 1; n < len(stop); n++ {
			if strings.HasSuffix(text, stop[:n]) {
				at = append(at, len(text)-n)
			}
		}
	}
	return at
}

// canBecome reports whether an answer whose end may still have to be written is, or becomes, the one
// that is wanted.
func (r *reader) canBecome(want, begun string) bool {
	if text, stopped := r.task.Cut(begun); stopped && Same(want, text) || !stopped && canBecome(want, begun) {
		return true
	}
	return slices.ContainsFunc(r.ending(begun), func(end int) bool { return Same(want, begun[:end]) })
}

// open reports whether it depends on what follows whether a text begins with a spelling.
func open(spelling, text string) bool {
	_, ok := cutFold(spelling, text)
	return ok
}

// cutFold cuts a beginning off, whatever the case of its letters.
func cutFold(s, beginning string) (string, bool) {
	rest := s
	for _, want := range beginning {
		r, size := utf8.DecodeRuneInString(rest)
		if size == 0 || r == utf8.RuneError && size == 1 || r != want && !strings.EqualFold(string(r), string(want)) {
			return s, false
		}
		rest = rest[size:]
	}
	return rest, true
}
