package bert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func openTokens(t testing.TB) *tokenizer {
	t.Helper()
	_, vocab := files(t)
	tokens, err := openVocabulary(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// uncased spells as all-MiniLM-L6-v2 does.
var uncased = &tokenizer{lower: true, strip: true}

func TestWords(t *testing.T) {
	for _, test := range []struct {
		piece string
		want  []string
	}{
		{"", nil},
		{"Hello", []string{"hello"}},
		{"don't!", []string{"don", "'", "t", "!"}},
		{"a_b+c", []string{"a", "_", "b", "+", "c"}},
		{"Čeština…", []string{"cestina", "…"}},
		{"e\u0301", []string{"e"}},
		{"soft\u00adhyphen\u200b", []string{"softhyphen"}},
		{"bell\a\x7f", []string{"bell"}},
		{"日本x語", []string{"日", "本", "x", "語"}},
		{"ΟΔΟΣ", []string{"οδοσ"}},
		{"İ", []string{"i"}},
		{"€6", []string{"€6"}},
		{"\xff\xfea\ufffdb", []string{"ab"}},
		{"각", []string{"\u1100\u1161\u11a8"}},
	} {
		var got []string
		eachWord(uncased.clean(test.piece), func(w string) bool { got = append(got, w); return true })
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.piece, got, test.want)
		}
	}
}

// TestSpelling: the words of a model that keeps upper case, or accents.
func TestSpelling(t *testing.T) {
	for _, test := range []struct {
		lower, strip bool
		want         string
	}{
		{false, false, "Čeština 日 ."},
		{true, false, "čeština 日 ."},
		{false, true, "Cestina 日 ."},
		{true, true, "cestina 日 ."},
	} {
		var got []string
		tokens := &tokenizer{lower: test.lower, strip: test.strip}
		eachWord(tokens.clean("Čeština日\u200b."), func(w string) bool { got = append(got, w); return true })
		expect.Equal(t, fmt.Sprintf("lower case %t, without accents %t", test.lower, test.strip), strings.Join(got, " "), test.want)
		expect.Equal(t, "plain text", tokens.clean("A"), map[bool]string{true: "a", false: "A"}[test.lower])
	}
}

func TestEveryCodePoint(t *testing.T) {
	data, err := os.ReadFile("testdata/codepoints.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Block   int
		Digests map[string]string
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Digests) < 270 {
		t.Fatalf("the fixture has %d blocks", len(f.Digests))
	}
	tokens := openTokens(t)
	var line []byte
	for block, want := range f.Digests {
		n, err := strconv.ParseInt(block, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for c := rune(int(n) * f.Block); c < rune((int(n)+1)*f.Block); c++ {
			if c >= 0xD800 && c < 0xE000 {
				continue
			}
			line = line[:0]
			for i, id := range trim(tokens.encode("a" + string(c) + "b")) {
				if i > 0 {
					line = append(line, ' ')
				}
				line = strconv.AppendInt(line, int64(id), 10)
			}
			h.Write(append(line, '\n'))
		}
		if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want {
			t.Errorf("some code point from %X000 on gives other ids", n)
		}
	}
}

func TestTablesAreInOrder(t *testing.T) {
	for name, table := range map[string]spans{
		"dropped": dropped, "marks": marks, "punctuation": punctuation, "ideographs": ideographs,
	} {
		t.Run(name, func(t *testing.T) {
			last := rune(-2)
			for _, span := range table {
				if span[0] <= last+1 || span[1] < span[0] {
					t.Errorf("%s: span %X after %X", name, span, last)
				}
				last = span[1]
			}
		})
	}
	for r := range rune(128) {
		if isDropped(r) != dropped.has(r) || isPunctuation(r) != punctuation.has(r) {
			t.Errorf("the table and the quick way differ on %q", r)
		}
	}
}

// checkIDs fails the test where ids are not those of a text.
func checkIDs(t interface{ Fatalf(string, ...any) }, tokens *tokenizer, text string) []int32 {
	ids := tokens.encode(text)
	if len(ids) < 2 || len(ids) > maxPieces {
		t.Fatalf("%q: %d ids", text, len(ids))
	}
	if first, last := ids[0], ids[len(ids)-1]; first != tokens.begin || last != tokens.finish {
		t.Fatalf("%q: %d ids from %d to %d, not framed", text, len(ids), first, last)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= tokens.size {
			t.Fatalf("%q: id %d", text, id)
		}
	}
	if again := tokens.encode(text); !slices.Equal(ids, again) {
		t.Fatalf("%q: other ids the second time", text)
	}
	return ids
}

// Ids of two texts with a gap between are those of the one and those of the other.
func checkJoin(t interface{ Fatalf(string, ...any) }, tokens *tokenizer, a, b string) {
	inner := slices.Concat(trim(checkIDs(t, tokens, a)), trim(checkIDs(t, tokens, b)))
	joined := trim(checkIDs(t, tokens, a+" \n"+b))
	if len(inner) > maxPieces-2 {
		inner = inner[:maxPieces-2]
	}
	if !slices.Equal(joined, inner) {
		t.Fatalf("%q and %q: joined %v, apart %v", a, b, joined, inner)
	}
}

func trim(ids []int32) []int32 { return ids[1 : len(ids)-1] }

func TestTextsJoin(t *testing.T) {
	tokens := openTokens(t)
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("aAéß [MASK]#'日\u0301\u200b0"))))
	rapid.Check(t, func(r *rapid.T) {
		checkJoin(r, tokens, text.Draw(r, "a"), text.Draw(r, "b"))
	})
}

func TestAccentsAndCaseDoNotMatter(t *testing.T) {
	tokens := openTokens(t)
	letters := rapid.StringOf(rapid.RuneFrom([]rune("abcxyzäéñ. 1")))
	rapid.Check(t, func(r *rapid.T) {
		text := letters.Draw(r, "text")
		accented := strings.ReplaceAll(text, "a", "a\u0301")
		if want := tokens.encode(text); !slices.Equal(tokens.encode(strings.ToUpper(text)), want) ||
			!slices.Equal(tokens.encode(accented), want) {
			r.Fatalf("%q: case or accents change the ids", text)
		}
	})
}

func TestLongTextsStopEarly(t *testing.T) {
	tokens := openTokens(t)
	short := strings.Repeat("stone ", 300)
	long := strings.Repeat("stone ", 1_000_000)
	if !slices.Equal(tokens.encode(short), tokens.encode(long)) {
		t.Error("what comes after the last word piece matters")
	}
	work := func(text string) float64 {
		return testing.AllocsPerRun(3, func() { tokens.encode(text) })
	}
	if a, b := work(short), work(long); a != b {
		t.Errorf("%v allocations for a short text and %v for a long one", a, b)
	}
}

func FuzzEncode(f *testing.F) {
	tokens := openTokens(f)
	for _, text := range []string{"", "A cat sat.", "[MASK]ed", "caf\u00e9 \u65e5\u672c", "\xff\x00", strings.Repeat("x", 101)} {
		f.Add(text, "and more")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		checkJoin(t, tokens, a, b)
		if strings.IndexFunc(a, func(r rune) bool { return r >= 0x80 || r == '[' || unicode.IsControl(r) }) < 0 &&
			!slices.Equal(tokens.encode(a), tokens.encode(strings.ToUpper(a))) {
			t.Fatalf("%q: case changes the ids", a)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	tokens := openTokens(b)
	text := readFixture(b).Items[64].Text
	for b.Loop() {
		tokens.encode(text)
	}
	b.SetBytes(int64(len(text)))
}
