package bert

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// inFloats returns vectors that are computed in float32.
func inFloats(t *testing.T, e *Encoder, texts []string) [][]float32 {
	t.Helper()
	out := make([][]float32, len(texts))
	err := e.encode(context.Background(), texts, math.MaxInt, func(w *worker, at, text int, ids []int32) bool {
		var ok bool
		out[text], ok = w.vector(at, len(ids))
		return ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawn makes up texts of all kinds: sentences cut anywhere, joined, and words in any order.
func drawn(t *testing.T, n int) []string {
	t.Helper()
	all := readFixture(t).texts()
	words := strings.Fields(strings.Join(all, " "))
	r := rand.New(rand.NewPCG(3, 5))
	texts := slices.Clone(all)
	for len(texts) < n {
		text := ""
		switch r.IntN(3) {
		case 0:
			text = all[r.IntN(len(all))] + " " + all[r.IntN(len(all))]
		case 1:
			text = all[r.IntN(len(all))]
			text = text[:r.IntN(len(text)+1)]
		case 2:
			for range 1 + r.IntN(40) {
				text += words[r.IntN(len(words))] + " "
			}
		}
		texts = append(texts, text)
	}
	return texts
}

// TestBytesAreNearFloats holds every vector to the one in float32, and to length one.
func TestBytesAreNearFloats(t *testing.T) {
	e := shared(t)
	n := 400
	if testing.Short() {
		n = 100
	}
	texts := drawn(t, n)
	vectors, err := e.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	exact := inFloats(t, e, texts)
	worst, inBytes := 1.0, 0
	for i, v := range vectors {
		c := cosine(v, exact[i])
		worst = min(worst, c)
		switch tokens := len(e.tokens.encode(texts[i])); {
		case tokens < short && !slices.Equal(v, exact[i]):
			t.Errorf("text %d, of %d tokens, is not computed in float32", i, tokens)
		case tokens >= short && slices.Equal(v, exact[i]):
			t.Errorf("text %d, of %d tokens, is computed in float32", i, tokens)
		case tokens >= short:
			inBytes++
		}
		if !(c >= 0.999) {
			t.Errorf("text %d, of %d tokens: cosine %v", i, len(e.tokens.encode(texts[i])), c)
		}
		if l := squared(v); !(math.Abs(l-1) < 1e-6) {
			t.Errorf("text %d: squared length %v", i, l)
		}
	}
	if inBytes < n/3 {
		t.Errorf("%d of %d texts are computed in bytes", inBytes, n)
	}
	t.Logf("1 − cosine is at most %.1e over %d texts, %d of them in bytes", 1-worst, n, inBytes)
}

// TestTextsOfAllKinds checks what is no sentence.
func TestTextsOfAllKinds(t *testing.T) {
	e := shared(t)
	long := strings.Repeat("stone ", 100_000)
	texts := []string{"", " \n", long, strings.Repeat("stone ", maxPieces), "\xff\xfe\x00", strings.Repeat("\u200b", 99), strings.Repeat("日本 ", 30), strings.Repeat("\U0001f600 ", 40)}
	vectors, err := e.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		if l := squared(v); !(math.Abs(l-1) < 1e-6) {
			t.Errorf("text %d: squared length %v", i, l)
		}
	}
	if !slices.Equal(vectors[2], vectors[3]) {
		t.Error("what comes after the last word piece matters")
	}
	if !slices.Equal(vectors[0], vectors[1]) {
		t.Error("a blank text differs from an empty one")
	}
}

// TestFingerprintCoversAll changes a bit of the weights, a line of the vocabulary and the way
// of computing.
func TestFingerprintCoversAll(t *testing.T) {
	weights, vocabulary := files(t)
	want := shared(t).Fingerprint()
	if fingerprint(mode+".", "w", "v") == fingerprint(mode, "w", "v") {
		t.Error("the way of computing does not matter")
	}
	change := func(path string, edit func([]byte) []byte) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(to, edit(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return to
	}
	bit := change(weights, func(b []byte) []byte { b[len(b)-4] ^= 1; return b })
	line := change(vocabulary, func(b []byte) []byte {
		return bytes.Replace(b, []byte("\n[unused0]\n"), []byte("\n[unused-]\n"), 1)
	})
	for name, paths := range map[string][2]string{"weights": {bit, vocabulary}, "vocabulary": {weights, line}} {
		t.Run(name, func(t *testing.T) {
			e, err := Open(paths[0], paths[1])
			if err != nil {
				t.Fatal(err)
			}
			if e.Fingerprint() == want || e.Name() == shared(t).Name() {
				t.Errorf("other %s: the fingerprint stays", name)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	again := openEncoder(t)
	if again.Fingerprint() != want {
		t.Errorf("the same files have fingerprints %s and %s", want, again.Fingerprint())
	}
}

// TestCancelWithin ends the context while texts are computed.
func TestCancelWithin(t *testing.T) {
	e := shared(t)
	ctx, cancel := context.WithCancel(context.Background())
	texts, seen := slices.Repeat(readFixture(t).texts(), 50), atomic.Int64{}
	err := e.encode(ctx, texts, short, func(*worker, int, int, []int32) bool {
		cancel()
		seen.Add(1)
		return true
	})
	if err != context.Canceled || seen.Load() == int64(len(texts)) {
		t.Errorf("error %v after %d of %d texts", err, seen.Load(), len(texts))
	}
}
