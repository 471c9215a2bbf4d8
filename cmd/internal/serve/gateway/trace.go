package gateway

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Traces hold of a request what its [Record] does: nothing of what was asked or answered. A
// client's trace continues through the gateway to the upstream.
var between propagation.TraceContext

// noTraces is for gateways that are not traced.
var noTraces trace.Tracer = noop.NewTracerProvider().Tracer("")

// begin starts the span of a request.
func (h *Handler) begin(r *http.Request) (context.Context, trace.Span) {
	// What else a client says of its trace is text of its own.
	ctx := between.Extract(r.Context(), propagation.MapCarrier{"traceparent": r.Header.Get("Traceparent")})
	return h.Tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
}

// end ends it with what the record has.
func end(span trace.Span, r *Record) {
	if !span.IsRecording() {
		return
	}
	span.SetName(r.Method + " " + r.Path)
	span.SetAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", r.Path), attribute.Int("http.response.status_code", r.Status),
		attribute.String("sotto.key", r.Client), attribute.String("sotto.route", r.Route), attribute.Int64("sotto.version", r.Version),
	)
	if r.Charge != "" {
		span.SetAttributes(attribute.String("sotto.charge", r.Charge))
	}
	if r.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, r.Fault)
	}
	span.End()
}

// traced sends a request on within a span of its own.
func (h *Handler) traced(ctx context.Context, route *Route, path string, b body) (*http.Response, error) {
	ctx, span := h.Tracer.Start(ctx, "upstream", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	answer, err := route.send(ctx, path, b)
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
	} else {
		span.SetAttributes(attribute.Int("http.response.status_code", answer.StatusCode))
	}
	return answer, err
}
