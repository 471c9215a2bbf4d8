package remote

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// ollama generates and embeds through Ollama's own interface. Its OpenAI interface cannot
// set the length of the context, and Ollama cuts prompts that do not fit.
type ollama struct {
	openai
}

// ollamaContext is the context requested where the options name none: longer ones cost
// memory on the server.
const ollamaContext = 4096

func (d *ollama) learn(ctx context.Context, c *Client) error {
	var version struct {
		Version string `json:"version"`
	}
	if err := c.wire.get(ctx, c.wire.root+"/api/version", &version); err != nil {
		return err
	}
	var tags struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	if err := c.wire.get(ctx, c.wire.root+"/api/tags", &tags); err != nil {
		return err
	}
	var list modelList
	digests := map[string]string{}
	for _, m := range tags.Models {
		list.Data = append(list.Data, modelEntry{ID: m.Name})
		digests[m.Name] = m.Digest
	}
	if name := c.wire.options.Model; name != "" && !strings.Contains(name, ":") {
		c.wire.options.Model = name + ":latest" // as Ollama reads it
	}
	m, err := c.choose(list)
	if err != nil {
		return err
	}
	var show struct {
		Info         map[string]any `json:"model_info"`
		Capabilities []string       `json:"capabilities"`
		Template     string         `json:"template"`
		RemoteHost   string         `json:"remote_host"`
	}
	if err := c.wire.ask(ctx, query{path: c.wire.root + "/api/show", body: map[string]any{"model": m.ID}}, &show); err != nil {
		return err
	}
	c.info.Name, c.info.Version = m.ID, version.Version
	if d := digests[m.ID]; d != "" {
		c.info.Fingerprint = "sha256:" + strings.TrimPrefix(d, "sha256:")
	}
	c.facts.missing = fewProbabilities
	if show.Capabilities == nil { // before there was such a list
		show.Capabilities = []string{"completion"}
	}
	for _, can := range show.Capabilities {
		switch can {
		case "completion":
			c.info.Can.Generate, c.info.Can.Chat = true, true
		case "embedding":
			c.info.Can.Embed = true
		}
	}
	c.info.Context = ollamaContext
	for key, value := range show.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") && n >= 1 && n <= maxContext {
			c.info.Context = min(int(n), max(ollamaContext, c.wire.options.Context))
		}
	}
	if show.RemoteHost != "" {
		c.facts.note("this model does not run there: the server sends prompts on to another host")
	}
	if !c.info.Can.Generate && !c.info.Can.Embed {
		return fmt.Errorf("the server neither writes nor embeds with the model %q", c.info.Name)
	}
	return nil
}

type ollamaReply struct {
	Response string `json:"response"`
	Message  struct {
		Content string `json:"content"`
	} `json:"message"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`
	Read       int64  `json:"prompt_eval_count"`
	Written    int64  `json:"eval_count"`
	errorField
}

func (d *ollama) write(ctx context.Context, c *Client, p lm.Prompt, o lm.GenerateOptions, as sendOptions, onText func(string) error) (lm.Text, lm.Usage, error) {
	options := map[string]any{
		"num_predict": o.MaxTokens, "temperature": o.Temperature, "seed": o.Seed,
		"num_ctx": c.info.Context, "repeat_penalty": 1.0, "min_p": 0.0,
		"top_k": o.TopK, "top_p": 1.0, // no top_k at all is 0
	}
	if o.TopP > 0 {
		options["top_p"] = o.TopP
	}
	if len(o.Stop) > 0 {
		options["stop"] = o.Stop
	}
	// Refuse a prompt that does not fit instead of cutting it.
	body := map[string]any{"model": c.info.Name, "options": options, "stream": true, "truncate": false, "shift": false}
	path := c.wire.root + "/api/generate"
	if p.Messages != nil {
		path = c.wire.root + "/api/chat"
		body["messages"] = p.Messages
	} else {
		body["prompt"], body["raw"] = p.Text, true
	}
	return readStream(ctx, c, query{path: path, body: body, alone: as.alone, work: as.work}, onText, func(got *ollamaReply, text *lm.Text, usage *lm.Usage) (string, error) {
		if got.Done {
			usage.Computed = count(got.Read) + count(got.Written)
			text.Tokens = int(count(got.Written))
			text.Finish = map[string]lm.Finish{"stop": lm.FinishEnd, "length": lm.FinishLength}[got.DoneReason]
			if got.DoneReason == "" { // before the reason came
				text.Finish = lm.FinishEnd
				if text.Tokens >= o.MaxTokens {
					text.Finish = lm.FinishLength
				}
			}
		}
		return got.Response + got.Message.Content, nil
	})
}

func (d *ollama) embed(ctx context.Context, c *Client, texts []string) ([][]float32, error) {
	var got struct {
		Embeddings [][]float32 `json:"embeddings"`
	}
	path := c.wire.root + "/api/embed"
	body := map[string]any{"model": c.info.Name, "input": texts, "truncate": false}
	if err := c.wire.ask(ctx, query{path: path, body: body, limit: embedLimit(len(texts))}, &got); err != nil {
		return nil, err
	}
	if len(got.Embeddings) != len(texts) {
		return nil, c.wire.reply(path, "there are not as many vectors as texts")
	}
	return got.Embeddings, nil
}
