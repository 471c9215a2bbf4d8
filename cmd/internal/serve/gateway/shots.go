package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Shots are a release's instruction and examples, as the first turns of a conversation.
type Shots struct {
	task     prompt.Task
	examples []prompt.Example
	form     prompt.Form
	// near picks the examples that go along, those most similar to the question; nil for all.
	near *nearest.Picker
	// hints go with questions, as they do with examples; nil for none.
	hints   *evidence.Reader
	wording int
	// told are the examples with hints.
	told map[prompt.Example]prompt.Example
}

// NewShots prepares a prompt for a task. A prompt that gives questions the nearest examples does so by the encoder that
// it names, and any prompt where only so many are asked for, which is 0 for what the prompt says.
func NewShots(ctx context.Context, t prompt.Task, p prompt.Prompt, limit int, encoder lm.Embedder) (*Shots, error) {
	s := &Shots{task: p.For(t), examples: p.Examples, form: prompt.ChatForm}
	if p.Form.Turns() {
		s.form = p.Form
	}
	if limit < 0 {
		return nil, fmt.Errorf("the number of examples is %d, it should be 0 for all, or more", limit)
	}
	if !Picks(p, limit) {
		return s, nil
	}
	if encoder == nil {
		return nil, errors.New("the examples nearest to a question are found by a sentence encoder, and there is none: run sotto model pull minilm")
	}
	if p.Nearest.Encoder == "" {
		p.Nearest.Encoder = encoder.Name()
	}
	if limit > 0 {
		p.Nearest.Examples = limit
	}
	var err error
	s.near, err = nearest.Open(ctx, p, encoder)
	return s, err
}

// Picks reports whether questions get only some of a prompt's examples, where most, unless it is 0, is how many.
func Picks(p prompt.Prompt, limit int) bool {
	return p.Nearest.Used() || limit > 0 && limit < len(p.Examples)
}

// Hint has examples and questions tell what evidence says, in a wording. It is called once.
func (s *Shots) Hint(ctx context.Context, by *evidence.Reader, wording int) (err error) {
	s.hints, s.wording = by, wording
	before := s.examples
	if s.examples, err = by.Examples(ctx, wording, before); err != nil {
		return err
	}
	s.told = map[prompt.Example]prompt.Example{}
	for i, e := range before {
		s.told[e] = s.examples[i]
	}
	return nil
}

// hinted is a question with what evidence says, if it is told.
func (s *Shots) hinted(ctx context.Context, question string) (string, error) {
	if s.hints == nil {
		return question, nil
	}
	if len(question) > maxQuestion {
		return "", invalid("messages", "the question is longer than %d bytes", maxQuestion)
	}
	if err := reads(s.hints, question); err != nil {
		return "", err
	}
	out, err := s.hints.Hinted(ctx, s.wording, []string{question})
	if err != nil {
		return "", err
	}
	return out[0], nil
}

// choose returns the examples for a question: all, or the nearest, the most similar last.
func (s *Shots) choose(ctx context.Context, question string) ([]prompt.Example, error) {
	if s.near == nil {
		return s.examples, nil
	}
	if len(question) > maxQuestion {
		return nil, invalid("messages", "the question is longer than %d bytes", maxQuestion)
	}
	picked, err := s.near.Pick(ctx, []string{question})
	if err != nil {
		return nil, err
	}
	if s.hints != nil {
		for i, e := range picked[0] {
			picked[0][i] = s.told[e]
		}
	}
	return picked[0], nil
}

// turn is what the gateway reads of a client's message.
type turn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text returns the content of a turn if it is text alone.
func (t turn) text() (string, bool) {
	var s string
	if json.Unmarshal(t.Content, &s) == nil {
		return s, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(t.Content, &parts) != nil || len(parts) != 1 || parts[0].Type != "text" {
		return "", false
	}
	return parts[0].Text, true
}

// unmeasured names what a conversation has beside one question: releases are judged without.
func unmeasured(messages json.RawMessage) (names []string) {
	var list []turn
	if json.Unmarshal(messages, &list) != nil {
		return nil // the upstream was not asked
	}
	n := leading(list)
	if n > 0 {
		names = append(names, systemMessage)
	}
	if len(list)-n > 1 {
		names = append(names, "earlier turns")
	}
	return names
}

// chat puts the instruction before a conversation's own, the examples before its first turn,
// and lays its last question out as the examples are.
func (s *Shots) chat(ctx context.Context, raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, invalid("messages", `"messages" should be a list of messages, one or more`)
	}
	turns := make([]turn, len(list))
	first, last := len(list), -1
	for i, m := range list {
		var members body
		if json.Unmarshal(m, &members) != nil || members.clear("role", "content") != nil || json.Unmarshal(m, &turns[i]) != nil {
			return nil, invalid("messages", "message %d should be an object with a role and a content", i+1)
		}
		switch turns[i].Role {
		case "system", "developer":
		case "user":
			last = i
			fallthrough
		default:
			first = min(first, i)
		}
	}
	question, text := "", false
	if last >= 0 {
		question, text = turns[last].text()
	}
	examples, err := s.choose(ctx, question)
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	add := func(t prompt.Turn) {
		data, failed := marshal(t)
		err = cmp.Or(err, failed)
		out = append(out, data)
	}
	leading := list[:first]
	shots := prompt.Prompt{Examples: examples, Form: s.form}
	shown := shots.Turns(s.task)
	if len(shown) > 0 && shown[0].Role == prompt.SystemRole {
		// Many models' templates take one instruction: the client's is joined with it.
		if own, text := turns[0].text(); first > 0 && text {
			joined, failed := reworded(list[0], shown[0].Content+"\n\n"+own)
			err, leading, out = failed, list[1:first], append(out, joined)
		} else {
			add(shown[0])
		}
		shown = shown[1:]
	}
	out = append(out, leading...)
	for _, t := range shown {
		add(t)
	}
	for i, m := range list[first:] {
		if first+i == last && text {
			if question, err = s.hinted(ctx, question); err != nil {
				return nil, err
			}
			if m, err = reworded(m, shots.Question(s.task, question).Content); err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, err
}

// reworded returns a message with another content; its other members stay.
func reworded(raw json.RawMessage, content string) (json.RawMessage, error) {
	var m body
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	m, err := m.with("content", content)
	if err != nil {
		return nil, err
	}
	return marshal(m)
}

// prompt does that for the text of a completion.
func (s *Shots) prompt(ctx context.Context, raw json.RawMessage) (string, error) {
	var question string
	if json.Unmarshal(raw, &question) != nil {
		return "", invalid("prompt", `"prompt" should be one string: what goes before it is text, and lists and tokens cannot be joined with it`)
	}
	examples, err := s.choose(ctx, question)
	if err != nil {
		return "", err
	}
	if question, err = s.hinted(ctx, question); err != nil {
		return "", err
	}
	return s.text(examples, question), nil
}

// text is a question after examples, as one text.
func (s *Shots) text(examples []prompt.Example, question string) string {
	segments := append(prompt.Prompt{Examples: examples}.Segments(s.task), s.task.AnswerItem(reply.Input(s.task, question)))
	return strings.Join(segments, "")
}
