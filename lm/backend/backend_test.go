package backend

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/bert/berttest"
	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/lm/models"
)

func TestEmbedded(t *testing.T) {
	m, err := Trusted(t.Context(), Spec{Threads: 1, Context: 128})
	if err != nil {
		t.Fatalf("%v (in this repository: go run ./cmd/sotto model pull)", err)
	}
	defer m.Close()
	expect.Equal(t, "basis", m.Basis(), lm.InProcess)
	expect.Equal(t, "back-end", m.Info().Backend, "embedded")
	expect.Equal(t, "context", m.Info().Context, 128)
}

func TestEncoder(t *testing.T) {
	e, err := Encoder("")
	if err != nil {
		t.Fatalf("%v (in this repository: go run ./cmd/sotto model pull minilm)", err)
	}
	defer e.Close()
	v, err := e.Embed(t.Context(), []string{"a sentence"})
	expect.NoError(t, err)
	expect.Len(t, "vectors", v, 1)
	expect.Len(t, "vector", v[0], 384)
	if _, err := Open(t.Context(), Spec{Model: "minilm"}); err == nil || !strings.Contains(err.Error(), "cannot write text: it turns sentences into vectors") {
		t.Error(err)
	}
}

// TestOtherEncoders: a folder or a GGUF file by its path, which writes no text.
func TestOtherEncoders(t *testing.T) {
	t.Setenv("SOTTO_MODELS", t.TempDir())
	m := berttest.New(1, 32, false)
	dir, file := filepath.Join(t.TempDir(), "tiny"), filepath.Join(t.TempDir(), "tiny.gguf")
	expect.NoError(t, berttest.WriteFolder(dir, m.Files("F32")))
	expect.NoError(t, m.WriteGGUF(file, gguf.F32))
	for _, path := range []string{dir, filepath.Join(dir, "model.safetensors"), file} {
		e, err := TrustedEncoder(path)
		expect.NoError(t, err)
		expect.Equal(t, "dimension of "+path, e.Dimension(), 128)
		expect.Prefix(t, "name of "+path, e.Name(), "tiny@")
		expect.NoError(t, e.Close())
		_, err = Open(t.Context(), Spec{Model: path})
		expect.Contains(t, "error of writing with "+path, fmt.Sprint(err), "it turns sentences into vectors")
	}
	tiny := filepath.Join(t.TempDir(), "text.gguf")
	lmtest.TinyModel(t, tiny)
	_, err := Encoder(tiny)
	expect.Contains(t, "error of a language model", fmt.Sprint(err), "cannot turn sentences into vectors: it writes text")
}

// TestTrustIsDeclared: a server is trusted only where the configuration says so,
// and it is not even asked otherwise.
func TestTrustIsDeclared(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.NotFound(w, r)
	}))
	defer server.Close()
	var untrusted *UntrustedError
	if _, err := Trusted(t.Context(), Spec{URL: server.URL}); !errors.As(err, &untrusted) || asked != 0 {
		t.Errorf("%v after %d requests", err, asked)
	} else if !strings.Contains(err.Error(), "--pool-model") || !strings.Contains(err.Error(), "sotto serve") {
		t.Errorf("it does not say what a server can do that may see no record: %v", err)
	}
	_, err := Trusted(t.Context(), Spec{URL: server.URL, Trusted: true})
	expect.True(t, "an error about the server", err != nil && !errors.As(err, &untrusted), err)
	expect.True(t, "requests", asked > 0)
}

// TestChatServer: a server that only chats writes, and gives no scores; one that is trusted may
// judge what it writes.
func TestChatServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"some-model","object":"model","owned_by":"someone"}]}`))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	m, err := Open(t.Context(), Spec{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Info().Name; got != "some-model" {
		t.Errorf("the model is %q", got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for _, trusted := range []bool{true, false} {
		s := Spec{URL: server.URL, Trusted: trusted}
		var unsupported *lm.UnsupportedError
		if _, err := Scorer(t.Context(), s); !errors.As(err, &unsupported) {
			t.Error(err)
		}
		m, err := Trusted(t.Context(), s)
		if (err == nil) != trusted {
			t.Errorf("trusted %v: %v", trusted, err)
		}
		if trusted && !errors.As(m.NeedScores(), &unsupported) {
			t.Error("a server that only chats gives scores")
		}
	}
}

func TestNoModel(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOTTO_MODELS", dir)
	var missing *models.MissingError
	for _, open := range []func() error{
		func() error { _, err := Open(t.Context(), Spec{}); return err },
		func() error { _, err := Trusted(t.Context(), Spec{}); return err },
		func() error { _, err := Encoder(""); return err },
	} {
		if err := open(); !errors.As(err, &missing) {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, "mine.gguf")
	if err := os.WriteFile(path, []byte("nothing of the kind"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, "mine"} {
		if _, err := Scorer(t.Context(), Spec{Model: name}); err == nil || !strings.Contains(err.Error(), "cannot open the model") {
			t.Error(err)
		}
	}
}
