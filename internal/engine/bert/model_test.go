package bert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/bert/berttest"
	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// tinyTexts are of 2 to more than 32 tokens.
var tinyTexts = []string{
	"", "cat", "The quick cat sat on a mat.", "Dogs, cats and the ℝiver: quickly!", "a stone of the bank of the river",
	strings.Repeat("the dog sat on the mats, ", 9),
}

func folderOf(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	expect.NoError(t, berttest.WriteFolder(dir, files))
	return dir
}

func openTiny(t *testing.T, path string, o Options) *Encoder {
	t.Helper()
	e, err := OpenModel(path, o)
	expect.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func embed(t *testing.T, e *Encoder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(context.Background(), texts)
	expect.NoError(t, err)
	return vectors
}

func near(a []float32, b []float64) float64 {
	other := make([]float32, len(b))
	for i, v := range b {
		other[i] = float32(v)
	}
	return cosine(a, other)
}

// TestModelsInAllForms holds an encoder in every form to plain arithmetic, and the forms to each other, to the bit.
func TestModelsInAllForms(t *testing.T) {
	for name, m := range map[string]*berttest.Model{
		"mean, heads of 32": berttest.New(1, 32, false), "mean, heads of 64": berttest.New(2, 64, false),
		"first, heads of 32": berttest.New(3, 32, true), "first, heads of 128": berttest.New(4, 128, true),
	} {
		t.Run(name, func(t *testing.T) {
			e := openTiny(t, folderOf(t, m.Files("F32")), Options{})
			want := embed(t, e, tinyTexts...)
			for i, text := range tinyTexts {
				ids := e.tokens.encode(text)
				expect.Min(t, fmt.Sprintf("cosine of text %d, of %d tokens", i, len(ids)), near(want[i], m.Vector(ids)), 1-1e-6)
			}
			expect.Max(t, "cosine of two texts", cosine(want[1], want[2]), 0.99)
			expect.Equal(t, "tokens of the longest", len(e.tokens.encode(tinyTexts[5])), 32)
			same := func(form string, e *Encoder) {
				for i, v := range embed(t, e, tinyTexts[:5]...) {
					expect.True(t, fmt.Sprintf("%s: text %d has the same vector", form, i), slices.Equal(v, want[i]))
				}
			}
			for _, kind := range []string{"F16", "BF16"} {
				same(kind, openTiny(t, folderOf(t, m.Files(kind)), Options{}))
			}
			for _, kind := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0} {
				path := filepath.Join(t.TempDir(), "tiny.gguf")
				expect.NoError(t, m.WriteGGUF(path, kind))
				same("GGUF of "+kind.String(), openTiny(t, path, Options{}))
			}
		})
	}
}

func TestModelsDoNotDependOnTheBatch(t *testing.T) {
	e := openTiny(t, folderOf(t, berttest.New(5, 64, true).Files("F16")), Options{})
	want := embed(t, e, tinyTexts...)
	for i, text := range tinyTexts {
		expect.True(t, fmt.Sprintf("text %d alone has the same vector", i), slices.Equal(embed(t, e, text)[0], want[i]))
	}
	for _, level := range kernel.Levels() {
		other := openTiny(t, folderOf(t, berttest.New(5, 64, true).Files("F16")), Options{})
		other.setLevel(level)
		for i, v := range embed(t, other, tinyTexts[:3]...) {
			expect.True(t, fmt.Sprintf("%v: text %d has the same vector", level, i), slices.Equal(v, want[i]))
		}
	}
}

// TestPrefixes: a text with a prefix is that text, under another name.
func TestPrefixes(t *testing.T) {
	files := berttest.New(6, 32, false).Files("F32")
	dir := folderOf(t, files)
	plain, query := openTiny(t, dir, Options{}), openTiny(t, dir, Options{Prefix: "query: "})
	want := embed(t, plain, "query: the cat")[0]
	expect.True(t, "the vector with a prefix is that of the whole text", slices.Equal(embed(t, query, "the cat")[0], want))
	expect.True(t, "fingerprints differ", plain.Fingerprint() != query.Fingerprint(), plain.Fingerprint())
	expect.Prefix(t, "name", query.Name(), "tiny@")
	tokens, err := query.Tokens(context.Background(), []string{"the cat"})
	expect.NoError(t, err)
	expect.Len(t, "tokens without those of the prefix", tokens[0], 2)
	expect.Equal(t, "first token", tokens[0][0].Piece, "the")

	files["config_sentence_transformers.json"] = []byte(`{"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "query"}`)
	own := openTiny(t, folderOf(t, files), Options{})
	expect.Equal(t, "fingerprint with the folder's own prefix", own.Fingerprint(), query.Fingerprint())
}

// TestSettingsAreInTheFingerprint changes what the files beside the weights say.
func TestSettingsAreInTheFingerprint(t *testing.T) {
	m := berttest.New(7, 32, false)
	seen := map[string]string{openTiny(t, folderOf(t, m.Files("F32")), Options{}).Fingerprint(): "nothing"}
	for name, change := range map[string]string{
		"1_Pooling/config.json":     `{"pooling_mode_cls_token": true}`,
		"tokenizer_config.json":     `{"do_lower_case": false}`,
		"sentence_bert_config.json": `{"max_seq_length": 31}`,
		"vocab.txt":                 strings.Replace(strings.Join(m.Pieces, "\n"), "quick", "quack", 1),
	} {
		files := m.Files("F32")
		files[name] = []byte(change)
		got := openTiny(t, folderOf(t, files), Options{}).Fingerprint()
		expect.Equal(t, "what has the fingerprint with another "+name, seen[got], "")
		seen[got] = name
	}
}

// TestTokenizerFile reads the vocabulary from tokenizer.json.
func TestTokenizerFile(t *testing.T) {
	m := berttest.New(8, 32, false)
	files := m.Files("F32")
	want := openTiny(t, folderOf(t, files), Options{})
	ids := map[string]int{}
	for i, p := range m.Pieces {
		ids[p] = i
	}
	text, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer", "lowercase": false},
		"model":      map[string]any{"type": "WordPiece", "vocab": ids},
	})
	expect.NoError(t, err)
	delete(files, "vocab.txt")
	files["tokenizer.json"] = text
	both := openTiny(t, folderOf(t, files), Options{})
	expect.Equal(t, "fingerprint where tokenizer_config.json says how to spell", both.Fingerprint(), want.Fingerprint())
	files["tokenizer_config.json"] = []byte(`{}`)
	cased := openTiny(t, folderOf(t, files), Options{})
	expect.Equal(t, "word pieces of a name in upper case", fmt.Sprint(trim(cased.tokens.encode("Cat cat"))), fmt.Sprint([]int{2, ids["cat"]}))
}

func TestOtherModelsAreRefused(t *testing.T) {
	for _, test := range []struct {
		file, content, want string
	}{
		{"config.json", "", "config.json"},
		{"config.json", `{"model_type": "roberta"}`, `of type "roberta"`},
		{"config.json", `{"model_type": "bert", "hidden_act": "relu"}`, `activation is "relu"`},
		{"config.json", `{"model_type": "bert", "position_embedding_type": "relative_key"}`, `"relative_key"`},
		{"config.json", `{"model_type": "bert", "is_decoder": true}`, "decoder"},
		{"config.json", `{"model_type": "bert", "hidden_size": 312}`, "no encoder of sentences"},
		{"config.json", `[`, "config.json cannot be read"},
		{"1_Pooling/config.json", "", "no encoder of sentences, or not all of its folder"},
		{"1_Pooling/config.json", `{"pooling_mode_max_tokens": true}`, "mean_tokens or cls_token"},
		{"1_Pooling/config.json", `{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}`, "2 modes"},
		{"modules.json", `[{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]`, `"Dense"`},
		{"modules.json", `[{"path": "../elsewhere", "type": "sentence_transformers.models.Pooling"}]`, "outside"},
		{"vocab.txt", "", "vocab.txt or tokenizer.json"},
		{"vocab.txt", strings.Repeat("[unused]\n", 2), "line 2 is empty or a duplicate"},
		{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "[MASK] is missing"},
		{"tokenizer_config.json", `{"tokenizer_class": "XLMRobertaTokenizer"}`, "XLMRobertaTokenizer"},
		{"tokenizer_config.json", `{"tokenize_chinese_chars": false}`, "ideographs"},
		{"tokenizer_config.json", `{"model_max_length": 2}`, ""},
		{"sentence_bert_config.json", `{"max_seq_length": 2}`, "up to 2 tokens"},
		{"model.safetensors", "", "model.safetensors"},
		{"model.safetensors", "nothing", "the file has 7"},
	} {
		t.Run(test.file+" "+test.content, func(t *testing.T) {
			files := berttest.New(9, 32, false).Files("F32")
			files[test.file] = []byte(test.content)
			if test.content == "" {
				delete(files, test.file)
			}
			e, err := OpenModel(folderOf(t, files), Options{})
			if test.want == "" {
				expect.NoError(t, err)
				expect.NoError(t, e.Close())
				return
			}
			expect.Contains(t, "error", fmt.Sprint(err), test.want)
		})
	}
	dir := folderOf(t, berttest.New(9, 32, false).Files("F32"))
	_, err := OpenModel(dir, Options{Prefix: "query"})
	expect.Contains(t, "error about a prefix without an end", fmt.Sprint(err), "ends with a space")
	_, err = OpenModel(dir, Options{Prefix: strings.Repeat("the cat ", 20)})
	expect.Contains(t, "error about a prefix that leaves no room", fmt.Sprint(err), "choose a shorter one")
	_, err = OpenModel(filepath.Join(dir, "nowhere"), Options{})
	expect.True(t, "a path to nothing is not there", errors.Is(err, os.ErrNotExist), err)
}

func TestOtherFilesAreRefused(t *testing.T) {
	for _, test := range []struct {
		key   string
		value any
		want  string
	}{
		{"general.architecture", "llama", `architecture "llama"`},
		{"general.architecture", "nomic-bert", `architecture "nomic-bert"`},
		{"bert.pooling_type", uint32(0), "pooling is of type 0"},
		{"bert.pooling_type", "mean", "no encoder of sentences"},
		{"bert.attention.causal", true, "decoder"},
		{"bert.attention.head_count", uint32(3), "3 heads"},
		{"bert.embedding_length", uint32(312), "312 wide"},
		{"bert.block_count", uint32(3), "encoder.layer.2."},
		{"bert.block_count", uint64(1 << 40), "layers"},
		{"tokenizer.ggml.model", "t5", `"t5"`},
		{"tokenizer.ggml.tokens", []string{"[PAD]"}, "is missing"},
	} {
		t.Run(fmt.Sprint(test.key, " ", test.value), func(t *testing.T) {
			w, err := berttest.New(10, 32, false).GGUF(gguf.F32)
			expect.NoError(t, err)
			expect.NoError(t, w.Set(test.key, test.value))
			path := filepath.Join(t.TempDir(), "tiny.gguf")
			f, err := os.Create(path)
			expect.NoError(t, err)
			_, err = w.WriteTo(f)
			expect.NoError(t, err)
			expect.NoError(t, f.Close())
			_, err = OpenModel(path, Options{})
			expect.Contains(t, "error", fmt.Sprint(err), test.want)
		})
	}
}

// TestCaseOfGGUF: a vocabulary with letters in upper case is of a model that keeps them.
func TestCaseOfGGUF(t *testing.T) {
	for word, lower := range map[string]bool{"quick": true, "Quick": false} {
		m := berttest.New(11, 32, false)
		m.Pieces[slices.Index(m.Pieces, "quick")] = word
		path := filepath.Join(t.TempDir(), "tiny.gguf")
		expect.NoError(t, m.WriteGGUF(path, gguf.F32))
		expect.Equal(t, "lower case with the piece "+word, openTiny(t, path, Options{}).lower, lower)
	}
}
