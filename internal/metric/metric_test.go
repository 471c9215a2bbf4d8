package metric

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

func value(t testing.TB, name string, pairs []Pair) float64 {
	t.Helper()
	m, err := New(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.Value(context.Background(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }

func TestByHand(t *testing.T) {
	labels := []Pair{{"a", "a"}, {"a", "b"}, {"b", "b"}, {"c", "b"}, {"a", "a"}, {"c", "d"}}
	phrases := []Pair{{"Tom  Hanks", " tom\thanks\n"}, {"Tom Hanks", "Tom Hanks."}, {"É", "é"}, {"é", "e"}}
	news := []Pair{{"the cat on the mat", "the cat likes mat"}, {"a b", "c d"}}
	repeats := []Pair{{"", "to be or not to be"}, {"x", "To be!"}}
	for _, c := range []struct {
		name  string
		pairs []Pair
		want  float64
	}{
		{"accuracy", labels, 3. / 6},
		// a: 2·2/(3+2), b: 2·1/(1+3), c and d: 0; sklearn.metrics.f1_score says 0.325.
		{"macro_f1", labels, (4./5 + 2./4) / 4},
		{"macro_f1", labels[:1], 1},
		{"exact_match", phrases, 2. / 4},
		{"accuracy", phrases, 0},
		{"rouge_1", news, 2. / 3 / 2},
		{"rouge_2", news, 2. / 7 / 2},
		{"rouge_l", news, 2. / 3 / 2},
		{"rouge_lsum", news, 2. / 3 / 2},
		{"rouge_1", []Pair{{"connected", "connection"}}, 0},
		{"rouge_1_stem", []Pair{{"connected", "connection"}}, 1},
		{"rouge_2_stem", []Pair{{"dogs connected", "dog connection"}}, 1},
		{"rouge_l_stem", []Pair{{"dogs connected", "dog connection"}}, 1},
		{"rouge_lsum_stem", []Pair{{"dogs\nconnected", "connection\ndog"}}, 1},
		{"distinct_1", repeats, 4. / 8},
		{"distinct_2", repeats, 4. / 6},
		{"distinct_3", repeats, 4. / 4},
		{"distinct_3", repeats[1:], 0},
		{"words", repeats, 4},
		{"self_bleu", repeats[1:], 0},
	} {
		if got := value(t, c.name, c.pairs); !near(got, c.want) {
			t.Errorf("%s of %v is %v, want %v", c.name, c.pairs, got, c.want)
		}
	}
}

// TestSelfBLEUOfNLTK compares with the mean of NLTK 3.10.4's
// sentence_bleu(others, text, smoothing_function=SmoothingFunction().method1).
func TestSelfBLEUOfNLTK(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  float64
	}{
		{[]string{"the cat sat on the mat today", "the cat sat on a mat", "a dog sat on the mat today and slept"}, 0.6128578004851825},
		{[]string{"stocks fell on monday", "stocks rose sharply on monday after the bank cut rates", "the bank cut rates on monday", "it rained"}, 0.27924328740019305},
		{[]string{"a", "a b c d e"}, 0.028492764471465752},
		{[]string{"one two three four five", "one two three four five"}, 1.0},
		{[]string{"a a a a", "a b a b a", "b b"}, 0.07603674741737217},
	} {
		if got := SelfBLEU(c.texts); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("self-BLEU of %q is %v, want %v", c.texts, got, c.want)
		}
	}
	if got := SelfBLEU([]string{"", ""}); got != 0 {
		t.Errorf("self-BLEU of empty texts is %v", got)
	}
}

func TestLengths(t *testing.T) {
	if n := wordCount([]string{"one two", "", "Größe, naïve: 2 mots!"}); n != 2 {
		t.Errorf("%v words", n)
	}
	if n := wordCount(nil); n != 0 {
		t.Errorf("of no texts: %v words", n)
	}
}

func TestRegistry(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(names) != len(simple)+len(embedding) {
		t.Errorf("names %v", names)
	}
	for _, kind := range prompt.Kinds() {
		list := For(kind)
		if len(list) == 0 {
			t.Errorf("no metric for %s", kind)
		}
		for i, name := range list {
			m, err := New(name, Options{})
			if err != nil || m.Name() != name {
				t.Errorf("%s: %q, %v", name, m.Name(), err)
			}
			// Intervals need scores of items.
			if i == 0 && !m.PerItem() {
				t.Errorf("the main metric of %s is not per item", kind)
			}
		}
	}
	if For("poem") != nil {
		t.Error("an unknown kind has metrics")
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	macro, _ := New("macro_f1", Options{})
	accuracy, _ := New("accuracy", Options{})
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		err  func() error
		want string
	}{
		"unknown":   {func() error { _, err := New("rouge", Options{}); return err }, "rouge_l"},
		"encoder":   {func() error { _, err := New("embedding_f1", Options{}); return err }, "needs an encoder"},
		"together":  {func() error { _, err := macro.Score(ctx, []Pair{{}}); return err }, "use its value"},
		"none":      {func() error { _, err := accuracy.Value(ctx, nil); return err }, "at least one"},
		"cancelled": {func() error { _, err := accuracy.Score(cancelled, []Pair{{}}); return err }, "cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestProperties(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "a b", "a b a b a b", "B", "c, d"}), rapid.String())
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pair {
			return Pair{text.Draw(t, "want"), text.Draw(t, "got")}
		}), 1, 8).Draw(t, "pairs")
		same := make([]Pair, len(pairs))
		for i, p := range pairs {
			same[i] = Pair{p.Want, p.Want}
		}
		for _, name := range Names() {
			m, err := New(name, Options{})
			if err != nil {
				continue
			}
			v, err := m.Value(ctx, pairs)
			minimum := map[bool]float64{true: -1 - 1e-12}[name == "mcc"]
			at := expect.At(t, "%s", name)
			expect.NoError(at, err)
			expect.Min(at, "v", v, minimum)
			if name != "words" {
				expect.Max(at, "v", v, 1+1e-12)
			}
			if m.PerItem() {
				scores, err := m.Score(ctx, pairs)
				if err != nil || len(scores) != len(pairs) {
					t.Fatalf("%s: %d scores, %v", name, len(scores), err)
				}
			}
			if slices.Contains([]string{"accuracy", "macro_f1", "balanced_accuracy", "exact_match"}, name) {
				if v, err := m.Value(ctx, same); err != nil || v != 1 {
					t.Fatalf("%s of perfect answers is %v, %v", name, v, err)
				}
			}
		}
	})
}

// flat is an encoder of sentences for tests: vectors of its own making.
type flat struct {
	vectors map[string][]float32
	asked   int
	err     error
}

func (f *flat) Name() string   { return "flat" }
func (f *flat) Dimension() int { return 2 }
func (f *flat) Close() error   { return nil }

func (f *flat) Embed(_ context.Context, texts []string) ([][]float32, error) {
	f.asked += len(texts)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = f.vectors[text]
	}
	return out, f.err
}

func TestWordByWord(t *testing.T) {
	f := &flat{vectors: map[string][]float32{"cat": {1, 0}, "kitten": {0.8, 0.6}, "bank": {0, 1}, "odd": {1}}}
	o := EncoderOf(f)
	pairs := []Pair{{"Cat cat bank", "kitten"}, {"", "cat"}, {"cat", "bank"}, {"bank cat", "cat bank"}}
	got, err := Matches(context.Background(), pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	f1 := func(p, r float64) float64 { return 2 * p * r / (p + r) }
	recall := (0.8 + 0.8 + 0.6) / 3
	want := []Match{{0.8, recall, f1(0.8, recall)}, {}, {}, {1, 1, 1}}
	for i := range want {
		g, w := got[i], want[i]
		if math.Abs(g.Precision-w.Precision)+math.Abs(g.Recall-w.Recall)+math.Abs(g.F1-w.F1) > 1e-7 {
			t.Errorf("%v: %+v, want %+v", pairs[i], g, w)
		}
	}
	if f.asked != 3 {
		t.Errorf("%d words were asked for", f.asked)
	}

	if _, err := Matches(context.Background(), []Pair{{"cat", "odd"}}, o); err == nil || !strings.Contains(err.Error(), "2 and 1 numbers") {
		t.Errorf("vectors of different lengths: %v", err)
	}
	f.err = errors.New("the end point is gone")
	if _, err := Matches(context.Background(), pairs, o); !errors.Is(err, f.err) {
		t.Errorf("error %v", err)
	}
}

// TestNames: a metric has the name of its encoder.
func TestNames(t *testing.T) {
	m, err := New("embedding_f1", Options{Encoder: EncoderOf(&flat{})})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "embedding_f1 (flat, word by word)" || !m.PerItem() {
		t.Errorf("name %q", m.Name())
	}
}

func FuzzValues(f *testing.F) {
	f.Add("the cat", "The  Cat", "a\nb", "b\na")
	f.Add("", "", "x", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if len(a)+len(b)+len(c)+len(d) > 1<<12 {
			t.Skip()
		}
		pairs := []Pair{{a, b}, {c, d}}
		for _, name := range Names() {
			m, err := New(name, Options{})
			if err != nil {
				continue
			}
			v, err := m.Value(context.Background(), pairs)
			at := expect.At(t, "%s", name)
			expect.NoError(at, err)
			expect.Min(at, "v", v, 0)
			expect.Equal(at, "math.IsInf(v, 0)", math.IsInf(v, 0), false)
			if name != "words" {
				expect.Max(at, "v", v, 1+1e-12)
			}
		}
	})
}
