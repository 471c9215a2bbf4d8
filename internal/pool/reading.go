package pool

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/prompt"
)

// replyReader turns replies into examples.
type replyReader struct {
	task prompt.Task
	// conditions are labels, phrases or inputs that are given.
	conditions []string
	fields     prompt.Fields
	// named is a field's name at the beginning of a text.
	named *regexp.Regexp

	list  []prompt.Example
	texts []string // instructions, where those are asked for
	seen  map[string]bool
	tally Tally
	err   error // of the last requests that failed
}

func (a *Author) reading() *replyReader {
	t := a.Task.WithDefaults()
	r := &replyReader{task: t, conditions: a.Conditions, fields: t.Fields(), seen: map[string]bool{}}
	switch {
	case len(t.Labels) > 0:
		r.conditions = t.Labels
	case len(r.conditions) == 0:
		r.conditions = t.Conditions
	}
	var names []string
	for _, n := range []string{t.Answer.Input, t.Answer.Output, t.Generate.Text, t.Generate.Condition, "input", "output", "text"} {
		names = append(names, regexp.QuoteMeta(n))
	}
	r.named = regexp.MustCompile(`^(?i)[*_\[("']*(?:` + strings.Join(names, "|") + `)[*_\])"']*\s*:[*_]*\s*`)
	return r
}

// key identifies equal examples.
func key(e prompt.Example) string {
	return strings.ToLower(strings.Join(strings.Fields(e.Input), " "))
}

// read keeps the usable part of a reply.
func (r *replyReader) read(q request, reply string) {
	if q.wordings {
		for _, text := range textsOf(reply) {
			r.addWording(text)
		}
		return
	}
	taken := 0
	for _, e := range r.candidates(q, reply) {
		if taken == 2*q.want { // far more than was asked for
			return
		}
		taken++
		e, ok := r.usable(q, e)
		switch {
		case !ok:
			r.tally.Malformed++
		case r.seen[key(e)]:
			r.tally.Duplicates++
		default:
			r.seen[key(e)] = true
			r.tally.Usable++
			r.list = append(r.list, e)
		}
	}
	if taken == 0 {
		r.tally.Malformed++
	}
}

// candidates parses the examples of a reply.
func (r *replyReader) candidates(q request, reply string) (out []prompt.Example) {
	switch {
	case q.input != "":
		text := reply
		if o := objects(reply); len(o) == 1 {
			text = pick(o[0], "output", r.task.Answer.Output)
		}
		return []prompt.Example{{Input: q.input, Output: text}}
	case q.output != "":
		for _, o := range objects(reply) {
			if said := under(o, "output", r.task.Answer.Output, r.task.Generate.Condition, "label"); said == "" || strings.EqualFold(said, q.output) {
				out = append(out, prompt.Example{Input: pick(o, "input", r.task.Answer.Input, r.task.Generate.Text, "text"), Output: q.output})
			} else {
				out = append(out, prompt.Example{}) // it is for another label
			}
		}
		if len(out) > 0 {
			return out
		}
		for _, text := range textsOf(reply) {
			out = append(out, prompt.Example{Input: text, Output: q.output})
		}
		return out
	}
	for _, o := range objects(reply) {
		out = append(out, prompt.Example{
			Input:  pick(o, "input", r.task.Answer.Input, r.task.Generate.Text, "text"),
			Output: pick(o, "output", r.task.Answer.Output, r.task.Generate.Condition, "phrase", "label"),
		})
	}
	if len(out) == 0 {
		out = r.blocks(reply)
	}
	return out
}

// usable cleans an example, and returns false for one that no prompt should have.
func (r *replyReader) usable(q request, e prompt.Example) (prompt.Example, bool) {
	t, l := r.task, r.task.Limits
	var ok bool
	if t.Kind == prompt.Generate {
		if q.input == "" {
			if e.Input, ok = r.clean(e.Input, 0); !ok || utf8.RuneCountInString(e.Input) > 8*l.InputTokens {
				return e, false
			}
		}
		if e.Output, ok = r.clean(e.Output, l.AnswerTokens); !ok || strings.EqualFold(e.Input, e.Output) {
			return e, false
		}
		return e, prompt.Prompt{Examples: []prompt.Example{e}}.Check(t) == nil
	}
	if e.Input, ok = r.clean(e.Input, l.MaxTokens); !ok {
		return e, false
	}
	if q.output == "" {
		if e.Output, ok = r.clean(e.Output, 0); !ok || utf8.RuneCountInString(e.Output) > 8*l.AnswerTokens {
			return e, false
		}
	}
	if t.Kind == prompt.Extract && len(t.Labels) == 0 {
		if e.Output = phrase(e, q.among); e.Output == "" {
			return e, false
		}
	}
	if strings.EqualFold(e.Input, e.Output) || slices.ContainsFunc(t.Labels, func(l string) bool { return strings.EqualFold(l, e.Input) }) {
		return e, false
	}
	return e, prompt.Prompt{Examples: []prompt.Example{e}}.Check(t) == nil
}

// phrase returns an example's output as its text has it, in words of its own, in capitals
// or not; or as it was given. It is "" if the text lacks it, or it is none of those that
// were.
func phrase(e prompt.Example, among []string) string {
	found := regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(` + regexp.QuoteMeta(e.Output) + `)(?:$|[^\pL\pN])`).FindStringSubmatch(e.Input)
	if found == nil {
		return ""
	}
	if len(among) == 0 {
		return found[1]
	}
	i := slices.IndexFunc(among, func(c string) bool { return strings.EqualFold(c, e.Output) })
	if i < 0 {
		return ""
	}
	return among[i]
}

// enough returns an error if something essential is missing.
func (r *replyReader) enough(n int) error {
	if len(r.task.Labels) > 0 || r.task.Kind == prompt.Classify {
		for _, l := range r.conditions {
			if !slices.ContainsFunc(r.list, func(e prompt.Example) bool { return e.Output == l }) {
				return lacking("none came for the label %q", l)
			}
		}
	}
	if minimum := min(n, r.task.Limits.Shots); len(r.list) < minimum {
		return lacking("%d came, fewer than the %d that a prompt has", len(r.list), minimum)
	}
	return nil
}

// whole returns a text as examples have it: lines of an input of a generation task are
// kept.
func (r *replyReader) whole(text string) string {
	if r.task.Kind == prompt.Generate {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// clean removes what does not belong to a text, and returns false if something forbidden is
// left. A text that is longer than some tokens ends with a sentence before that.
func (r *replyReader) clean(text string, tokens int) (string, bool) {
	text = unquoted(r.named.ReplaceAllString(unquoted(strings.TrimSpace(text)), ""))
	if tokens > 0 {
		if r.task.OneLine() {
			text = strings.Join(strings.Fields(text), " ")
		}
		text, _ = r.task.Cut(text)
		text = shorten(text, 6*tokens)
	}
	text = r.whole(text)
	if _, found := r.fields.Cut(text); found {
		return "", false
	}
	odd := strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' || c == utf8.RuneError })
	if r.echoes(text) {
		return "", false
	}
	content := strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
	return text, !odd && content && !strings.Contains(text, `{"`) && !strings.Contains(text, "```")
}

// placeholder is a field of a layout that a model did not fill in.
var placeholder = regexp.MustCompile(`\{(?:input|output|text|label|condition)\}`)

// forms are words of the requested format, which models repeat.
var forms = []string{"the text", "what is to be answered", "the other wording"}

// echoes reports whether a text is part of the request.
func (r *replyReader) echoes(text string) bool {
	for _, asked := range []string{r.task.Answer.Instruction, r.task.Generate.Instruction, "one JSON object a line"} {
		if asked != "" && strings.Contains(text, asked) {
			return true
		}
	}
	return placeholder.MatchString(text) || slices.Contains(forms, strings.Trim(strings.ToLower(text), "()<>[]{}. "))
}

// unquoted takes off quotation marks around a text.
func unquoted(s string) string {
	for _, marks := range [][2]string{{`"`, `"`}, {"“", "”"}, {"«", "»"}, {"„", "“"}, {"'", "'"}, {"**", "**"}} {
		inner, first := strings.CutPrefix(s, marks[0])
		inner, last := strings.CutSuffix(inner, marks[1])
		if first && last && !strings.Contains(inner, marks[0]) {
			return strings.TrimSpace(inner)
		}
	}
	return s
}

// shorten ends a text that is longer than so many characters with a sentence before that;
// "" if there is none in its later two thirds.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	cut := string([]rune(text)[:limit])
	end := strings.LastIndexAny(cut, ".!?。！？")
	if end < len(cut)/3 {
		return ""
	}
	_, size := utf8.DecodeRuneInString(cut[end:])
	return cut[:end+size]
}
