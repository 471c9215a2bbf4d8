package serve

import (
	"math"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
)

// metrics are what Prometheus reads: numbers by route, and nothing of a request. They change when
// a request has ended, and say nothing of how much work it was: of private answers that depends on
// who was drawn. So processor time and memory are not among them, nor the number of goroutines
// where there are routes that answer from records.
type metrics struct {
	private  atomic.Bool // there are
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	underWay prometheus.Gauge
	faults   prometheus.Counter
	answers  *prometheus.CounterVec
	spent    *prometheus.GaugeVec
	left     *prometheus.GaugeVec
	routes   prometheus.Gauge
	looked   prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sotto_requests_total", Help: "Requests that have ended, by route, path and status."}, []string{"route", "path", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sotto_request_seconds", Help: "How long requests took, to the last byte of their answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
		}, []string{"route"}),
		bytes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sotto_answer_bytes_total", Help: "Bytes of answers, by route."}, []string{"route"}),
		underWay: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sotto_requests_under_way", Help: "Requests that have not ended."}),
		faults:   prometheus.NewCounter(prometheus.CounterOpts{Name: "sotto_faults_total", Help: "Requests that failed for a fault of this program."}),
		answers:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sotto_private_answers_total", Help: "Answers from private records, by route."}, []string{"route"}),
		spent:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sotto_epsilon_spent", Help: "The ε spent of the budget that has least left, after the last answer of a route in this process."}, []string{"route"}),
		left:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sotto_epsilon_left", Help: "The ε left of that budget."}, []string{"route"}),
		routes:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "sotto_routes", Help: "Routes that are served."}),
		looked:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "sotto_store_read_timestamp_seconds", Help: "When keys and routes were last looked at."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.bytes, m.underWay, m.faults, m.answers, m.spent, m.left, m.routes, m.looked,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "go_goroutines", Help: "Goroutines of the process; not a number where a route answers from private records."}, func() float64 {
			if m.private.Load() {
				return math.NaN()
			}
			return float64(runtime.NumGoroutine())
		}))
	return m
}

// ended counts a request.
func (m *metrics) ended(r gateway.Record) {
	m.requests.WithLabelValues(r.Route, r.Path, strconv.Itoa(r.Status)).Inc()
	m.seconds.WithLabelValues(r.Route).Observe(r.Elapsed.Seconds())
	m.bytes.WithLabelValues(r.Route).Add(float64(r.Bytes))
	if r.Fault != "" {
		m.faults.Inc()
	}
	if r.Charge != "" && r.Status < http.StatusBadRequest {
		m.answers.WithLabelValues(r.Route).Inc()
	}
	if r.Left != nil {
		m.spent.WithLabelValues(r.Route).Set(r.Spent)
		m.left.WithLabelValues(r.Route).Set(*r.Left)
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
