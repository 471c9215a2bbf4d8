package lm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// Prompt is a text to complete: exactly one of the fields is set.
type Prompt struct {
	Tokens   []Token
	Text     string
	Messages []Message
}

// GenerateOptions configure generation.
type GenerateOptions struct {
	// MaxTokens is the maximal number of tokens per prompt. Required.
	MaxTokens int
	// Stop ends a text before the first of these strings.
	Stop []string
	// Temperature 0 takes the best token at each step; 1 samples from the model.
	Temperature float64
	// TopK and TopP restrict sampling to the best TopK tokens (0: all) and to the smallest
	// set of best tokens with probability TopP (0: all).
	TopK int
	TopP float64
	// Seed of the sampling, for repeatable experiments: nothing private may depend on it.
	Seed uint64
	// OnText, if set, receives each piece of text as soon as no stop string can take it
	// back. An error ends the generation.
	OnText func(prompt int, piece string) error
}

// Finish is the reason why a text ended.
type Finish string

// The reasons.
const (
	FinishEnd    Finish = "end"    // the model ended its text or turn
	FinishStop   Finish = "stop"   // a stop string came
	FinishLength Finish = "length" // MaxTokens are written
	// FinishRefused: the server does not answer this prompt, because it is too long or by a
	// filter of its own. The text is empty. Only a model that keeps records apart
	// ([IsolateRecords]) says so; elsewhere it is an error.
	FinishRefused Finish = "refused"
)

// Text is a generated text.
type Text struct {
	Text   string `json:"text"`
	Finish Finish `json:"finish"`
	// Tokens counts the generated tokens, including the end.
	Tokens int `json:"tokens"`
}

// Check reports what is wrong with options.
func (o GenerateOptions) Check() error {
	switch {
	case o.MaxTokens <= 0:
		return fmt.Errorf("the number of tokens to write must be positive, not %d", o.MaxTokens)
	case !(o.Temperature >= 0) || math.IsInf(o.Temperature, 1):
		return fmt.Errorf("the temperature must be 0 or a positive number, not %v", o.Temperature)
	case o.TopK < 0:
		return fmt.Errorf("top-k must be 0 (all) or positive, not %d", o.TopK)
	case !(o.TopP >= 0 && o.TopP <= 1):
		return fmt.Errorf("top-p must lie between 0 and 1, not %v", o.TopP)
	case slices.Contains(o.Stop, ""):
		return errors.New("a stop string is empty: it would end every text at once")
	}
	return nil
}

// Encode returns a prompt's tokens for a model.
func (p Prompt) Encode(ctx context.Context, s Scorer) ([]Token, error) {
	set := 0
	for _, is := range []bool{p.Tokens != nil, p.Text != "", p.Messages != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return nil, errors.New("a prompt is either tokens, or a text, or messages")
	}
	switch {
	case p.Messages != nil:
		return s.Chat(ctx, p.Messages)
	case p.Text != "":
		tokens, err := s.Tokenizer().Encode(ctx, p.Text)
		if first, ok := s.Tokenizer().Beginning(); ok && err == nil {
			tokens = append([]Token{first}, tokens...)
		}
		return tokens, err
	}
	return p.Tokens, nil
}

// GenerateBySteps generates with a scorer's sessions, for back-ends without a faster way.
// It computes the common prefix of all prompts once. A text does not depend on the other
// prompts.
func GenerateBySteps(ctx context.Context, s Scorer, prompts []Prompt, o GenerateOptions) ([]Text, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if len(prompts) == 0 {
		return nil, nil
	}
	lists := make([][]Token, len(prompts))
	for i, p := range prompts {
		var err error
		if lists[i], err = p.Encode(ctx, s); err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		if limit := s.Info().Context; len(lists[i])+o.MaxTokens > limit {
			return nil, &ContextError{Step: i, Have: len(lists[i]), Adding: o.MaxTokens, Limit: limit}
		}
	}
	session, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	batch := NewBatch(s, session)
	if err := begin(ctx, batch, lists, o); err != nil {
		return nil, err
	}
	writings := slices.Clone(batch.active)
	for batch.Len() > 0 {
		ended, err := batch.Step(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range ended {
			if w.Err != nil {
				return nil, w.Err
			}
		}
	}
	texts := make([]Text, len(writings))
	for i, w := range writings {
		texts[i] = w.Text()
	}
	return texts, nil
}

// begin adds all prompts to a batch, on top of their common prefix.
func begin(ctx context.Context, batch *Batch, lists [][]Token, o GenerateOptions) error {
	shared := len(lists[0])
	for _, l := range lists[1:] {
		n := 0
		for n < min(shared, len(l)) && l[n] == lists[0][n] {
			n++
		}
		shared = n
	}
	for _, l := range lists {
		shared = max(0, min(shared, len(l)-1)) // each is extended by at least one token
	}
	session := batch.session
	root, err := session.New()
	if err != nil {
		return err
	}
	if shared > 0 {
		if _, err := session.Step(ctx, []Step{{Sequence: root, Tokens: lists[0][:shared]}}); err != nil {
			return err
		}
	}
	for i, l := range lists {
		if _, err := batch.add(root, l[shared:], o, i); err != nil {
			return err
		}
	}
	return session.Drop(root)
}

func (o GenerateOptions) ask() Ask {
	switch {
	case o.Temperature == 0:
		return Ask{Top: 1}
	case o.TopK > 0:
		return Ask{Top: o.TopK}
	}
	return Ask{All: true}
}

// firstOf finds the first place where one of the strings begins, or -1.
func firstOf(text string, stops []string) int {
	first := -1
	for _, s := range stops {
		if at := strings.Index(text, s); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// settled returns how much of a growing text is certain to stay: not the beginning of a
// stop string, not part of a character.
func settled(text string, stops []string) int {
	end := len(text)
	for _, s := range stops {
		for n := min(len(s)-1, len(text)); n > 0; n-- {
			if strings.HasSuffix(text, s[:n]) {
				end = min(end, len(text)-n)
				break
			}
		}
	}
	for back := 1; back <= min(utf8.UTFMax-1, end); back++ {
		if c := text[end-back]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(text[end-back : end]) {
				end -= back
			}
			break
		}
	}
	return end
}

func (o GenerateOptions) pick(s Scores, random *rand.Rand) Token {
	tokens, logs := s.Tokens, s.LogProbs
	if tokens == nil {
		tokens = Best(logs, len(logs))
		sorted := make([]float64, len(logs))
		for i, t := range tokens {
			sorted[i] = logs[t]
		}
		logs = sorted
	}
	if o.Temperature == 0 {
		return tokens[0]
	}
	weights := make([]float64, len(logs))
	var total float64
	for i, l := range logs {
		weights[i] = math.Exp((l - logs[0]) / o.Temperature)
		total += weights[i]
	}
	if o.TopP > 0 && o.TopP < 1 {
		var sum float64
		for i, w := range weights {
			if sum += w; sum >= o.TopP*total {
				weights, total = weights[:i+1], sum
				break
			}
		}
	}
	at := random.Float64() * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return tokens[i]
		}
	}
	return tokens[0]
}
