package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// slowly is an encoder that looks whether anything else computes.
type slowly struct {
	lm.Embedder
	embed func()
}

func (s slowly) Embed(context.Context, []string) ([][]float32, error) {
	s.embed()
	return nil, nil
}

// TestLoad: what fills makes room for the encoder's own work, continues after it, and ends with its
// context, also in between.
func TestLoad(t *testing.T) {
	var filling atomic.Bool
	begun := make(chan struct{}, 9)
	l := &load{fill: func(ctx context.Context) {
		filling.Store(true)
		begun <- struct{}{}
		<-ctx.Done()
		filling.Store(false)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { l.occupy(ctx) })
	computed := 0
	encoder, err := lm.TrustEmbedder(slowly{embed: func() {
		computed++
		time.Sleep(5 * time.Millisecond) // what fills could begin, if it were to
		if filling.Load() {
			t.Error("two compute at once")
		}
	}}, lm.InProcess)
	must(t, err)
	e := encoder.Within(l.instead)
	for range 3 {
		<-begun
		if _, err := e.Embed(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	l.instead(func() {
		cancel()
		all.Wait()
	})
	if filling.Load() || computed != 3 {
		t.Errorf("filling: %v, computed %d times", filling.Load(), computed)
	}
	if _, err := e.Embed(t.Context(), nil); err != nil || computed != 4 {
		t.Errorf("without anything that fills: %v", err)
	}
}

// TestLoadOfAnEncoder: where the model computes elsewhere, the encoder fills.
func TestLoadOfAnEncoder(t *testing.T) {
	if newLoad(lm.TrustedScorer{}, lm.TrustedEmbedder{}) != nil {
		t.Error("something computes on this machine")
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	encoder, err := lm.TrustEmbedder(slowly{embed: func() {
		if n++; n == 3 {
			cancel()
		}
	}}, lm.InProcess)
	must(t, err)
	newLoad(lm.TrustedScorer{}, encoder).occupy(ctx)
	if n != 3 {
		t.Errorf("%d times", n)
	}
}
