package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/lm"
)

// llamacpp is llama.cpp's server. It cannot score chosen tokens, but returns its best
// n_probs tokens for any number, with log-probabilities of the softmax over the whole
// vocabulary before any sampling rule (post_sampling_probs false). So the number is raised
// until it covers all candidates.
type llamacpp struct {
	openai
	// letter is a token whose text is a whole character.
	letter lm.Token
	// slots is the number of sequences it computes at a time.
	slots int
}

const (
	// llamaFirst is the minimal number of best tokens requested at first; llamaMore is the
	// factor by which it grows when candidates are missing.
	llamaFirst, llamaMore = 256, 8
	// llamaEntry bounds the bytes that the answer has for one token: its number,
	// its text, its bytes as numbers, its score.
	llamaEntry = 512
	// maxLlamaReply bounds the bytes of an answer; fewer prompts go into a request
	// where it would be more.
	maxLlamaReply = 256 << 20
)

func (d *llamacpp) learn(ctx context.Context, c *Client) error {
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Slots    int    `json:"total_slots"`
		Build    string `json:"build_info"`
		Template string `json:"chat_template"`
		Path     string `json:"model_path"`
	}
	if err := c.wire.get(ctx, c.wire.root+"/props", &props); err != nil {
		return err
	}
	m, err := c.served(ctx)
	if err != nil {
		return err
	}
	c.info.Name, c.info.Version = m.ID, props.Build
	if m.Meta.Parameters > 0 {
		c.info.Fingerprint = fmt.Sprintf("%d parameters, %d bytes, %s", m.Meta.Parameters, m.Meta.Size, m.Meta.Type)
	}
	if d.slots = props.Slots; d.slots < 1 || d.slots > maxSlots {
		d.slots = 0 // it does not report it
	}
	if v := m.Meta.Vocabulary; v < 0 || v > maxVocabulary {
		return c.wire.reply(c.v1("models"), fmt.Sprintf("a vocabulary has between 1 and %d tokens, not %d", maxVocabulary, v))
	}
	c.info.Can.Chat, c.facts.tokens = props.Template != "", true
	if _, err := d.embed(ctx, c, []string{"1"}); err == nil {
		c.info.Can.Embed = true
	}
	// A slot has to have room for one token more, which is always written.
	c.info.Capacity = lm.Capacity{Context: room(props.Settings.Context), Vocabulary: m.Meta.Vocabulary, Top: m.Meta.Vocabulary}
	letter, err := d.encode(ctx, c, "a", false)
	if err != nil || len(letter) == 0 {
		return errors.Join(err, errors.New("llama.cpp's server does not turn text into tokens"))
	}
	d.letter = letter[len(letter)-1]
	const asked = 100
	got, _, err := d.best(ctx, c, [][]lm.Token{{0}}, asked, nil)
	switch {
	case err != nil:
		c.facts.missing = "it does not give log-probabilities"
		c.facts.note("it does not give log-probabilities: %v", err)
		return nil
	case len(got[0]) != asked || m.Meta.Vocabulary == 0:
		c.info.Can.Generate = true
		c.facts.missing = "it does not give as many log-probabilities as one asks for, or does not report the size of its vocabulary; start a newer one"
		return nil
	}
	c.info.Can.Generate, c.info.Can.Candidates, c.info.Can.Top, c.info.Can.All = true, true, true, true
	c.facts.note("scores of chosen tokens are exact but costly: it is asked for its best tokens until all are there, at about 95 bytes a token")
	if props.Slots > 0 {
		c.facts.note("%d slots: prompts beyond that wait, and push each other out of the cache", props.Slots)
	}
	return nil
}

// llamaRequest is for /completion.
type llamaRequest struct {
	Prompt      any      `json:"prompt"`
	NPredict    int      `json:"n_predict"`
	NProbs      int      `json:"n_probs,omitempty"`
	After       bool     `json:"post_sampling_probs"`
	Temperature float64  `json:"temperature"`
	TopK        int      `json:"top_k"`
	TopP        float64  `json:"top_p"`
	Seed        uint64   `json:"seed"`
	Bias        [][2]int `json:"logit_bias,omitempty"`
	Samplers    []string `json:"samplers"`
	Stop        []string `json:"stop,omitempty"`
	Stream      bool     `json:"stream,omitempty"`
	CachePrompt bool     `json:"cache_prompt"`
	Slot        *int     `json:"id_slot,omitempty"`
	// Fields keeps the prompt and the settings out of the answer.
	Fields []string `json:"response_fields,omitempty"`
}

type llamaReply struct {
	Index     int    `json:"index"`
	Content   string `json:"content"`
	Stop      bool   `json:"stop"`
	StopType  string `json:"stop_type"`
	Evaluated int64  `json:"tokens_evaluated"`
	Predicted int64  `json:"tokens_predicted"`
	Cached    int64  `json:"timings/cache_n"`
	Timings   struct {
		Cached int64 `json:"cache_n"`
	} `json:"timings"`
	Probabilities []struct {
		Top []llamaScore `json:"top_logprobs"`
	} `json:"completion_probabilities"`
	errorField
}

type llamaScore struct {
	ID      *lm.Token `json:"id"`
	LogProb *float64  `json:"logprob"`
	Bytes   []int     `json:"bytes"`
}

func (d *llamacpp) usage(c *Client, r llamaReply) lm.Usage {
	read, written := count(r.Evaluated), count(r.Predicted)
	cached := min(count(max(r.Cached, r.Timings.Cached)), read)
	// The last token is written, but never read by the model.
	return lm.Usage{
		Computed: read - cached + max(written-1, 0), Cached: cached,
		Rows: written * int64(c.info.Vocabulary),
	}
}

// raw requests the best tokens after each of some prompts.
//
// The generated token, which nobody needs, is forced to be a letter: the server returns
// nothing about one that ends within a character. The scores are those of the model before
// that bias, as for every sampling rule. With a slot, prompts are computed there, without what
// it holds, and the request is alone.
func (d *llamacpp) raw(ctx context.Context, c *Client, prompts [][]lm.Token, number int, slot *int) ([]llamaReply, lm.Usage, error) {
	r := llamaRequest{
		Prompt: prompts, NPredict: 1, NProbs: number, TopK: 1, TopP: 1, Samplers: []string{"top_k"}, CachePrompt: slot == nil, Slot: slot,
		Bias:   [][2]int{{int(d.letter), 1000}},
		Fields: []string{"index", "completion_probabilities", "tokens_evaluated", "tokens_predicted", "timings/cache_n"},
	}
	var got []llamaReply
	path := c.wire.root + "/completion"
	limit := min(maxErrorReply+int64(len(prompts))*int64(number+1)*llamaEntry, maxLlamaReply)
	usage := lm.Usage{Requests: 1}
	if err := c.wire.ask(ctx, query{path: path, body: r, limit: limit, work: lengths(prompts), alone: slot != nil}, (*oneOrMany)(&got)); err != nil {
		return nil, usage, err
	}
	replies := make([]llamaReply, len(prompts))
	seen := make([]bool, len(prompts))
	for _, one := range got {
		if one.Index < 0 || one.Index >= len(prompts) || seen[one.Index] || len(one.Probabilities) != 1 {
			return nil, usage, c.wire.reply(path, "the scores are not one list for each prompt")
		}
		seen[one.Index], replies[one.Index] = true, one
		usage = usage.Plus(d.usage(c, one))
	}
	if len(got) != len(prompts) {
		return nil, usage, c.wire.reply(path, "there are not as many answers as prompts")
	}
	return replies, usage, nil
}

// oneOrMany reads an answer to several prompts; that to a single one is no list.
type oneOrMany []llamaReply

func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]llamaReply)(o))
	}
	*o = make([]llamaReply, 1)
	return json.Unmarshal(text, &(*o)[0])
}

func (d *llamacpp) best(ctx context.Context, c *Client, prompts [][]lm.Token, number int, slot *int) ([]answer, lm.Usage, error) {
	replies, usage, err := d.raw(ctx, c, prompts, number, slot)
	if err != nil {
		return nil, usage, err
	}
	answers := make([]answer, len(prompts))
	for i, r := range replies {
		top := r.Probabilities[0].Top
		answers[i] = make(answer, len(top))
		for j, s := range top {
			if s.ID == nil || s.LogProb == nil {
				return nil, usage, c.wire.reply(c.wire.root+"/completion", "a token has no number or no score")
			}
			answers[i][j] = tokenScore{*s.ID, *s.LogProb}
		}
		if err := c.sound(answers[i]); err != nil {
			return nil, usage, err
		}
	}
	return answers, usage, nil
}

// score requests the best tokens, and then more of them for prompts whose candidates were
// not all covered. Queries that are alone have a request and a slot each, all at once.
func (d *llamacpp) score(ctx context.Context, c *Client, questions []scoreQuery) ([]answer, lm.Usage, error) {
	if len(questions) == 0 || !questions[0].alone {
		return d.scoreIn(ctx, c, questions, nil)
	}
	answers := make([]answer, len(questions))
	var mu sync.Mutex // guards usage
	var usage lm.Usage
	err := each(ctx, recordPrompts, len(questions), func(ctx context.Context, i int) error {
		got, spent, err := d.scoreIn(ctx, c, questions[i:i+1], d.slot(questions[i].slot))
		mu.Lock()
		defer mu.Unlock()
		usage = usage.Plus(spent)
		if err == nil {
			answers[i] = got[0]
		}
		return err
	})
	return answers, usage, err
}

// slot is that of the i-th of the requests that are sent at once. It is always the same one, since
// what others hold is laid out beside its cache.
func (d *llamacpp) slot(i int) *int {
	slot := i % max(1, d.slots)
	return &slot
}

// scoreIn does so in a slot, or in any.
func (d *llamacpp) scoreIn(ctx context.Context, c *Client, questions []scoreQuery, slot *int) ([]answer, lm.Usage, error) {
	size := c.info.Vocabulary
	answers := make([]answer, len(questions))
	var usage lm.Usage
	widths := map[int][]int{} // indices of questions by how many tokens to ask for
	for i, q := range questions {
		width := q.top
		if q.candidates != nil {
			width = min(size, max(llamaFirst, llamaMore*len(q.candidates)))
		}
		widths[width] = append(widths[width], i)
	}
	for len(widths) > 0 {
		width := size + 1
		for w := range widths {
			width = min(width, w)
		}
		ask := widths[width]
		delete(widths, width)
		for part := range slices.Chunk(ask, max(1, maxLlamaReply/(llamaEntry*(width+1)))) {
			prompts := make([][]lm.Token, len(part))
			for i, at := range part {
				prompts[i] = questions[at].tokens
			}
			got, u, err := d.best(ctx, c, prompts, width, slot)
			usage = usage.Plus(u)
			if err != nil {
				return nil, usage, err
			}
			for i, at := range part {
				if answers[at] = got[i]; width < size && !got[i].holds(questions[at].candidates) {
					more := min(size, width*llamaMore)
					widths[more] = append(widths[more], at)
				}
			}
		}
	}
	return answers, usage, nil
}

// holds reports whether all candidates are in an answer.
func (a answer) holds(candidates []lm.Token) bool {
	if len(candidates) == 0 {
		return true
	}
	have := make(map[lm.Token]struct{}, len(a))
	for _, s := range a {
		have[s.token] = struct{}{}
	}
	return !slices.ContainsFunc(candidates, func(t lm.Token) bool {
		_, ok := have[t]
		return !ok
	})
}

func (d *llamacpp) write(ctx context.Context, c *Client, p lm.Prompt, o lm.GenerateOptions, as sendOptions, onText func(string) error) (lm.Text, lm.Usage, error) {
	if p.Messages != nil {
		r := c.completion(p, o)
		r.TopK = o.TopK
		if as.alone {
			r.CachePrompt, r.Slot = new(bool), d.slot(as.slot)
		}
		return c.complete(ctx, r, as, onText)
	}
	// The server's own defaults truncate and penalise; use only what was requested.
	r := llamaRequest{NPredict: o.MaxTokens, Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, Seed: o.Seed, Stop: o.Stop, Stream: true, CachePrompt: !as.alone}
	if as.alone {
		r.Slot = d.slot(as.slot)
	}
	for _, use := range []struct {
		name string
		on   bool
	}{{"top_k", o.TopK > 0}, {"temperature", true}, {"top_p", o.TopP > 0}} {
		if use.on {
			r.Samplers = append(r.Samplers, use.name)
		}
	}
	r.Prompt = p.Text
	if p.Tokens != nil {
		r.Prompt = p.Tokens
	}
	q := query{path: c.wire.root + "/completion", body: r, alone: as.alone, work: as.work}
	return readStream(ctx, c, q, onText, func(got *llamaReply, text *lm.Text, usage *lm.Usage) (string, error) {
		if got.Stop {
			*usage = usage.Plus(d.usage(c, *got))
			text.Tokens = int(count(got.Predicted))
			text.Finish = map[string]lm.Finish{"eos": lm.FinishEnd, "word": lm.FinishStop, "limit": lm.FinishLength}[got.StopType]
		}
		return got.Content, nil
	})
}
