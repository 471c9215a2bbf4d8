package lm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// countingEncoder is an encoder that counts the texts it encodes, each as long as one millisecond.
type countingEncoder struct {
	fingerprintEncoder
	texts *int
}

func (c countingEncoder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if t == "broken" {
			return nil, errors.New("cannot be encoded")
		}
		*c.texts++
		out[i] = []float32{float32(len(t))}
	}
	time.Sleep(time.Duration(len(texts)) * time.Millisecond)
	return out, nil
}

// TestOnce: every text is encoded once, also where a caller changes the vector, and what again would have taken is told.
func TestOnce(t *testing.T) {
	n := 0
	trusted, err := lm.TrustEmbedder(countingEncoder{texts: &n}, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	e, saved := trusted.Once()
	if got := saved(); got != 0 {
		t.Errorf("before anything was asked %v were saved", got)
	}
	for range 3 {
		got, err := e.Embed(t.Context(), []string{"a", "bb", "a", "bb", "a"})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float32{1, 2, 1, 2, 1} {
			if got[i][0] != want {
				t.Errorf("text %d has %v, want %v", i, got[i][0], want)
			}
			got[i][0] = 0 // the caller's
		}
	}
	if n != 2 {
		t.Errorf("%d texts were encoded, want 2", n)
	}
	if got, minimum := saved(), 13*time.Millisecond; got < minimum {
		t.Errorf("%v were saved, want at least %v", got, minimum)
	}
	if _, err := e.Embed(t.Context(), []string{"a", "broken"}); err == nil {
		t.Error("a text that cannot be encoded has a vector")
	}
	if got := e.Fingerprint(); got != "sha256:1" {
		t.Errorf("the fingerprint is %q", got)
	}
}
