package rouge

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func unzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pair is a line of what testdata/reference.py writes: precision, recall and F1 of
// ROUGE-1, -2, -3, -L and -Lsum, without and with stemming.
type pair struct {
	Want, Got string
	Scores    [2][5][3]float64
}

func pairs(t testing.TB) []pair {
	t.Helper()
	var list []pair
	lines := bufio.NewScanner(bytes.NewReader(unzip(t, "testdata/pairs.jsonl.gz")))
	lines.Buffer(nil, 1<<20)
	lines.Scan() // what made it
	for lines.Scan() {
		var p pair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 1200 {
		t.Fatalf("the fixture has %d pairs", len(list))
	}
	return list
}

func all(o Options, want, got string) [5]Score {
	return [5]Score{o.N(1, want, got), o.N(2, want, got), o.N(3, want, got), o.L(want, got), o.LSum(want, got)}
}

func TestScoresOfRougeScore(t *testing.T) {
	names := [5]string{"ROUGE-1", "ROUGE-2", "ROUGE-3", "ROUGE-L", "ROUGE-Lsum"}
	between, stems := 0, 0
	for _, p := range pairs(t) {
		for stem, scores := range p.Scores {
			for i, s := range all(Options{Stem: stem == 1}, p.Want, p.Got) {
				for j, got := range [3]float64{s.Precision, s.Recall, s.F1} {
					if want := scores[i][j]; !(math.Abs(got-want) <= 1e-9) {
						t.Fatalf("%s (stem %v) of %q against %q: %+v, want %v", names[i], stem == 1, p.Got, p.Want, s, scores[i])
					}
				}
			}
		}
		if f := p.Scores[0][3][2]; f > 0 && f < 1 {
			between++
		}
		if p.Scores[0] != p.Scores[1] {
			stems++
		}
	}
	// A fixture of zeros and ones would prove little.
	if between < 700 || stems < 250 {
		t.Errorf("%d pairs are between 0 and 1, stemming changes %d", between, stems)
	}
}

func TestStemsOfNLTK(t *testing.T) {
	words, changed := 0, 0
	for line := range strings.Lines(string(unzip(t, "testdata/stems.txt.gz"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		word, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			t.Fatalf("line %q", line)
		}
		if got := Stem(word); got != want {
			t.Errorf("stem of %q is %q, want %q", word, got, want)
		}
		words++
		if word != want {
			changed++
		}
	}
	if words < 10000 || changed < 8000 {
		t.Errorf("%d words, of which %d have another stem", words, changed)
	}
}

func TestByHand(t *testing.T) {
	// Five words against four, of which "the", "cat" and "mat" are shared, in order;
	// one pair of neighbours.
	const want, got = "the cat on the mat", "the cat likes mat"
	third := 2 * (3. / 4) * (3. / 5) / (3./4 + 3./5)
	for name, c := range map[string]struct{ got, want Score }{
		"1":      {Options{}.N(1, want, got), Score{3. / 4, 3. / 5, third}},
		"2":      {Options{}.N(2, want, got), Score{1. / 3, 1. / 4, 2. / 7}},
		"L":      {Options{}.L(want, got), Score{3. / 4, 3. / 5, third}},
		"long":   {Options{}.N(5, want, got), Score{}},
		"none":   {Options{}.N(0, want, got), Score{}},
		"less":   {Options{}.N(-1, want, got), Score{}},
		"empty":  {Options{}.LSum("", got), Score{}},
		"script": {Options{}.L("日本語", "日本語"), Score{}},
		"stem":   {Options{Stem: true}.L("connected dogs", "connection dog"), Score{1, 1, 1}},
		// Of different lines, so that order between them does not matter.
		"lines": {Options{}.LSum("a b\nc d", "c d\na b"), Score{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Max(t, "math.Abs(c.got.F1-c.want.F1)", math.Abs(c.got.F1-c.want.F1), 1e-15)
			expect.Equal(t, "c.got.Precision", c.got.Precision, c.want.Precision)
			expect.Equal(t, "c.got.Recall", c.got.Recall, c.want.Recall)
		})
	}
}

// lcs returns the textbook's.
func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], above)
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func TestCommonSubsequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 300)
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		want := lcs(a, b)
		if got := common(a, b); got != want {
			t.Fatalf("length %d, want %d", got, want)
		}
		on := make([]bool, len(a))
		mark(a, b, on)
		var found []string
		for i, yes := range on {
			if yes {
				found = append(found, a[i])
			}
		}
		if len(found) != want || lcs(found, b) != want {
			t.Fatalf("found %v of length %d, want a subsequence of both of length %d", found, len(found), want)
		}
	})
}

func check(t interface{ Fatalf(string, ...any) }, want, got string) {
	for _, o := range []Options{{}, {Stem: true}} {
		forth, back := all(o, want, got), all(o, got, want)
		for i, s := range forth {
			for _, v := range []float64{s.Precision, s.Recall, s.F1} {
				if !(v >= 0 && v <= 1) {
					t.Fatalf("score %d is %+v", i, s)
				}
			}
			if s.F1 < min(s.Precision, s.Recall)-1e-12 || s.F1 > max(s.Precision, s.Recall)+1e-12 {
				t.Fatalf("score %d: F1 is not between the others: %+v", i, s)
			}
			// Which longest subsequence ROUGE-Lsum takes depends on the side.
			if i < 4 && (s.Precision != back[i].Recall || s.Recall != back[i].Precision) {
				t.Fatalf("score %d: %+v one way, %+v the other", i, s, back[i])
			}
		}
		// More can be shared in any order than in the same.
		if forth[3].F1 > forth[0].F1+1e-12 {
			t.Fatalf("ROUGE-L %v is above ROUGE-1 %v", forth[3], forth[0])
		}
		same := all(o, want, want)
		n := len(o.words(want))
		for i, minimum := range []int{1, 2, 3, 1, 1} {
			if full := (Score{1, 1, 1}); n >= minimum && same[i] != full {
				t.Fatalf("score %d of a text against itself is %+v", i, same[i])
			}
		}
		for _, word := range o.words(got) {
			if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
				t.Fatalf("word %q", word)
			}
		}
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"a", "the", "relational", "Relations", "\n", "it's", "42", "skies"}),
			rapid.String()), 0, 30)
		check(t, strings.Join(words.Draw(t, "want"), " "), strings.Join(words.Draw(t, "got"), " "))
	})
}

func FuzzScores(f *testing.F) {
	for _, p := range pairs(f)[:120] {
		if len(p.Want)+len(p.Got) < 200 {
			f.Add(p.Want, p.Got)
		}
	}
	f.Fuzz(func(t *testing.T, want, got string) {
		if len(want)+len(got) > 1<<12 {
			t.Skip()
		}
		check(t, want, got)
	})
}

func BenchmarkScores(b *testing.B) {
	list := pairs(b)
	for b.Loop() {
		for _, p := range list {
			all(Options{}, p.Want, p.Got)
			all(Options{Stem: true}, p.Want, p.Got)
		}
	}
	b.ReportMetric(float64(2*len(list)*b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// BenchmarkCommonSubsequence prints how much faster bits are than a table.
func BenchmarkCommonSubsequence(b *testing.B) {
	long := list500(b)
	other := append(append([]string{}, long[100:]...), long[:100]...)
	const times = 200
	start := time.Now()
	for range times {
		lcs(long, other)
	}
	table := time.Since(start).Seconds() / times
	for b.Loop() {
		common(long, other)
	}
	b.ReportMetric(table*float64(b.N)/b.Elapsed().Seconds(), "times-a-table")
}

func list500(b *testing.B) []string {
	var words []string
	for _, p := range pairs(b) {
		words = append(words, Options{}.words(p.Want)...)
		if len(words) >= 500 {
			return words[:500]
		}
	}
	b.Fatal("the fixture is too short")
	return nil
}
