package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// score groups queries by what they request, since a request has one list of tokens for all
// its prompts.
func (d *vllm) score(ctx context.Context, c *Client, questions []scoreQuery) ([]answer, lm.Usage, error) {
	answers := make([]answer, len(questions))
	var usage lm.Usage
	for _, group := range groups(questions) {
		for part := range slices.Chunk(group, vllmPrompts) {
			prompts := make([][]lm.Token, len(part))
			for i, at := range part {
				prompts[i] = questions[at].tokens
			}
			first := questions[part[0]]
			take := func(got []answer, u lm.Usage, err error) error {
				usage = usage.Plus(u)
				for i, a := range got {
					answers[part[i]] = append(answers[part[i]], a...)
				}
				return err
			}
			if first.candidates == nil {
				if err := take(d.best(ctx, c, prompts, first.top, first.alone)); err != nil {
					return nil, usage, err
				}
			}
			for ids := range slices.Chunk(first.candidates, vllmIDs) {
				got, u, err := d.chosen(ctx, c, prompts, ids, first.alone)
				for i := range got {
					got[i] = got[i].only(ids)
				}
				if err := take(got, u, err); err != nil {
					return nil, usage, err
				}
			}
		}
	}
	return answers, usage, nil
}

// only drops what was not requested: the token that the server generated comes along.
func (a answer) only(ids []lm.Token) answer {
	asked := make(map[lm.Token]struct{}, len(ids))
	for _, id := range ids {
		asked[id] = struct{}{}
	}
	return slices.DeleteFunc(a, func(s tokenScore) bool {
		_, ok := asked[s.token]
		return !ok
	})
}

// groups lists the indices of queries that request the same.
func groups(questions []scoreQuery) [][]int {
	var out [][]int
next:
	for i, q := range questions {
		for g, group := range out {
			first := questions[group[0]]
			if first.top == q.top && slices.Equal(first.candidates, q.candidates) {
				out[g] = append(group, i)
				continue next
			}
		}
		out = append(out, []int{i})
	}
	return out
}

// vocabulary of vLLM: only /tokenizer_info lists its control tokens. Without them text
// could not be kept from forging turns, since vLLM's tokeniser reads control tokens
// anywhere.
func (d *vllm) vocabulary(ctx context.Context, c *Client) (vocabulary, error) {
	v := vocabulary{size: c.info.Vocabulary, marks: map[lm.Token]string{}, apart: true}
	var reply struct {
		Added map[string]string `json:"added_tokens_decoder"`
		EOS   string            `json:"eos_token"`
	}
	path := c.wire.root + "/tokenizer_info"
	err := c.wire.get(ctx, path, &reply)
	if hasStatus(err, http.StatusNotFound) {
		return v, &lm.UnsupportedError{
			Backend: c.info.Backend, What: "keep text from forging marks of turns",
			Missing: "it does not list its control tokens; start it with --enable-tokenizer-info-endpoint",
		}
	}
	if err != nil {
		return v, err
	}
	for id, mark := range reply.Added {
		token, err := strconv.ParseInt(id, 10, 32)
		if err != nil || token < 0 || mark == "" {
			return v, c.wire.reply(path, "a mark has no number or no spelling")
		}
		// Some tokenisers know more marks than the model has rows for.
		if int(token) < v.size {
			v.marks[lm.Token(token)] = mark
		}
	}
	if len(v.marks) == 0 {
		return v, c.wire.reply(path, "there is no mark at all")
	}
	if err := d.learnBeginning(ctx, c, &v); err != nil {
		return v, err
	}
	v.ends = findEnds(ctx, c, d, v.marks, reply.EOS)
	return v, nil
}

func (d *vllm) decode(ctx context.Context, c *Client, tokens []lm.Token) (text string, err error) {
	err = c.field(ctx, "/detokenize", "prompt", map[string]any{"model": c.info.Name, "tokens": tokens}, &text)
	return text, err
}

func (d *vllm) render(ctx context.Context, c *Client, messages []lm.Message) (string, error) {
	tokens, err := d.tokenize(ctx, c, map[string]any{"messages": messages, "add_generation_prompt": true, "add_special_tokens": false})
	if err != nil {
		return "", err
	}
	return d.decode(ctx, c, tokens)
}
