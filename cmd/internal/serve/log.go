package serve

import (
	"context"
	"log/slog"
	"os"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/internal/ui"
)

// done counts a request, and notes it where anyone who looks after the service wants it: who used
// which route, and what it was charged; nothing of what was asked or answered.
func (s *Server) done(r gateway.Record) {
	s.metrics.ended(r)
	if r.Fault != "" {
		s.Log.Error("a request failed for a fault of this program", "at", r.Fault, "route", r.Route)
	}
	if s.Requests == nil {
		return
	}
	attributes := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.Path), slog.Int("status", r.Status),
		slog.String("key", r.Client), slog.String("route", r.Route), slog.Int64("version", r.Version),
		slog.Int64("bytes", r.Bytes), slog.Float64("seconds", r.Elapsed.Seconds()),
	}
	if r.Charge != "" {
		attributes = append(attributes, slog.String("charge", r.Charge))
	}
	s.Requests.LogAttrs(context.Background(), slog.LevelInfo, "request", attributes...)
}

// AppendTo logs requests to a file; "" is none.
func AppendTo(path string) (log *slog.Logger, closeFile func() error, err error) {
	if path == "" {
		return nil, func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, ui.Usage("the file of requests: %w", err)
	}
	return slog.New(slog.NewJSONHandler(f, nil)), f.Close, nil
}
