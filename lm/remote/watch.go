package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// others of vLLM: its counters show how many requests run, wait and have ended.
func (d *vllm) others(ctx context.Context, c *Client, _ bool) (w watcher, how lm.Isolation, do string, err error) {
	w, how, err = tryWatcher(ctx, c, d)
	return w, how, "keep its /metrics within reach; ", err
}

// tryWatcher tries a watcher out: there is none where the server does not show its work.
func tryWatcher(ctx context.Context, c *Client, w watcher) (watcher, lm.Isolation, error) {
	var status *StatusError
	var reply *ReplyError
	_, err := w.look(ctx, c)
	switch {
	case errors.As(err, &status), errors.As(err, &reply):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	return w, lm.Watched, nil
}

// look reads the counters, over all engines of the server, and whose they are: behind a
// balancer the next look may be at another replica, whose counters say nothing of ours.
func (d *vllm) look(ctx context.Context, c *Client) (snapshot, error) {
	path, text, err := c.counters(ctx)
	if err != nil {
		return snapshot{}, err
	}
	var s snapshot
	gauges, counters := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if began(lines.Text()) {
			s.rest += lines.Text() + "\n"
		}
	}
	for name, value := range metrics(text) {
		switch name {
		case "vllm:num_requests_running", "vllm:num_requests_waiting":
			gauges++
			s.busy += int(value)
		case "vllm:request_success_total":
			counters++
			s.ended += int64(value)
		}
	}
	if gauges < 2 || counters < 1 {
		return snapshot{}, c.wire.reply(path, "the counters of requests are not there")
	}
	return s, nil
}

// began reports whether a line has the moment at which a process, or its counters, began.
func began(line string) bool {
	return strings.HasPrefix(line, "process_start_time_seconds") || strings.HasPrefix(line, "vllm:request_success_created")
}

// counters returns the server's page of counters, and its path.
func (c *Client) counters(ctx context.Context) (path string, page []byte, err error) {
	path = c.wire.root + "/metrics"
	page, err = c.wire.text(ctx, query{method: http.MethodGet, path: path, alone: true})
	return path, page, err
}

// metrics are the counts of a page in Prometheus' format.
func metrics(page []byte) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for lines := bufio.NewScanner(bytes.NewReader(page)); lines.Scan(); {
			if name, value, ok := metric(lines.Text()); ok && !yield(name, value) {
				return
			}
		}
	}
}

// metric reads a line of Prometheus' format: a name, maybe labels, and a count.
func metric(line string) (name string, value float64, ok bool) {
	if strings.HasPrefix(line, "#") {
		return "", 0, false
	}
	end := strings.IndexAny(line, "{ ")
	if end < 0 {
		return "", 0, false
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		close := strings.LastIndexByte(rest, '}')
		if close < 0 {
			return "", 0, false
		}
		rest = rest[close+1:]
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, value, err == nil && value >= 0 && value < 1<<53 && value == math.Trunc(value)
}

// quiet: as many requests have ended as were sent, and none runs. A server counts a
// request a little after it has answered. Both looks have to be at the same server.
func (d *vllm) quiet(before, after snapshot, ours workload) (quiet, more bool) {
	return counted(before, after, ours.prompts)
}

// counted: as much has ended as was sent, and nothing else.
func counted(before, after snapshot, ours int64) (quiet, more bool) {
	if before.rest != after.rest {
		return false, false
	}
	ended := after.ended - before.ended
	return ended == ours && after.busy == 0, ended < ours || ended == ours && after.busy > 0
}

// others of llama.cpp: with one slot nobody runs beside; with several, each reports what it
// last worked on, and counters show how many tokens all have worked on.
func (d *llamacpp) others(ctx context.Context, c *Client, record bool) (w watcher, how lm.Isolation, do string, err error) {
	switch {
	case d.slots == 1:
		return nil, lm.OneSequence, "", nil
	case record:
		w, how, err = tryWatcher(ctx, c, llamaCounters{})
	default:
		w, how, err = tryWatcher(ctx, c, d)
	}
	return w, how, "start it with --metrics, which shows it; or, ", err
}

// llamaSlot is the slot of all queries that have to be alone.
const llamaSlot = 0

// look reads what the slots do. Anyone who uses another slot changes its task; anyone who uses
// ours has to wait for us, as we for them.
func (d *llamacpp) look(ctx context.Context, c *Client) (snapshot, error) {
	var slots []struct {
		ID   *int   `json:"id"`
		Task *int64 `json:"id_task"`
		Busy *bool  `json:"is_processing"`
	}
	path := c.wire.root + "/slots"
	if err := c.wire.ask(ctx, query{method: http.MethodGet, path: path, alone: true}, &slots); err != nil {
		return snapshot{}, err
	}
	var s snapshot
	var tasks []string
	ours, known := false, false
	for _, slot := range slots {
		if slot.ID == nil || slot.Busy == nil {
			return snapshot{}, c.wire.reply(path, "a slot does not say what it does")
		}
		if *slot.Busy {
			s.busy++
		}
		task := int64(-1) // none so far
		if slot.Task != nil {
			task = *slot.Task
			known = known || task >= 0
		}
		if *slot.ID == llamaSlot {
			ours = true
			continue
		}
		tasks = append(tasks, fmt.Sprintf("%d:%d", *slot.ID, task))
	}
	if !ours || len(slots) != d.slots {
		return snapshot{}, c.wire.reply(path, "there are not as many slots as it said")
	}
	if !known { // some have worked by now: it was asked for scores when it was reached
		return snapshot{}, c.wire.reply(path, "slots do not say what they have worked on")
	}
	slices.Sort(tasks)
	s.rest = strings.Join(tasks, " ")
	return s, nil
}

// quiet: the other slots have done nothing, and all are idle.
func (d *llamacpp) quiet(before, after snapshot, _ workload) (quiet, more bool) {
	same := after.rest == before.rest
	return same && after.busy == 0, same && after.busy > 0
}
