package env_test

import (
	"encoding/json"
	"testing"

	"github.com/sotto-dp/sotto/internal/run/env"
)

// TestKeys: programs read these streams, so that their keys stay: a run always counts its
// texts, and a session never does.
func TestKeys(t *testing.T) {
	for want, p := range map[string]env.Progress{
		`{"event":"written","done":0,"texts":0}`:                                                  {Kind: env.Written},
		`{"event":"token","text":2,"condition":"a","tokens":3,"max_tokens":9,"done":1,"texts":4}`: {Kind: env.Wrote, Text: 2, Condition: "a", Tokens: 3, MaxTokens: 9, Done: 1, Texts: 4},
		`{"event":"token","question":1,"questions":2,"tokens":3,"max_tokens":9}`:                  {Kind: env.Wrote, Answering: true, Question: 1, Questions: 2, Tokens: 3, MaxTokens: 9},
		`{"event":"notice","message":"m"}`:                                                        {Kind: env.Noted, Answering: true, Message: "m"},
	} {
		t.Run(want, func(t *testing.T) {
			if got, err := json.Marshal(p); err != nil || string(got) != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		})
	}
}
