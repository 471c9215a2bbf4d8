package decode

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// pieces is a tokeniser with tokens of several letters and of parts of one: é is two
// tokens, and there is none for z. The last token ends a text.
type pieces struct {
	list []string
	// spaced puts a space before what is encoded, as some do.
	spaced bool
}

var somePieces = []string{" ", "a", "b", "A", "ab", " a", " b", "\xc3", "\xa9", "\x89", "\n", "B", ""}

func (p pieces) end() lm.Token { return lm.Token(len(p.list) - 1) }

// Encode takes the longest piece every time, and leaves out what has none.
func (p pieces) Encode(_ context.Context, text string) ([]lm.Token, error) {
	if p.spaced {
		text = " " + text
	}
	var out []lm.Token
	for text != "" {
		best, length := lm.Token(-1), 0
		for t, piece := range p.list {
			if strings.HasPrefix(text, piece) && len(piece) > length {
				best, length = lm.Token(t), len(piece)
			}
		}
		if best >= 0 {
			out = append(out, best)
		}
		text = text[max(1, length):]
	}
	return out, nil
}

func (p pieces) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b bytes.Buffer
	for _, t := range tokens {
		b.WriteString(p.list[t])
	}
	return b.String(), nil
}

func (p pieces) Size() int                   { return len(p.list) }
func (p pieces) Beginning() (lm.Token, bool) { return 0, false }
func (p pieces) Control(t lm.Token) bool     { return t == p.end() }
func (p pieces) Ends() []lm.Token            { return []lm.Token{p.end()} }

// author writes with a tokeniser; it needs no model.
func author(p pieces, o Options) *loop {
	w := &Writer{Options: o, task: o.Task.WithDefaults(), tokenizer: p, rules: o.Rules, ends: map[lm.Token]bool{p.end(): true}}
	if o.Rules.Fields {
		w.fields = w.task.Fields()
	}
	return &loop{Writer: w}
}

// begun is a text for a condition, as the loop starts it.
func (l *loop) begun(t interface{ Fatal(...any) }, index uint64, condition string) *text {
	phrase, err := l.phrase(context.Background(), condition)
	if err != nil {
		t.Fatal(err)
	}
	return &text{Job: Job{Text: draw.Text{Index: index}, Condition: condition}, phrase: phrase, after: l.after(index)}
}

// TestContain writes texts with rules, where every token is any of the candidates: not
// what a method would choose, but the worst that it could.
func TestContain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			l, condition := someRules(t)
			x := l.begun(t, 3, condition)
			l.writeAny(t, x)
			if err := l.wellMade(x, condition); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// someRules are any, with a condition that may have spaces, capitals and accents.
func someRules(t *rapid.T) (*loop, string) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "A", "B", "ab", "a", "a", "é", "É", " ", "  ", "\t", "\u00a0", "\n"}), 1, 6)
	o := Options{
		Tokens: rapid.IntRange(1, 14).Draw(t, "limit"), Key: noise.KeyFromSeed(rapid.Uint64().Draw(t, "key")),
		Rules: Rules{
			MinTokens: rapid.IntRange(0, 4).Draw(t, "minimum"), Penalty: rapid.SampledFrom([]float64{0, 0.7}).Draw(t, "penalty"),
			NoRepeat: rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "no repeat"),
			Contain:  true, Favour: rapid.SampledFrom([]float64{0, 2}).Draw(t, "favour"), After: rapid.IntRange(0, 9).Draw(t, "after"),
			Within: rapid.IntRange(0, 5).Draw(t, "within"), Close: rapid.SampledFrom([]float64{0, 4}).Draw(t, "close"),
			Fields: rapid.Bool().Draw(t, "fields"),
		},
	}
	o.Task.Stop = rapid.SampledFrom([][]string{nil, {"\n\n"}, {"bab", "\n"}}).Draw(t, "stop")
	p := pieces{list: somePieces, spaced: rapid.Bool().Draw(t, "spaced")}
	return author(p, o), strings.Join(words.Draw(t, "condition"), "")
}

// writeAny continues until a text ends. It stops short where rules leave no token, which
// they may do to texts that lack nothing.
func (l *loop) writeAny(t *rapid.T, x *text) {
	choice := Shortlist{Best: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "best")}
	n := l.tokenizer.Size()
	for ended := false; !ended; {
		scores := rapid.SliceOfN(rapid.Float64Range(-9, 0), n, n).Draw(t, "scores")
		candidates, err := l.candidates(context.Background(), lm.Scores{LogProbs: scores}, x, choice)
		if err != nil && strings.Contains(err.Error(), "no token is left") && l.content(x) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		token := candidates[rapid.IntRange(0, len(candidates)-1).Draw(t, "choice")].token
		x.tokens = append(x.tokens, token)
		stopped, err := l.stopped(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		ended = l.ends[token] || stopped || len(x.tokens) == l.Tokens
	}
}

func (l *loop) content(x *text) bool {
	lacks, err := l.lacks(context.Background(), x)
	return err == nil && !lacks.open
}

// wellMade checks a complete text against what the rule says, in other words than its.
func (l *loop) wellMade(x *text, condition string) error {
	spelling, _ := l.tokenizer.Decode(context.Background(), x.tokens)
	released := l.tidy(spelling)
	if len(x.tokens) > l.Tokens {
		return fmt.Errorf("%d tokens, where %d is the most", len(x.tokens), l.Tokens)
	}
	want := condition
	if l.task.OneLine() {
		want = strings.Join(strings.Fields(want), " ")
	}
	want = strings.TrimSpace(want)
	for _, stop := range l.task.Stop {
		if strings.Contains(want, stop) {
			return nil
		}
		// A stop string of several tokens that the condition begins may cut it off again.
		if valid := strings.ToValidUTF8(spelling, ""); len(stop) > 1 && strings.Contains(valid, stop) {
			released = l.line(valid)
		}
	}
	own, _ := pieces{list: somePieces}.Encode(context.Background(), " "+want)
	if spelt, _ := l.tokenizer.Decode(context.Background(), own); want == "" || len(own) > l.Tokens || !strings.Contains(spelt, want) {
		return nil
	}
	if !strings.Contains(strings.ToLower(released), strings.ToLower(want)) {
		return fmt.Errorf("%q does not contain %q, which has %d of %d tokens", released, want, len(own), l.Tokens)
	}
	// Where the condition came to be there: spelt otherwise it may be anywhere.
	n, prefix := 0, ""
	for n < len(x.tokens) && !strings.Contains(strings.ToLower(l.tidy(prefix)), strings.ToLower(want)) {
		n++
		prefix, _ = l.tokenizer.Decode(context.Background(), x.tokens[:n])
	}
	first := min(x.after, l.Tokens-len(own))
	if at := n - len(own); at >= 0 && at < first && slices.Equal(x.tokens[at:n], own) {
		return fmt.Errorf("%q has %q at %d, not after %d", spelling, want, at, first)
	}
	return nil
}

// TestConditionsThatCannotBe are not waited for: those that end a text, are longer than
// one, have no tokens, or say nothing.
func TestConditionsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		condition string
		stop      []string
		limit     int
		waits     bool
	}{
		"fits":                       {condition: "a b", limit: 2, waits: true},
		"too long":                   {condition: "a b a", limit: 2},
		"empty":                      {condition: " \t ", limit: 9},
		"holds a stop string":        {condition: "a\n\nb", stop: []string{"\n\n"}, limit: 9},
		"two lines of one":           {condition: "a\nb", limit: 9, waits: true},
		"two lines":                  {condition: "a\nb", stop: []string{"\n\n"}, limit: 9, waits: true},
		"cannot be spelt":            {condition: "z", limit: 9},
		"is partly lost":             {condition: "az", limit: 9},
		"not UTF-8 where it is lost": {condition: "a\xff", limit: 9, waits: true},
	} {
		l := author(pieces{list: somePieces}, Options{Tokens: c.limit, Rules: Rules{Contain: true}})
		l.task.Stop = c.stop
		l.task = l.task.WithDefaults()
		lacks, err := l.lacks(t.Context(), l.begun(t, 0, c.condition))
		if err != nil {
			t.Fatal(err)
		}
		if lacks.open != c.waits {
			t.Errorf("%s: a text waits for %q: %v", name, c.condition, lacks.open)
		}
		l.rules = Rules{}
		if x := l.begun(t, 0, c.condition); x.phrase != nil || x.after != 0 {
			t.Errorf("%s: without the rule a text has %v after %d", name, x.phrase, x.after)
		}
	}
}

// TestWishes: what a text lacks of "a a b", token by token.
func TestWishes(t *testing.T) {
	p := pieces{list: somePieces}
	const a, b = lm.Token(5), lm.Token(6) // with a space before
	l := author(p, Options{Tokens: 9, Rules: Rules{Contain: true}})
	for name, c := range map[string]struct {
		text string
		want wish
	}{
		"nothing":             {"", wish{open: true, next: a, early: true}},
		"too early":           {" b", wish{open: true, next: a, early: true}},
		"its place":           {" b b", wish{open: true, next: a}},
		"begun":               {" b b a", wish{open: true, next: a, begun: true}},
		"half":                {" b b a a", wish{open: true, next: b, begun: true}},
		"one too many":        {" b b a a a", wish{open: true, next: b, begun: true}},
		"given up":            {" b b b b b", wish{open: true, next: a}},
		"due":                 {" b b b b b b", wish{open: true, next: a, now: true}},
		"due, and half there": {" b b b b a a", wish{open: true, next: b, begun: true, now: true}},
		"there":               {" b b a a b", wish{shut: true}},
		"there, in capitals":  {"A a B", wish{shut: true}},
		"there, and a space":  {" b b a a b ", wish{}},
		"in other words":      {" b b a a bb", wish{open: true, next: a, now: true}},
		"twice":               {" a a b b a a b", wish{}},
		"there, earlier":      {" a a b b b b b", wish{}},
	} {
		x := l.begun(t, 0, "a A b")
		x.Condition, x.after = "a A b", 2
		x.phrase = []lm.Token{a, a, b}
		x.tokens, _ = p.Encode(t.Context(), c.text)
		if name == "there, in capitals" {
			x.tokens = []lm.Token{3, a, b}
		}
		got, err := l.lacks(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		c.want.phrase = "a A b"
		if got != c.want {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}

// TestFavour: it goes to one token, and to none where the condition is there, not to
// begin yet, or not asked for.
func TestFavour(t *testing.T) {
	p := pieces{list: somePieces}
	for name, c := range map[string]struct {
		text   string
		after  int
		favour float64
		lifted string
	}{
		"to begin":     {" b", 0, 2, " a"},
		"to continue":  {" b a", 0, 2, " b"},
		"there":        {" a b", 0, 2, ""},
		"not yet":      {" b", 3, 2, ""},
		"none":         {" b", 0, 0, ""},
		"penalty, too": {" a a", 0, 1.5, " b"},
	} {
		base := func(favour float64) map[lm.Token]float64 {
			l := author(p, Options{Tokens: 9, Rules: Rules{Contain: true, Favour: favour, Penalty: 0.5}})
			x := l.begun(t, 0, "a b")
			x.after = c.after
			x.tokens, _ = p.Encode(t.Context(), c.text)
			list, err := l.candidates(t.Context(), lm.Scores{LogProbs: make([]float64, p.Size())}, x, Shortlist{})
			if err != nil {
				t.Fatal(err)
			}
			out := map[lm.Token]float64{}
			for _, s := range list {
				if s.raw != 0 {
					t.Errorf("%s: the public score of %q changes", name, p.list[s.token])
				}
				out[s.token] = s.base
			}
			return out
		}
		plain, lifted := base(0), base(c.favour)
		if len(plain) != len(lifted) {
			t.Errorf("%s: %d candidates, and %d with favour", name, len(plain), len(lifted))
		}
		for token, was := range plain {
			want := was
			if c.lifted != "" && p.list[token] == c.lifted {
				want += c.favour
			}
			if lifted[token] != want {
				t.Errorf("%s: %q has %v, not %v", name, p.list[token], lifted[token], want)
			}
		}
		if _, allowed := plain[5]; c.after > 1 && allowed {
			t.Errorf("%s: the condition may begin after %q", name, c.text)
		}
	}
}

// TestContainAgainstOtherRules: what continues with the condition may repeat a sequence;
// what begins it may not; neither the end nor what makes up a stop string comes before.
func TestContainAgainstOtherRules(t *testing.T) {
	p := pieces{list: append(slices.Clone(somePieces[:12]), "b\n", "")}
	allowed := func(rules Rules, stop []string, condition, text string) func(string) bool {
		rules.Contain = true
		l := author(p, Options{Tokens: 20, Rules: rules})
		l.task.Stop = stop
		x := l.begun(t, 0, condition)
		x.tokens, _ = p.Encode(t.Context(), text)
		list, err := l.candidates(t.Context(), lm.Scores{LogProbs: make([]float64, p.Size())}, x, Shortlist{})
		if err != nil {
			t.Fatal(err)
		}
		return func(piece string) bool {
			return slices.ContainsFunc(list, func(s candidate) bool { return p.list[s.token] == piece })
		}
	}
	if !allowed(Rules{NoRepeat: 2}, nil, "a a a b", " a a")(" a") {
		t.Error("a condition that repeats itself cannot be written")
	}
	if allowed(Rules{NoRepeat: 2}, nil, "a b", "b ab")(" a") {
		t.Error("a text may begin the condition in a sequence it has had")
	}
	for _, text := range []string{" b", " a", " a\n"} {
		if may := allowed(Rules{}, []string{"\n\n", "\nb"}, "a b", text); may("") || text == " a\n" && (may("\n") || may("b") || may("b\n")) {
			t.Errorf("after %q a text may end without its condition", text)
		}
	}
	may := allowed(Rules{}, []string{"\n\n", "\nb"}, "a b", " a b\n")
	at := expect.At(t, "a text that has its condition may not end")
	expect.True(at, "may(\"\")", may(""))
	expect.True(at, "may(\"\\n\")", may("\n"))
	expect.True(at, "may(\"b\")", may("b"))
	may = allowed(Rules{MinTokens: 3}, []string{"\n\n"}, "", " a\n")
	at = expect.At(t, "a text that is too short may end with a stop string of two tokens")
	expect.True(at, "may not end with nothing", !may(""))
	expect.True(at, "may not end with a line", !may("\n"))
	expect.True(at, "may(\"b\")", may("b"))
}

// TestPlaces: every number of tokens up to After comes first, each about as often, and it
// depends on the key and the text alone. False reject rate 1e-9, by Hoeffding's bound on
// nine frequencies.
func TestPlaces(t *testing.T) {
	const after, texts = 8, 40000
	at := func(seed uint64, after int) []int {
		l := author(pieces{list: somePieces}, Options{Key: noise.KeyFromSeed(seed), Rules: Rules{Contain: true, After: after}})
		out := make([]int, texts)
		for i := range out {
			out[i] = l.after(uint64(i))
		}
		return out
	}
	one := at(1, after)
	var counts [after + 1]int
	for _, n := range one {
		counts[n]++
	}
	for n, count := range counts {
		// √(ln(18/1e-9)/(2·40000)) = 0.0172.
		if f := float64(count)/texts - 1./(after+1); f > 0.0173 || f < -0.0173 {
			t.Errorf("%d tokens come first in %d of %d texts", n, count, texts)
		}
	}
	if !slices.Equal(one, at(1, after)) || slices.Equal(one, at(2, after)) {
		t.Error("places do not follow from the key")
	}
	if slices.Max(at(1, 0)) != 0 {
		t.Error("texts without a place for the condition have one")
	}
}
