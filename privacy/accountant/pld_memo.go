package accountant

import (
	"sync"

	"github.com/sotto-dp/sotto/privacy"
)

// pldKey is all that an answer depends on. [privacy.Parse] reads the text of an event back
// to an equal event, so different events have different keys.
type pldKey struct {
	event     string
	adjacency privacy.Adjacency
	query     query
	tolerance float64
}

// pldAnswers remembers answers: one event is planned, charged, certified and checked, each
// time with the same question, and those that run the same job again plan the same again.
var pldAnswers struct {
	sync.Mutex
	known map[pldKey]privacy.Interval
}

// maxAnswers bounds the memory of pldAnswers; when it is full, it is emptied.
const maxAnswers = 1 << 12

// answer is evaluate, once.
func (p PLD) answer(e privacy.Event, adj privacy.Adjacency, q query) (privacy.Interval, error) {
	key := pldKey{e.String(), adj, q, p.tolerance()}
	a := &pldAnswers
	a.Lock()
	got, ok := a.known[key]
	a.Unlock()
	if ok {
		return got, nil
	}
	got, err := p.evaluate(e, adj, q)
	if err != nil {
		return got, err
	}
	a.Lock()
	defer a.Unlock()
	if a.known == nil || len(a.known) >= maxAnswers {
		a.known = map[pldKey]privacy.Interval{}
	}
	a.known[key] = got
	return got, nil
}
