package sotto

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/pool"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// Pool says who makes up what prompts are built from, where records choose: any model, since
// it is shown the task, public labels, phrases or inputs, and what was released, and never a
// record. The zero value leaves it to the model of the run.
type Pool struct {
	// Model that writes the texts to choose from: on any server, trusted or not, or in this
	// process. Author is used instead if it is set, and stays open. With either no ε is spent
	// on writing, unless the request says so.
	Model  *backend.Spec
	Author lm.Model
	// Texts is how many. Default: as the request's Pool, or 40, more for many labels.
	Texts int
	// Reword is how many other wordings of the task's instruction are candidates. Default:
	// [DefaultReword] with a Model, and else none; below 0 none. Without a Model the run's own
	// writes them.
	Reword int
	// Time bounds how long a model may take. Default: 10 minutes.
	Time time.Duration
}

// DefaultReword is how many wordings of an instruction a model is asked for.
const DefaultReword = 4

// hosted reports whether another model than that of the run writes.
func (p Pool) hosted() bool { return p.Model != nil || p.Author != nil }

// remote reports whether a server writes.
func (p Pool) remote() bool { return p.Author == nil && p.Model != nil && p.Model.Remote() }

// invent has what prompts are built from made up, before anything is planned: a model that
// fails costs nothing. A run that goes on has what it began with, and nobody is asked again.
func (o *SynthesizeOptions) invent(ctx context.Context) error {
	p := o.Pool
	if p.Reword == 0 && p.hosted() {
		p.Reword = DefaultReword
	}
	if o.Plan != nil || !p.hosted() && p.Reword <= 0 {
		return nil
	}
	if err := o.inventable(p); err != nil {
		return err
	}
	own := *o.Request.Choosing
	if own.Made != nil {
		return nil
	}
	o.Request.Choosing = &own
	if begun, ok := planOf(o.Out); ok && begun.Choose != nil && begun.Choose.Made != nil {
		own.Made = begun.Choose.Made
		if name := p.asked(); name != "" && name != own.Made.Model {
			return &FolderError{Dir: o.Out, Reason: fmt.Sprintf("it holds a run whose texts are by %s: name that model, or choose another folder for another run", own.Made.Model)}
		}
		return nil
	}
	if err := o.rest(ctx); err != nil {
		return err
	}
	if p.remote() {
		o.say("%s is asked for texts to choose from: it sees the task, and no record", backend.Address(p.Model.URL))
	}
	author, closing, err := o.author(ctx, p)
	if err != nil {
		return err
	}
	defer closing()
	made, err := o.made(ctx, p, author)
	own.Made = made
	return err
}

// asked is the name of the model that is asked for on a server; "" if any will do.
func (p Pool) asked() string {
	if !p.remote() {
		return ""
	}
	return p.Model.Model
}

// inventable finds what is missing before a model is asked.
func (o *SynthesizeOptions) inventable(p Pool) error {
	wrong := func(format string, args ...any) error { return &plan.InputError{Reason: fmt.Sprintf(format, args...)} }
	c := o.Request.Choosing
	switch {
	case c == nil:
		return wrong("a model that makes up what prompts are built from is for records that choose")
	case p.Texts < 0:
		return wrong("a model is asked for %d texts: it should be a positive number", p.Texts)
	case p.hosted() && o.Request.Discover:
		return wrong("a model that sees no record is asked for texts before labels are discovered: give a public list of labels, or leave the model out")
	case p.hosted() && len(c.Sets) > 0 && c.Rounds < 2:
		return wrong("ready-made sets are chosen from in one round, in which a model's texts have no part: ask for more rounds, or leave one out")
	case o.Out == "":
		return wrong("a folder to write to is missing")
	case o.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	}
	return nil
}

// rest finds what would end a run later, so that no host works in vain.
func (o *SynthesizeOptions) rest(ctx context.Context) error {
	r, c := o.Request, *o.Request.Choosing
	example := prompt.Example{Input: "a text", Output: "text"}
	if len(r.Task.Labels) > 0 {
		example.Output = r.Task.Labels[0]
	}
	c.Made, r.Choosing = &plan.Made{Model: "a model", Examples: []prompt.Example{example}}, &c
	p, err := plan.New(r)
	if err == nil {
		err = o.check(p)
	}
	if err != nil {
		return err
	}
	if !o.Trusted.Valid() && o.Model.Remote() && !o.Model.Trusted {
		return &backend.UntrustedError{}
	}
	if local := !strings.Contains(o.Source.Location, ":"); local {
		if _, err := os.Stat(o.Source.Location); err != nil {
			return &plan.InputError{Reason: fmt.Sprintf("the data: %v", err)}
		}
	}
	if !o.charges(p) {
		return nil
	}
	l, err := ledger.Open(ctx, o.Ledger, ledger.Options{})
	if errors.Is(err, ledger.ErrMissing) && o.NewLedger {
		return nil
	}
	if errors.Is(err, ledger.ErrMissing) {
		return fmt.Errorf("%w. If it should be new, make it first: sotto ledger init --ledger %s", err, ledgerWord(o.Ledger))
	}
	if err != nil {
		return err
	}
	return l.Close()
}

// author is the model that writes, and what closes it.
func (o *SynthesizeOptions) author(ctx context.Context, p Pool) (lm.Model, func(), error) {
	spec := o.Model
	switch {
	case p.Author != nil:
		return p.Author, func() {}, nil
	case p.Model != nil:
		spec = *p.Model
	case o.Trusted.Valid():
		return o.Trusted.Public(), func() {}, nil
	}
	limit := p.Time
	if limit <= 0 {
		limit = pool.DefaultTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := backend.Open(ctx, spec)
	var unlisted *remote.StatusError
	if errors.As(err, &unlisted) && spec.Dialect == "" && unlisted.Status == http.StatusNotFound {
		// Some hosts write, and do not list what they have.
		spec.Dialect = remote.OpenAI
		if plain, failed := backend.Open(ctx, spec); failed == nil {
			m, err = plain, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return m, func() { _ = m.Close() }, nil // nothing of it is kept
}

// made asks for texts and wordings. Its arguments hold no record.
func (o *SynthesizeOptions) made(ctx context.Context, p Pool, by lm.Model) (*plan.Made, error) {
	out := &plan.Made{Model: authorName(by.Info())}
	a := &pool.Author{Model: by, Task: o.Request.Task, Conditions: o.Request.Conditions, Time: p.Time}
	if p.hosted() {
		list, tally, err := a.Examples(ctx, p.texts(o.Request))
		if err != nil {
			return nil, fmt.Errorf("nothing is charged: %w", err)
		}
		out.Examples = list
		o.say("%s wrote texts to choose from: %s", out.Model, tally.String())
	}
	if p.Reword > 0 && a.Task.WithDefaults().Answer.Instruction != "" {
		list, tally, err := a.Rewordings(ctx, p.Reword)
		var poor *pool.Error
		switch {
		case errors.As(err, &poor) && p.hosted() && ctx.Err() == nil: // texts are there
			o.say("%s gave no other wordings of the instruction: %s", out.Model, tally.String())
		case err != nil:
			return nil, err
		default:
			out.Instructions = list
			o.say("%s worded the instruction otherwise: %s", out.Model, tally.String())
		}
	}
	return out, nil
}

// texts is how many to ask for.
func (p Pool) texts(r plan.Request) int {
	n := p.Texts
	if n == 0 {
		n = r.Choosing.Pool
	}
	if n == 0 {
		n = max(plan.OwnPool, 3*len(r.Task.Labels))
	}
	return n
}

// authorName is what a server calls its model, fit for a file.
func authorName(info lm.Info) string {
	const most = 100
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, ModelName(info))
	if r := []rune(name); len(r) > most {
		name = string(r[:most])
	}
	if strings.TrimSpace(name) == "" {
		return "a model without a name"
	}
	return name
}

// say tells people something before a run is planned.
func (o *SynthesizeOptions) say(format string, args ...any) {
	if o.Observe != nil {
		o.Observe(Progress{Kind: Notice, Message: fmt.Sprintf(format, args...)})
	}
}

// varying has texts written like those of winners: by the model of the pool, which is reached
// when it is first needed, or by that of the run, if it is in this process.
type varying struct {
	o      *SynthesizeOptions
	task   prompt.Task
	own    lm.Model
	author lm.Model
	closed func()
}

// vary is what a run calls between rounds. It is given what was released.
func (v *varying) vary(ctx context.Context, round int64, like []prompt.Example, n int) ([]prompt.Example, error) {
	if v.author == nil {
		v.author, v.closed = v.own, func() {}
		if v.o.Pool.hosted() {
			if v.o.Pool.remote() {
				v.o.say("%s is asked for texts like those that were chosen: it sees these and the task, and no record", backend.Address(v.o.Pool.Model.URL))
			}
			m, closing, err := v.o.author(ctx, v.o.Pool)
			if err != nil {
				return nil, err
			}
			v.author, v.closed = m, closing
		}
	}
	const patience = 2 * time.Minute
	limit := v.o.Pool.Time
	if limit <= 0 {
		limit = patience
	}
	list, _, err := (&pool.Author{Model: v.author, Task: v.task, Time: limit, Seed: uint64(round)}).Like(ctx, like, n)
	return list, err
}

func (v *varying) close() {
	if v.closed != nil {
		v.closed()
	}
}

// served reports whether the model that sees records is on a server.
func (o *SynthesizeOptions) served() bool {
	if o.Trusted.Valid() {
		return o.Trusted.Basis() != lm.InProcess
	}
	return o.Model.Remote()
}

// repeats reports whether the same comes out for the same.
func (v *varying) repeats() bool {
	if v.o.Pool.hosted() { // it is not known before it is asked
		return false
	}
	info := v.own.Info()
	return info.Deterministic && info.BatchInvariant
}
