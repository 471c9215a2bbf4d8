package llama

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/lm"
)

// alone computes a sequence's whole distribution in the plainest way there is: one
// session, one sequence, all tokens at once.
func alone(t require, m *Model, tokens []lm.Token) []float64 {
	t.Helper()
	session, err := m.Open(context.Background())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer session.Close()
	q, err := session.New()
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	scores, err := session.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: tokens, Ask: lm.Ask{All: true}}})
	if err != nil {
		t.Fatalf("step: %v", err)
	}
	return scores[0].LogProbs
}

// require is what testing.T, testing.B and rapid.T share.
type require interface {
	Helper()
	Fatalf(string, ...any)
}

func sameBits(t require, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d scores, not %d", what, len(got), len(want))
	}
	for i, w := range want {
		if math.Float64bits(got[i]) != math.Float64bits(w) {
			t.Fatalf("%s: the score of token %d is %v, alone it is %v", what, i, got[i], w)
		}
	}
}

// engines returns the same model on every number of threads and every level of kernels. The
// portable level, slow as it is, gets one.
func engines(t testing.TB, c tiny, activations int) map[string]*Model {
	t.Helper()
	all := map[string]*Model{}
	for _, level := range kernel.Levels() {
		for _, threads := range []int{1, 2, 3} {
			if level == kernel.Portable && threads != 2 {
				continue
			}
			file, _ := c.build(t)
			m, err := load(file, Options{Threads: threads, Activations: activations, level: &level})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			all[fmt.Sprintf("%s on %d threads", level, threads)] = m
		}
	}
	return all
}

// TestBatchInvariance states the engine's guarantee: a sequence's scores are
// bit-identical alone and in any batch, at any place in it, on any number of
// threads and any level of kernels, whatever it shares with others, and however its
// tokens are split into steps.
func TestBatchInvariance(t *testing.T) {
	for _, name := range []string{
		"mixed", "qwen3", "head of 40", "Q6_K", "mistral", "mistral3", "phi3", "phi3 long", "gemma3",
		"mixed in 8 bits", "Q6_K in 8 bits", "gemma3 in 8 bits",
	} {
		shape, short := strings.CutSuffix(name, " in 8 bits")
		c, activations := tinies()[shape], 16
		if short {
			activations = 8
		}
		t.Run(name, func(t *testing.T) {
			models := engines(t, c, activations)
			names := make([]string, 0, len(models))
			for n := range models {
				names = append(names, n)
			}
			slices.Sort(names)
			plain := models[names[0]]
			if len(names) > 1 { // let a slow engine be drawn less often
				names = append(names, names[:len(names)-1]...)
			}
			rapid.Check(t, func(r *rapid.T) {
				m := models[rapid.SampledFrom(names).Draw(r, "engine")]
				checkBatch(r, m, plain, c.vocab, 80)
			})
		})
	}
}

// TestActivations: the precision of activations is in the version that runs keep, and what there is none of is refused.
func TestActivations(t *testing.T) {
	versions := map[string]bool{}
	for _, bits := range []int{8, 16} {
		file, _ := tinies()["mixed"].build(t)
		m, err := load(file, Options{Threads: 1, Activations: bits})
		if err != nil {
			t.Fatal(err)
		}
		versions[m.Info().Version] = true
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(versions) != 2 {
		t.Errorf("two precisions have the versions %v", versions)
	}
	file, _ := tinies()["mixed"].build(t)
	defer file.Close()
	for _, none := range []int{4, 32} {
		if _, err := load(file, Options{Activations: none}); err == nil {
			t.Errorf("activations of %d bits were taken", none)
		}
	}
}

// checkBatch grows a batch of sequences over a shared prefix in random steps and
// compares all final scores with those of each sequence alone on another engine.
func checkBatch(r *rapid.T, m, plain *Model, vocab, longest int) {
	token := rapid.Custom(func(r *rapid.T) lm.Token { return lm.Token(rapid.IntRange(0, vocab-1).Draw(r, "token")) })
	list := func(name string, low, high int) []lm.Token {
		return rapid.SliceOfN(token, low, high).Draw(r, name)
	}
	session, err := m.Open(context.Background())
	if err != nil {
		r.Fatalf("open: %v", err)
	}
	defer session.Close()
	prefix := list("prefix", 0, longest/2)
	root, _ := session.New()
	if len(prefix) > 0 {
		if _, err := session.Step(context.Background(), []lm.Step{{Sequence: root, Tokens: prefix}}); err != nil {
			r.Fatalf("prefix: %v", err)
		}
	}
	n := rapid.IntRange(1, 20).Draw(r, "sequences")
	ids, own := make([]lm.Sequence, n), make([][]lm.Token, n)
	for i := range ids {
		ids[i], _ = session.Fork(root)
		own[i] = list("own", 1, longest/2)
	}
	done := make([]int, n)
	final := make([][]float64, n)
	for slices.ContainsFunc(final, func(f []float64) bool { return f == nil }) {
		var steps []lm.Step
		var which []int
		for _, i := range rapid.Permutation(indices(n)).Draw(r, "order") {
			left := len(own[i]) - done[i]
			take := rapid.IntRange(0, left).Draw(r, "take")
			if left == 0 || take == 0 {
				continue
			}
			s := lm.Step{Sequence: ids[i], Tokens: own[i][done[i] : done[i]+take]}
			if done[i] += take; done[i] == len(own[i]) {
				s.Ask.All = true
			} else if take > 1 {
				s.Ask.Given = rapid.IntRange(0, take-1).Draw(r, "given")
			}
			steps, which = append(steps, s), append(which, i)
		}
		scores, err := session.Step(context.Background(), steps)
		if err != nil {
			r.Fatalf("step: %v", err)
		}
		for j, i := range which {
			if steps[j].Ask.All {
				final[i] = scores[j].LogProbs
			}
			if given := steps[j].Ask.Given; given > 0 {
				sameGiven(r, plain, slices.Concat(prefix, own[i][:done[i]]), given, scores[j])
			}
		}
	}
	for i := range final {
		sameBits(r, fmt.Sprintf("sequence %d of %d", i, n), final[i], alone(r, plain, slices.Concat(prefix, own[i])))
	}
}

// sameGiven compares the scores of a sequence's last tokens with whole distributions, each
// of a sequence that ends before the token.
func sameGiven(t require, plain *Model, tokens []lm.Token, given int, got lm.Scores) {
	t.Helper()
	before := len(tokens) - given
	want := make([]float64, given)
	for j := range want {
		all := alone(t, plain, tokens[:before+j])
		want[j] = all[tokens[before+j]]
		if best := lm.Best(all, 1)[0]; got.Best[j] != best {
			t.Fatalf("place %d: the best token is %d, alone it is %d", j, got.Best[j], best)
		}
	}
	if !slices.Equal(got.Tokens, tokens[before:]) {
		t.Fatalf("the scores are of other tokens than the given ones")
	}
	sameBits(t, "given tokens", got.LogProbs, want)
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestBatchInvarianceLongPass covers what tiny batches do not: more rows than one
// pass takes, so that sequences are cut at other places in a batch than alone.
func TestBatchInvarianceLongPass(t *testing.T) {
	c := tinyLlama
	c.matrices, c.embedding, c.context = gguf.Q4_0, gguf.Q8_0, 1024
	file, _ := c.build(t)
	m, err := load(file, Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	random := rand.New(rand.NewPCG(1, 2))
	session, _ := m.Open(context.Background())
	defer session.Close()
	var steps []lm.Step
	for range 9 {
		q, _ := session.New()
		tokens := make([]lm.Token, 50+random.IntN(3*maxRows))
		for i := range tokens {
			tokens[i] = lm.Token(random.IntN(c.vocab))
		}
		steps = append(steps, lm.Step{Sequence: q, Tokens: tokens, Ask: lm.Ask{All: true}})
	}
	scores, err := session.Step(context.Background(), steps)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		sameBits(t, fmt.Sprintf("sequence %d", i), scores[i].LogProbs, alone(t, m, s.Tokens))
	}
}

// TestGivenLongPass: given tokens that lie in several passes, and more of them than the
// head takes at once.
func TestGivenLongPass(t *testing.T) {
	c := tinyLlama
	c.context = 3 * maxRows
	file, _ := c.build(t)
	m, err := load(file, Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	random := rand.New(rand.NewPCG(3, 4))
	session, _ := m.Open(context.Background())
	defer session.Close()
	var steps []lm.Step
	for _, n := range []int{30, 2*maxRows + 40, maxRows - 30, maxRows} {
		q, _ := session.New()
		tokens := make([]lm.Token, n)
		for i := range tokens {
			tokens[i] = lm.Token(random.IntN(c.vocab))
		}
		steps = append(steps, lm.Step{Sequence: q, Tokens: tokens, Ask: lm.Ask{Given: n - 1}})
	}
	steps[3].Ask.Given = 1
	scores, err := session.Step(context.Background(), steps)
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	for i, s := range steps {
		sameGiven(t, m, s.Tokens, s.Ask.Given, scores[i])
		given += s.Ask.Given
		next, err := session.Step(context.Background(), []lm.Step{{Sequence: s.Sequence, Ask: lm.Ask{All: true}}})
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, "after given tokens", next[0].LogProbs, alone(t, m, s.Tokens))
	}
	if limit := wholeRows * padded(c.vocab); given <= wholeRows || len(m.pass.logits) > limit {
		t.Errorf("%d given tokens took room for %d logits, more than %d", given, len(m.pass.logits), limit)
	}
	if rows := session.Usage().Rows; rows != int64((given+len(steps))*c.vocab) {
		t.Errorf("%d rows of the head were counted for %d places", rows, given+len(steps))
	}
}

// TestBestOfEqual: of equal logits the lowest token is the best, as [lm.Best] has it.
func TestBestOfEqual(t *testing.T) {
	none := float32(math.Inf(-1))
	for _, row := range [][]float32{{1, 3, 3, 2}, {0, 0}, {none, -1, none, -1}, {2}} {
		if got, want := best(row), lm.Best(row, 1)[0]; got != want {
			t.Errorf("the best of %v is %d, not %d", row, got, want)
		}
	}
}
