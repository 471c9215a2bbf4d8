package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/lm"
)

// NextToken is a token that may follow a prompt.
type NextToken struct {
	ID      lm.Token `json:"id"`
	Text    string   `json:"text"`
	LogProb float64  `json:"logprob"`
	Among   *float64 `json:"logprob_among,omitempty"`
	Control bool     `json:"control,omitempty"`
}

// NextTokens are tokens that may follow a prompt, the most likely first.
type NextTokens struct {
	PromptTokens int         `json:"prompt_tokens"`
	Over         string      `json:"normalised_over"`
	Tokens       []NextToken `json:"tokens"`
}

// Next asks a model about the token after a prompt: the most likely ones, or candidates if
// there are any. In a chat the prompt is a message, and the token begins the answer.
func Next(ctx context.Context, model lm.Scorer, prompt string, chat bool, top int, wanted []Candidate) (*NextTokens, error) {
	list, err := promptTokens(ctx, model, prompt, chat)
	if err != nil {
		return nil, err
	}
	ask := lm.Ask{Top: top}
	var candidates []lm.Token
	if wanted != nil {
		if candidates, err = resolveCandidates(ctx, model.Tokenizer(), wanted); err != nil {
			return nil, err
		}
		// Where all can be had, the candidates' probabilities are real ones.
		if ask = (lm.Ask{Candidates: candidates}); model.Info().Can.All {
			ask = lm.Ask{All: true}
		}
	}
	session, err := model.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	sequence, err := session.New()
	if err != nil {
		return nil, err
	}
	scores, err := session.Step(ctx, []lm.Step{{Sequence: sequence, Tokens: list, Ask: ask}})
	if err != nil {
		return nil, err
	}
	r := &NextTokens{PromptTokens: len(list), Over: "vocabulary"}
	best := scores[0]
	if candidates != nil {
		if ask.All {
			best = restrict(best, candidates)
		} else {
			r.Over = "candidates"
		}
	}
	return r, r.fill(ctx, model.Tokenizer(), best, candidates != nil)
}

// promptTokens lays a prompt out as the model wants it.
func promptTokens(ctx context.Context, model lm.Scorer, prompt string, chat bool) ([]lm.Token, error) {
	if chat {
		return model.Chat(ctx, []lm.Message{{Role: lm.User, Content: prompt}})
	}
	list, err := model.Tokenizer().Encode(ctx, prompt)
	if first, ok := model.Tokenizer().Beginning(); ok && err == nil {
		list = append([]lm.Token{first}, list...)
	}
	return list, err
}

func restrict(all lm.Scores, tokens []lm.Token) lm.Scores {
	s := lm.Scores{Tokens: tokens}
	for _, t := range tokens {
		s.LogProbs = append(s.LogProbs, all.LogProbs[t])
	}
	return s
}

// fill lists scores from the best on.
func (r *NextTokens) fill(ctx context.Context, tokenizer lm.Tokenizer, s lm.Scores, among bool) error {
	var shares []float64
	if among {
		shares = lm.LogSoftmax(s.LogProbs)
	}
	for i, t := range s.Tokens {
		text, err := tokenizer.Decode(ctx, []lm.Token{t})
		if err != nil {
			return err
		}
		row := NextToken{ID: t, Text: strings.ToValidUTF8(text, "\ufffd"), LogProb: s.LogProbs[i], Control: tokenizer.Control(t)}
		if among {
			row.Among = &shares[i]
		}
		r.Tokens = append(r.Tokens, row)
	}
	slices.SortStableFunc(r.Tokens, func(a, b NextToken) int { return cmp.Compare(b.LogProb, a.LogProb) })
	return nil
}

// Candidate is a token by its id, or a text that should be one.
type Candidate struct {
	id   lm.Token
	text string
	byID bool
}

// ParseCandidates reads a file of candidates: one on each line, or a JSON array of texts and
// token ids.
func ParseCandidates(data []byte) ([]Candidate, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) && json.Valid(data) {
		return parseArray(data)
	}
	var list []Candidate
	numbers := true
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		_, err := strconv.ParseUint(line, 10, 31)
		numbers = numbers && err == nil
		list = append(list, Candidate{text: line})
	}
	if numbers {
		for i, c := range list {
			id, _ := strconv.Atoi(c.text) // as all were tried
			list[i] = Candidate{id: lm.Token(id), byID: true}
		}
	}
	return list, nil
}

func parseArray(data []byte) ([]Candidate, error) {
	var items []any
	if err := bounded.UnmarshalJSON(data, bounded.Large, &items); err != nil {
		return nil, err
	}
	var list []Candidate
	for i, item := range items {
		switch v := item.(type) {
		case string:
			list = append(list, Candidate{text: v})
		case float64:
			if v != math.Trunc(v) || v < 0 || v > math.MaxInt32 {
				return nil, fmt.Errorf("item %d is not the id of a token", i+1)
			}
			list = append(list, Candidate{id: lm.Token(v), byID: true})
		default:
			return nil, fmt.Errorf("item %d is neither a text nor a number", i+1)
		}
	}
	return list, nil
}

func resolveCandidates(ctx context.Context, tokenizer lm.Tokenizer, wanted []Candidate) ([]lm.Token, error) {
	var list []lm.Token
	for i, c := range wanted {
		token := c.id
		if !c.byID {
			found, err := tokenizer.Encode(ctx, c.text)
			if err != nil {
				return nil, err
			}
			if len(found) != 1 {
				return nil, &InputError{fmt.Sprintf("candidate %q is %d tokens to this model, not one: give a shorter text, or token ids", c.text, len(found))}
			}
			token = found[0]
		}
		if int(token) >= tokenizer.Size() {
			return nil, &InputError{fmt.Sprintf("candidate %d is token %d, but the model's vocabulary ends at %d", i+1, token, tokenizer.Size()-1)}
		}
		if slices.Contains(list, token) {
			return nil, &InputError{fmt.Sprintf("candidate %d, token %d, is listed twice", i+1, token)}
		}
		list = append(list, token)
	}
	return list, nil
}
