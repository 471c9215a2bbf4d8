package remote

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// vocabulary of llama.cpp comes with the scores: each token is returned with its bytes, and
// control tokens have none.
func (d *llamacpp) vocabulary(ctx context.Context, c *Client) (vocabulary, error) {
	v := vocabulary{size: c.info.Vocabulary, marks: map[lm.Token]string{}, pieces: make([][]byte, c.info.Vocabulary)}
	path := c.wire.root + "/completion"
	got, usage, err := d.raw(ctx, c, [][]lm.Token{{0}}, v.size, nil)
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
	with, err := c.tokenize(ctx, map[string]any{"content": "a", "add_special": true, "parse_special": false})
	if err != nil {
		return v, err
	}
	if len(with) > 1 {
		v.beginsWith(with)
	}
	var props struct {
		EOS string `json:"eos_token"`
	}
	if err := c.wire.get(ctx, c.wire.root+"/props", &props); err != nil {
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

func (d *llamacpp) encode(ctx context.Context, c *Client, text string, marks bool) ([]lm.Token, error) {
	return c.tokenize(ctx, map[string]any{"content": text, "add_special": false, "parse_special": marks})
}

func (d *llamacpp) decode(ctx context.Context, c *Client, tokens []lm.Token) (text string, err error) {
	err = c.field(ctx, "/detokenize", "content", map[string]any{"tokens": tokens}, &text)
	return text, err
}

func (d *llamacpp) render(ctx context.Context, c *Client, messages []lm.Message) (text string, err error) {
	err = c.field(ctx, "/apply-template", "prompt", map[string]any{"messages": messages}, &text)
	return text, err
}

func (d *llamacpp) leavesOut() bool { return true }
