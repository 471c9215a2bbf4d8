package serve

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Traces sends them to the collector that OpenTelemetry's variables name; to nobody if they name
// none.
func Traces(ctx context.Context) (_ trace.Tracer, flush func(), err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, func() {}, nil
	}
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, ui.Usage("the collector of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(to), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "sotto"), attribute.String("service.version", sotto.Version()))))
	return provider.Tracer("sotto"), func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(ending) // a collector that is gone is no error of the service
	}, nil
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
