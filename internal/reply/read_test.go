package reply

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// listed is a task with a closed list.
func listed(labels ...string) prompt.Task {
	t := prompt.Task{Name: "toy", Kind: prompt.Classify, Labels: labels}
	t.Answer = prompt.AnswerLayout{Instruction: "Choose.", Input: "Question", Output: "Answer"}
	return t.WithDefaults()
}

// written is a task whose answers are not of a list.
func written(k prompt.Kind) prompt.Task {
	t := prompt.Task{Name: "toy", Kind: k}
	t.Answer = prompt.AnswerLayout{Instruction: "Say.", Input: "Question", Output: "Answer"}
	return t.WithDefaults()
}

// TestRead: the rule that releases tell clients, case by case.
func TestRead(t *testing.T) {
	list := listed("Art", "Artist", "Art deco", "World", "Été")
	list.Aliases = map[string]string{"Sci/Tech": "World", "news of the world": "World"}
	phrase, text := written(prompt.Extract), written(prompt.Generate)
	several := written(prompt.Generate)
	several.Stop = []string{"###", "\n\n"}
	bare := listed("Yes", "No")
	bare.Answer.Template = "{input} Is that so? {output}"
	named := listed("Yes", "No")
	named.Answer.Template = "{input}\nIs that so: {output}"
	inline := listed("Yes", "No")
	inline.Answer.Template = "Q: {input} A: {output}"
	for _, c := range []struct {
		name          string
		task          prompt.Task
		written, want string
	}{
		{"a label", list, "World", "World"},
		{"in any case", list, "wORLD", "World"},
		{"after white space", list, " \t\r\n\u00a0 World", "World"},
		{"with an end", list, "World\nbecause", "World"},
		{"with marks", list, "World, I think.", "World"},
		{"in quotes", list, `"World"`, ""},
		{"after words", list, "It is World", ""},
		{"a longer word", list, "Worldly", ""},
		{"with digits", list, "World2", ""},
		{"the shorter of two", list, "Art!", "Art"},
		{"the longer of two", list, "artist.", "Artist"},
		{"the longest of three", list, "ART DECO", "Art deco"},
		{"not quite the longest", list, "Art decoration", "Art"},
		{"on two lines", list, "Art\ndeco", "Art"},
		{"an alias", list, "sci/tech", "World"},
		{"an alias of words", list, "News of the World.", "World"},
		{"no ASCII", list, "été", "Été"},
		{"a part of a character", list, "Art \xc3", "Art"},
		{"a part of a character in its place", list, "\xc3", ""},
		{"after the name", list, "Answer: World", "World"},
		{"after the name in another case", list, "\nANSWER:\n\nworld", "World"},
		{"after the name twice", list, "Answer: Answer: World", ""},
		{"after a part of the name", list, "Answer World", ""},
		{"after another name", list, "Label: World", ""},
		{"nothing", list, "", ""},
		{"white space", list, " \n\t", ""},
		{"the name alone", list, "Answer:", ""},
		{"after a layout without a name", bare, "yes", "Yes"},
		{"a name that the layout does not have", bare, "Answer: yes", ""},
		{"a name that the template has", named, "Is that so: yes", "Yes"},
		{"a name on the line of the question", inline, "a: NO", "No"},
		{"a phrase", phrase, " the war\nText: more", "the war"},
		{"a phrase with two line ends", phrase, "\n\nthe  war\n\n", "the  war"},
		{"a phrase with a carriage return", phrase, "the war\r\n", "the war"},
		{"a phrase in quotes", phrase, `"war"`, `"war"`},
		{"a phrase after the name", phrase, "Answer:\twar ", "war"},
		{"no phrase", phrase, "\n", ""},
		{"a text", text, "Answer: One line.\nTwo lines.", "One line."},
		{"a text of lines", several, "One line.\nTwo.\n\nMore", "One line.\nTwo."},
		{"a text with another end", several, "One ## line ### two", "One ## line"},
		{"a text that begins with its end", several, "### one", ""},
	} {
		if got := Read(c.task, c.written); got != c.want {
			t.Errorf("%s: %q is read as %q, want %q", c.name, c.written, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	k := listed("Art", "Artist", "World", "art deco", "Sci-fi", "WORLD", "Été")
	k.Aliases = map[string]string{"Painter": "Artist", "Nothing": "of the list", "sf": "Sci-fi", "": "Art"}
	for text, want := range map[string]string{
		"Art": "Art", "art": "Art", "ART.": "Art", "Artist": "Artist", "artist!": "Artist", "artists": "",
		"Art deco house": "art deco", "art decoration": "Art", "WORLD": "WORLD", "World": "World", "world": "World",
		"world war": "World", "WORLD war": "WORLD", "WORLD.": "WORLD", "painter of": "Artist", "Painter": "Artist", "Nothing": "", "nothing": "", "sci-fi film": "Sci-fi",
		"SF": "Sci-fi", "": "", " Art": "", "été": "Été", "É": "", "Art1": "", "of the list": "", "?": "",
	} {
		if got := Match(k, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestMatchIsOfTheList: whatever is written, the answer is a label or none; a label
// that is written is found, with anything but a letter or digit after it.
func TestMatchIsOfTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z][a-z ]{0,5}[a-z]`), 1, 5, rapid.ID).Draw(t, "labels")
		k := listed(labels...)
		if got := Match(k, rapid.String().Draw(t, "text")); got != "" && !slices.Contains(labels, got) {
			t.Fatalf("%q is not on the list", got)
		}
		label := rapid.SampledFrom(labels).Draw(t, "label")
		if got := Match(k, label); got != label {
			t.Fatalf("%q, want %q", got, label)
		}
		got := Match(k, strings.ToUpper(label)+". "+rapid.String().Draw(t, "rest"))
		if !strings.EqualFold(got, label) {
			t.Fatalf("%q, want %q", got, label)
		}
	})
}

// FuzzMatch: an answer is a label or none, it is what the text begins with, and what was
// found stays found when it is all that is written.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"Sports", "sports.", "WORLD war", "sci/tech", "Été", "worldly", "\xff", "Ä", "", "ſportſ", "K"} {
		f.Add(s)
	}
	k := listed("World", "Sports", "Science", "Sci", "Ärzte", "İ", "Kelvin")
	k.Aliases = map[string]string{"Sci/Tech": "Science"}
	begins := func(text, with string) bool {
		runes := []rune(text)
		n := utf8.RuneCountInString(with)
		return len(runes) >= n && strings.EqualFold(string(runes[:n]), with)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Match(k, text)
		if got == "" {
			return
		}
		if !slices.Contains(k.Labels, got) {
			t.Fatalf("%q is not on the list", got)
		}
		if !begins(text, got) && !begins(text, "Sci/Tech") {
			t.Fatalf("%q does not begin with %q", text, got)
		}
		if again := Match(k, got); again != got {
			t.Fatalf("%q is found as %q", got, again)
		}
	})
}

// parts are what answers are made of, so that those that matter come up often: labels and parts of
// them, the name, ends and their parts, characters in parts, and letters that fold to other lengths.
var parts = []string{
	"Art", "art", "ist", "Artist", " deco", "Art deco", " d", "World", "WORLD", "war", "warm", "Été", "é", "\xc3", "\xa9", "日", "\xe6\x97", "\xa5",
	"ſ", "s", "K", "k", "Ks", "kſ", "Answer", "Answer:", "answer: ", "Ans", "wer:", ":", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "#", "##", "###",
	".", "\"", "1", "x", "。", "\xe3\x80",
}

func draw(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 6).Draw(t, name), "")
}

// anyTask is one of all kinds, with labels that are beginnings of others and ends of any length.
func anyTask(t *rapid.T) prompt.Task {
	k := listed("Art", "Artist", "Art deco", "World", "WORLD", "Été", "Kss", "Ks")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		k = written(prompt.Extract)
	case 1:
		k = written(prompt.Generate)
	case 2:
		k.Aliases = map[string]string{"war": "World", "Art.": "Artist"}
	}
	k.Stop = rapid.SampledFrom([][]string{{"\n"}, {"\n\n"}, {"###", "\n"}, {"x。", "###"}, {" "}, {"\n", "\n\n"}, {"#", "x##x"}}).Draw(t, "stop")
	k.Answer.Template = rapid.SampledFrom([]string{k.Answer.Template, "{input} {output}", "{input}\nAnswer of art: {output}"}).Draw(t, "template")
	k.Limits.AnswerTokens = rapid.IntRange(1, 30).Draw(t, "limit")
	return k
}

// TestSettled: what is settled no longer changes, whatever follows.
func TestSettled(t *testing.T) {
	settled := 0
	rapid.Check(t, func(t *rapid.T) {
		k := anyTask(t)
		r, begun := newReader(k), draw(t, "begun")
		if !r.settled(begun) {
			return
		}
		settled++
		for range 20 {
			if more := draw(t, "more"); Read(k, begun+more) != Read(k, begun) {
				t.Fatalf("%q is settled as %q, and %q is read as %q", begun, Read(k, begun), begun+more, Read(k, begun+more))
			}
		}
	})
	if !testing.Short() && settled < 20 { // short tests have fewer texts
		t.Errorf("%d texts were settled: too few to tell", settled)
	}
}

// TestSettledAtOnce: a line is settled as soon as a label has ended, or nothing can become one.
func TestSettledAtOnce(t *testing.T) {
	list, phrase := newReader(listed("Art", "Artist", "Art deco", "World")), newReader(written(prompt.Extract))
	for _, c := range []struct {
		reader  *reader
		written string
		want    bool
	}{
		{list, "", false},
		{list, " \n", false},
		{list, "Worl", false},
		{list, "World", false}, // "Worldly" is none
		{list, "World.", true},
		{list, "World ", true},
		{list, "World\n", true},
		{list, "Worldl", true},
		{list, "Art", false},
		{list, "Art ", false}, // "Art deco"
		{list, "Art,", true},
		{list, "Art de", false},
		{list, "Art di", true},
		{list, "Art\n", true},
		{list, "Artist", false},
		{list, "Artists", true},
		{list, "I think", true},
		{list, "Answer", false},
		{list, "Answer: ", false},
		{list, "Answer: World!", true},
		{list, "\xc3", false},
		{phrase, "war", false},
		{phrase, "\n", false},
		{phrase, "war\n", true},
		{phrase, "\n\nwar\n\n", true},
	} {
		if got := c.reader.settled(c.written); got != c.want {
			t.Errorf("%q: settled %v, want %v", c.written, got, c.want)
		}
	}
}

// TestCannotBecome: what cannot become an answer never does.
func TestCannotBecome(t *testing.T) {
	never := 0
	rapid.Check(t, func(t *rapid.T) {
		k := anyTask(t)
		k.Labels, k.Aliases = nil, nil
		r := newReader(k)
		want, begun := draw(t, "want"), draw(t, "begun")
		if r.canBecome(want, begun) {
			return
		}
		never++
		for range 20 {
			more := draw(t, "more")
			if text, _ := k.Cut(begun + more); Same(want, text) {
				t.Fatalf("%q cannot become %q, and %q is %q", begun, want, begun+more, text)
			}
		}
	})
	if !testing.Short() && never < 20 {
		t.Errorf("%d texts could not become what was wanted: too few to tell", never)
	}
}

// TestEndsInParts: an end of several characters that is written in parts is still an end.
func TestEndsInParts(t *testing.T) {
	k := written(prompt.Extract)
	k.Stop = []string{"###", ". "}
	r := newReader(k)
	for _, c := range []struct {
		want, begun string
		can         bool
	}{
		{"war", "war#", true},
		{"war", "war ##", true},
		{"war", " war.", true},
		{"war", "war###", true},
		{"war film", "war#", false},
		{"war", "wart#", false},
		{"war", "war# ", false},
		{"war#", "war#", true},
	} {
		if got := r.canBecome(c.want, c.begun); got != c.can {
			t.Errorf("%q can become %q: %v", c.begun, c.want, got)
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"war", "war", true},
		{"War", " wAR\n", true},
		{"science fiction", "Science \t fiction", true},
		{"science fiction", "sciencefiction", false},
		{"war", "war.", false},
		{"war", `"war"`, false},
		{"ÉTÉ", "été", true},
		{"", "", false},
		{" ", "", false},
		{"war", "", false},
	} {
		if got := Same(c.want, c.got); got != c.same {
			t.Errorf("%q and %q: %v", c.want, c.got, got)
		}
	}
}

// letters makes a token of each character, and one of a space with the letter after it.
type letters struct{ lm.Tokenizer }

func (letters) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for i, r := range text {
		if i > 0 && unicode.IsLetter(r) && text[i-1] == ' ' {
			out[len(out)-1] = lm.Token(r)
			continue
		}
		out = append(out, lm.Token(r))
	}
	return out, nil
}

// TestLimit: there is room for each spelling of a label, in a turn and in a line, and for one token
// that ends it.
func TestLimit(t *testing.T) {
	k := listed("Art", "Schokoladenfabriken")
	k.Aliases = map[string]string{"Schokoladenverarbeitung": "Art"}
	k.Limits.AnswerTokens = 5
	phrase := written(prompt.Extract)
	for _, c := range []struct {
		name string
		tok  lm.Tokenizer
		task prompt.Task
		want int
	}{
		{"labels", letters{}, k, 24},
		{"without a tokenizer", nil, k, 24},
		{"short labels", letters{}, listed("a", "b"), 10},
		{"phrases", letters{}, phrase, 10},
		{"phrases without a tokenizer", nil, phrase, 10},
	} {
		if got, err := Limit(t.Context(), c.tok, c.task); err != nil || got != c.want {
			t.Errorf("%s: %d, want %d, %v", c.name, got, c.want, err)
		}
	}
}
