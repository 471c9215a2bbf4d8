package jury_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/private/internal/jury"
	"github.com/sotto-dp/sotto/internal/private/internal/jury/jurytest"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/tokenizer"
	"github.com/sotto-dp/sotto/prompt"
)

// bpe is a small vocabulary in the style of Llama 3 and Qwen: bytes, and merges that make one
// token of two line ends, of a line end after other marks, and of words with their space.
func bpe(t *testing.T) lm.Tokenizer {
	t.Helper()
	c := tokenizer.Config{Model: "gpt2", Pre: "llama-bpe"}
	known := map[string]bool{}
	add := func(s string) {
		if !known[s] {
			known[s] = true
			c.Tokens, c.Types = append(c.Tokens, s), append(c.Types, tokenizer.Normal)
		}
	}
	// GPT-2's alphabet: printable bytes are themselves, the others are moved up from 256.
	spell := map[byte]string{}
	moved := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = moved
			moved++
		}
		spell[byte(b)] = string(r)
		add(string(r))
	}
	merge := func(text string) {
		var left string
		for i, b := range []byte(text) {
			if i > 0 {
				pair := left + " " + spell[b]
				if !slices.Contains(c.Merges, pair) {
					c.Merges = append(c.Merges, pair)
				}
			}
			left += spell[b]
			add(left)
		}
	}
	for _, text := range []string{"\n\n", "\n\n\n", ".\n", ".\n\n", " \n", "\r\n", " science", " fiction", " Sci", " war", " wart", "Text", ":", " film"} {
		merge(text)
	}
	return vocabulary(t, c)
}

// pieces is a small vocabulary in the style of SentencePiece: words with their space, and bytes
// for everything else, line ends among them.
func pieces(t *testing.T) lm.Tokenizer {
	t.Helper()
	c := tokenizer.Config{Model: "llama", AddSpacePrefix: true}
	add := func(s string, kind tokenizer.Type, score float32) {
		c.Tokens, c.Types, c.Scores = append(c.Tokens, s), append(c.Types, kind), append(c.Scores, score)
	}
	add("<unk>", tokenizer.Unknown, 0)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), tokenizer.Byte, 0)
	}
	known := map[string]bool{}
	for i, word := range []string{"▁science", "▁fiction", "▁war", "▁wart", "▁film", "Text", "▁Sci"} {
		for n := 1; n <= len([]rune(word)); n++ {
			if part := string([]rune(word)[:n]); !known[part] {
				known[part] = true
				add(part, tokenizer.Normal, float32(n*10-i))
			}
		}
	}
	for r := 'a'; r <= 'z'; r++ {
		if !known[string(r)] {
			add(string(r), tokenizer.Normal, -100)
		}
	}
	return vocabulary(t, c)
}

func vocabulary(t *testing.T, c tokenizer.Config) lm.Tokenizer {
	t.Helper()
	end := lm.Token(len(c.Tokens))
	c.Tokens, c.Types = append(c.Tokens, "<end>"), append(c.Types, tokenizer.Control)
	if c.Scores != nil {
		c.Scores = append(c.Scores, 0)
	}
	c.EOS = &end
	v, err := tokenizer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// vocabularies are small ones that are made up here, and those of models that are on this machine.
func vocabularies(t *testing.T) map[string]lm.Tokenizer {
	t.Helper()
	all := map[string]lm.Tokenizer{"bytes": &jurytest.Toy{}, "bpe": bpe(t), "pieces": pieces(t)}
	for _, name := range []string{"smollm2", "gemma3", "qwen2.5-coder"} {
		m, err := backend.Scorer(t.Context(), backend.Spec{Model: name})
		if errors.As(err, new(*models.MissingError)) && name != "smollm2" {
			t.Logf("the vocabulary of %s is not tested: sotto model pull %s fetches it", name, name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		all[name] = m.Tokenizer()
	}
	return all
}

// phrases are answers, and what records may hold in their place.
var phrases = []string{"war", "wart", "War", "science fiction", "Science  Fiction", "science", "sci-fi", `"war"`, "war.", "the war film", "größe", "日本", "🎬 war"}

// endings are what a model may write after an answer, with the end of the answer or without.
var endings = []string{"\n", "\n\n", "\n\n\nText: more", ".\n", " \n", " film\nText: war", "\r\n", "<end>", "", " and so on and so on"}

// script is what a model writes after a question, in tokens that need not be the vocabulary's
// own for the text.
type script struct {
	text   string
	tokens []lm.Token
}

// scripts writes each phrase with each ending, as one text, in parts, and byte by byte.
func scripts(t *testing.T, v lm.Tokenizer) (all []script) {
	t.Helper()
	encode := func(parts ...string) (tokens []lm.Token) {
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
	for _, phrase := range phrases {
		for _, ending := range endings {
			for _, lead := range []string{" ", "", "  ", "\n"} {
				text := lead + phrase
				ways := [][]string{{text, ending}}
				if ending != "<end>" {
					ways = append(ways, []string{text + ending})
				}
				ways = append(ways, append(strings.Split(text, ""), ending))
				for _, parts := range ways {
					all = append(all, script{text + strings.TrimSuffix(ending, "<end>"), encode(parts...)})
				}
			}
		}
	}
	return all
}

// follows is a model that writes a script after the question that names it, and then ends.
func follows(t *testing.T, v lm.Tokenizer, all []script) *jurytest.Toy {
	t.Helper()
	end := v.Ends()[0]
	return &jurytest.Toy{Vocabulary: v, Writes: func(tokens []lm.Token) lm.Token {
		whole, err := v.Decode(context.Background(), tokens)
		if err != nil {
			t.Error(err)
			return end
		}
		var n int
		at := strings.LastIndex(whole, "number ")
		if _, err := fmt.Sscanf(whole[max(at, 0):], "number %d", &n); err != nil || n >= len(all) {
			t.Errorf("which script is asked for: %v", err)
			return end
		}
		// The tokens after the question are those of the script so far.
		for k := min(len(all[n].tokens), len(tokens)); k >= 0; k-- {
			if slices.Equal(tokens[len(tokens)-k:], all[n].tokens[:k]) {
				return append(slices.Clone(all[n].tokens), end)[k]
			}
		}
		return end
	}}
}

// TestPlainVerdictsInVocabularies: whatever a model writes, in whatever tokens and with whatever
// end, a verdict is 1 if and only if the answer that package icl gives is the record's.
func TestPlainVerdictsInVocabularies(t *testing.T) {
	task := builtin(t, "mit-g")
	task.Limits.AnswerTokens = 12
	for name, v := range vocabularies(t) {
		t.Run(name, func(t *testing.T) {
			all := scripts(t, v)
			model, err := lm.Trust(follows(t, v, all), lm.InProcess)
			if err != nil {
				t.Fatal(err)
			}
			var inputs []string
			for n := range all {
				inputs = append(inputs, fmt.Sprintf("which film is number %d ?", n))
			}
			w, err := icl.NewWriter(t.Context(), model.Public(), task, nil, icl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			answers, err := w.Answer(t.Context(), inputs)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var items []item
			var given []string
			for n, input := range inputs {
				for k := range 2 { // one of them is often right
					want := phrases[(n/len(endings)/12*(1-k)+n*k)%len(phrases)]
					items, given = append(items, item{input, want}), append(given, answers[n])
				}
			}
			right := 0
			for i, g := range judged(t, model, task, jury.Hard, []prompt.Prompt{{}}, items)[0] {
				// Exact match, written out once more.
				same := strings.EqualFold(strings.Join(strings.Fields(items[i].answer), " "), strings.Join(strings.Fields(given[i]), " "))
				if g != 0 && g != jury.One || (g == jury.One) != same {
					t.Errorf("%q is answered with %q, should be %q, and the verdict is %d", items[i].question, given[i], items[i].answer, g)
				}
				if same {
					right++
				}
			}
			t.Logf("%d of %d verdicts are 1, all as icl answers", right, len(items))
			if right < len(items)/10 || right > len(items)*9/10 {
				t.Errorf("%d of %d are right: too few or too many to compare", right, len(items))
			}
		})
	}
}
