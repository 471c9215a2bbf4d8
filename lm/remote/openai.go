package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// fewProbabilities is what OpenAI's and Ollama's interfaces lack.
const fewProbabilities = "its interface gives the probabilities of at most 20 tokens of its own choice"

// openai is OpenAI's interface, of which most servers have a part. It writes text
// only: completions and chats, with at most 20 tokens of the server's own choice.
type openai struct {
	kind Dialect
}

func (d *openai) name() Dialect { return d.kind }

// onAzure recognises Azure's hosts, whose keys go into another header.
func onAzure(u *url.URL) bool {
	return slices.ContainsFunc([]string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"}, func(end string) bool {
		return strings.HasSuffix(u.Hostname(), end)
	})
}

// v1 returns the path of one of OpenAI's end points. Azure's URLs end before it.
func (c *Client) v1(name string) string {
	if c.wire.options.Dialect == Azure {
		return strings.TrimRight(c.wire.base.Path, "/") + "/" + name
	}
	return c.wire.root + "/v1/" + name
}

// modelList is the answer of /v1/models; servers other than OpenAI's add fields.
type modelList struct {
	Data []modelEntry `json:"data"`
}

type modelEntry struct {
	ID          string `json:"id"`
	OwnedBy     string `json:"owned_by"`
	Root        string `json:"root"`
	MaxModelLen int    `json:"max_model_len"`
	Meta        struct {
		Vocabulary int    `json:"n_vocab"`
		Parameters int64  `json:"n_params"`
		Size       int64  `json:"size"`
		Type       string `json:"ftype"`
	} `json:"meta"`
}

func (c *Client) models(ctx context.Context) (modelList, error) {
	var list modelList
	err := c.wire.get(ctx, c.v1("models"), &list)
	return list, err
}

// served returns the model to use of those that the server lists.
func (c *Client) served(ctx context.Context) (modelEntry, error) {
	list, err := c.models(ctx)
	if err != nil {
		return modelEntry{}, err
	}
	return c.choose(list)
}

// choose returns the model that the options name, or the only one.
func (c *Client) choose(list modelList) (modelEntry, error) {
	name := c.wire.options.Model
	var names []string
	for _, m := range list.Data {
		if m.ID == name || name == "" && len(list.Data) == 1 {
			return m, nil
		}
		if len(names) <= 12 {
			names = append(names, fmt.Sprintf("%q", shorten(m.ID)))
		}
	}
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	switch {
	case len(names) == 0:
		return modelEntry{}, fmt.Errorf("%s serves no model", c.wire.backend)
	case name == "":
		return modelEntry{}, fmt.Errorf("%s serves several models: name one of %s", c.wire.backend, strings.Join(names, ", "))
	}
	return modelEntry{}, fmt.Errorf("%s does not serve the model %q: it has %s", c.wire.backend, name, strings.Join(names, ", "))
}

func (d *openai) learn(ctx context.Context, c *Client) error {
	c.info.Name = c.wire.options.Model
	c.facts.missing = fewProbabilities
	if c.info.Name == "" {
		list, err := c.models(ctx)
		if err != nil {
			return fmt.Errorf("which model to use is not said, and asking failed: %w", err)
		}
		m, err := c.choose(list)
		if err != nil {
			return err
		}
		c.info.Name = m.ID
	}
	c.info.Context = c.wire.options.Context
	// One token each: trying is the only way to know.
	one := lm.GenerateOptions{MaxTokens: 1}
	hello := lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: "1"}}}
	_, _, chat := d.write(ctx, c, hello, one, sendOptions{}, nil)
	var refused *StatusError
	if errors.As(chat, &refused) && refused.Param == "max_tokens" {
		// OpenAI's newer models have another name for it.
		c.facts.renamed = true
		_, _, chat = d.write(ctx, c, hello, one, sendOptions{}, nil)
	}
	_, _, plain := d.write(ctx, c, lm.Prompt{Text: "1"}, one, sendOptions{}, nil)
	_, embed := d.embed(ctx, c, []string{"1"})
	c.info.Can.Chat, c.info.Can.Generate, c.info.Can.Embed = chat == nil, plain == nil, embed == nil
	if chat != nil && plain != nil && embed != nil {
		return fmt.Errorf("the server neither writes nor embeds with this model: %w", chat)
	}
	for _, tried := range []struct {
		what string
		err  error
	}{{"answer messages", chat}, {"complete plain text", plain}, {"embed sentences", embed}} {
		if tried.err != nil {
			c.facts.note("it does not %s: %v", tried.what, tried.err)
		}
	}
	return nil
}

// completion is a request for text, with the extensions that vLLM and SGLang know.
type completion struct {
	Model       string       `json:"model"`
	Prompt      any          `json:"prompt,omitempty"`
	Messages    []lm.Message `json:"messages,omitempty"`
	MaxTokens   int          `json:"max_tokens,omitempty"`
	MaxWritten  int          `json:"max_completion_tokens,omitempty"`
	Temperature float64      `json:"temperature"`
	TopP        float64      `json:"top_p"`
	TopK        int          `json:"top_k,omitempty"`
	Seed        uint64       `json:"seed"`
	Stop        []string     `json:"stop,omitempty"`
	Stream      bool         `json:"stream,omitempty"`
	StreamUsage *streamUsage `json:"stream_options,omitempty"`
	// RepetitionPenalty is set to none where a server may have another default.
	RepetitionPenalty float64 `json:"repetition_penalty,omitempty"`
	CacheSalt         string  `json:"cache_salt,omitempty"`
	// CachePrompt and Slot are llama.cpp's.
	CachePrompt *bool `json:"cache_prompt,omitempty"`
	Slot        *int  `json:"id_slot,omitempty"`
}

type streamUsage struct {
	Include bool `json:"include_usage"`
}

type completionReply struct {
	Choices []struct {
		Index   int    `json:"index"`
		Text    string `json:"text"`
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
		// What ended the text: vLLM's and SGLang's words for it.
		StopReason  any `json:"stop_reason"`
		MatchedStop any `json:"matched_stop"`
	} `json:"choices"`
	Usage *tokenUsage `json:"usage"`
	errorField
}

type tokenUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// count bounds a number of tokens reported by a server.
func count(n int64) int64 { return min(max(n, 0), 1<<31) }

// usage of one request with a head of so many rows.
func (u *tokenUsage) usage(rows int) lm.Usage {
	if u == nil {
		return lm.Usage{Requests: 1}
	}
	read, written := count(u.Prompt), count(u.Completion)
	cached := min(count(u.Details.Cached), read)
	return lm.Usage{Computed: read - cached + written, Cached: cached, Rows: written * int64(rows), Requests: 1}
}

func (d *openai) write(ctx context.Context, c *Client, p lm.Prompt, o lm.GenerateOptions, as sendOptions, onText func(string) error) (lm.Text, lm.Usage, error) {
	if o.TopK > 0 {
		return lm.Text{}, lm.Usage{}, &lm.UnsupportedError{Backend: string(d.kind), What: "sample from the best k tokens", Missing: "its interface has no top_k; use top-p"}
	}
	return c.complete(ctx, c.completion(p, o), as, onText)
}

func (c *Client) completion(p lm.Prompt, o lm.GenerateOptions) completion {
	r := completion{Model: c.info.Name, Messages: p.Messages, MaxTokens: o.MaxTokens, Temperature: o.Temperature, TopP: o.TopP, Seed: o.Seed, Stop: o.Stop}
	if r.TopP == 0 {
		r.TopP = 1
	}
	if c.facts.renamed && p.Messages != nil {
		r.MaxTokens, r.MaxWritten = 0, o.MaxTokens
	}
	switch {
	case p.Tokens != nil:
		r.Prompt = p.Tokens
	case p.Text != "":
		r.Prompt = p.Text
	}
	return r
}

// complete sends a request for text and reads it, whole or as a stream.
func (c *Client) complete(ctx context.Context, r completion, as sendOptions, onText func(string) error) (lm.Text, lm.Usage, error) {
	q := query{path: c.v1("completions"), body: r, alone: as.alone, work: as.work}
	if r.Messages != nil {
		q.path = c.v1("chat/completions")
	}
	if onText != nil {
		r.Stream, r.StreamUsage = true, &streamUsage{true}
		q.body = r
		return c.completeStream(ctx, q, onText)
	}
	var got completionReply
	if err := c.wire.ask(ctx, q, &got); err != nil {
		return lm.Text{}, lm.Usage{Requests: 1}, err
	}
	usage := got.Usage.usage(c.info.Vocabulary)
	if len(got.Choices) != 1 || got.Choices[0].Index != 0 {
		return lm.Text{}, usage, c.wire.reply(q.path, "there is not exactly one text for one prompt")
	}
	text := lm.Text{Text: got.Choices[0].Text + got.Choices[0].Message.Content}
	if got.Usage != nil {
		text.Tokens = int(count(got.Usage.Completion))
	}
	var err error
	text.Finish, err = c.finish(q.path, got)
	return text, usage, err
}

func (c *Client) completeStream(ctx context.Context, q query, onText func(string) error) (lm.Text, lm.Usage, error) {
	return readStream(ctx, c, q, onText, func(got *completionReply, text *lm.Text, usage *lm.Usage) (string, error) {
		if got.Usage != nil {
			*usage = got.Usage.usage(c.info.Vocabulary)
			text.Tokens = int(count(got.Usage.Completion))
		}
		switch len(got.Choices) {
		case 0:
			return "", nil
		case 1:
		default:
			return "", c.wire.reply(q.path, badEvent)
		}
		choice := got.Choices[0]
		var err error
		if choice.Finish != "" {
			text.Finish, err = c.finish(q.path, *got)
		}
		return choice.Text + choice.Delta.Content, err
	})
}

func (c *Client) finish(path string, got completionReply) (lm.Finish, error) {
	choice := got.Choices[0]
	switch choice.Finish {
	case "length":
		return lm.FinishLength, nil
	case "stop", "eos_token", "end_turn":
		for _, by := range []any{choice.StopReason, choice.MatchedStop} {
			if _, ok := by.(string); ok {
				return lm.FinishStop, nil
			}
		}
		return lm.FinishEnd, nil
	}
	ended := c.wire.reply(path, "the text ended for another reason than its end or its length, such as a filter")
	if choice.Finish == "content_filter" {
		return "", &filteredError{*ended}
	}
	return "", ended
}

func (d *openai) embed(ctx context.Context, c *Client, texts []string) ([][]float32, error) {
	var got struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	path := c.v1("embeddings")
	body := map[string]any{"model": c.info.Name, "input": texts, "encoding_format": "float"}
	if err := c.wire.ask(ctx, query{path: path, body: body, limit: embedLimit(len(texts))}, &got); err != nil {
		return nil, err
	}
	if len(got.Data) != len(texts) {
		return nil, c.wire.reply(path, "there are not as many vectors as texts")
	}
	vectors := make([][]float32, len(texts))
	for _, v := range got.Data {
		if v.Index < 0 || v.Index >= len(texts) || vectors[v.Index] != nil || len(v.Embedding) == 0 {
			return nil, c.wire.reply(path, "a vector is missing or given twice")
		}
		vectors[v.Index] = v.Embedding
	}
	return vectors, nil
}
