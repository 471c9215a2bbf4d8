package remote

import (
	"context"
	"net/http"
	"strconv"

	"github.com/sotto-dp/sotto/lm"
)

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
