package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/llamaserver"
	"github.com/sotto-dp/sotto/lm"
)

// serverSetup is how llama.cpp's server is started and asked.
type serverSetup struct {
	llamaserver.Setup
	// pinned: the questions of a prefix go to its own slots, one request each. Otherwise
	// all are in one request, and the server looks for the slot with the longest match.
	pinned bool
}

func (s serverSetup) String() string {
	if s.pinned {
		return s.Setup.String() + ", each prefix in slots of its own"
	}
	return s.Setup.String() + ", one request for all questions"
}

// changes to the way of serving that are tried, one kind after the other.
var changes = []func(serverSetup) []serverSetup{
	func(s serverSetup) []serverSetup { s.Flash = !s.Flash; return []serverSetup{s} },
	func(s serverSetup) (list []serverSetup) {
		for _, n := range []int{4, 16, 32} {
			s.Slots = n
			list = append(list, s)
		}
		return list
	},
	func(s serverSetup) []serverSetup { s.Unified = !s.Unified; return []serverSetup{s} },
	func(s serverSetup) (list []serverSetup) {
		for _, n := range []int{256, 1024} {
			s.Batch = n
			list = append(list, s)
		}
		return list
	},
	func(s serverSetup) []serverSetup { s.pinned = !s.pinned; return []serverSetup{s} },
	func(s serverSetup) []serverSetup { s.Repack = !s.Repack; return []serverSetup{s} },
	func(s serverSetup) []serverSetup { s.Reuse = !s.Reuse; return []serverSetup{s} },
}

// serverSide is llama.cpp's server as a side. It answers the task questions alone.
type serverSide struct {
	ctx            context.Context
	name           string
	program, model string
	threads        int
	best           serverSetup
	running        *llamaserver.Server
}

func startServed(ctx context.Context, name string, s settings, model string) *serverSide {
	first := serverSetup{llamaserver.Setup{Slots: questionPrefixes, Flash: true, Repack: s.repack, Batch: 512}, true}
	return &serverSide{ctx: ctx, name: name, program: s.server, model: model, threads: s.threads, best: first}
}

func (s *serverSide) label() string { return s.name }

func (s *serverSide) tuned() bool { return true }

func (s *serverSide) stop() {
	if s.running != nil {
		s.running.Stop()
		s.running = nil
	}
}

func (s *serverSide) ask(t task) (answer, error) {
	switch t.Task {
	case "tune":
		return s.tune(*t.Of)
	case "questions":
		if err := s.start(s.best, t); err != nil {
			return answer{}, err
		}
		if err := s.running.Forget(s.ctx); err != nil {
			return answer{}, err
		}
		a, err := s.questions(s.best, t)
		a.Settings = s.best.String()
		return a, err
	case "peak":
		peak, err := s.running.PeakMB()
		return answer{PeakMB: peak}, err
	}
	return answer{}, fmt.Errorf("llama.cpp's server does not do %q", t.Task)
}

// start has the server run in this way.
func (s *serverSide) start(way serverSetup, t task) (err error) {
	if s.running != nil && s.running.Setup == way.Setup {
		return nil
	}
	s.stop()
	s.running, err = llamaserver.Start(s.ctx, s.program, s.model, s.threads, len(t.Prefixes[0])+len(t.Own[0]), way.Setup)
	return err
}

// sampled is how many questions of each prefix ways are tried on.
const sampled = 8

// tune changes one choice after the other, and stays with what is faster.
func (s *serverSide) tune(t task) (answer, error) {
	best := s.best
	shortest, err := s.estimate(best, t)
	if err != nil {
		return answer{}, err
	}
	tried := []answer{{Seconds: shortest, Settings: best.String()}}
	for _, change := range changes {
		for _, way := range change(best) {
			took, err := s.estimate(way, t)
			if err != nil {
				return answer{}, err
			}
			tried = append(tried, answer{Seconds: took, Settings: way.String()})
			if took < shortest {
				best, shortest = way, took
			}
		}
	}
	s.best = best
	s.stop() // so that its peak memory is that of the best way
	return answer{Seconds: shortest, Settings: best.String(), Tried: tried}, nil
}

// estimate returns the seconds of all questions from those of some: a first one in each
// slot, with the prefix, and a few more of each prefix.
func (s *serverSide) estimate(way serverSetup, t task) (float64, error) {
	if err := s.start(way, t); err != nil {
		return 0, err
	}
	if err := s.running.Forget(s.ctx); err != nil {
		return 0, err
	}
	each := len(t.Own) / len(t.Prefixes)
	first := min(max(1, way.Slots/len(t.Prefixes)), each/2)
	some := min(sampled, each-first)
	cold, err := s.questions(way, t.few(0, first))
	if err != nil {
		return 0, err
	}
	warm, err := s.questions(way, t.few(first, first+some))
	return cold.Seconds + warm.Seconds*float64(each-first)/float64(some), err
}

// job is a question for a slot.
type job struct {
	question int
	prompt   []lm.Token
}

// plan gives each slot its questions: those of whole prefixes where slots are fewer, a
// share of those of one prefix where they are more.
func plan(t task, slots int) [][]job {
	queues := make([][]job, slots)
	each, prefixes := len(t.Own)/len(t.Prefixes), len(t.Prefixes)
	shares := max(1, slots/prefixes)
	for i, own := range t.Own {
		p := i / each
		slot := p % slots
		if shares > 1 {
			slot = p + i%each%shares*prefixes
		}
		queues[slot] = append(queues[slot], job{i, slices.Concat(t.Prefixes[p], own)})
	}
	return queues
}

// questions asks all of them, from what the slots hold.
func (s *serverSide) questions(way serverSetup, t task) (answer, error) {
	a := answer{Values: make([][]float64, len(t.Own))}
	take := func(question int, got llamaserver.Answer) {
		a.Values[question] = got.Scores
		a.Computed += got.Computed
	}
	if !way.pinned {
		err := s.together(t, &a, take)
		return a, err
	}
	queues := plan(t, way.Slots)
	var mu sync.Mutex
	var wait sync.WaitGroup
	var failed error
	begin := time.Now()
	for slot := range queues {
		for range 2 { // one waits while one is computed
			wait.Go(func() {
				for {
					mu.Lock()
					if len(queues[slot]) == 0 || failed != nil {
						mu.Unlock()
						return
					}
					next := queues[slot][0]
					queues[slot] = queues[slot][1:]
					mu.Unlock()
					got, err := s.running.Ask(s.ctx, [][]lm.Token{next.prompt}, t.Candidates, slot)
					mu.Lock()
					if failed = errors.Join(failed, err); err == nil {
						take(next.question, got[0])
					}
					mu.Unlock()
				}
			})
		}
	}
	wait.Wait()
	a.Seconds = time.Since(begin).Seconds()
	return a, failed
}

// together asks all questions in one request, those of different prefixes by turns, so
// that slots at work hold different ones.
func (s *serverSide) together(t task, a *answer, take func(int, llamaserver.Answer)) error {
	each := len(t.Own) / len(t.Prefixes)
	var order []int
	for i := range t.Own {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(x%each, y%each) })
	prompts := make([][]lm.Token, len(order))
	for i, q := range order {
		prompts[i] = slices.Concat(t.Prefixes[q/each], t.Own[q])
	}
	begin := time.Now()
	got, err := s.running.Ask(s.ctx, prompts, t.Candidates, llamaserver.AnySlot)
	a.Seconds = time.Since(begin).Seconds()
	for i := range got {
		take(order[i], got[i])
	}
	return err
}
