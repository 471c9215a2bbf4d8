package decode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                             false,
		"It is here":                   false,
		"It is here.":                  true,
		"It is here. ":                 true,
		`He said "It is here."`:        true,
		"Is it here?":                  true,
		"It is here!)":                 true,
		"**It is here.**":              true,
		"It is here...":                true,
		"It is here…":                  true,
		"こちらです。":                       true,
		"It is here,":                  false,
		"It is here:":                  false,
		"I saw Mr.":                    false,
		"I saw J.":                     false,
		"pens, pencils, e.g.":          false,
		"It costs 3.":                  false, // and perhaps 50
		"It was made in the U.S.":      true,
		"I want my money back, thanks": false,
	} {
		if got := complete(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// phrasebook is a tokeniser of whole words.
var phrasebook = pieces{list: []string{
	" I", " want", " money", " back", ".", "!", ",", " Mr", " war", "m", " film", "\n", " Message", " Text", " Desk", ":", " :", "**", " ", "?", "",
}}

// said are tokens of the phrasebook, as they are spelt.
func said(text string) []lm.Token {
	tokens, _ := phrasebook.Encode(context.Background(), text)
	return tokens
}

// TestClose: what ends a sentence, and the text after one, is favoured more and more near the
// limit; what only looks like it, or would end a text that lacks something, is not.
func TestClose(t *testing.T) {
	const limit = 12 // three tokens are near
	lift := func(rules Rules, text string) map[string]float64 {
		l := author(phrasebook, Options{Tokens: limit, Rules: rules})
		x := l.begun(t, 0, "war film")
		x.tokens = said(text)
		list, err := l.candidates(t.Context(), lm.Scores{LogProbs: make([]float64, phrasebook.Size())}, x, Shortlist{})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, s := range list {
			if s.base != s.raw {
				out[phrasebook.list[s.token]] = s.base
			}
		}
		return out
	}
	filled := func(n int, last string) string { return strings.Repeat(" I", n) + last }
	marks := []string{".", "!", "?"}
	ends := append(slices.Clone(marks), "\n", "")
	for _, c := range []struct {
		rules Rules
		text  string
		nats  float64
		on    []string
	}{
		{Rules{Close: 6}, filled(7, " back"), 0, nil},
		{Rules{Close: 6}, filled(8, " back"), 2, marks},
		{Rules{Close: 6}, filled(10, " back"), 6, marks},
		{Rules{Close: 6}, filled(9, " back."), 6, ends},
		{Rules{}, filled(10, " back"), 0, nil},
		{Rules{Close: 6}, filled(10, " Mr"), 6, []string{"!", "?"}},
		{Rules{Close: 6, MinTokens: 12}, filled(10, " back"), 0, nil},
		{Rules{Close: 6, Contain: true}, filled(8, " back"), 0, nil},
		{Rules{Close: 6, Contain: true}, " war film" + filled(6, " back"), 2, marks},
	} {
		got := lift(c.rules, c.text)
		if len(got) != len(c.on) {
			t.Errorf("%+v, %q: %v", c.rules, c.text, got)
		}
		for _, piece := range c.on {
			if got[piece] != c.nats {
				t.Errorf("%+v, %q: %q has %v nats, not %v", c.rules, c.text, piece, got[piece], c.nats)
			}
		}
	}
}

// TestSentences: a text that its limit ends is released up to its last sentence.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		rules      Rules
		text, want string
	}{
		{Rules{Close: 1}, " I want money. I want", " I want money."},
		{Rules{}, " I want money. I want", " I want money. I want"},
		{Rules{Close: 1}, " I want! I want. I want", " I want! I want."},
		{Rules{Close: 1, MinTokens: 5}, " I want money. I want", " I want money. I want"},
		{Rules{Close: 1}, " I want money back I", " I want money back I"},
		{Rules{Close: 1}, " I want money back.", " I want money back."},
		{Rules{Close: 1}, " I want. I want money back", " I want. I want money back"},         // less than half
		{Rules{Close: 1}, " I want money. I want\n", " I want money. I want\n"},               // it ended by itself
		{Rules{Close: 1}, " I want money. I want Message:", " I want money. I want Message:"}, // and is released without the field
		{Rules{Close: 1}, " I want Mr. Mr", " I want Mr. Mr"},                                 // no sentence
		{Rules{Close: 1}, " I want money.m I", " I want money.m I"},                           // nor here
		{Rules{Close: 1, Contain: true}, " I want money. I war film", " I want money. I war film"},
		{Rules{Close: 1, Contain: true}, " war film. I want", " war film."},
	} {
		c.rules.Fields = true
		tokens := said(c.text)
		l := author(phrasebook, Options{Tokens: len(tokens), Rules: c.rules, Task: prompt.Task{Generate: prompt.Generation{Text: "Message"}}})
		x := l.begun(t, 0, "war film")
		x.tokens = tokens
		got, err := l.sentences(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, said(c.want)) {
			spelt, _ := phrasebook.Decode(t.Context(), got)
			t.Errorf("%+v, %q: %q, not %q", c.rules, c.text, spelt, c.want)
		}
		// With room left nothing is cut.
		l.Tokens++
		if got, err := l.sentences(t.Context(), x); err != nil || len(got) != len(tokens) {
			t.Errorf("%q is cut before its limit: %v", c.text, err)
		}
	}
}

// TestFieldsEndTexts: no released text names a field of its prompt, whichever tokens are
// chosen, and the name ends a text only where it may end.
func TestFieldsEndTexts(t *testing.T) {
	task := prompt.Task{Kind: prompt.Classify, Generate: prompt.Generation{Condition: "Desk", Text: "Message"}}
	allowed := func(rules Rules, text, piece string) bool {
		rules.Fields = true
		l := author(phrasebook, Options{Tokens: 20, Rules: rules, Task: task})
		x := l.begun(t, 0, "war film")
		x.tokens = said(text)
		list, err := l.candidates(t.Context(), lm.Scores{LogProbs: make([]float64, phrasebook.Size())}, x, Shortlist{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(s candidate) bool { return phrasebook.list[s.token] == piece })
	}
	for _, c := range []struct {
		rules       Rules
		text, piece string
		want        bool
	}{
		{Rules{}, " I want money Message", ":", true}, // and ends it
		{Rules{}, " I want money Message", " :", true},
		{Rules{}, " Message", ":", false},
		{Rules{}, "** Message**", ":", false},
		{Rules{}, " Text", ":", true}, // no field of this task
		{Rules{MinTokens: 3}, " I want money Message", ":", true},
		{Rules{MinTokens: 4}, " I want money Message", ":", false},
		{Rules{Contain: true}, " I want money Message", ":", false},
		{Rules{Contain: true}, " I war film Message", ":", true},
	} {
		if got := allowed(c.rules, c.text, c.piece); got != c.want {
			t.Errorf("%+v: %q after %q is allowed: %v", c.rules, c.piece, c.text, got)
		}
	}
	named := func(l *loop, x *text) (string, bool) {
		spelling, _ := phrasebook.Decode(context.Background(), x.tokens)
		released := l.tidy(spelling)
		_, found := task.Fields().Cut(released)
		return released, found
	}
	// Without the rule a text may name a field, or the property would say nothing.
	free := author(phrasebook, Options{Tokens: 12, Task: task})
	x := free.begun(t, 0, "")
	x.tokens = said(" I want money Message:")
	if released, found := named(free, x); !found {
		t.Errorf("%q names no field", released)
	}
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{MinTokens: rapid.IntRange(0, 4).Draw(t, "minimum"), Fields: true}
		l := author(phrasebook, Options{Tokens: 12, Rules: rules, Task: task})
		x := l.begun(t, 0, "")
		l.writeAny(t, x)
		released, found := named(l, x)
		switch {
		case found:
			t.Fatalf("%q names a field", released)
		case strings.TrimSpace(released) == "" && rules.MinTokens > 1 && len(x.tokens) > 2 && !strings.Contains(released, "\n"):
			spelling, _ := phrasebook.Decode(context.Background(), x.tokens)
			if strings.TrimSpace(spelling) != "" && !strings.HasPrefix(strings.TrimLeft(spelling, " "), "\n") {
				t.Fatalf("nothing is left of %q", spelling)
			}
		}
	})
}

// TestWords: a condition is in a text as words of its own, and nothing continues with the
// last of them.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		text, wanted string
		want         bool
	}{
		{"a film about war", "war", true},
		{"a War film", "war", true},
		{"a warm film", "war", false},
		{"an award", "war", false},
		{"warm, and then war", "war", true},
		{"post-war film", "war", true},
		{"pixar's film", "pixar", true},
		{"war2", "war", false},
		{"guerre\u0301", "guerre", false},
		{"戦争映画です", "映画", true},
		{"the war of", "the war", true},
	} {
		l := author(phrasebook, Options{Rules: Rules{Contain: true}})
		if got := l.holds(c.text, c.wanted); got != c.want {
			t.Errorf("%q in %q: %v", c.wanted, c.text, got)
		}
	}
	l := author(phrasebook, Options{Tokens: 9, Rules: Rules{Contain: true}})
	for text, want := range map[string]bool{" I want war": false, " I want war ": true, " war film war": true, " I want": true} {
		x := l.begun(t, 0, "war")
		x.tokens = said(text)
		list, err := l.candidates(t.Context(), lm.Scores{LogProbs: make([]float64, phrasebook.Size())}, x, Shortlist{})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(list, func(s candidate) bool { return phrasebook.list[s.token] == "m" }); got != want {
			t.Errorf("after %q a letter may follow: %v", text, got)
		}
	}
}

// TestWithin: the favour of a condition grows from its first place on, and in the end the
// condition comes, early enough for the text to continue.
func TestWithin(t *testing.T) {
	l := author(phrasebook, Options{Tokens: 20, Rules: Rules{Contain: true, Favour: 2, Within: 4}})
	next := func(text string) wish {
		x := l.begun(t, 0, "war film")
		x.after, x.tokens = 2, said(text)
		w, err := l.lacks(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for text, want := range map[string]struct {
		favour     float64
		early, due bool
	}{
		" I":                 {2, true, false},
		" I I":               {2, false, false},
		" I I I":             {3.5, false, false},
		" I I I I I":         {6.5, false, false},
		" I I I I I I":       {8, false, true},
		" I I war":           {8, false, false}, // what is begun is to be completed
		" war":               {2, false, false}, // unless that is by chance
		" I I I I I I war":   {8, false, true},
		" I I I I I I I I I": {8, false, true},
	} {
		got := next(text)
		at := expect.At(t, "%q", text)
		expect.Equal(at, "got.favour", got.favour, want.favour)
		expect.Equal(at, "got.early", got.early, want.early)
		expect.Equal(at, "got.now", got.now, want.due)
	}
	for _, within := range []int{0, 4} {
		l.rules.Within = within
		x := l.begun(t, 0, "war film")
		for text, want := range map[string]bool{" I want war film": within == 0, " I want war film.": true, " I war film back": true} {
			x.tokens = said(text)
			list, err := l.candidates(t.Context(), lm.Scores{LogProbs: make([]float64, phrasebook.Size())}, x, Shortlist{})
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(list, func(s candidate) bool { return s.token == phrasebook.end() }); got != want {
				t.Errorf("within %d: a text may end after %q: %v", within, text, got)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		l := author(phrasebook, Options{Tokens: 20, Rules: Rules{Contain: true, Favour: 2, Within: rapid.IntRange(1, 6).Draw(t, "within")}})
		x := l.begun(t, 0, "war film")
		x.after = rapid.IntRange(0, 8).Draw(t, "after")
		l.writeAny(t, x)
		spelling, _ := phrasebook.Decode(context.Background(), x.tokens[:min(len(x.tokens), x.after+l.rules.Within+len(x.phrase))])
		if !l.holds(spelling, "war film") {
			t.Fatalf("%q: the condition is not there in time", spelling)
		}
	})
}
