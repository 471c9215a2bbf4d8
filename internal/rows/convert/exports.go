package convert

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// What a record may be, in words for people.
const (
	noteChat        = "conversations for fine-tuning (messages): columns input, output and system"
	noteLabelStudio = "a Label Studio export: columns are the keys of data, and a column for each control by its name"
	noteArgilla     = "an Argilla export: columns are the fields, and a column for each question by its name"
)

// record splits a JSON object into fields, and puts what tools nest into columns. It looks at
// this record alone.
func record(raw []byte) (out object, ok bool, what string) {
	out, ok = fieldsOf(raw)
	if !ok {
		return nil, false, ""
	}
	out, what = flatten(out)
	return out, true, what
}

// flatten puts what tools nest into columns, and says which tool it was.
func flatten(o object) (out object, what string) {
	for _, tool := range []struct {
		read func(object) (object, bool)
		what string
	}{{chat, noteChat}, {labelStudio, noteLabelStudio}, {argilla, noteArgilla}, {flatArgilla, noteArgilla}} {
		if out, ok := tool.read(o); ok {
			return out, tool.what
		}
	}
	return o, ""
}

// flatNames are the columns that records with these columns have in a file with a schema, and
// what they are of; nil if they stay as they are.
func flatNames(names []string) (flat []string, what string) {
	put := func(more ...string) {
		for _, n := range more {
			if !slices.Contains(flat, n) {
				flat = append(flat, n)
			}
		}
	}
	var made []string
	for _, n := range names {
		q, isAnswer := strings.CutSuffix(n, responses)
		switch {
		case n == "messages":
			made, what = append(made, "input", "output", "system"), noteChat
		case isAnswer && q != "":
			made, what = append(made, q), noteArgilla
		case !ofArgilla(n):
			put(n)
		}
	}
	if what == "" {
		return nil, ""
	}
	put(made...)
	return flat, what
}

var nested = [][]byte{[]byte(`"messages"`), []byte(`"annotations"`), []byte(`"responses"`), []byte(`"suggestions"`), []byte(`.responses"`)}

// Record returns a line of JSON with what tools nest put into columns, and which tool it was; or
// the line as it is. It must be valid JSON.
func Record(line []byte) (flat []byte, what string) {
	found := false
	for _, key := range nested {
		found = found || bytes.Contains(line, key)
	}
	if !found {
		return line, ""
	}
	fields, ok, what := record(line)
	if !ok || what == "" {
		return line, ""
	}
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(f.key)...), ':'), f.raw...)
	}
	return append(out, '}'), what
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
	out := o.without("messages")
	out = out.put("input", quoted(input)).put("output", quoted(turns[last].words()))
	if len(system) > 0 {
		out = out.put("system", quoted(strings.Join(system, "\n")))
	}
	return out, true
}

// labelStudio reads a task of a Label Studio JSON export: its data, and what the first
// annotation that was not cancelled says, by the names of the controls.
func labelStudio(o object) (object, bool) {
	data, ok := fieldsOf(o.get("data"))
	raw := o.get("annotations")
	var annotations []struct {
		Cancelled bool `json:"was_cancelled"`
		Result    []struct {
			From  string                     `json:"from_name"`
			Value map[string]json.RawMessage `json:"value"`
		} `json:"result"`
	}
	if !ok || len(raw) == 0 || json.Unmarshal(raw, &annotations) != nil {
		return nil, false
	}
	out := data
	for _, a := range annotations {
		if a.Cancelled {
			continue
		}
		for _, r := range a.Result {
			for _, kind := range []string{"choices", "text", "rating", "number", "taxonomy", "labels"} {
				if v, ok := r.Value[kind]; ok && r.From != "" {
					out = out.put(r.From, single(v))
					break
				}
			}
		}
		break
	}
	return out, true
}

// single is the element of a list that has one.
func single(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		return single(list[0])
	}
	return raw
}

// argilla reads a record of an Argilla export: its fields, and for each question what was
// answered first, or else suggested.
func argilla(o object) (object, bool) {
	out, ok := fieldsOf(o.get("fields"))
	responses, answered := fieldsOf(o.get("responses"))
	suggestions, suggested := fieldsOf(o.get("suggestions"))
	if !ok || !answered && !suggested {
		return nil, false
	}
	type answer struct {
		Value json.RawMessage `json:"value"`
	}
	for _, r := range responses {
		var list []answer
		if json.Unmarshal(r.raw, &list) == nil && len(list) > 0 {
			out = out.put(r.key, list[0].Value)
		}
	}
	for _, s := range suggestions {
		var one answer
		if json.Unmarshal(s.raw, &one) == nil {
			out = out.put(s.key, one.Value)
		}
	}
	if meta, ok := fieldsOf(o.get("metadata")); ok {
		for _, m := range meta {
			out = out.put(m.key, m.raw)
		}
	}
	return out, true
}

const responses, suggestion = ".responses", ".suggestion"

// ofArgilla reports columns of an export that say something about answers.
func ofArgilla(name string) bool {
	return strings.Contains(name, responses) || strings.Contains(name, suggestion) || name == "_server_id"
}

// flatArgilla reads a record of an Argilla data set that was exported to Hugging Face datasets:
// answers to a question q are a list in the column q.responses.
func flatArgilla(o object) (object, bool) {
	found := false
	out := o
	for _, end := range []string{responses, suggestion} {
		for _, f := range o {
			name, ok := strings.CutSuffix(f.key, end)
			if !ok || name == "" {
				continue
			}
			found = true
			value := f.raw
			var list []json.RawMessage
			if end == responses {
				if json.Unmarshal(f.raw, &list) != nil || len(list) == 0 {
					continue
				}
				value = list[0]
			}
			if string(value) != "null" {
				out = out.put(name, value)
			}
		}
	}
	if !found {
		return nil, false
	}
	kept := object{}
	for _, f := range out {
		if !ofArgilla(f.key) {
			kept = append(kept, f)
		}
	}
	return kept, true
}
