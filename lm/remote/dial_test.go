package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestChoose checks which model is used, and what is said when that is not clear.
func TestChoose(t *testing.T) {
	var ids []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			fmt.Fprint(w, `{"choices":[{"index":0,"text":"x","finish_reason":"length"}]}`)
			return
		}
		var list []string
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"id":%q}`, id))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(list, ","))
	}))
	defer server.Close()
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf("m%d", i)
	}
	for _, test := range []struct {
		ids        []string
		model      string
		want, says string
	}{
		{[]string{"a"}, "", "a", ""},
		{[]string{"a", "b"}, "b", "b", ""},
		{nil, "", "", "serves no model"},
		{[]string{"a", "b"}, "", "", `name one of "a", "b"`},
		{many, "", "", "…"},
		// OpenAI's list is not of all models that a key may use.
		{[]string{"a"}, "c", "c", ""},
	} {
		ids = test.ids
		c, err := Dial(t.Context(), Options{URL: server.URL, Model: test.model, Dialect: OpenAI})
		if err != nil {
			if test.says == "" || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, asked for %q: %v", test.ids, test.model, err)
			}
			continue
		}
		if c.Info().Name != test.want {
			t.Errorf("%v, asked for %q: took %q", test.ids, test.model, c.Info().Name)
		}
		c.Close()
	}
	_, url := newToy(t, VLLM)
	if _, err := Dial(t.Context(), Options{URL: url, Model: "other"}); err == nil || !strings.Contains(err.Error(), `it has "toy"`) {
		t.Errorf("a model that vLLM does not serve: %v", err)
	}
}

// TestTLS checks that certificates are, and that a wrong scheme is named.
func TestTLS(t *testing.T) {
	toy := &toy{dialect: OpenAI}
	secure := httptest.NewUnstartedServer(toy)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	defer secure.Close()
	_, err := Dial(t.Context(), Options{URL: secure.URL})
	expect.Equal(t, "attempts", expect.As[*ConnectionError](t, err).Attempts, 1)
	expect.Contains(t, "error for an unknown certificate", err.Error(), "certificate")
	_, plain := newToy(t, OpenAI)
	_, err = Dial(t.Context(), Options{URL: strings.Replace(plain, "http:", "https:", 1)})
	expect.Equal(t, "attempts", expect.As[*ConnectionError](t, err).Attempts, 1)
	expect.Contains(t, "error for TLS to a server without", err.Error(), "http://")
	if toy.requests.Load() > 0 {
		t.Error("a request was sent to a server that is not trusted")
	}
}

// TestLearnt checks what is told of servers that lack something.
func TestLearnt(t *testing.T) {
	for name, test := range map[string]struct {
		dialect Dialect
		spoil   func(path string, answer any) any
		says    string
	}{
		"a vLLM that does not know the parameter": {VLLM, func(_ string, answer any) any {
			if one, ok := answer.(object); ok && one["choices"] != nil {
				for _, choice := range one["choices"].([]any) {
					if logs, ok := choice.(object)["logprobs"].(object); ok {
						logs["top_logprobs"] = []any{object{"token_id:7": -0.1}}
					}
				}
			}
			return answer
		}, "logprob_token_ids"},
		"a llama.cpp that gives few": {LlamaCPP, func(_ string, answer any) any {
			if one, ok := answer.(object); ok && one["completion_probabilities"] != nil {
				first := one["completion_probabilities"].([]any)[0].(object)
				first["top_logprobs"] = first["top_logprobs"].([]any)[:10]
			}
			return answer
		}, "as many log-probabilities"},
		"an SGLang that does not know the parameter": {SGLang, func(_ string, answer any) any {
			if list, ok := answer.([]any); ok {
				for _, one := range list {
					one.(object)["meta_info"].(object)["output_token_ids_logprobs"] = []any{[]any{}}
				}
			}
			return answer
		}, "token_ids_logprob"},
	} {
		t.Run(name, func(t *testing.T) {
			toy, url := newToy(t, test.dialect)
			toy.spoil = test.spoil
			c := dial(t, url, Options{})
			var lacks *lm.UnsupportedError
			if _, err := c.Scorer(t.Context()); !errors.As(err, &lacks) || !strings.Contains(lacks.Missing, test.says) {
				t.Errorf("%s: %v", name, err)
			}
			expect.Equal(t, name+": scores", c.Probe().Scores, false)
			expect.Contains(t, name+": missing", c.Probe().Missing, test.says)
		})
	}
}
