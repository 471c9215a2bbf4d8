package sotto_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// remote makes options for a run on a server that is declared as trusted.
func remote(t *testing.T, url string) synthesis {
	o := options(t)
	o.Trusted = lm.TrustedScorer{}
	o.Model = backend.Spec{URL: url, Trusted: true}
	return o
}

// holds synthesises and verifies the certificate.
func holds(t *testing.T, o synthesis) {
	t.Helper()
	result, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Examples) != 2 || result.Guarantee.Epsilon.Upper > o.Request.Epsilon*1.01 && !result.Resumed {
		t.Errorf("%d examples at ε = %v", len(result.Examples), result.Guarantee.Epsilon)
	}
	trust, err := certificate.LoadTrust(o.client().Keys())
	if err != nil {
		t.Fatal(err)
	}
	report, err := sotto.Verify(o.Out, trust)
	if err != nil || !report.OK {
		t.Fatalf("the certificate does not hold: %v %+v", err, report.Failures())
	}
	if m := report.Predicate.Model; m == nil || m.Deterministic {
		t.Errorf("the certificate says of the server: %+v", m)
	}
}

// TestVLLM writes private texts with a real vLLM; see make test-vllm.
func TestVLLM(t *testing.T) {
	url := os.Getenv("SOTTO_TEST_VLLM_URL")
	if url == "" {
		t.Skip("make test-vllm installs and starts a vLLM and runs this")
	}
	holds(t, remote(t, url))
}

// TestVLLMReplicas runs private texts and choosing on several real vLLMs behind one address,
// which asks them in turn, and then kills one of them within a text; see make test-vllm. That
// nobody else uses them is the operator's word, as nobody can watch several.
func TestVLLMReplicas(t *testing.T) {
	var list []vllmReplica
	for field := range strings.FieldsSeq(os.Getenv("SOTTO_TEST_VLLM_REPLICAS")) {
		address, id, _ := strings.Cut(field, ",")
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		process, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, vllmReplica{way: httputil.NewSingleHostReverseProxy(u), process: process})
	}
	if len(list) < 2 {
		t.Skip("make test-vllm starts several vLLMs and runs this")
	}
	var mu sync.Mutex // guards list
	next := 0
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" { // those of one replica say nothing about all
			w.WriteHeader(http.StatusNotFound)
			return
		}
		mu.Lock()
		next++
		at := next % len(list)
		list[at].asked++
		way := list[at].way
		mu.Unlock()
		way.ServeHTTP(w, r)
	}))
	defer front.Close()
	together := func() synthesis {
		o := remote(t, front.URL)
		o.Model.Exclusive = true
		return o
	}

	holds(t, together())

	o := together()
	o.Request = sotto.Request{
		Task: task(), Size: 200, Epsilon: 4, Tokens: 8,
		Choosing: &sotto.ChooseRequest{Writing: -1, Pool: 3, First: 3, Next: 2, Rounds: 2, Records: 8},
	}
	chosen, err := synthesize(t.Context(), o)
	if err != nil || chosen.Prompt == nil {
		t.Fatalf("choosing: %v", err)
	}
	for i, r := range list {
		if r.asked < 10 {
			t.Errorf("replica %d was asked %d times", i, r.asked)
		}
	}

	dies(t, together(), func() {
		process, err := os.FindProcess(list[1].process)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	}, func(*synthesis) {
		// What a balancer does with one that does not answer.
		mu.Lock()
		defer mu.Unlock()
		list = append(list[:1], list[2:]...)
	})
}

// vllmReplica is one of several servers behind an address.
type vllmReplica struct {
	way            *httputil.ReverseProxy
	process, asked int
}

// TestUntrustedServer: records do not go to a server that nobody declared as trusted,
// and nothing is charged.
func TestUntrustedServer(t *testing.T) {
	asked := false
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		w.WriteHeader(http.StatusNotFound)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // ends with Close
	defer server.Close()
	o := remote(t, "http://"+listener.Addr().String())
	o.Model.Trusted = false
	_, err = synthesize(t.Context(), o)
	var untrusted *backend.UntrustedError
	if !errors.As(err, &untrusted) || asked {
		t.Errorf("an untrusted server: %v, asked: %v", err, asked)
	}
	if _, err := os.Stat(o.client().Ledger()); err == nil {
		t.Error("a ledger was made")
	}
}

// TestServerDies: llama.cpp's real server is killed within a text. The run says that it
// can continue; as the server does not promise to repeat itself, the text costs again, which
// the budget refuses until it is raised; then the run completes.
func TestServerDies(t *testing.T) {
	if testing.Short() {
		t.Skip("a real server is killed")
	}
	path := lmtest.CutModel(t, 4000, 4)
	url, stop := llamacpp(t, path)
	o := remote(t, url)
	// Each prompt is scored alone and from its beginning, and the server lists best tokens
	// only, so that rare candidates make it list many.
	o.Parallel, o.Request.Settings, o.Request.Tokens = 1, method.Values{"batch": 2, "candidates": 4}, 6
	dies(t, o, stop, func(o *synthesis) { o.Model.URL, _ = llamacpp(t, path) })
}

// dies has a run's server die within a text, and the run continue with what is there again.
func dies(t *testing.T, o synthesis, kill func(), revive func(*synthesis)) {
	t.Helper()
	died := false
	o.Observe = func(e sotto.Progress) {
		if e.Kind == sotto.Wrote && !died {
			died = true
			kill()
		}
	}
	_, err := synthesize(t.Context(), o)
	var interrupted *sotto.InterruptedError
	if !errors.As(err, &interrupted) || !died {
		t.Fatalf("the server died (%v), and the run says: %v", died, err)
	}
	o.Observe = nil
	revive(&o)
	_, err = synthesize(t.Context(), o)
	if !errors.Is(err, ledger.ErrBudget) {
		t.Fatalf("the text costs again, and the budget was used up: %v", err)
	}
	l, err := ledger.Open(t.Context(), o.client().Ledger(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Grant(t.Context(), ledger.GrantRequest{Dataset: "tickets", Epsilon: 4, Delta: 1e-6, Reason: "the server died"}); err != nil {
		t.Fatal(err)
	}
	holds(t, o)
	data, err := l.Show(t.Context(), "tickets")
	if err != nil || len(data.Charges) != 2 {
		t.Errorf("%d charges, %v: the run and the text that was lost", len(data.Charges), err)
	}
}

// llamacpp starts llama.cpp's server on a model.
func llamacpp(t *testing.T, path string) (url string, stop func()) {
	t.Helper()
	if found, _ := filepath.Glob(".venv/llamacpp/installed-*"); len(found) == 0 {
		t.Skip("llama.cpp's server is not installed: scripts/llamacpp.sh install")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "scripts/llamacpp.sh", "serve", path, port)
	server.WaitDelay = 10 * time.Second
	if err := server.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // it is killed
		close(ended)
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	url = "http://127.0.0.1:" + port
	for {
		if answer, err := http.Get(url + "/health"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return url, stop
			}
		}
		select {
		case <-ended:
			t.Fatal("llama.cpp's server ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
