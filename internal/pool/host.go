package pool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/prompt"
)

// Open opens a model that writes, within a limit of time (0: [DefaultTime]).
func Open(ctx context.Context, spec backend.Spec, limit time.Duration) (lm.Model, error) {
	if limit <= 0 {
		limit = DefaultTime
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
		return nil, cause
	}
	return m, err
}

// NameOf returns what a server calls its model, fit for a file.
func NameOf(info lm.Info) string {
	const maxRunes = 100
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, models.NameOf(info))
	if r := []rune(name); len(r) > maxRunes {
		name = string(r[:maxRunes])
	}
	if strings.TrimSpace(name) == "" {
		return "a model without a name"
	}
	return name
}

// Variations are texts like those of winners, written between the rounds of a run.
type Variations struct {
	Task prompt.Task
	// Time bounds what is written after a round. Default: two minutes.
	Time time.Duration
	// Open returns the model that writes, when it is first needed, and what closes it. Required.
	Open func(context.Context) (lm.Model, func(), error)

	writer lm.Model
	closed func()
}

// After writes n texts after a round like examples, which were released; there may be fewer.
func (v *Variations) After(ctx context.Context, round int64, like []prompt.Example, n int) (_ []prompt.Example, err error) {
	if v.writer == nil {
		if v.writer, v.closed, err = v.Open(ctx); err != nil {
			return nil, err
		}
	}
	limit := v.Time
	if limit <= 0 {
		limit = 2 * time.Minute
	}
	list, _, err := (&Author{Model: v.writer, Task: v.Task, Time: limit, Seed: uint64(round)}).Like(ctx, like, n)
	return list, err
}

// Close closes the model, if it was opened.
func (v *Variations) Close() {
	if v.closed != nil {
		v.closed()
	}
}
