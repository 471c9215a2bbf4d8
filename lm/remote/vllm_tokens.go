package remote

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/sotto-dp/sotto/lm"
)

// vocabulary of vLLM: only /tokenizer_info lists its control tokens. Without them text
// could not be kept from forging turns, since vLLM's tokeniser reads control tokens
// anywhere.
func (d *vllm) vocabulary(ctx context.Context, c *Client) (vocabulary, error) {
	v := vocabulary{size: c.info.Vocabulary, marks: map[lm.Token]string{}, apart: true}
	var told struct {
		Added map[string]string `json:"added_tokens_decoder"`
		EOS   string            `json:"eos_token"`
	}
	path := c.wire.root + "/tokenizer_info"
	err := c.wire.ask(ctx, query{method: http.MethodGet, path: path}, &told)
	var refused *StatusError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return v, &lm.UnsupportedError{
			Backend: c.info.Backend, What: "keep text from forging marks of turns",
			Missing: "it does not list its control tokens; start it with --enable-tokenizer-info-endpoint, or give a local tokeniser",
		}
	}
	if err != nil {
		return v, err
	}
	for id, mark := range told.Added {
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
	with, err := d.tokenize(ctx, c, map[string]any{"prompt": "a", "add_special_tokens": true})
	if err != nil {
		return v, err
	}
	if len(with) > 1 {
		if _, ok := v.marks[with[0]]; ok {
			v.begin = with[:1]
		}
	}
	v.ends = findEnds(ctx, c, d, v.marks, told.EOS)
	return v, nil
}

func (d *vllm) tokenize(ctx context.Context, c *Client, body map[string]any) ([]lm.Token, error) {
	var got struct {
		Tokens []lm.Token `json:"tokens"`
	}
	body["model"] = c.facts.model
	err := c.wire.ask(ctx, query{path: c.wire.root + "/tokenize", body: body}, &got)
	return got.Tokens, err
}

func (d *vllm) encode(ctx context.Context, c *Client, text string, _ bool) ([]lm.Token, error) {
	return d.tokenize(ctx, c, map[string]any{"prompt": text, "add_special_tokens": false})
}

func (d *vllm) decode(ctx context.Context, c *Client, tokens []lm.Token) (string, error) {
	var got struct {
		Text *string `json:"prompt"`
	}
	path := c.wire.root + "/detokenize"
	err := c.wire.ask(ctx, query{path: path, body: map[string]any{"model": c.facts.model, "tokens": tokens}}, &got)
	if err != nil {
		return "", err
	}
	if got.Text == nil {
		return "", c.wire.reply(path, "there is no text")
	}
	return *got.Text, nil
}

func (d *vllm) render(ctx context.Context, c *Client, messages []lm.Message) (string, error) {
	tokens, err := d.tokenize(ctx, c, map[string]any{"messages": messages, "add_generation_prompt": true, "add_special_tokens": false})
	if err != nil {
		return "", err
	}
	return d.decode(ctx, c, tokens)
}

func (d *vllm) leavesOut() bool { return false }

func (d *vllm) write(ctx context.Context, c *Client, p lm.Prompt, o lm.GenerateOptions, told func(string) error) (lm.Text, lm.Usage, error) {
	r := c.completion(p, o)
	r.TopK, r.RepetitionPenalty, r.CacheSalt = o.TopK, 1, c.wire.options.CacheSalt
	return c.complete(ctx, r, told)
}
