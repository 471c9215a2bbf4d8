package remote

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Dialect names an interface of servers.
type Dialect string

// The dialects.
const (
	VLLM     Dialect = "vllm"
	SGLang   Dialect = "sglang"
	LlamaCPP Dialect = "llamacpp"
	Ollama   Dialect = "ollama"
	OpenAI   Dialect = "openai"
	Azure    Dialect = "azure"
)

// Dialects lists all.
func Dialects() []Dialect { return []Dialect{VLLM, SGLang, LlamaCPP, Ollama, OpenAI, Azure} }

// Options configure the connection to a server.
type Options struct {
	// URL of the server, such as http://127.0.0.1:8000; an ending /v1 may be there
	// or not. For Azure: https://NAME.openai.azure.com/openai/v1, or
	// https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=….
	// Required.
	URL string
	// Dialect; "" detects it.
	Dialect Dialect
	// Model to use. It may be empty where the server has a single one.
	Model string
	// Key locates the secret for the server, if it needs one.
	Key Key
	// Private declares that private records go to the server. Then the environment's
	// proxies are not used, and an unencrypted connection is refused beyond this machine,
	// unless AllowPlaintext.
	Private        bool
	AllowPlaintext bool
	// Proxy is the URL of a proxy to go through. Default: for private records none, else
	// the environment's (HTTPS_PROXY and so on).
	Proxy string
	// Exclusive is the operator's word, for servers that do not show it, that nobody else uses
	// the server while it reads records, and that it keeps nothing between them that changes an
	// answer; see [lm.Isolate] and [lm.IsolateRecords].
	Exclusive bool
	// Timeout of one attempt at a request, and 10 ms more (at the default) for each token
	// that the model has to work through. All attempts at a request may take three times
	// that, and so may [Dial] as a whole. Default 5 minutes.
	Timeout time.Duration
	// Retries after a failure that may pass (an overloaded or restarting server,
	// a broken connection). Default 4; negative for none.
	Retries int
	// Backoff bounds the wait before the first retry; it doubles with each, up to
	// 100 times as much. The wait itself is drawn evenly below the bound. Default
	// 250 ms.
	Backoff time.Duration
	// Concurrency bounds the requests at one time. Default 8.
	Concurrency int
	// CacheSalt separates the server's cache of these prompts from that of others, where it
	// can (vLLM, SGLang).
	CacheSalt string
	// Context limits the length of sequences in tokens, if the server's limit is larger or
	// unknown.
	Context int
	// Tolerance states how much scores of the same sequence may differ between calls. Zero
	// checkPrompt 1, since a server does not report its precision: about twice what was seen with
	// bfloat16 or quantised files. With float32 weights, activations and caches 1e-3 holds
	// for vLLM and llama.cpp.
	Tolerance float64
}

// Key locates a secret. It is never part of the options themselves, so printing those
// cannot reveal it.
type Key struct {
	// Env names an environment variable that holds the key.
	Env string
	// File names a file that holds the key, alone.
	File string
}

// Read returns the key, "" if there is none.
func (k Key) Read() (string, error) {
	var key string
	switch {
	case k.Env != "" && k.File != "":
		return "", errors.New("the key is either in an environment variable or in a file: name one of them")
	case k.Env != "":
		if key = os.Getenv(k.Env); key == "" {
			return "", fmt.Errorf("the environment variable %s, which should hold the server's key, is not set", k.Env)
		}
	case k.File != "":
		text, err := os.ReadFile(k.File)
		if err != nil {
			return "", fmt.Errorf("reading the server's key: %w", err)
		}
		if key = strings.TrimSpace(string(text)); key == "" {
			return "", fmt.Errorf("the file %s, which should hold the server's key, is empty", k.File)
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", errors.New("the server's key holds a character that cannot be in a header: is it the whole key and nothing else?")
	}
	return key, nil
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	o.Retries = max(cmp.Or(o.Retries, 4), 0)
	o.Backoff = cmp.Or(o.Backoff, 250*time.Millisecond)
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	return o
}

// check reports what is wrong with options and parses the URL.
func (o Options) check() (*url.URL, error) {
	switch {
	case o.URL == "":
		return nil, errors.New("the server's URL is missing: give one such as http://127.0.0.1:8000")
	case o.Dialect != "" && !slices.Contains(Dialects(), o.Dialect):
		return nil, fmt.Errorf("there is no dialect %q: use one of %v, or none to find it out", o.Dialect, Dialects())
	case o.Timeout < 0, o.Backoff < 0, o.Concurrency < 0, o.Context < 0:
		return nil, errors.New("timeout, backoff, concurrency and context must not be negative")
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return nil, fmt.Errorf("the tolerance must be 0 (the dialect's) or a positive number, not %v", o.Tolerance)
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("the server's URL cannot be read: give one such as http://127.0.0.1:8000")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the server's URL must begin with http:// or https:// and name a host")
	case u.User != nil:
		return nil, errors.New("the server's URL holds a user or password: keep the key in an environment variable or a file instead")
	case u.Fragment != "":
		return nil, errors.New("the server's URL has a part after #: leave it out")
	}
	if err := o.checkProxy(); err != nil {
		return nil, err
	}
	if plain := o.plaintext(u); o.Private && plain != "" && !o.AllowPlaintext {
		return nil, &PlaintextError{URL: plain}
	}
	return u, nil
}
