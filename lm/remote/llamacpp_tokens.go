package remote

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// vocabulary of llama.cpp comes with the scores: each token is returned with its bytes, and
// control tokens have none.
func (d *llamacpp) vocabulary(ctx context.Context, c *Client) (vocabulary, error) {
	v := vocabulary{size: c.info.Vocabulary, marks: map[lm.Token]string{}, pieces: make([][]byte, c.info.Vocabulary)}
	path := c.wire.root + "/completion"
	got, usage, err := d.raw(ctx, c, [][]lm.Token{{0}}, v.size, false)
	c.spend(usage)
	if err != nil {
		return v, err
	}
	top := got[0].Probabilities[0].Top
	seen := 0
	for _, s := range top {
		if s.ID == nil || *s.ID < 0 || int(*s.ID) >= v.size || v.pieces[*s.ID] != nil {
			return v, c.wire.reply(path, "a token has no number, one outside the vocabulary, or that of another")
		}
		seen++
		v.pieces[*s.ID] = make([]byte, len(s.Bytes))
		for i, b := range s.Bytes {
			v.pieces[*s.ID][i] = byte(b)
		}
		if len(s.Bytes) == 0 {
			v.marks[*s.ID] = ""
		}
	}
	if seen != v.size {
		return v, c.wire.reply(path, "not all tokens of the vocabulary are there")
	}
	if err := d.spell(ctx, c, &v); err != nil {
		return v, err
	}
	with, err := d.tokenize(ctx, c, map[string]any{"content": "a", "add_special": true, "parse_special": false})
	if err != nil {
		return v, err
	}
	if len(with) > 1 {
		if _, ok := v.marks[with[0]]; ok {
			v.begin = with[:1]
		}
	}
	var props struct {
		EOS string `json:"eos_token"`
	}
	if err := c.wire.ask(ctx, query{method: http.MethodGet, path: c.wire.root + "/props"}, &props); err != nil {
		return v, err
	}
	v.ends = findEnds(ctx, c, d, v.marks, props.EOS)
	return v, nil
}

// spell learns how the control tokens are spelled: all at once, with line ends between.
func (d *llamacpp) spell(ctx context.Context, c *Client, v *vocabulary) error {
	if len(v.marks) == 0 {
		return nil
	}
	between, err := d.encode(ctx, c, "\n", false)
	if err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(v.marks))
	var list []lm.Token
	for _, id := range ids {
		list = append(append(list, id), between...)
	}
	text, err := d.decode(ctx, c, list)
	if err != nil {
		return err
	}
	spelled := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(spelled) != len(ids) {
		return nil // some mark holds a line end: the spellings stay unknown
	}
	for i, id := range ids {
		v.marks[id] = strings.TrimSpace(spelled[i])
	}
	return nil
}

func (d *llamacpp) tokenize(ctx context.Context, c *Client, body map[string]any) ([]lm.Token, error) {
	var got struct {
		Tokens []lm.Token `json:"tokens"`
	}
	err := c.wire.ask(ctx, query{path: c.wire.root + "/tokenize", body: body}, &got)
	return got.Tokens, err
}

func (d *llamacpp) encode(ctx context.Context, c *Client, text string, marks bool) ([]lm.Token, error) {
	return d.tokenize(ctx, c, map[string]any{"content": text, "add_special": false, "parse_special": marks})
}

func (d *llamacpp) decode(ctx context.Context, c *Client, tokens []lm.Token) (string, error) {
	var got struct {
		Text *string `json:"content"`
	}
	path := c.wire.root + "/detokenize"
	if err := c.wire.ask(ctx, query{path: path, body: map[string]any{"tokens": tokens}}, &got); err != nil {
		return "", err
	}
	if got.Text == nil {
		return "", c.wire.reply(path, "there is no text")
	}
	return *got.Text, nil
}

func (d *llamacpp) render(ctx context.Context, c *Client, messages []lm.Message) (string, error) {
	var got struct {
		Prompt *string `json:"prompt"`
	}
	path := c.wire.root + "/apply-template"
	if err := c.wire.ask(ctx, query{path: path, body: map[string]any{"messages": messages}}, &got); err != nil {
		return "", err
	}
	if got.Prompt == nil {
		return "", c.wire.reply(path, "there is no prompt")
	}
	return *got.Prompt, nil
}

func (d *llamacpp) leavesOut() bool { return true }
