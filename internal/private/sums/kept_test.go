package sums

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/internal/vectors"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// vectorPool is a pool that keeps vectors.
type vectorPool struct {
	*pool
	dir string
	key keys.Key
}

func init() { seal.Admit[*vectorPool]() }

func (k *vectorPool) Vectors(e lm.TrustedEmbedder, _ bool) *vectors.Store {
	return vectors.Open(vectors.Options{Dir: filepath.Join(k.dir, "vectors"), Key: k.key, Source: "source", State: "state", Encoder: e})
}

// countingToy is a toy whose vectors may be kept.
type countingToy struct {
	*toy
	seen int
}

func (c *countingToy) Fingerprint() string { return "sha256:toy" }

func (c *countingToy) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.seen += len(texts)
	return c.toy.Embed(ctx, texts)
}

// keepingOptions are for a crowd whose vectors are kept.
func keepingOptions(t *testing.T, s Sums) (*scene, *countingToy, Options) {
	t.Helper()
	data, _ := crowd(1, 1)
	dir := t.TempDir()
	key, err := keys.FolderKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	encoder := &countingToy{toy: data.encoder}
	o := data.options(t, 3, s)
	o.Encoder, o.Pool = trust(t, encoder), &vectorPool{data.pool, dir, key}
	return data, encoder, o
}

// TestEncodedOnce: with vectors that are kept a sum is the one of the encoder, for another σ and key, too, and no
// text is encoded again.
func TestEncodedOnce(t *testing.T) {
	for _, sums := range []int64{1, 4} {
		data, encoder, o := keepingOptions(t, settings(sums, 1))
		for i, seed := range []uint64{1, 1, 2} {
			o.Key, o.Sums.Sigma = noise.KeyFromSeed(seed), float64(seed)
			plain := o
			plain.Pool, plain.Encoder = data.pool, trust(t, data.encoder)
			if got, want := released(t, o), released(t, plain); !reflect.DeepEqual(got, want) {
				t.Errorf("run %d of %d sums: %v, not %v", i, sums, got, want)
			}
			if i == 0 && encoder.seen == 0 || i > 0 && encoder.seen > 0 {
				t.Errorf("run %d of %d sums: %d texts were encoded", i, sums, encoder.seen)
			}
			encoder.seen = 0
		}
	}
}

// TestKeptVectorsAreChecked: a vector of the private folder that is longer than one releases nothing, as a fresh one.
func TestKeptVectorsAreChecked(t *testing.T) {
	data, encoder, o := keepingOptions(t, settings(1, 1))
	spoilt := false
	data.encoder.spoil = func(v [][]float32) [][]float32 {
		out := append([][]float32{}, v...)
		if len(out) > 0 && !spoilt {
			long := append([]float32{}, out[0]...)
			for i := range long {
				long[i] *= 2
			}
			out[0], spoilt = long, true
		}
		return out
	}
	for i := range 2 {
		out, err := summer(t, o).Evidence(t.Context())
		at := expect.At(t, "run %d", i)
		expect.Contains(at, "err", fmt.Sprint(err), "not of length one")
		expect.True(at, "out.Evidence.Vectors is nil", out.Evidence.Vectors == nil, out.Evidence.Vectors)
		if i == 1 && encoder.seen > 0 {
			t.Errorf("%d texts were encoded again, so nothing was kept", encoder.seen)
		}
		encoder.seen = 0
		data.encoder.spoil = nil
	}
}
