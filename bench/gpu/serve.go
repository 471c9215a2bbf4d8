package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/sotto-dp/sotto/bench/gpu/openai"
	"github.com/sotto-dp/sotto/bench/gpu/torch"
	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

// serve answers as an OpenAI-compatible server until it is interrupted.
func serve(ctx context.Context, s settings) error {
	model, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer model.Close()
	batcher, err := openai.New(model, openai.Options{Tokens: s.tokens})
	if err != nil {
		return err
	}
	defer batcher.Close()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: batcher.Handler(), ReadHeaderTimeout: time.Minute}
	began := time.Now()
	fmt.Fprintf(os.Stderr, "%s on http://%s/v1\n", model.Info().Name, listener.Addr())
	go func() {
		defer fault.Watch()
		<-ctx.Done()
		server.Close()
	}()
	err = server.Serve(listener)
	load := batcher.Load()
	took, usage := time.Since(began).Seconds(), model.Usage()
	fmt.Fprintf(os.Stderr, "%d requests (%d failed) in %d passes, %.1f M tokens computed and %.1f M shared, in %.1f s\n", load.Requests, load.Failures, load.Passes, float64(usage.Computed)/1e6, float64(usage.Cached)/1e6, took)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// open starts the model with PyTorch, or in the embedded engine.
func (s settings) open(ctx context.Context) (lm.Scorer, error) {
	if s.engine == "embedded" {
		return backend.Scorer(ctx, backend.Spec{Model: s.model})
	}
	return torch.Open(s.model, s.options)
}
