package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/sotto-dp/sotto/lm"
)

// Probe describes the capabilities of a server.
type Probe struct {
	// URL without its query, which may hold more than an address.
	URL string `json:"url"`
	lm.Info
	// Scores reports whether it can process private records, if it is trusted; Missing is
	// what it lacks otherwise.
	Scores  bool   `json:"scores"`
	Missing string `json:"missing,omitempty"`
	// Notes are for the reader.
	Notes []string `json:"notes,omitempty"`
}

// Probe returns what Dial detected.
func (c *Client) Probe() Probe {
	u := *c.wire.base
	u.RawQuery = ""
	p := Probe{URL: u.String(), Info: c.info, Scores: c.info.Can.Candidates, Missing: c.facts.missing, Notes: c.facts.notes}
	if p.Scores {
		p.Missing = ""
	}
	return p
}

func dialectOf(d Dialect) dialect {
	switch d {
	case VLLM:
		return &vllm{extensions: extensions{openai{d}}}
	case SGLang:
		return &sglang{extensions: extensions{openai{d}}}
	case LlamaCPP:
		return &llamacpp{openai: openai{d}}
	case Ollama:
		return &ollama{openai{d}}
	}
	return &openai{d}
}

// guess detects the dialect by the owner of the models, which each kind of server fills in
// with its own name, and by an end point that no other has.
func (c *Client) guess(ctx context.Context) (Dialect, error) {
	list, err := c.models(ctx)
	var status *StatusError
	if err != nil && !errors.As(err, &status) {
		return "", err
	}
	if status != nil && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden) {
		return "", status
	}
	for _, m := range list.Data {
		for owner, d := range map[string]Dialect{"vllm": VLLM, "sglang": SGLang, "llamacpp": LlamaCPP} {
			if m.OwnedBy == owner {
				return d, nil
			}
		}
	}
	var version struct {
		Version string `json:"version"`
	}
	if c.wire.get(ctx, c.wire.root+"/api/version", &version) == nil && version.Version != "" {
		return Ollama, nil
	}
	if err != nil {
		return "", fmt.Errorf("what kind of server this is could not be found out; name the dialect: %w", err)
	}
	return OpenAI, nil
}
