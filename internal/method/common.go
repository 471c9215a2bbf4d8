package method

import "github.com/sotto-dp/sotto/internal/method/scheme"

// Batch is the setting of methods that draw a record for each prompt.
func Batch(otherwise string) Setting {
	return Setting{Name: "batch", Type: Int, Help: "how many records to draw for a text or answer", Default: otherwise}
}

// Per is the setting of methods that may draw anew for each token.
func Per() Setting {
	return Setting{Name: "per", Type: Choice, Help: "how long to keep a draw: text or token", Choices: []string{string(scheme.PerText), string(scheme.PerToken)}}
}

// Temperature is the setting of methods that choose by an exponential mechanism.
func Temperature(otherwise string) Setting {
	return Setting{Name: "temperature", Type: Float, Help: "how freely to choose tokens", Default: otherwise}
}

// Candidates is the setting of methods that choose among tokens; 0 takes all.
func Candidates() Setting {
	return Setting{
		Name: "candidates", Type: Int, Help: "choose among the `K` most likely tokens; 0 takes the whole vocabulary",
		Default: "100", Min: 2, Zero: true,
	}
}

// Tokens returns how many tokens [Candidates] says to choose among; 0 for all.
func (v Values) Tokens() int { return v.Int("candidates", 100) }

// Prompts are the settings of methods that assign records to a number of prompts.
func Prompts(help, prompts, each string) []Setting {
	return []Setting{
		{Name: "prompts", Type: Int, Help: help, Default: prompts},
		{Name: "per_prompt", Type: Int, Help: "records in a prompt, on average", Default: each},
	}
}
