package sotto

import (
	"cmp"
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
	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/account"
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
	// Reword is how many other wordings of the task's instruction are candidates. Default: 4
	// with a Model, and else none; below 0 none. Without a Model the run's own
	// writes them.
	Reword int
	// Time bounds how long a model may take. Default: that of the run, and a minute at least.
	Time time.Duration
}

// hosted reports whether another model than that of the run writes.
func (p Pool) hosted() bool { return p.Model != nil || p.Author != nil }

// remote reports whether a server writes.
func (p Pool) remote() bool { return p.Author == nil && p.Model != nil && p.Model.Remote() }

// invent has what prompts are built from made up, before anything is planned: a model that
// fails costs nothing. A run that continues has what it began with, and nobody is asked again.
func (s *synthesis) invent(ctx context.Context) error {
	p := s.Pool
	if p.Reword == 0 && p.hosted() {
		p.Reword = 4
	}
	if s.Plan != nil || !p.hosted() && p.Reword <= 0 {
		return nil
	}
	if s.Approval != nil {
		return wrong("a plan that is approved before it is carried out cannot depend on what a model makes up first: leave out the pool's model and other wordings")
	}
	if err := s.inventable(p); err != nil {
		return err
	}
	own := *s.request.Choosing
	if own.Made != nil {
		return nil
	}
	s.request.Choosing = &own
	if begun, ok := planOf(s.Out); ok && begun.Choose != nil && begun.Choose.Made != nil {
		own.Made = begun.Choose.Made
		if name := p.asked(); name != "" && name != own.Made.Model {
			return &FolderError{Dir: s.Out, Reason: fmt.Sprintf("it holds a run whose texts are by %s: name that model, or choose another folder for another run", own.Made.Model)}
		}
		return nil
	}
	if !s.rested {
		if err := s.rest(ctx); err != nil {
			return err
		}
	}
	if p.remote() {
		s.note("%s is asked for texts to choose from: it sees the task, and no record", backend.Address(p.Model.URL))
	}
	if p.Time <= 0 { // it is part of the run, and has the time of it
		p.Time = max(cmp.Or(max(s.Time, 0), plan.DefaultTime), leastAuthor)
	}
	began := time.Now()
	author, closing, err := s.author(ctx, p)
	if err != nil {
		return err
	}
	defer closing()
	made, err := s.made(ctx, p, author)
	own.Made, s.hosted = made, time.Since(began)
	return err
}

// leastAuthor is how long a model may take that writes, however short the run is.
const leastAuthor = time.Minute

// asked is the name of the model that is asked for on a server; "" if any will do.
func (p Pool) asked() string {
	if !p.remote() {
		return ""
	}
	return p.Model.Model
}

// inventable finds what is missing before a model is asked.
func (s *synthesis) inventable(p Pool) error {
	c := s.request.Choosing
	switch {
	case c == nil:
		return wrong("a model that makes up what prompts are built from is for records that choose")
	case p.Texts < 0:
		return wrong("a model is asked for %d texts: it should be a positive number", p.Texts)
	case p.hosted() && s.request.Discover:
		return wrong("a model that sees no record is asked for texts before labels are discovered: give a public list of labels, or leave the model out")
	case p.hosted() && len(c.Sets) > 0 && c.Rounds < 2:
		return wrong("ready-made sets are chosen from in one round, in which a model's texts have no part: ask for more rounds, or leave one out")
	case s.Out == "":
		return wrong("a folder to write to is missing")
	case s.Source.Location == "":
		return wrong("the data is missing: a file of records, or a database")
	}
	return nil
}

// afford finds what would end a run later, before a server is asked: one that writes the pool, or one that scores
// records. A run that continues was charged.
func (s *synthesis) afford(ctx context.Context) error {
	if s.Plan != nil || s.request.Choosing == nil || !s.Pool.hosted() && (!s.client.remote() || s.Approval != nil) {
		return nil
	}
	if _, begun := planOf(s.Out); begun {
		return nil
	}
	if s.Pool.hosted() {
		if err := s.inventable(s.Pool); err != nil {
			return err
		}
	}
	return s.rest(ctx)
}

// rest finds what would end a run later, so that no host works in vain.
func (s *synthesis) rest(ctx context.Context) error {
	s.rested = true
	r := s.request.Provisional()
	c := *r.Choosing
	example := prompt.Example{Input: "a text", Output: "text"}
	if len(r.Task.Labels) > 0 {
		example.Output = r.Task.Labels[0]
	}
	r.Choosing = &c
	if s.Pool.hosted() {
		c.Made = &plan.Made{Model: "a model", Examples: []prompt.Example{example}}
	}
	p, err := plan.New(r)
	if err == nil {
		err = s.check(p)
	}
	if err != nil {
		return err
	}
	if s.client.remote() && !s.client.spec.Trusted {
		return &backend.UntrustedError{}
	}
	if local := !strings.Contains(s.Source.Location, ":"); local {
		path, _ := convert.Split(s.Source.Location)
		if _, err := os.Stat(path); err != nil {
			return wrong("the data: %v", err)
		}
	}
	if !p.Private() || !p.Reads() || s.Seed != nil {
		return nil
	}
	l, err := ledger.Open(ctx, s.client.ledger, ledger.Options{})
	switch missing := errors.Is(err, ledger.ErrMissing); {
	case missing && s.client.creates:
		return nil
	case missing:
		return missingLedger(err, s.client.ledger)
	case err != nil:
		return err
	}
	// What is open is used by the run: records are read once.
	s.ledger = l
	if err := s.openData(ctx, s.Source, p.Task, p.Unit, !p.WritesFromRecords()); err != nil {
		return err
	}
	return s.within(ctx, r)
}

// within finds a budget that the run will not fit into. The plan is not made yet, and costs a little less or more: what
// is asked for is a little less.
func (s *synthesis) within(ctx context.Context, r plan.Request) error {
	const less = 0.95
	r.Epsilon *= less
	p, err := plan.New(r)
	if err != nil {
		return nil // the run says why
	}
	sum := s.data.Fingerprint()
	id, err := ledger.NewFingerprint(sum[:])
	if err != nil {
		return err
	}
	by := &account.Account{Ledger: s.ledger, Dataset: id, Adjacency: p.Adjacency, Unit: p.Unit, Labels: s.Labels}
	err = s.ledger.CanReserve(ctx, by.Request(account.Use{Event: p.Event()}), 1)
	if _, refused := errors.AsType[*ledger.RefusedError](err); refused {
		return by.Explain(ctx, err)
	}
	return nil // data that is new, or saved anew, is found out about by the run
}

// author is the model that writes, and what closes it.
func (s *synthesis) author(ctx context.Context, p Pool) (lm.Model, func(), error) {
	switch {
	case p.Author != nil:
		return p.Author, func() {}, nil
	case p.Model == nil:
		if err := s.openModel(ctx, true); err != nil {
			return nil, nil, err
		}
		return s.model.Public(), func() {}, nil
	}
	spec := *p.Model
	limit := p.Time
	if limit <= 0 {
		limit = pool.DefaultTime
	}
	tooLong := fmt.Errorf("the model that is to write texts cannot be opened: it took longer than %v. Try again, give it more time, or use another model", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	defer cancel()
	m, err := backend.Open(ctx, spec)
	if unlisted, ok := errors.AsType[*remote.StatusError](err); ok && spec.Dialect == "" && unlisted.Status == http.StatusNotFound {
		// Some hosts write, and do not list what they have.
		spec.Dialect = remote.OpenAI
		if plain, failed := backend.Open(ctx, spec); failed == nil {
			m, err = plain, nil
		}
	}
	if cause := context.Cause(ctx); err != nil && cause == tooLong {
		return nil, nil, cause
	}
	if err != nil {
		return nil, nil, err
	}
	return m, func() { _ = m.Close() }, nil // nothing of it is kept
}

// made asks for texts and wordings. Its arguments hold no record.
func (s *synthesis) made(ctx context.Context, p Pool, by lm.Model) (*plan.Made, error) {
	out := &plan.Made{Model: authorName(by.Info())}
	a := &pool.Author{Model: by, Task: s.request.Task, Conditions: s.request.Conditions, Time: p.Time}
	if p.hosted() {
		list, tally, err := a.Examples(ctx, p.texts(s.request))
		if err != nil {
			return nil, fmt.Errorf("nothing is charged: %w", err)
		}
		out.Examples = list
		s.note("%s wrote texts to choose from: %s", out.Model, tally.String())
	}
	if p.Reword > 0 && a.Task.WithDefaults().Answer.Instruction != "" {
		list, tally, err := a.Rewordings(ctx, p.Reword)
		var poor *pool.Error
		switch {
		case errors.As(err, &poor) && p.hosted() && ctx.Err() == nil: // texts are there
			s.note("%s gave no other wordings of the instruction: %s", out.Model, tally.String())
		case err != nil:
			return nil, err
		default:
			out.Instructions = list
			s.note("%s worded the instruction otherwise: %s", out.Model, tally.String())
		}
	}
	return out, nil
}

// texts is how many to ask for.
func (p Pool) texts(r plan.Request) int {
	return cmp.Or(p.Texts, r.Choosing.Pool, max(plan.OwnPool, 3*len(r.Task.Labels)))
}

// authorName is what a server calls its model, fit for a file.
func authorName(info lm.Info) string {
	const most = 100
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, models.NameOf(info))
	if r := []rune(name); len(r) > most {
		name = string(r[:most])
	}
	if strings.TrimSpace(name) == "" {
		return "a model without a name"
	}
	return name
}

// varying has texts written like those of winners: by the model of the pool, which is reached
// when it is first needed, or by that of the run, if it is in this process.
type varying struct {
	*synthesis
	task   prompt.Task
	own    lm.Model
	writer lm.Model
	closed func()
}

// vary is what a run calls between rounds. It is given what was released.
func (v *varying) vary(ctx context.Context, round int64, like []prompt.Example, n int) ([]prompt.Example, error) {
	if v.writer == nil {
		v.writer, v.closed = v.own, func() {}
		if v.Pool.hosted() {
			if v.Pool.remote() {
				v.note("%s is asked for texts like those that were chosen: it sees these and the task, and no record", backend.Address(v.Pool.Model.URL))
			}
			m, closing, err := v.synthesis.author(ctx, v.Pool)
			if err != nil {
				return nil, err
			}
			v.writer, v.closed = m, closing
		}
	}
	const patience = 2 * time.Minute
	limit := v.Pool.Time
	if limit <= 0 {
		limit = patience
	}
	list, _, err := (&pool.Author{Model: v.writer, Task: v.task, Time: limit, Seed: uint64(round)}).Like(ctx, like, n)
	return list, err
}

func (v *varying) close() {
	if v.closed != nil {
		v.closed()
	}
}

// repeats reports whether the same comes out for the same.
func (v *varying) repeats() bool {
	if v.Pool.hosted() { // it is not known before it is asked
		return false
	}
	info := v.own.Info()
	return info.Deterministic && info.BatchInvariant
}
