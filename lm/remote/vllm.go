package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// vllm scores chosen tokens: logprob_token_ids of /v1/completions. The log-probabilities
// are raw: over the whole vocabulary, before any sampling rule.
type vllm struct {
	extensions
	// kinds separates requests for chosen tokens and for best tokens in time. In version
	// 0.32.0 a request for best tokens that runs beside one for chosen tokens comes back
	// without them. Other clients of the server are not separated: then the answer is an
	// error.
	kinds gate
}

const (
	// vllmIDs is the maximal number of chosen tokens in a request.
	vllmIDs = 128
	// vllmPrompts bounds the prompts of a request, so that answers stay small.
	vllmPrompts = 256
)

func (d *vllm) learn(ctx context.Context, c *Client) error {
	var version struct {
		Version string `json:"version"`
	}
	if err := c.wire.get(ctx, c.wire.root+"/version", &version); err != nil {
		return err
	}
	m, err := c.learnModel(ctx, d)
	if err != nil {
		return err
	}
	c.info.Version, c.info.Fingerprint = version.Version, m.Root
	// One token more than the sequence has to fit, since one is always written.
	c.info.Capacity = lm.Capacity{Context: room(m.MaxModelLen), Candidates: vllmIDs}
	if err := d.learnScores(ctx, c); err != nil {
		return err
	}
	if !c.info.Can.Generate && !c.info.Can.Embed {
		return fmt.Errorf("the server neither writes nor embeds with the model %q", c.info.Name)
	}
	return nil
}

// learnScores determines the size of the vocabulary and the maximal number of best tokens.
// The server reports neither, but refuses what is too much.
func (d *vllm) learnScores(ctx context.Context, c *Client) error {
	_, usage, err := c.complete(ctx, completion{Model: c.info.Name, Prompt: []lm.Token{0}, MaxTokens: 1, TopP: 1}, sendOptions{}, nil)
	if err != nil {
		c.facts.missing = "it does not complete lists of tokens"
		c.facts.note("it does not complete lists of tokens: %v", err)
		return nil
	}
	c.spend(usage)
	c.info.Can.Generate, c.facts.tokens = true, true
	size, err := vocabularySize(func(token lm.Token) (bool, error) {
		a, _, err := d.chosen(ctx, c, [][]lm.Token{{0}}, []lm.Token{token}, false)
		return known(token, a, err)
	})
	if err != nil || size == 0 {
		c.facts.missing = "it does not know logprob_token_ids; start a newer vLLM"
		return err
	}
	c.info.Can.Candidates, c.info.Vocabulary = true, size
	for _, number := range []int{size, 1000, 256, 128, 100, 50, 20, 5} {
		a, _, err := d.best(ctx, c, [][]lm.Token{{0}}, number, false)
		if hasStatus(err, http.StatusBadRequest) {
			continue
		}
		if err != nil {
			return err
		}
		if len(a[0]) < number {
			c.facts.note("asking for its best tokens did not work, maybe because others ask it for chosen ones at the same time")
			return nil
		}
		c.info.Can.Top, c.info.Can.All, c.info.Top = true, number == size, number
		break
	}
	if c.info.Top < vllmIDs {
		c.facts.note("it gives its best %d tokens only: candidates that are more need a server started with --max-logprobs %d", c.info.Top, vllmIDs)
	}
	return nil
}

// scoreRequest asks for scores of the token after each prompt.
type scoreRequest struct {
	Model       string       `json:"model"`
	Prompt      [][]lm.Token `json:"prompt"`
	MaxTokens   int          `json:"max_tokens"`
	Temperature float64      `json:"temperature"`
	LogProbs    int          `json:"logprobs"`
	IDs         []lm.Token   `json:"logprob_token_ids,omitempty"`
	AsIDs       bool         `json:"return_tokens_as_token_ids"`
	CacheSalt   string       `json:"cache_salt,omitempty"`
}

// chosen requests at most vllmIDs tokens after each of some prompts.
func (d *vllm) chosen(ctx context.Context, c *Client, prompts [][]lm.Token, ids []lm.Token, alone bool) ([]answer, lm.Usage, error) {
	return d.ask(ctx, c, chosenKind, prompts, scoreRequest{IDs: ids}, len(ids), alone)
}

// best requests the best tokens after each of some prompts.
func (d *vllm) best(ctx context.Context, c *Client, prompts [][]lm.Token, number int, alone bool) ([]answer, lm.Usage, error) {
	return d.ask(ctx, c, bestKind, prompts, scoreRequest{LogProbs: number}, number, alone)
}

func (d *vllm) ask(ctx context.Context, c *Client, k kind, prompts [][]lm.Token, r scoreRequest, each int, alone bool) ([]answer, lm.Usage, error) {
	if !alone { // one that is alone has waited for all
		done, err := d.kinds.pass(ctx, k)
		if err != nil {
			return nil, lm.Usage{}, err
		}
		defer done()
	}
	r.Model, r.Prompt, r.MaxTokens, r.AsIDs, r.CacheSalt = c.info.Name, prompts, 1, true, c.salt(alone)
	var got struct {
		Choices []struct {
			Index    int `json:"index"`
			LogProbs struct {
				Top []idScores `json:"top_logprobs"`
			} `json:"logprobs"`
		} `json:"choices"`
		Usage *tokenUsage `json:"usage"`
	}
	path := c.v1("completions")
	err := c.wire.ask(ctx, query{path: path, body: r, limit: maxErrorReply + int64(len(prompts))*int64(4096+64*each), work: lengths(prompts), alone: alone}, &got)
	if err != nil {
		return nil, lm.Usage{Requests: 1}, err
	}
	usage := got.Usage.usage(c.info.Vocabulary)
	if got.Usage != nil {
		usage.Computed -= count(got.Usage.Completion) // written, but never read by the model
	}
	answers := make([]answer, len(prompts))
	for _, choice := range got.Choices {
		i := choice.Index
		if i < 0 || i >= len(prompts) || answers[i] != nil || len(choice.LogProbs.Top) != 1 || len(choice.LogProbs.Top[0]) == 0 {
			return nil, usage, c.wire.reply(path, "the scores are not one list for each prompt")
		}
		answers[i] = answer(choice.LogProbs.Top[0])
		if err := c.sound(answers[i]); err != nil {
			return nil, usage, err
		}
	}
	if len(got.Choices) != len(prompts) {
		return nil, usage, c.wire.reply(path, "there are not as many answers as prompts")
	}
	return answers, usage, nil
}

// idScores reads {"token_id:7042": -0.258, …}. A map would hide a token that is
// named twice.
type idScores answer

var errIDScores = errors.New("not scores of tokens")

func (s *idScores) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errIDScores
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return errIDScores
		}
		digits, ok := strings.CutPrefix(name, "token_id:")
		id, err := strconv.ParseInt(digits, 10, 32)
		if !ok || err != nil {
			return errIDScores
		}
		value, err := d.Token()
		score, ok := value.(float64)
		if err != nil || !ok {
			return errIDScores
		}
		*s = append(*s, tokenScore{lm.Token(id), score})
	}
	return nil
}
