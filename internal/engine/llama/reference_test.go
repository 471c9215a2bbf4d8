package llama

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// reference is what a model's weights give in plain F32 arithmetic: see
// lab/bench/lm/reference/README.md.
type reference struct {
	SHA256  string            `json:"model_sha256"`
	Prompts []referencePrompt `json:"prompts"`
}

type referencePrompt struct {
	ID      string
	Text    string
	Special bool
	Begin   bool // BOS comes before the tokens
	Source  *struct {
		File     string
		Ordinal  int
		Template string
	}
	Messages    []lm.Message
	Tokens      []lm.Token
	TokenCount  int    `json:"token_count"`
	TokensSHA   string `json:"tokens_sha256"`
	Top, Others []struct {
		ID      lm.Token
		LogProb float64
	}
	Greedy []lm.Token
	Margin []float64 `json:"greedy_margin"`
}

func readReference(t *testing.T, name string) *reference {
	t.Helper()
	r := &reference{}
	readZipped(t, name, r)
	return r
}

// readZipped reads a fixture of testdata.
func readZipped(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// sharedData holds the public data sets, if it is there: the prompts made from
// them are in the fixture by reference only.
const sharedData = "../../../../shared/data"

var place = regexp.MustCompile(`\{([a-z]+)(?:\+(\d+))?\}`)

// fill puts records into a template.
func fill(t *testing.T, template string, records []map[string]any, ordinal int) string {
	return place.ReplaceAllStringFunc(template, func(match string) string {
		m := place.FindStringSubmatch(match)
		offset, _ := strconv.Atoi(m[2])
		value, ok := records[ordinal+offset][m[1]].(string)
		if !ok {
			t.Fatalf("record %d has no text field %s", ordinal+offset, m[1])
		}
		return strings.Join(strings.Fields(value), " ")
	})
}

func readRecords(t *testing.T, file string) []map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedData, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var records []map[string]any
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r map[string]any
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// tokensOf makes a prompt's tokens with our tokeniser and checks them against the
// fixture's, which are llama.cpp's.
func (p *referencePrompt) tokensOf(t *testing.T, m *Model, records map[string][]map[string]any) []lm.Token {
	t.Helper()
	text, messages := p.Text, slices.Clone(p.Messages)
	if s := p.Source; s != nil {
		if records[s.File] == nil {
			records[s.File] = readRecords(t, s.File)
		}
		text = fill(t, s.Template, records[s.File], s.Ordinal)
		for i := range messages {
			messages[i].Content = fill(t, messages[i].Content, records[s.File], s.Ordinal)
		}
	}
	var tokens []lm.Token
	var err error
	if messages != nil {
		tokens, err = m.Chat(t.Context(), messages)
	} else {
		tokens, err = m.Tokenizer().Encode(t.Context(), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.Tokens != nil {
		if !slices.Equal(tokens, p.Tokens) {
			t.Errorf("%s: our tokens differ from llama.cpp's", p.ID)
		}
		if first, ok := m.Tokenizer().Beginning(); ok && p.Begin {
			tokens = slices.Insert(tokens, 0, first)
		}
		return tokens
	}
	h := sha256.New()
	for _, token := range tokens {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(token)))
	}
	if len(tokens) != p.TokenCount || hex.EncodeToString(h.Sum(nil)) != p.TokensSHA {
		t.Errorf("%s: our %d tokens differ from llama.cpp's %d", p.ID, len(tokens), p.TokenCount)
	}
	return tokens
}

// TestPlainReferenceSmolLM2 and its sibling hold the engine to an F32 evaluation of the
// same weights: log-probabilities within 0.005 and 0.0006 on average, and greedy texts of 32
// tokens alike for at least 48 of 50.
func TestPlainReferenceSmolLM2(t *testing.T) {
	m := openDefault(t, Options{})
	r := readReference(t, "reference-smollm2.json.gz")
	for i := range r.Prompts {
		if 3*i >= len(r.Prompts) {
			r.Prompts = r.Prompts[:i]
			break
		}
		r.Prompts[i] = r.Prompts[3*i]
	}
	some := plainF32
	some.prompts /= 3
	checkReference(t, m, r, some)
}

// TestLongReferenceSmolLM2 has all prompts.
func TestLongReferenceSmolLM2(t *testing.T) {
	m := openDefault(t, Options{})
	checkReference(t, m, readReference(t, "reference-smollm2.json.gz"), plainF32)
}

// TestPlainReferenceGemma runs where the model was pulled.
func TestPlainReferenceGemma(t *testing.T) {
	path, _, err := models.Find("gemma3")
	if err != nil {
		t.Skip(err)
	}
	m, err := Open(path, Options{Context: 1024})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	checkReference(t, m, readReference(t, "reference-gemma3.json.gz"), tableGELU)
}

// exactness states how far an engine may be from a reference.
type exactness struct {
	prompts int     // at least
	off     float64 // a log-probability
	mean    float64 // of all that are compared
	margin  float64 // where greedy texts may part
}

var (
	plainF32 = exactness{50, 0.005, 0.0006, 0.005}
	// llama.cpp's GELU is a table in half precision, whatever the weights are.
	tableGELU = exactness{20, 0.02, 0.002, 0.02}
)

// TestReferenceQwen runs where the larger model was pulled.
func TestReferenceQwen(t *testing.T) {
	path := filepath.Join(filepath.Dir(defaultModel(t)), "Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf")
	if _, err := os.Stat(path); err != nil {
		t.Skip("the larger model is not here: sotto model pull qwen2.5-coder fetches it")
	}
	if os.Getenv("SOTTO_TEST_LARGE") == "" {
		t.Skip("a billion weights take minutes: SOTTO_TEST_LARGE=1 runs it")
	}
	m, err := Open(path, Options{Context: 2048})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	checkReference(t, m, readReference(t, "reference-qwen2.5-coder.json.gz"), plainF32)
}

func checkReference(t *testing.T, m *Model, r *reference, within exactness) {
	if got := m.Info().Fingerprint; got != "sha256:"+r.SHA256 {
		t.Fatalf("the fixture is of another file: %s, not %s", r.SHA256, got)
	}
	records := map[string][]map[string]any{}
	_, err := os.Stat(sharedData)
	withData := err == nil
	var tested, agree, parted int
	var worst, total float64
	var count int
	prompts := slices.DeleteFunc(slices.Clone(r.Prompts), func(p referencePrompt) bool { return p.Source != nil && !withData })
	chunk := 0
	for some := range slices.Chunk(prompts, 16) {
		chunk++
		session, err := m.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		steps := make([]lm.Step, len(some))
		for i := range some {
			q, err := session.New()
			if err != nil {
				t.Fatal(err)
			}
			steps[i] = lm.Step{Sequence: q, Tokens: some[i].tokensOf(t, m, records), Ask: lm.Ask{All: true}}
		}
		scores, err := session.Step(context.Background(), steps)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range some {
			var largest float64
			for _, e := range slices.Concat(p.Top, p.Others) {
				off := math.Abs(scores[i].LogProbs[e.ID] - e.LogProb)
				largest, total, count = max(largest, off), total+off, count+1
			}
			if largest > within.off {
				t.Errorf("%s: a log-probability is off by %.5f", p.ID, largest)
			}
			worst = max(worst, largest)
		}
		if chunk%3 == 0 { // the texts of the others are enough
			session.Close()
			continue
		}
		for i, at := range followGreedy(t, session, steps, some, scores) {
			tested++
			switch {
			case at < 0:
				agree++
			case some[i].Margin[at] > within.margin:
				t.Errorf("%s: the greedy text parts at token %d, where F32 has a margin of %v", some[i].ID, at, some[i].Margin[at])
			default:
				parted++
			}
		}
		session.Close()
	}
	t.Logf("%d prompts: log-probabilities off by at most %.3g, %.3g on average over %d; %d of %d greedy texts agree, %d part at a near tie",
		tested, worst, total/float64(count), count, agree, tested, parted)
	if mean := total / float64(count); !(mean < within.mean) {
		t.Errorf("log-probabilities are off by %.3g on average", mean)
	}
	if tested < within.prompts {
		t.Errorf("only %d prompts", tested)
	}
	if agree*50 < tested*48 {
		t.Errorf("%d of %d greedy texts agree, fewer than 48 of 50", agree, tested)
	}
}

// followGreedy writes 32 tokens greedily after each prompt and returns where each
// text first differs from the reference, or -1.
func followGreedy(t *testing.T, session lm.Session, steps []lm.Step, prompts []referencePrompt, first []lm.Scores) []int {
	t.Helper()
	parts := make([]int, len(prompts))
	for i := range parts {
		parts[i] = -1
		best := lm.Best(first[i].LogProbs, 1)[0]
		steps[i].Tokens, steps[i].Ask = []lm.Token{best}, lm.Ask{Top: 1}
		if best != prompts[i].Greedy[0] {
			parts[i] = 0
		}
	}
	for n := 1; n < len(prompts[0].Greedy); n++ {
		scores, err := session.Step(context.Background(), steps)
		if err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			steps[i].Tokens = scores[i].Tokens[:1]
			if parts[i] < 0 && steps[i].Tokens[0] != prompts[i].Greedy[n] {
				parts[i] = n
			}
		}
	}
	return parts
}

func Example() {
	path, _, err := models.Find(models.Default)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := Open(path, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	texts, err := m.Generate(context.Background(), []lm.Prompt{{Text: "The capital of France is"}}, lm.GenerateOptions{MaxTokens: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(texts[0].Text)
	// Output: Paris
}
