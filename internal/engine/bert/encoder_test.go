package bert

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/lm/models"
)

// files returns the weights and the vocabulary in the user's cache.
func files(t testing.TB) (weights, vocabulary string) {
	t.Helper()
	path, entry, err := models.Find("all-MiniLM-L6-v2")
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull all-MiniLM-L6-v2", err)
	}
	return path, filepath.Join(filepath.Dir(path), entry.Files[1].Name)
}

func openEncoder(t testing.TB) *Encoder {
	t.Helper()
	e, err := Open(files(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// shared returns an encoder for tests that neither change nor close it.
func shared(t testing.TB) *Encoder {
	t.Helper()
	weights, vocabulary := files(t)
	sharedOnce.Do(func() { sharedEncoder, sharedErr = Open(weights, vocabulary) })
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return sharedEncoder
}

var (
	sharedOnce    sync.Once
	sharedEncoder *Encoder
	sharedErr     error
)

// fixture is what testdata/reference.py writes.
type fixture struct {
	SHA256 string
	Items  []struct {
		Text   string
		IDs    []int32
		Vector []float32
	}
}

func readFixture(t testing.TB) fixture {
	t.Helper()
	data, err := os.ReadFile("testdata/embeddings.json")
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Items) < 60 {
		t.Fatalf("the fixture has %d sentences", len(f.Items))
	}
	return f
}

func (f fixture) texts() []string {
	var texts []string
	for _, item := range f.Items {
		texts = append(texts, item.Text)
	}
	return texts
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}

func TestVectorsOfSentenceTransformers(t *testing.T) {
	f := readFixture(t)
	e := shared(t)
	if want := "sha256:" + f.SHA256; e.weightsHash != want {
		t.Fatalf("weights %s, want %s", e.weightsHash, want)
	}
	vectors, err := e.Embed(context.Background(), f.texts())
	if err != nil {
		t.Fatal(err)
	}
	worst := 1.0
	for i, item := range f.Items {
		if got := e.tokens.encode(item.Text); !slices.Equal(got, item.IDs) {
			t.Errorf("%q: ids %v, want %v", item.Text, got, item.IDs)
		}
		c := cosine(vectors[i], item.Vector)
		worst = min(worst, c)
		if !(c >= 0.999) {
			t.Errorf("%q: cosine %v", item.Text, c)
		}
		length := 0.0
		for _, v := range vectors[i] {
			length += float64(v) * float64(v)
		}
		if math.Abs(length-1) > 1e-6 {
			t.Errorf("%q: squared length %v", item.Text, length)
		}
	}
	t.Logf("1 − cosine is at most %.1e over %d sentences", 1-worst, len(f.Items))
	// Vectors of different sentences are not that close, so the check can fail.
	if c := cosine(vectors[0], f.Items[1].Vector); c > 0.99 {
		t.Errorf("vectors of two sentences have cosine %v", c)
	}
}

func TestVectorsDoNotDependOnTheBatch(t *testing.T) {
	e := openEncoder(t)
	all := readFixture(t).texts()
	texts := append(slices.Clone(all[:40]), all[len(all)-3:]...)
	ctx := context.Background()
	want, err := e.Embed(ctx, texts)
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, order []int) {
		t.Helper()
		var batch []string
		for _, i := range order {
			batch = append(batch, texts[i])
		}
		got, err := e.Embed(ctx, batch)
		if err != nil {
			t.Fatal(err)
		}
		for at, i := range order {
			if !slices.Equal(got[at], want[i]) {
				t.Errorf("%s: sentence %d has another vector", name, i)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, threads := range []int{1, 2, 3} {
		e.threads = threads
		same("shuffled", random.Perm(len(texts)))
		same("a few, some twice", []int{7, 3, len(texts) - 1, 3, 0})
	}
	for i := range texts {
		same("alone", []int{i})
	}
}

// Portable code is slow, so there is one text in float32 and one in bytes.
func TestVectorsDoNotDependOnTheProcessor(t *testing.T) {
	e := openEncoder(t)
	texts := []string{"cat", "The cat of the harbour master sat on a small boat and looked at gulls."}
	for i, text := range texts {
		if n := len(e.tokens.encode(text)); n < short != (i == 0) {
			t.Fatalf("%q has %d tokens", text, n)
		}
	}
	want, err := e.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	// Levels could agree with each other and differ from one architecture to another.
	h := sha256.New()
	for _, v := range want {
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := fmt.Sprintf("%x", h.Sum(nil)[:16]), "060d0a6396ad2e40bca3c2a19d266c84"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	for _, level := range kernel.Levels() {
		e.workers = sync.Pool{}
		e.setLevel(level)
		got, err := e.Embed(context.Background(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range texts {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%v: sentence %d has another vector", level, i)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	e := openEncoder(t)
	texts := readFixture(t).texts()[:8]
	want, err := e.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			got, err := e.Embed(context.Background(), texts)
			if errors.Is(err, ErrClosed) {
				return
			}
			for i := range texts {
				if err != nil || !slices.Equal(got[i], want[i]) {
					t.Errorf("sentence %d has another vector, error %v", i, err)
					return
				}
			}
		})
	}
	// Close waits for those that have begun and stops the others.
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	wait.Wait()
	if err := e.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if _, err := e.Embed(context.Background(), texts); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: error %v", err)
	}
}

func TestCancel(t *testing.T) {
	e := shared(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := e.Embed(ctx, []string{"a"}); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, error %v", got, err)
	}
	if err := e.run(ctx, [][]int32{{101, 102}}, []batch{{texts: []int{0}}}, func(*worker, int, int, []int32) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled between batches: error %v", err)
	}
}

func TestNoTexts(t *testing.T) {
	e := shared(t)
	if got, err := e.Embed(context.Background(), nil); err != nil || len(got) != 0 {
		t.Errorf("got %v, error %v", got, err)
	}
	if e.Dimension() != 384 {
		t.Errorf("dimension %d", e.Dimension())
	}
	if want := "all-MiniLM-L6-v2@53aa51172d14"; e.TokensName() != want {
		t.Errorf("name of tokens %s, want %s", e.TokensName(), want)
	}
	if want := "all-MiniLM-L6-v2@" + e.Fingerprint()[len("sha256:"):][:12]; e.Name() != want {
		t.Errorf("name %s, want %s", e.Name(), want)
	}
}

func TestSplit(t *testing.T) {
	sentence := func(n int) []int32 { return make([]int32, n) }
	for _, test := range []struct {
		lengths []int
		full    int
		want    string
	}{
		{nil, 10, "[]"},
		{[]int{3}, 10, "[[0]]"},
		{[]int{3}, 0, "[[0]]"},
		{[]int{5, 5, 5}, 10, "[[0 1] [2]]"},
		{[]int{20, 1, 20}, 10, "[[0] [1 2]]"},
		{[]int{2, 2, 2}, 0, "[[0] [1] [2]]"},
	} {
		var ids [][]int32
		var list []int
		for i, n := range test.lengths {
			ids, list = append(ids, sentence(n)), append(list, i)
		}
		if got := fmt.Sprint(split(ids, list, test.full)); got != test.want {
			t.Errorf("%v by %d: got %v, want %v", test.lengths, test.full, got, test.want)
		}
	}
}

// BenchmarkEmbed encodes news-like sentences of about 10, 20 and 40 word pieces; those of 10 are computed in float32.
func BenchmarkEmbed(b *testing.B) {
	e := shared(b)
	const news = "Fictional Widgets plc said on Thursday that it would close its plant in Lower Nowhere " +
		"with the loss of 310 jobs, and blamed the price of imaginary steel and a weak autumn for it."
	for _, words := range []int{6, 16, len(strings.Fields(news))} {
		text := strings.Join(strings.Fields(news)[:words], " ")
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			texts := slices.Repeat([]string{text}, 200)
			for b.Loop() {
				if _, err := e.Embed(context.Background(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(texts)*b.N)/b.Elapsed().Seconds(), "sentences/s")
			b.ReportMetric(float64(len(e.tokens.encode(text))), "tokens/sentence")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	path, vocab := files(b)
	for b.Loop() {
		e, err := Open(path, vocab)
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
}

func TestOpenRefuses(t *testing.T) {
	path, vocab := files(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct {
		weights, vocab, want string
	}{
		{"nowhere", vocab, "nowhere"},
		{path, "nowhere", "nowhere"},
		{vocab, vocab, "not a safetensors file"},
		{path, write("short", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"), "has 6 lines"},
		{path, write("no mask", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n"), "[MASK] is missing"},
		{path, write("twice", "[PAD]\n[PAD]\n"), "line 2 is empty or a duplicate"},
		{path, write("gap", "[PAD]\n\n"), "line 2 is empty or a duplicate"},
		{path, write("long", strings.Repeat("a", 1<<20)), "line 1: "},
		{path, path, "line "},
	} {
		if _, err := Open(test.weights, test.vocab); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: got error %v, want %q", test.weights, test.vocab, err, test.want)
		}
	}
}
