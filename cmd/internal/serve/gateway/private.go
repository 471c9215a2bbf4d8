package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// Answerer answers questions from private records. Every answer is paid for before a record is
// drawn for it, and what cannot be paid for is an [*Error] that says so.
type Answerer interface {
	// Answer answers a question of the client whom who names. It calls [Hold].
	Answer(ctx context.Context, who, question string) (*PrivateAnswer, error)
}

// PrivateAnswer is a private answer, with what it cost. Nothing in it depends on the records except
// through the answer itself.
type PrivateAnswer struct {
	Text string
	// Asked and Tokens are the lengths of question and answer; Full if the answer ended for
	// its length.
	Asked, Tokens int
	Full          bool
	// Charge paid for it. Spent and Left are of the budget that has least left; a nil Left says
	// that they could not be read.
	Charge       string
	Spent, Delta float64
	Left         *float64
	// Paid is how many more answers the charge pays for, where several were paid for together.
	Paid int64
}

// Private answers requests from records.
type Private struct {
	Answerer Answerer
	// Turns are those of the model. They are held until an answer is handed out.
	Turns *Turns
	// Pace: what was charged is handed out after a whole number of these from [Hold] on. How long
	// it takes to write depends on how many records were drawn, which is nobody's to know.
	Pace time.Duration
	// Occupy, if the model computes on this machine, keeps the processors at work whenever it
	// does not, until its context ends: others' requests are as slow after an answer is written as
	// before, until it is handed out.
	Occupy func(context.Context)
	// Until ends with the service, and with it answers under way.
	Until context.Context
}

// maxQuestion is how many bytes a question has at most.
const maxQuestion = 64 << 10

// MaxTime is how long an answer takes to write at most. What takes longer is given up.
const MaxTime = 10 * time.Minute

// answer answers a question. Who leaves before it is their turn has asked for nothing; after that
// it is written to its end, so that leaving shows nothing of how far it was.
func (p *Private) answer(ctx context.Context, who, question string) (*PrivateAnswer, error) {
	if len(question) > maxQuestion {
		return nil, invalid("messages", "the question is longer than %d bytes", maxQuestion)
	}
	if err := p.Turns.Take(ctx, who); err != nil {
		return nil, err
	}
	defer p.Turns.Give()
	until := p.Until
	if until == nil {
		until = context.WithoutCancel(ctx)
	}
	writing, cancel := context.WithTimeout(until, MaxTime)
	defer cancel()
	pacing := &pacer{pace: p.Pace, occupy: p.Occupy, until: until}
	defer pacing.end() // also after an internal error
	return p.Answerer.Answer(context.WithValue(writing, pacerKey{}, pacing), who, question)
}

// understood are the members of a request that an answer by a task heeds, or refuses, or that change nothing
// about an answer.
var understood = append([]string{"model", "messages", "prompt", "stream", "stream_options", "user", "metadata", "store", "service_tier", "safety_identifier"}, shapes...)

// member is a name that may be repeated to anyone who sent it.
var member = regexp.MustCompile(`^[a-z][a-z_]{0,39}$`)

// private answers a request from records.
func (h *Handler) private(w http.ResponseWriter, r *http.Request, who string, route *Route, b body) {
	q, err := readQuestion(r.URL.Path, b, false)
	if err != nil {
		fail(w, err)
		return
	}
	said, first, err := h.once(r.Context(), route, who, r.Header.Get("Idempotency-Key"), q.text)
	record := recordOf(r.Context())
	if err != nil {
		if e := (*Error)(nil); errors.As(err, &e) && first {
			record.Charge = e.charge
		}
		fail(w, err)
		return
	}
	if first {
		record.Charge, record.Spent, record.Left = said.Charge, said.Spent, said.Left
	}
	about := route.About
	about.Private, about.Delta, about.Spent, about.Left, about.Charge, about.Ignored = true, said.Delta, said.Spent, said.Left, said.Charge, q.ignored
	about.Paid, about.Price = said.Paid, nil
	g := &generation{
		chat: q.chat, usage: q.usage, id: newID(), model: route.Name, created: time.Now().Unix(), options: lm.GenerateOptions{MaxTokens: 1},
		write: func(_ context.Context, onText func(int, string) error) (lm.Text, counts, error) {
			text := lm.Text{Text: said.Text, Tokens: said.Tokens, Finish: lm.FinishEnd}
			if said.Full {
				text.Finish = lm.FinishLength
			}
			var err error
			if onText != nil {
				err = onText(0, said.Text)
			}
			return text, counts{said.Asked, said.Tokens, said.Asked + said.Tokens}, err
		},
	}
	answer, err := g.answer(r.Context(), q.stream)
	if err != nil {
		fail(w, err)
		return
	}
	defer answer.Body.Close()
	h.hand(w, answer, about, "", who)
}

// taskRequest is a request for an answer by a task alone.
type taskRequest struct {
	text                string
	chat, stream, usage bool
	ignored             []string
}

// readQuestion reads the one question of a request. What would change an answer's shape is
// refused; how a model should choose its words is not the client's to say, and is named as
// ignored. So is an instruction, if it may be there.
func readQuestion(path string, b body, instructed bool) (q taskRequest, err error) {
	q.chat = path == "/v1/chat/completions"
	if !q.chat && path != "/v1/completions" {
		return q, problem(http.StatusNotFound, invalidRequest, "model", "", "this model answers chats and completions, and nothing else")
	}
	var request struct {
		shape
		Messages      []turn          `json:"messages"`
		Prompt        json.RawMessage `json:"prompt"`
		Stream        bool            `json:"stream"`
		StreamOptions *struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	data, err := marshal(b)
	if err != nil {
		return q, err
	}
	if json.Unmarshal(data, &request) != nil {
		return q, invalid("", "a member of the request has another kind than OpenAI's API says")
	}
	why := "this model gives one text, and nothing beside it"
	if !instructed {
		why += "; a private one is paid for each time"
	}
	if err := request.refuse(why); err != nil {
		return q, err
	}
	q.stream, q.usage = request.Stream, request.StreamOptions != nil && request.StreamOptions.Usage
	q.ignored = b.besides(understood)
	if q.chat {
		if n := leading(request.Messages); instructed && n > 0 {
			request.Messages, q.ignored = request.Messages[n:], append(q.ignored, systemMessage)
		}
		q.text, err = lone(request.Messages)
	} else if json.Unmarshal(request.Prompt, &q.text) != nil {
		err = invalid("prompt", `"prompt" should be one string, the question`)
	}
	if err == nil && strings.TrimSpace(q.text) == "" {
		err = invalid(map[bool]string{true: "messages", false: "prompt"}[q.chat], "the question is empty")
	}
	return q, err
}

// systemMessage is what answers call a client's own instruction.
const systemMessage = "system message"

// leading is how many messages of a conversation are instructions before its first turn.
func leading(list []turn) (n int) {
	for n < len(list) && (list[n].Role == "system" || list[n].Role == "developer") {
		n++
	}
	return n
}

// lone returns the one message of a conversation: a mechanism's task says what is asked for, and
// the question alone goes into it.
func lone(list []turn) (string, error) {
	if len(list) == 1 && list[0].Role == "user" {
		if text, ok := list[0].text(); ok {
			return text, nil
		}
	}
	return "", invalid("messages", "this model answers one question, by the task that it was made for: send one message, of the user, with the question as text and nothing else")
}

// Budget says that a privacy budget does not allow an answer. Nothing was read for it.
func Budget(code, message string) error {
	return problem(http.StatusPaymentRequired, "insufficient_quota", "", code, "%s", message)
}

// Charged says that an answer was paid for and not given. Clients that try again by themselves
// should not: it would cost again.
func Charged(charge string) error {
	e := problem(http.StatusInternalServerError, serverSide, "", "charged_without_answer", "the answer could not be completed after it was charged to the budget: asking again is charged again")
	e.final, e.charge = true, charge
	return e
}

// Unavailable says that a request cannot be served now.
func Unavailable(message string) error {
	return problem(http.StatusServiceUnavailable, serverSide, "", "", "%s", message)
}

// Invalid says what is wrong with a question.
func Invalid(message string) error {
	return invalid("messages", "%s", cmp.Or(message, "the question cannot be asked"))
}
