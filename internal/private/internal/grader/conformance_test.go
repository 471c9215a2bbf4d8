package grader_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// What is judged must be what is used: in every form, for every kind of task and with every
// vocabulary, a grade is the score that eval gives to the answer of package icl.

// trial is a kind of task, with answers that a model may write and what records may hold.
type trial struct {
	task    prompt.Task
	utility grader.Utility
	prompt  prompt.Prompt
	// question lays out that with a number.
	question string
	// written are answers, and wanted what records hold, some of it unknown to the task.
	written, wanted []string
}

func trials(t *testing.T) map[string]trial {
	t.Helper()
	list := prompt.Task{Name: "arts", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"Art", "Artist", "Art deco", "World", "Science fiction"}}
	list.Aliases = map[string]string{"Sci-Fi": "Science fiction", "Global news": "World"}
	list.Answer = prompt.AnswerLayout{Instruction: "What is it about?", Input: "Text", Output: "Answer"}
	row := prompt.Task{Name: "rows", Kind: prompt.Classify, Text: "row", Label: "rich", Labels: []string{"Yes", "No"}}
	row.Answer = prompt.AnswerLayout{Instruction: "Does the person earn more than 50,000?", Input: "Row", Output: "Rich"}
	phrase := builtin(t, "mit-g")
	ends := builtin(t, "mit-g")
	ends.Stop = []string{"###", ". ", "\n\n"}
	open := prompt.Task{Name: "open", Kind: prompt.Classify, Text: "text", Label: "label"}
	open.Answer = prompt.AnswerLayout{Instruction: "Name the kind.", Input: "Text", Output: "Kind"}
	text := builtin(t, "samsum")
	films := []prompt.Example{{Input: "a silly\n musical", Output: "musical"}, {Input: "films noir", Output: "noir"}}
	phrases := []string{"war", "wart", "War", "science fiction", "Science  Fiction", "science", "sci-fi", `"war"`, "war.", "the war film", "größe", "日本", "🎬 war", "Genre: war", "genre:\nwar"}
	all := map[string]trial{
		"labels": {
			list, grader.Hard,
			prompt.Prompt{Examples: []prompt.Example{{Input: "A painting", Output: "Art"}, {Input: "A war", Output: "World"}}},
			"text number %d ?",
			[]string{"Art", "Artist", "Art deco", "World", "Science fiction", "art", "ARTIST", "Arts", "Art decoration", "sci-fi", "global news", "Answer: World", "answer:\n\nArt", "the World", `"World"`, "World2", "World.", "Artístico", "Science  fiction", ""},
			[]string{"Art", "Artist", "Art deco", "World", "Science fiction", "Sci-Fi", "Weather"},
		},
		"rows": {
			row, grader.Hard,
			prompt.Prompt{Examples: []prompt.Example{{Input: "age: 39; job: clerk", Output: "No"}}},
			"age: 40; job: \"number %d \"; hours: 40",
			[]string{"Yes", "No", "yes", "NO", "Yes, more", "No.", "Nobody", "Rich: No", "50,000", ""},
			[]string{"Yes", "No", "no"},
		},
		"phrases": {phrase, grader.Hard, prompt.Prompt{Examples: films}, "which film is number %d ?", phrases, phrases},
		"phrases with long ends": {
			ends, grader.Hard,
			prompt.Prompt{Examples: films, Instruction: "Name the genre."},
			"which film is number %d ?",
			append([]string{"war ###", "war#", "war. And", "war\n\n", "war\nfilm"}, phrases...), phrases,
		},
		"open labels": {open, grader.Hard, prompt.Prompt{}, "what is number %d ?", phrases, phrases},
		"texts": {
			text, grader.Rouge,
			prompt.Prompt{Examples: []prompt.Example{{Input: "A: Hi\nB: Hello", Output: "They greet."}}},
			"A: I am number %d \nB: Hello",
			[]string{"They greet.", "A greets B.", "A and B say hello to each other", "Summarize the above dialogue: They greet.", "日本", ""},
			[]string{"They greet.", "A says hello to B", "Nothing of that"},
		},
	}
	for name, c := range all {
		c.task = c.task.WithDefaults()
		if c.utility == grader.Hard {
			c.task.Limits.AnswerTokens = 12
		}
		all[name] = c
	}
	return all
}

// endings are what a model may write after an answer, with the end of the answer or without.
var endings = []string{"\n", "\n\n", "\n\n\nText: more", ".\n", " \n", " film\nText: war", "\r\n", "<end>", "", " and so on and so on", "\t", "ly", "!", "### more", "#", ". "}

// script is what a model writes after a question, in tokens that need not be the vocabulary's
// own for the text.
type script []lm.Token

// scripts has each answer with each ending, after white space or none, as one text, in parts, and
// letter by letter. Of all of them it takes every so many.
func scripts(t *testing.T, v lm.Tokenizer, answers []string, every int) (all []script) {
	t.Helper()
	encode := func(parts ...string) (tokens script) {
		for _, part := range parts {
			if part == "<end>" {
				tokens = append(tokens, v.Ends()[0])
				continue
			}
			more, err := v.Encode(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, more...)
		}
		return tokens
	}
	n := 0
	for _, answer := range answers {
		for _, ending := range endings {
			for _, lead := range []string{" ", "", "  ", "\n", "\n\n", "\t "} {
				for way := range 3 {
					if n++; n%every != 0 {
						continue
					}
					switch text := lead + answer; {
					case way == 0:
						all = append(all, encode(text, ending))
					case way == 1 && ending != "<end>":
						all = append(all, encode(text+ending))
					case way == 2: // bytes of one character may be several tokens
						all = append(all, encode(append(strings.Split(text, ""), ending)...))
					}
				}
			}
		}
	}
	return all
}

// follows is a model that writes a script after the question that names it, and then ends.
func follows(t *testing.T, v vocabulary, all []script) *gradertest.Toy {
	t.Helper()
	end := v.Ends()[0]
	m := &gradertest.Toy{Vocabulary: v.Tokenizer, Template: v.chat, Score: score}
	m.Can = lm.Capabilities{Top: true, Generate: true, SharedPrefix: true}
	m.Writes = func(tokens []lm.Token) lm.Token {
		whole, err := v.Decode(context.Background(), tokens)
		if err != nil {
			t.Error(err)
			return end
		}
		var n int
		at := strings.LastIndex(whole, "number ")
		if _, err := fmt.Sscanf(whole[max(at, 0):], "number %d", &n); err != nil || n >= len(all) {
			return end // a question without content
		}
		if before := whole[:at]; strings.Contains(before, "sample") { // which examples it gets decides as well
			h := fnv.New32a()
			h.Write([]byte(before))
			n = (n + int(h.Sum32()%uint32(len(all)))) % len(all)
		}
		// The tokens after the question are those of the script so far.
		for k := min(len(all[n]), len(tokens)); k >= 0; k-- {
			if slices.Equal(tokens[len(tokens)-k:], all[n][:k]) {
				return append(slices.Clone(all[n]), end)[k]
			}
		}
		return end
	}
	return m
}

// score makes some of all labels the best.
func score(tokens []lm.Token, next lm.Token) float64 {
	h := fnv.New64a()
	for _, t := range append(slices.Clone(tokens), next) {
		_ = binary.Write(h, binary.LittleEndian, int64(t))
	}
	return float64(h.Sum64()%1000) / 100
}

// TestPlainGradesInVocabularies: whatever a model writes, in whatever form, tokens and with whatever
// end, a grade is the score of the answer that package icl gives, whether that shares beginnings or
// has the model write by itself.
func TestPlainGradesInVocabularies(t *testing.T) {
	every := 11
	if len(moreModels()) > 0 {
		every = 1
	}
	for name, v := range vocabularies(t) {
		for kind, c := range trials(t) {
			for _, form := range prompt.Forms() {
				if form.Turns() && v.chat == nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, kind, form), func(t *testing.T) { conforms(t, v, c, form, every) })
			}
		}
	}
}

// ways are a prompt, one of whose examples questions get the nearest, and the same prompt with its answers read in the
// other ways that there are: calibrated, and with evidence.
func ways(c trial, form prompt.Form) []prompt.Prompt {
	prompts := []prompt.Prompt{c.prompt, samples(c, 3)}
	if len(c.task.Labels) == 0 {
		return prompts
	}
	add := func(calibrated bool, use prompt.Use) {
		p := c.prompt
		p.Calibrated, p.Evidence = calibrated, use
		prompts = append(prompts, p)
	}
	add(false, prompt.Use{How: prompt.Hinted, Wording: 1})
	if form == prompt.TextForm {
		add(true, prompt.Use{})
		add(true, prompt.Use{How: prompt.Hinted})
		add(false, prompt.Use{How: prompt.Combined, Weight: 3})
		add(true, prompt.Use{How: prompt.Combined, Weight: 0.5})
	}
	return append(prompts, prompt.Prompt{Form: form, Evidence: prompt.Use{How: prompt.Alone}})
}

// samples is a prompt of whose examples questions get the nearest.
func samples(c trial, near int) prompt.Prompt {
	p := c.prompt
	p.Examples = nil
	for i := range 12 {
		if label, known := c.task.ResolveLabel(c.wanted[i%len(c.wanted)]); known {
			p.Examples = append(p.Examples, prompt.Example{Input: fmt.Sprint("sample ", i), Output: label})
		}
	}
	p.Nearest = prompt.Nearest{Examples: near, Encoder: (&gradertest.Encoder{}).Name()}
	return p
}

func conforms(t *testing.T, v vocabulary, c trial, form prompt.Form, every int) {
	all := scripts(t, v, c.written, every)
	toy := follows(t, v, all)
	model, err := lm.Trust(toy, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	c.prompt.Form = form
	prompts := ways(c, form)
	var inputs []string
	for n := range all {
		inputs = append(inputs, fmt.Sprintf(c.question, n))
	}
	// Each question once with what is often its answer, and once with any.
	var items []item
	for n, input := range inputs {
		items = append(items, item{input, c.wanted[n*len(c.written)/len(inputs)%len(c.wanted)]}, item{input, c.wanted[n%len(c.wanted)]})
	}
	records := slices.Clone(items)
	if c.task.Kind == prompt.Generate { // a record's text is its output
		for i, x := range items {
			records[i] = item{x.answer, x.question}
		}
	}
	grades := judged(t, model, c.task, c.utility, prompts, records)
	by, err := metric.New(metric.Of(c.task)[0], metric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ones := 0
	for i, p := range prompts {
		for _, shares := range []bool{true, false} {
			toy.Can.SharedPrefix = shares
			answers := answered(t, model.Public(), c.task, p, inputs)
			for k, x := range items {
				want, known := c.task.ResolveLabel(x.answer)
				scores, err := by.Score(t.Context(), []metric.Pair{{Want: want, Got: answers[k/2]}})
				if err != nil {
					t.Fatal(err)
				}
				if !known { // a record that no item can be
					scores[0] = 0
				}
				g := float64(grades[i][k]) / grader.One
				if math.Abs(g-scores[0]) > 1.0/grader.One || c.utility == grader.Hard && g != scores[0] {
					t.Fatalf("%q is answered with %q, should be %q: its score is %v, and the grade %v (shares %v, calibrated %v, evidence %+v)", x.question, answers[k/2], x.answer, scores[0], g, shares, p.Calibrated, p.Evidence)
				}
				if g > 0.99 {
					ones++
				}
			}
		}
	}
	of := len(items) * len(prompts) * 2
	expect.Min(t, "len(items)", len(items), 100)
	expect.Min(t, "ones", ones, of/30)
	expect.Max(t, "ones", ones, of*19/20)
}

// answered has package icl answer with a prompt.
func answered(t *testing.T, m lm.Model, task prompt.Task, p prompt.Prompt, inputs []string) []string {
	t.Helper()
	if len(task.Labels) == 0 {
		return answeredBy(t, nil, m, task, p, inputs)
	}
	encoder := &gradertest.Encoder{}
	reader, err := evidence.Open(encoder.Evidence(task.Labels), encoder)
	if err != nil {
		t.Fatal(err)
	}
	return answeredBy(t, reader, m, task, p, inputs)
}

// answeredBy does so with evidence.
func answeredBy(t *testing.T, reader *evidence.Reader, m lm.Model, task prompt.Task, p prompt.Prompt, inputs []string) []string {
	t.Helper()
	a, err := icl.Open(t.Context(), m, p.For(task), p.Examples, icl.Options{Form: p.Form, Calibrate: p.Calibrated, Use: p.Evidence, Evidence: reader, Nearest: p.Nearest, Encoder: &gradertest.Encoder{}})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := a.Answer(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return answers
}
