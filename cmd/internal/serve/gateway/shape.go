package gateway

import (
	"encoding/json"
	"slices"
)

// shape is what of a request would change the shape of its answer. Models whose answers are one text refuse
// it: a client that waits for what is not there would go wrong later.
type shape struct {
	N          *int            `json:"n"`
	BestOf     *int            `json:"best_of"`
	Tools      []any           `json:"tools"`
	Functions  []any           `json:"functions"`
	Modalities []string        `json:"modalities"`
	Audio      json.RawMessage `json:"audio"`
	Echo       bool            `json:"echo"`
	Suffix     string          `json:"suffix"`
	// LogProbs is true or false for chats, and a number for completions.
	LogProbs    json.RawMessage `json:"logprobs"`
	TopLogProbs *int            `json:"top_logprobs"`
	Format      *struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

// shapes are the names of its members.
var shapes = []string{"n", "best_of", "tools", "functions", "modalities", "audio", "echo", "suffix", "logprobs", "top_logprobs", "response_format"}

// refuse names the first that asks for more than a text; why says what the model does instead.
func (s shape) refuse(why string) error {
	more := func(n *int) bool { return n != nil && *n != 1 }
	given := func(raw json.RawMessage) bool { return !slices.Contains([]string{"", "null", "false"}, string(raw)) }
	for _, one := range []struct {
		name  string
		asked bool
	}{
		{"n", more(s.N)},
		{"best_of", more(s.BestOf)},
		{"tools", len(s.Tools) > 0},
		{"functions", len(s.Functions) > 0},
		{"modalities", len(s.Modalities) > 0 && !slices.Equal(s.Modalities, []string{"text"})},
		{"audio", given(s.Audio)},
		{"echo", s.Echo},
		{"suffix", s.Suffix != ""},
		{"logprobs", given(s.LogProbs)},
		{"top_logprobs", s.TopLogProbs != nil && *s.TopLogProbs != 0},
		{"response_format", s.Format != nil && s.Format.Type != "text"},
	} {
		if one.asked {
			return invalid(one.name, "%s: leave out %q", why, one.name)
		}
	}
	return nil
}
