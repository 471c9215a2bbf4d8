package convert

import (
	"bytes"
	"encoding/json"
	"strings"
)

// record splits a JSON object into fields, with a conversation in columns. It looks at this record
// alone.
func record(raw []byte) (out object, ok bool) {
	out, ok = fieldsOf(raw)
	if !ok {
		return nil, false
	}
	if flat, ok := chat(out); ok {
		return flat, true
	}
	return out, true
}

// Record returns a line of JSON with a conversation in columns, or the line as it is. It must be
// valid JSON.
func Record(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"messages"`)) {
		return line
	}
	fields, ok := fieldsOf(line)
	if !ok {
		return line
	}
	if fields, ok = chat(fields); !ok {
		return line
	}
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(f.key)...), ':'), f.raw...)
	}
	return append(out, '}')
}

// message is a turn of a conversation.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Weight  *float64        `json:"weight"`
}

// words are the text of a message: a string, or parts of which some are text.
func (m message) words() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// chat reads a conversation as OpenAI's fine-tuning does: the last turn of the assistant is the
// output, and what was said before it the input.
func chat(o object) (object, bool) {
	var turns []message
	if raw := o.get("messages"); len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &turns) != nil {
		return nil, false
	}
	last := -1
	for i, m := range turns {
		switch {
		case m.Role == "":
			return nil, false
		case m.Role == "assistant" && (m.Weight == nil || *m.Weight > 0):
			last = i
		}
	}
	if last < 0 {
		return nil, false
	}
	var system, said []string
	var speakers []string
	for _, m := range turns[:last] {
		switch m.Role {
		case "system", "developer":
			system = append(system, m.words())
		default:
			said, speakers = append(said, m.words()), append(speakers, m.Role)
		}
	}
	input := strings.Join(said, "\n")
	if len(said) > 1 {
		var b strings.Builder
		for i, s := range said {
			b.WriteString(strings.ToUpper(speakers[i][:1]) + speakers[i][1:] + ": " + s + "\n")
		}
		input = strings.TrimSuffix(b.String(), "\n")
	}
	out := object{}
	for _, f := range o {
		if f.key != "messages" {
			out = append(out, f)
		}
	}
	out = out.put("input", quoted(input)).put("output", quoted(turns[last].words()))
	if len(system) > 0 {
		out = out.put("system", quoted(strings.Join(system, "\n")))
	}
	return out, true
}
