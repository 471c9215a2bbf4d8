package tokenizer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// fixture reads a file of testdata. Its README says where they come from.
func fixture[T any](t testing.TB, name string) (value T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		data = unzip(t, data)
	}
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func unzip(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var defaultConfig = sync.OnceValues(func() (tokenizer.Config, error) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		return tokenizer.Config{}, fmt.Errorf("%w\nrun: go run ./cmd/sotto model pull", err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return tokenizer.Config{}, err
	}
	defer f.Close()
	return tokenizer.ConfigFromGGUF(f)
})

// defaultModel returns the default model's vocabulary with some cutting rule.
func defaultModel(t testing.TB, rule string) *tokenizer.Tokenizer {
	t.Helper()
	c, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	c.Pre = rule
	return newTokenizer(t, c)
}

func newTokenizer(t testing.TB, c tokenizer.Config) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func encode(t testing.TB, tok *tokenizer.Tokenizer, text string) []lm.Token {
	t.Helper()
	ids, err := tok.Encode(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func decode(t testing.TB, tok *tokenizer.Tokenizer, ids []lm.Token) string {
	t.Helper()
	text, err := tok.Decode(context.Background(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type textCase struct {
	Text []byte // base64 in the file
	IDs  []lm.Token
}

func TestTextsAsInLlamaCPP(t *testing.T) {
	type cases struct {
		Rules []string
		Cases []struct {
			Text []byte
			IDs  map[string][]lm.Token
		}
	}
	all := fixture[cases](t, "texts.json.gz")
	if len(all.Cases) < 1000 {
		t.Fatalf("the fixture has %d cases", len(all.Cases))
	}
	broken := 0
	for _, rule := range all.Rules {
		tok := defaultModel(t, rule)
		for _, c := range all.Cases {
			if !utf8.Valid(c.Text) {
				broken++
			}
			want, ok := c.IDs[rule]
			if !ok {
				want = c.IDs[all.Rules[0]]
			}
			if got := encode(t, tok, string(c.Text)); !slices.Equal(got, want) {
				t.Errorf("%s: %q gives %v, and llama.cpp %v", rule, c.Text, got, want)
			}
		}
	}
	if broken < 1000 {
		t.Errorf("only %d cases are not UTF-8", broken)
	}
}

type digests struct {
	CodePoints map[string]string `json:"code_points"`
	Models     map[string]string
	Data       map[string]struct {
		Bytes, Tokens int
		SHA256        string
	}
}

// hashOf is over little-endian 32-bit ids.
func hashOf(lists func(yield func([]lm.Token) bool)) string {
	h := sha256.New()
	var b []byte
	for ids := range lists {
		b = b[:0]
		for _, id := range ids {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestOtherModelsAsInLlamaCPP encodes the texts of the fixture with the vocabularies of
// models that are there.
func TestOtherModelsAsInLlamaCPP(t *testing.T) {
	texts := fixture[struct{ Cases []struct{ Text []byte } }](t, "texts.json.gz").Cases
	for name, want := range fixture[digests](t, "digests.json").Models {
		t.Run(name, func(t *testing.T) {
			path, _, err := models.Find(name)
			if err != nil {
				t.Skip(err)
			}
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			tok, err := tokenizer.FromGGUF(f)
			if err != nil {
				t.Fatal(err)
			}
			got := hashOf(func(yield func([]lm.Token) bool) {
				for _, c := range texts {
					if !yield(encode(t, tok, string(c.Text))) {
						return
					}
				}
			})
			if got != want {
				t.Errorf("the ids have the digest %s, and llama.cpp's %s", got, want)
			}
			if tok.Template() == "" {
				t.Error("the chat template is not recognised")
			}
		})
	}
}

// TestServedModelsAsInLlamaCPP does so with the texts that are UTF-8, which llama.cpp's
// server encoded: SentencePiece with a real vocabulary, and further cutting rules.
func TestServedModelsAsInLlamaCPP(t *testing.T) {
	texts := fixture[struct{ Cases []struct{ Text []byte } }](t, "texts.json.gz").Cases
	for name, want := range fixture[map[string]struct {
		Texts  int
		SHA256 string
	}](t, "served.json") {
		t.Run(name, func(t *testing.T) {
			name, rule, ruled := strings.Cut(name, " ")
			path, _, err := models.Find(name)
			if err != nil {
				t.Skip(err)
			}
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			c, err := tokenizer.ConfigFromGGUF(f)
			if err != nil {
				t.Fatal(err)
			}
			if ruled {
				c.Pre = rule
			}
			tok := newTokenizer(t, c)
			count := 0
			got := hashOf(func(yield func([]lm.Token) bool) {
				for _, c := range texts {
					if !utf8.Valid(c.Text) {
						continue
					}
					count++
					if !yield(encode(t, tok, string(c.Text))) {
						return
					}
				}
			})
			if got != want.SHA256 || count != want.Texts {
				t.Errorf("the ids of %d texts have the digest %s, and llama.cpp's of %d have %s", count, got, want.Texts, want.SHA256)
			}
		})
	}
}

// codePoints are all that may be assigned, and samples of planes without characters.
func codePoints(yield func(rune) bool) {
	for _, r := range []struct{ from, to, step rune }{
		{0, 0x34000, 1}, {0xE0000, 0xE1000, 1}, {0x34000, 0xE0000, 257}, {0xE1000, 0x110000, 257},
	} {
		for c := r.from; c < r.to; c += r.step {
			if !yield(c) {
				return
			}
		}
	}
}

// surroundings are texts of 256 code points each: within a word, after a space, after
// a word, doubled.
func surroundings(yield func(string) bool) {
	var b strings.Builder
	count := 0
	for c := range codePoints {
		s := string(c)
		if 0xD800 <= c && c < 0xE000 { // surrogates, in the form that UTF-8 would give them
			s = string([]byte{0xE0 | byte(c>>12), 0x80 | byte(c>>6)&0x3F, 0x80 | byte(c)&0x3F})
		}
		b.WriteString("a" + s + "b " + s + " x" + s + " " + s + s + "\n")
		if count++; count == 256 {
			if !yield(b.String()) {
				return
			}
			b.Reset()
			count = 0
		}
	}
	yield(b.String())
}

// TestAllCodePointsAsInLlamaCPP takes five times as long with the race detector, which
// has nothing to find here: then it leaves out the rules that are variants of others.
func TestAllCodePointsAsInLlamaCPP(t *testing.T) {
	for rule, want := range fixture[digests](t, "digests.json").CodePoints {
		t.Run(rule, func(t *testing.T) {
			if raceDetector && rule != "smollm" && rule != "qwen2" {
				t.Skip("left out with the race detector")
			}
			t.Parallel()
			tok := defaultModel(t, rule)
			got := hashOf(func(yield func([]lm.Token) bool) {
				for text := range surroundings {
					if !yield(encode(t, tok, text)) {
						return
					}
				}
			})
			if got != want {
				t.Errorf("the ids have the digest %s, and llama.cpp's %s", got, want)
			}
		})
	}
}

// TestDataSetsAsInLlamaCPP encodes whole files, where there are any.
func TestDataSetsAsInLlamaCPP(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no data sets beside the repository")
	}
	tok := defaultModel(t, "smollm")
	for name, want := range fixture[digests](t, "digests.json").Data {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, ".gz") {
				data = unzip(t, data)
			}
			if len(data) != want.Bytes {
				t.Skipf("another version of the file: %d bytes, not %d", len(data), want.Bytes)
			}
			ids := encode(t, tok, string(data))
			got := hashOf(func(yield func([]lm.Token) bool) { yield(ids) })
			if got != want.SHA256 || len(ids) != want.Tokens {
				t.Errorf("%d ids with the digest %s; llama.cpp has %d with %s", len(ids), got, want.Tokens, want.SHA256)
			}
			if text := decode(t, tok, ids); text != string(data) {
				t.Error("decoding does not give the text back")
			}
		})
	}
}

type smallVocabulary struct {
	Model, Pre string
	Tokens     []string
	Types      []tokenizer.Type
	Scores     []float32
	Merges     []string
	BOS, EOS   lm.Token
	Prefix     bool
	Cases      []textCase
}

func (v smallVocabulary) config() tokenizer.Config {
	return tokenizer.Config{
		Model: v.Model, Pre: v.Pre, Tokens: v.Tokens, Types: v.Types, Scores: v.Scores, Merges: v.Merges,
		BOS: &v.BOS, EOS: &v.EOS, AddSpacePrefix: v.Prefix,
	}
}

// TestSmallVocabularies has what real vocabularies lack: bytes without a token, merges
// that repeat or make no token, equal scores, user-defined tokens within each other.
func TestSmallVocabulariesAsInLlamaCPP(t *testing.T) {
	for i, v := range fixture[[]smallVocabulary](t, "vocabularies.json.gz") {
		t.Run(fmt.Sprint(i, v.Model, v.Pre), func(t *testing.T) {
			tok := newTokenizer(t, v.config())
			for _, c := range v.Cases {
				if got := encode(t, tok, string(c.Text)); !slices.Equal(got, c.IDs) {
					t.Errorf("%q gives %v, and llama.cpp %v", c.Text, got, c.IDs)
				}
			}
		})
	}
}

// TestDefaultModel compares with what llama.cpp says about the same file: its marks
// are 0 to 16, it stops at 0, 2 (EOS) and 4, and adds no BOS.
func TestDefaultModel(t *testing.T) {
	tok := defaultModel(t, "smollm")
	if tok.Size() != 49152 {
		t.Errorf("the vocabulary has %d tokens", tok.Size())
	}
	if first, ok := tok.Beginning(); ok {
		t.Errorf("texts begin with %d", first)
	}
	if got := tok.Ends(); !slices.Equal(got, []lm.Token{2, 0, 4}) {
		t.Errorf("ends are %v", got)
	}
	for id := lm.Token(-1); id <= 49152; id++ {
		if got, want := tok.Control(id), 0 <= id && id <= 16; got != want {
			t.Errorf("Control(%d) is %v", id, got)
		}
	}
	if got := tok.Template(); got != "chatml" {
		t.Errorf("the template is %q", got)
	}
}
