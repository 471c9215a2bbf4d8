package remote

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/sotto-dp/sotto/lm"
)

// extensions is what vLLM and SGLang add to OpenAI's interface in the same way.
type extensions struct {
	openai
}

func (d *extensions) write(ctx context.Context, c *Client, p lm.Prompt, o lm.GenerateOptions, as sendOptions, onText func(string) error) (lm.Text, lm.Usage, error) {
	r := c.completion(p, o)
	r.TopK, r.RepetitionPenalty, r.CacheSalt = o.TopK, 1, c.wire.options.CacheSalt
	if as.alone {
		r.CacheSalt = as.salt
	}
	return c.complete(ctx, r, as, onText)
}

func (d *extensions) tokenize(ctx context.Context, c *Client, body map[string]any) ([]lm.Token, error) {
	body["model"] = c.info.Name
	return c.tokenize(ctx, body)
}

func (d *extensions) encode(ctx context.Context, c *Client, text string, _ bool) ([]lm.Token, error) {
	return d.tokenize(ctx, c, map[string]any{"prompt": text, "add_special_tokens": false})
}

// learnBeginning finds the token that texts begin with.
func (d *extensions) learnBeginning(ctx context.Context, c *Client, v *vocabulary) error {
	with, err := d.tokenize(ctx, c, map[string]any{"prompt": "a", "add_special_tokens": true})
	if len(with) > 1 {
		v.beginsWith(with)
	}
	return err
}

func (d *extensions) leavesOut() bool { return false }

// tokenize asks a server that has this end point for the tokens of a text or of messages.
func (c *Client) tokenize(ctx context.Context, body map[string]any) ([]lm.Token, error) {
	var got struct {
		Tokens []lm.Token `json:"tokens"`
	}
	err := c.wire.ask(ctx, query{path: c.wire.root + "/tokenize", body: body}, &got)
	return got.Tokens, err
}

// field asks for an object and reads one field of it.
func (c *Client) field(ctx context.Context, path, name string, body map[string]any, out any) error {
	path = c.wire.root + path
	var got map[string]json.RawMessage
	if err := c.wire.ask(ctx, query{path: path, body: body}, &got); err != nil {
		return err
	}
	if string(got[name]) == "null" || json.Unmarshal(got[name], out) != nil {
		return c.wire.reply(path, "there is no text")
	}
	return nil
}

// learnModel reads what all servers that score list of the model, and tries out what else
// it does.
func (c *Client) learnModel(ctx context.Context, d scoringDialect) (modelEntry, error) {
	m, err := c.served(ctx)
	if err != nil {
		return m, err
	}
	c.info.Name = m.ID
	_, chat := d.render(ctx, c, []lm.Message{{Role: lm.User, Content: "1"}})
	_, embed := d.embed(ctx, c, []string{"1"})
	c.info.Can.Chat, c.info.Can.Embed = chat == nil, embed == nil
	return m, nil
}

// vocabularySize determines the number of tokens, which the server does not report, by the
// tokens that has finds: 0 if not even token 1.
func vocabularySize(has func(token lm.Token) (bool, error)) (int, error) {
	if ok, err := has(1); err != nil || !ok {
		return 0, err
	}
	known, unknown := 1, maxVocabulary
	for unknown-known > 1 {
		middle := (known + unknown) / 2
		ok, err := has(lm.Token(middle))
		if err != nil {
			return 0, err
		}
		if ok {
			known = middle
		} else {
			unknown = middle
		}
	}
	return unknown, nil
}

// known reports whether a request for a token's score found it. A server refuses tokens
// that it does not know.
func known(token lm.Token, answers []answer, err error) (bool, error) {
	if hasStatus(err, http.StatusBadRequest) {
		return false, nil
	}
	return err == nil && answers[0].holds([]lm.Token{token}), err
}
