package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// sglang scores chosen tokens: token_ids_logprob of /generate, a list for each prompt. At
// temperature 0 the log-probabilities are those of the plain softmax.
type sglang struct {
	extensions
}

// sglangPrompts bounds the prompts of a request, so that answers stay small.
const sglangPrompts = 256

func (d *sglang) learn(ctx context.Context, c *Client) error {
	var model struct {
		Path    string `json:"model_path"`
		Version string `json:"weight_version"`
		Writes  *bool  `json:"is_generation"`
	}
	get := func(names []string, out any) (err error) {
		for _, name := range names {
			if err = c.wire.get(ctx, c.wire.root+name, out); err == nil {
				break
			}
		}
		return err
	}
	// The shorter names are those of newer versions.
	if err := get([]string{"/model_info", "/get_model_info"}, &model); err != nil {
		return err
	}
	var server struct {
		Version string `json:"version"`
	}
	if err := get([]string{"/server_info", "/get_server_info"}, &server); err != nil {
		return err
	}
	m, err := c.learnModel(ctx, d)
	if err != nil {
		return err
	}
	c.info.Version, c.info.Fingerprint = server.Version, model.Path
	if model.Version != "" {
		c.info.Fingerprint += ", weights " + model.Version
	}
	c.info.Context = room(m.MaxModelLen)
	if model.Writes != nil && !*model.Writes {
		c.facts.missing = "the model does not write"
		return nil
	}
	c.info.Can.Generate, c.facts.tokens = true, true
	return d.learnScores(ctx, c)
}

// learnScores determines the size of the vocabulary: a token outside it is refused.
func (d *sglang) learnScores(ctx context.Context, c *Client) error {
	size, err := vocabularySize(func(token lm.Token) (bool, error) {
		a, u, err := d.ask(ctx, c, []scoreQuery{{tokens: []lm.Token{0}, candidates: []lm.Token{token}}})
		c.spend(u)
		return known(token, a, err)
	})
	if err != nil || size == 0 {
		c.facts.missing = "it does not know token_ids_logprob; start a newer SGLang"
		return err
	}
	c.info.Can.Candidates, c.info.Can.Top = true, true
	c.info.Vocabulary, c.info.Top = size, size
	return nil
}

type sglangRequest struct {
	IDs          [][]lm.Token   `json:"input_ids"`
	Sampling     map[string]any `json:"sampling_params"`
	Return       bool           `json:"return_logprob"`
	Chosen       [][]lm.Token   `json:"token_ids_logprob,omitempty"`
	Top          []int          `json:"top_logprobs_num,omitempty"`
	NoLogs       bool           `json:"no_logs"`
	CacheSalt    []string       `json:"extra_key,omitempty"`
	TextInScores bool           `json:"return_text_in_logprobs"`
}

type sglangReply struct {
	Meta struct {
		Prompt int64           `json:"prompt_tokens"`
		Cached int64           `json:"cached_tokens"`
		Chosen [][]sglangScore `json:"output_token_ids_logprobs"`
		Top    [][]sglangScore `json:"output_top_logprobs"`
	} `json:"meta_info"`
}

// sglangScore reads [log-probability, token, text or null].
type sglangScore tokenScore

func (s *sglangScore) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	var value *float64
	var token *lm.Token
	if len(parts) < 2 || json.Unmarshal(parts[0], &value) != nil || json.Unmarshal(parts[1], &token) != nil || value == nil || token == nil {
		return errIDScores
	}
	*s = sglangScore{*token, *value}
	return nil
}

// ask sends questions that are all for chosen tokens, or all for best ones.
func (d *sglang) ask(ctx context.Context, c *Client, questions []scoreQuery) ([]answer, lm.Usage, error) {
	r := sglangRequest{Return: true, NoLogs: true, Sampling: map[string]any{"max_new_tokens": 1, "temperature": 0}}
	entries, alone := 0, false
	for _, q := range questions {
		r.IDs = append(r.IDs, q.tokens)
		if q.candidates != nil {
			r.Chosen = append(r.Chosen, q.candidates)
		} else {
			r.Top = append(r.Top, q.top)
		}
		if salt := c.salt(q.alone); salt != "" {
			r.CacheSalt = append(r.CacheSalt, salt)
		}
		alone = alone || q.alone
		entries += len(q.candidates) + q.top
	}
	var got []sglangReply
	path := c.wire.root + "/generate"
	limit := maxErrorReply + int64(len(questions))*8192 + int64(entries)*96
	usage := lm.Usage{Requests: 1}
	if err := c.wire.ask(ctx, query{path: path, body: r, limit: limit, work: lengths(r.IDs), alone: alone}, &got); err != nil {
		return nil, usage, err
	}
	if len(got) != len(questions) {
		return nil, usage, c.wire.reply(path, "there are not as many answers as prompts")
	}
	answers := make([]answer, len(questions))
	for i, one := range got {
		lists := one.Meta.Chosen
		if questions[i].candidates == nil {
			lists = one.Meta.Top
		}
		// The answers have no number; the length of the prompt must at least agree.
		if len(lists) != 1 || one.Meta.Prompt != int64(len(questions[i].tokens)) {
			return nil, usage, c.wire.reply(path, "the scores are not one list for each prompt, in their order")
		}
		for _, s := range lists[0] {
			answers[i] = append(answers[i], tokenScore(s))
		}
		if err := c.sound(answers[i]); err != nil {
			return nil, usage, err
		}
		cached := min(count(one.Meta.Cached), one.Meta.Prompt)
		usage = usage.Plus(lm.Usage{Computed: one.Meta.Prompt - cached, Cached: cached, Rows: int64(c.info.Vocabulary)})
	}
	return answers, usage, nil
}

func (d *sglang) score(ctx context.Context, c *Client, questions []scoreQuery) ([]answer, lm.Usage, error) {
	answers := make([]answer, len(questions))
	var usage lm.Usage
	var chosen, best []int
	for i, q := range questions {
		if q.candidates != nil {
			chosen = append(chosen, i)
		} else {
			best = append(best, i)
		}
	}
	for _, all := range [][]int{chosen, best} {
		for part := range slices.Chunk(all, sglangPrompts) {
			asked := make([]scoreQuery, len(part))
			for i, at := range part {
				asked[i] = questions[at]
			}
			got, u, err := d.ask(ctx, c, asked)
			usage = usage.Plus(u)
			if err != nil {
				return nil, usage, err
			}
			for i, at := range part {
				answers[at] = got[i]
			}
		}
	}
	return answers, usage, nil
}

// vocabulary of SGLang: a control token decodes to nothing when special tokens are skipped,
// and to something otherwise.
func (d *sglang) vocabulary(ctx context.Context, c *Client) (vocabulary, error) {
	v := vocabulary{size: c.info.Vocabulary, marks: map[lm.Token]string{}, apart: true}
	const part = 8192
	for from := 0; from < v.size; from += part {
		var lists [][]lm.Token
		for t := from; t < min(from+part, v.size); t++ {
			lists = append(lists, []lm.Token{lm.Token(t)})
		}
		var with, without []string
		for _, ask := range []struct {
			skip bool
			out  *[]string
		}{{false, &with}, {true, &without}} {
			if err := d.detokenize(ctx, c, lists, ask.skip, ask.out); err != nil {
				return v, err
			}
			if len(*ask.out) != len(lists) {
				return v, c.wire.reply(c.wire.root+"/detokenize", "there are not as many texts as lists")
			}
		}
		for i := range lists {
			if without[i] == "" && with[i] != "" {
				v.marks[lists[i][0]] = with[i]
			}
		}
	}
	if len(v.marks) == 0 {
		return v, fmt.Errorf("%s names no token that ends a text: use another model", c.info.Backend)
	}
	if err := d.learnBeginning(ctx, c, &v); err != nil {
		return v, err
	}
	v.ends = findEnds(ctx, c, d, v.marks, "")
	return v, nil
}

// detokenize decodes a list of tokens into a string, or several into strings.
func (d *sglang) detokenize(ctx context.Context, c *Client, tokens any, skip bool, out any) error {
	return c.field(ctx, "/detokenize", "text", map[string]any{"model": c.info.Name, "tokens": tokens, "skip_special_tokens": skip}, out)
}

func (d *sglang) decode(ctx context.Context, c *Client, tokens []lm.Token) (string, error) {
	var text string
	err := d.detokenize(ctx, c, tokens, false, &text)
	return text, err
}

func (d *sglang) render(ctx context.Context, c *Client, messages []lm.Message) (string, error) {
	tokens, err := d.tokenize(ctx, c, map[string]any{"messages": messages})
	if err != nil {
		return "", err
	}
	return d.decode(ctx, c, tokens)
}
