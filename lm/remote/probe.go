package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

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

// String formats the probe as a table.
func (p Probe) String() string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-12s %s\n", name, printable(value)) }
	line("url", p.URL)
	line("server", strings.TrimSpace(p.Backend+" "+p.Version))
	line("model", p.Name)
	if p.Fingerprint != "" {
		line("weights", p.Fingerprint)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"context", p.Context}, {"vocabulary", p.Vocabulary}, {"best tokens", p.Top}} {
		if n.value > 0 {
			line(n.name, fmt.Sprint(n.value))
		}
	}
	line("can", p.list())
	if p.Scores {
		line("records", "yes, if it is trusted with them")
		line("repeatable", fmt.Sprintf("not promised; scores may differ by %g between calls", p.Tolerance))
	} else {
		line("scores", "no: "+p.Missing)
		line("records", lm.WithoutScores)
	}
	for _, note := range p.Notes {
		line("note", note)
	}
	return b.String()
}

// printable keeps texts of a server from steering a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

func (p Probe) list() string {
	var can []string
	for _, c := range []struct {
		name string
		yes  bool
	}{
		{"complete text", p.Can.Generate},
		{"chat", p.Can.Chat},
		{"score chosen tokens", p.Can.Candidates},
		{"give best tokens", p.Can.Top},
		{"give whole distributions", p.Can.All},
		{"score given tokens", p.Can.Given},
		{"embed sentences", p.Can.Embed},
	} {
		if c.yes {
			can = append(can, c.name)
		}
	}
	return strings.Join(can, ", ")
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
