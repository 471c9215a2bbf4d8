package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/sys/expect"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestTraces: a client's trace continues to the upstream, and spans hold nothing of the request.
func TestTraces(t *testing.T) {
	passed := make(chan string, 1)
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		passed <- r.Header.Get("Traceparent")
		says(200, completion)(w, r)
	})
	spans := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	_, front := gatewayTo(t, u, Options{Tracer: tracer})
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	send(t, t.Context(), front.URL+"/v1/chat/completions", `{"model":"tickets","messages":[{"role":"user","content":"xyzzy"}]}`, "Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	if got := <-passed; !strings.HasPrefix(got, "00-"+id+"-") || strings.Contains(got, "00f067aa0ba902b7") {
		t.Errorf("the upstream got %q", got)
	}
	all := spans.GetSpans()
	text := fmt.Sprintf("%+v", all)
	expect.Len(t, "all", all, 2)
	expect.Equal(t, "all[0].Name", all[0].Name, "upstream")
	expect.Equal(t, "all[1].Name", all[1].Name, "POST /v1/chat/completions")
	expect.Contains(t, "text", text, "tickets")
	for _, secret := range []string{"xyzzy", "password", "sk-upstream", "login"} {
		if strings.Contains(text, secret) {
			t.Errorf("a trace holds %q", secret)
		}
	}
}
