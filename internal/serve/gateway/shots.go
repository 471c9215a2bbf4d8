package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Shots are a release's instruction and examples, as the first turns of a conversation.
type Shots struct {
	task     prompt.Task
	examples []prompt.Example
	form     prompt.Form
	// nearest is how many examples go along, those most similar to the question; 0 for all.
	nearest int
	encoder lm.Embedder
	vectors [][]float32
	// hints go with questions, as they do with examples; nil for none.
	hints   *evidence.Reader
	wording int
}

// NewShots prepares a prompt for a task. With nearest, an encoder compares inputs of examples
// with questions.
func NewShots(ctx context.Context, t prompt.Task, p prompt.Prompt, nearest int, encoder lm.Embedder) (*Shots, error) {
	s := &Shots{task: p.For(t), examples: p.Examples, form: prompt.ChatForm}
	if p.Form.Turns() {
		s.form = p.Form
	}
	if nearest < 0 {
		return nil, fmt.Errorf("the number of examples is %d, it should be 0 for all, or more", nearest)
	}
	if nearest == 0 || nearest >= len(p.Examples) {
		return s, nil
	}
	if encoder == nil {
		return nil, fmt.Errorf("the %d examples nearest to a question are found by a sentence encoder, and there is none: run sotto model pull minilm", nearest)
	}
	texts := make([]string, len(p.Examples))
	for i, e := range p.Examples {
		texts[i] = e.Input
	}
	var err error
	s.nearest, s.encoder = nearest, encoder
	s.vectors, err = encoder.Embed(ctx, texts)
	return s, err
}

// Hint has examples and questions tell what evidence says, in a wording. It is called once.
func (s *Shots) Hint(ctx context.Context, by *evidence.Reader, wording int) (err error) {
	s.hints, s.wording = by, wording
	s.examples, err = by.Examples(ctx, wording, s.examples)
	return err
}

// hinted is a question with what evidence says, if it is told.
func (s *Shots) hinted(ctx context.Context, question string) (string, error) {
	if s.hints == nil {
		return question, nil
	}
	if len(question) > longestQuestion {
		return "", invalid("messages", "the question is longer than %d bytes", longestQuestion)
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
	if s.nearest == 0 {
		return s.examples, nil
	}
	of, err := s.encoder.Embed(ctx, []string{question})
	if err != nil {
		return nil, err
	}
	likeness := make([]float32, len(s.vectors))
	order := make([]int, len(s.vectors))
	for i, v := range s.vectors {
		order[i] = i
		for j, x := range v {
			likeness[i] += x * of[0][j]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(likeness[a], likeness[b]) })
	order = order[len(order)-s.nearest:]
	out := make([]prompt.Example, len(order))
	for i, at := range order {
		out[i] = s.examples[at]
	}
	return out, nil
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
	segments := append(prompt.Prompt{Examples: examples}.Segments(s.task), s.task.AnswerItem(reply.Input(s.task, question)))
	return strings.Join(segments, ""), nil
}
