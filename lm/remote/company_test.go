package remote

import (
	"bytes"
	"sync"

	"github.com/sotto-dp/sotto/lm"
)

// company is what a toy knows of the records that its prompts are about. A prompt has its record
// after [recordMark].
type company struct {
	mu sync.Mutex
	// inside counts the prompts of each record that are computed now.
	inside map[string]int
	// met: prompts of two records were computed at the same time. Highest is the largest number of
	// prompts of one record that were.
	met     bool
	highest int
	// last is the record of the last prompt, and before the one before that.
	last, before string
	// leaks, if set, moves scores by the record that came before.
	leaks func(before string) float64
	// running: Ollama has a model in memory, by the prompts of warm. Mixed: those of another
	// record were in it.
	running, mixed, stuck bool
	unloads               int
}

const (
	recordMark   = "record "
	toyForbidden = "forbidden"
)

// recordOf is the record that a prompt is about, "" if none.
func recordOf(prompt []lm.Token) string {
	var b []byte
	for _, t := range prompt {
		if t < toyBytes {
			b = append(b, byte(t))
		}
	}
	if _, after, ok := bytes.Cut(b, []byte(recordMark)); ok {
		return string(after[:min(1, len(after))])
	}
	if _, after, ok := bytes.Cut(b, []byte("Message: the parcel came late")); ok && len(after) > 0 {
		return "first"
	}
	if bytes.Contains(b, []byte("40417")) {
		return "second"
	}
	if bytes.Contains(b, []byte("hums")) {
		return "third"
	}
	return ""
}

func (c *company) enter(prompts [][]lm.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside == nil {
		c.inside = map[string]int{}
	}
	for _, p := range prompts {
		r := recordOf(p)
		if c.inside[r]++; len(c.inside) > 1 {
			c.met = true
		}
		c.highest = max(c.highest, c.inside[r])
		if c.running && c.last != r {
			c.mixed = true
		}
		if r != c.last {
			c.last, c.before = r, c.last
		}
		c.running = true
	}
}

func (c *company) leave(prompts [][]lm.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range prompts {
		r := recordOf(p)
		if c.inside[r]--; c.inside[r] == 0 {
			delete(c.inside, r)
		}
	}
}

// moved is by how much scores are moved now.
func (c *company) moved() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaks == nil {
		return 0
	}
	return c.leaks(c.before)
}

func (c *company) loaded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

func (c *company) unload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unloads++
	c.running = c.running && c.stuck
}

// fresh forgets what was seen.
func (c *company) fresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met, c.highest, c.mixed, c.unloads = false, 0, false, 0
}
