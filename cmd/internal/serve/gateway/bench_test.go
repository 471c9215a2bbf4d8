package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkForward: what a request costs between a client and an upstream that answer at once,
// with the client's and the upstream's own work.
func BenchmarkForward(b *testing.B) {
	u := newUpstream(b, says(200, completion))
	_, front := gatewayTo(b, u, Options{Done: func(Record) {}, Allow: func(*http.Request, string) (string, error) { return "k", nil }})
	for _, model := range []string{"plain", "tickets"} {
		b.Run(model, func(b *testing.B) {
			body := `{"model":"` + model + `","messages":[{"role":"user","content":"I was charged twice for the same order last week."}]}`
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						b.Error(err)
					}
					_ = r.Body.Close() // all of it was read
				}
			})
		})
	}
}
