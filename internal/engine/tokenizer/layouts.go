package tokenizer

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/sotto-dp/sotto/lm"
)

// layout writes conversations as one family of chat templates does.
type layout struct {
	name string
	// marks are the spellings that are marks in this layout, whatever type the file
	// gives them.
	marks []string
	// bos: the template itself begins with BOS.
	bos bool
	// turns: user and assistant alternate, the user begins.
	turns bool
	// last: the last message is a question, because nothing else opens an answer.
	last bool
	// system: where a system message may stand.
	system placement
	write  func(d *draft, chat []lm.Message)
}

// placement states where a layout has room for system messages.
type placement int

const (
	anywhere placement = iota
	onlyFirst
	nowhere
)

//go:embed layouts.txt
var layoutsText string

// signature holds a paragraph of layouts.txt.
type signature struct {
	layout  string
	pattern *regexp.Regexp
}

var signatures = sync.OnceValue(func() []signature {
	var list []signature
	for line := range strings.Lines(layoutsText) {
		line = strings.TrimSuffix(line, "\n")
		text, indented := strings.CutPrefix(line, "\t")
		switch last := len(list) - 1; {
		case line == "" || line[0] == '#':
		case indented:
			list[last].layout += text
		default:
			list = append(list, signature{layout: line + "\t"})
		}
	}
	for i := range list {
		name, text, _ := strings.Cut(list[i].layout, "\t")
		list[i] = signature{name, pattern(strings.ReplaceAll(text, "⏎", "\n"))}
	}
	return list
})

// layoutOf recognises the layout of a template; nil if it is none of those known.
func layoutOf(template string) *layout {
	if template == "" {
		return nil
	}
	code := canonical(template)
	for _, l := range signatures() {
		if parts := match(l.pattern, code); parts != nil {
			made := makers[l.layout](parts)
			made.name = l.layout
			return made
		}
	}
	return nil
}

// makers build layouts from the parts that the pattern names.
var makers = map[string]func(parts map[string]string) *layout{
	"chatml":          func(p map[string]string) *layout { return chatML(p, false) },
	"chatml-thoughts": func(p map[string]string) *layout { return chatML(p, true) },
	"llama3":          llama3Layout,
	"llama2": func(map[string]string) *layout {
		return instLayout(inst{
			each: true, open: "[INST] ", shut: " [/INST]", before: " ", after: " ", trim: true,
			systemOpen: "<<SYS>>\n", systemClose: "\n<</SYS>>\n\n",
		})
	},
	"mistral": func(p map[string]string) *layout {
		i := inst{open: "[INST] ", shut: " [/INST]"}
		if p["blank"] != "" {
			i.next = " "
		}
		l := instLayout(i)
		l.system = nowhere
		return l
	},
	"mistral-v1": func(map[string]string) *layout {
		return instLayout(inst{open: " [INST] ", shut: " [/INST]", before: " ", systemClose: "\n\n"})
	},
	"mistral-v3": func(map[string]string) *layout {
		return instLayout(inst{open: "[INST] ", shut: "[/INST]", before: " ", trimAnswer: true, systemClose: "\n\n", systemLast: true})
	},
	"mistral-nemo": func(map[string]string) *layout {
		return instLayout(inst{open: "[INST]", shut: "[/INST]", systemClose: "\n\n", systemLast: true})
	},
	"mistral-v7": func(map[string]string) *layout {
		l := instLayout(inst{open: "[INST] ", shut: "[/INST]", before: " ", systemOpen: "[SYSTEM_PROMPT] ", systemClose: "[/SYSTEM_PROMPT]", systemOwn: true})
		l.turns, l.system = false, anywhere
		return l
	},
	"zephyr":     func(map[string]string) *layout { return barred("") },
	"phi3":       func(map[string]string) *layout { return barred("<|end|>") },
	"phi3-turns": phi3Turns,
	"phi4-mini": func(map[string]string) *layout {
		return plainTurns([]string{"<|user|>", "<|system|>", "<|assistant|>", "<|end|>"}, func(d *draft, role lm.Role) { d.mark("<|" + string(role) + "|>") }, "<|end|>")
	},
	"phi4": func(map[string]string) *layout {
		return plainTurns([]string{"<|im_start|>", "<|im_sep|>", "<|im_end|>"}, func(d *draft, role lm.Role) {
			d.mark("<|im_start|>")
			d.text(string(role))
			d.mark("<|im_sep|>")
		}, "<|im_end|>")
	},
	"gemma": gemmaLayout,
	"gemma3": func(map[string]string) *layout {
		l := gemmaLayout(map[string]string{"bos": "yes"})
		l.system = onlyFirst
		return l
	},
}

func chatML(parts map[string]string, thoughts bool) *layout {
	const start, end = "<|im_start|>", "<|im_end|>"
	turn := func(d *draft, role lm.Role, content string) {
		d.mark(start)
		d.text(string(role), "\n", content)
		d.mark(end)
		d.text("\n")
	}
	return &layout{
		marks: []string{start, end},
		bos:   parts["bos"] != "",
		write: func(d *draft, chat []lm.Message) {
			if standard := parts["system"]; standard != "" && chat[0].Role != lm.System {
				turn(d, lm.System, standard)
			}
			for i, m := range chat {
				content := m.Content
				if parts["trim"] != "" {
					content = trim(content)
				}
				if thoughts && m.Role == lm.Assistant {
					content = withThoughts(chat, i)
				}
				turn(d, m.Role, content)
			}
			d.mark(start)
			d.text("assistant\n")
		},
	}
}

// withThoughts returns an answer as Qwen 3 keeps it: without its thoughts if a question
// follows, with them (or with none, said so) otherwise.
func withThoughts(chat []lm.Message, at int) string {
	content, thoughts := chat[at].Content, ""
	if before, _, ok := strings.Cut(content, "</think>"); ok {
		thoughts = strings.TrimRight(before, "\n")
		if i := strings.LastIndex(thoughts, "<think>"); i >= 0 {
			thoughts = thoughts[i+len("<think>"):]
		}
		thoughts = strings.TrimLeft(thoughts, "\n")
		content = strings.TrimLeft(content[strings.LastIndex(content, "</think>")+len("</think>"):], "\n")
	}
	lastQuestion := len(chat) - 1
	for i, m := range chat {
		wrapped := strings.HasPrefix(m.Content, "<tool_response>") && strings.HasSuffix(m.Content, "</tool_response>")
		if m.Role == lm.User && !wrapped {
			lastQuestion = i
		}
	}
	if at > lastQuestion && (at == len(chat)-1 || thoughts != "") {
		return "<think>\n" + strings.Trim(thoughts, "\n") + "\n</think>\n\n" + strings.TrimLeft(content, "\n")
	}
	return content
}

func llama3Layout(parts map[string]string) *layout {
	const open, shut, end = "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"
	header := func(d *draft, role lm.Role) {
		d.mark(open)
		d.text(string(role))
		d.mark(shut)
		d.text("\n\n")
	}
	return &layout{
		marks: []string{open, shut, end},
		bos:   true,
		write: func(d *draft, chat []lm.Message) {
			if parts["date"] != "" {
				system := ""
				if chat[0].Role == lm.System {
					system, chat = trim(chat[0].Content), chat[1:]
				}
				header(d, lm.System)
				d.text(parts["facts"], parts["date"], "\n\n", system)
				d.mark(end)
			}
			for _, m := range chat {
				header(d, m.Role)
				d.text(trim(m.Content))
				d.mark(end)
			}
			header(d, lm.Assistant)
		},
	}
}

// inst describes how Llama 2 and Mistral write: questions in [INST] and [/INST].
type inst struct {
	each          bool // BOS before each question
	open, shut    string
	before, after string // an answer, and EOS
	next          string // after EOS
	trim          bool   // questions and answers
	trimAnswer    bool
	systemOpen    string
	systemClose   string
	systemLast    bool // in the last question instead of the first
	systemOwn     bool // outside of questions
}

func instLayout(s inst) *layout {
	return &layout{
		marks:  []string{"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
		bos:    true,
		turns:  true,
		last:   true,
		system: onlyFirst,
		write: func(d *draft, chat []lm.Message) {
			system := ""
			if chat[0].Role == lm.System && !s.systemOwn {
				system, chat = s.systemOpen+chat[0].Content+s.systemClose, chat[1:]
			}
			place := 0
			if s.systemLast {
				place = len(chat) - 1
			}
			for i, m := range chat {
				content := m.Content
				if i == place && m.Role == lm.User {
					content = system + content
				}
				if s.trim || s.trimAnswer && m.Role == lm.Assistant {
					content = trim(content)
				}
				switch m.Role {
				case lm.User:
					if s.each {
						d.bos()
					}
					d.marks(s.open, "[INST]")
					d.text(content)
					d.marks(s.shut, "[/INST]")
				case lm.System:
					d.marks(s.systemOpen, "[SYSTEM_PROMPT]")
					d.text(content)
					d.marks(s.systemClose, "[/SYSTEM_PROMPT]")
				default:
					d.text(s.before, content, s.after)
					d.eos()
					d.text(s.next)
				}
			}
		},
	}
}

// barred returns the layout of Zephyr and Phi-3.5: the role in bars, the content, an end mark
// (EOS where it has no spelling of its own).
func barred(end string) *layout {
	l := &layout{marks: []string{"<|user|>", "<|system|>", "<|assistant|>"}}
	if end != "" {
		l.marks = append(l.marks, end)
	}
	l.write = func(d *draft, chat []lm.Message) {
		for _, m := range chat {
			if m.Role == lm.System && m.Content == "" && end != "" {
				continue
			}
			d.mark("<|" + string(m.Role) + "|>")
			d.text("\n", m.Content)
			if end != "" {
				d.mark(end)
			} else {
				d.eos()
			}
			d.text("\n")
		}
		d.mark("<|assistant|>")
		d.text("\n")
	}
	return l
}

// phi3Turns returns the layout of Phi-3's first template, in which a question opens the
// answer.
func phi3Turns(parts map[string]string) *layout {
	l := barred("<|end|>")
	l.bos, l.turns, l.last, l.system = parts["bos"] != "", true, true, nowhere
	return l
}

// plainTurns returns a layout of turns without line breaks: what opens a role's, the content,
// an end mark.
func plainTurns(marks []string, open func(*draft, lm.Role), end string) *layout {
	return &layout{
		marks: marks,
		write: func(d *draft, chat []lm.Message) {
			for _, m := range chat {
				open(d, m.Role)
				d.text(m.Content)
				d.mark(end)
			}
			open(d, lm.Assistant)
		},
	}
}

func gemmaLayout(parts map[string]string) *layout {
	const start, end = "<start_of_turn>", "<end_of_turn>"
	return &layout{
		marks:  []string{start, end},
		bos:    parts["bos"] != "",
		turns:  true,
		system: nowhere,
		write: func(d *draft, chat []lm.Message) {
			before := ""
			if chat[0].Role == lm.System { // Gemma 3
				before, chat = chat[0].Content+"\n\n", chat[1:]
			}
			for _, m := range chat {
				role := string(m.Role)
				if m.Role == lm.Assistant {
					role = "model"
				}
				d.mark(start)
				d.text(role, "\n", before, trim(m.Content))
				before = ""
				d.mark(end)
				d.text("\n")
			}
			d.mark(start)
			d.text("model\n")
		},
	}
}

// trim trims as Python's str.strip and Jinja's trim do.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F })
}
