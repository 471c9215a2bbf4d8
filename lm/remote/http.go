package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

const (
	// maxReply bounds answers whose size does not follow from the request.
	maxReply = 16 << 20
	// maxErrorReply bounds what is read of an error's answer.
	maxErrorReply = 64 << 10
	// maxBackoff times the first backoff is the longest wait.
	maxBackoff = 100
	// maxWait is the longest wait that a server may request.
	maxWait = 2 * time.Minute
	// attemptsTime times the limit of one attempt is the limit of all together.
	attemptsTime = 3
)

// wire sends requests: one pool of connections, bounded in number, with retries.
type wire struct {
	backend string // for errors
	client  *http.Client
	base    *url.URL
	root    string // the path of base without an ending /v1
	header  http.Header
	options Options
	slots   chan struct{} // one for each request at a time
	life    context.Context
	end     context.CancelFunc
}

func newWire(o Options, base *url.URL, key string) *wire {
	w := &wire{backend: string(o.Dialect), base: base, options: o, slots: make(chan struct{}, o.Concurrency)}
	if w.backend == "" {
		w.backend = "the server"
	}
	w.life, w.end = context.WithCancel(context.Background())
	path := strings.TrimRight(base.Path, "/")
	w.root = strings.TrimSuffix(path, "/v1")
	w.header = http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "User-Agent": {"sotto"}}
	if key != "" {
		if o.Dialect == Azure {
			w.header.Set("Api-Key", key)
		} else {
			w.header.Set("Authorization", "Bearer "+key)
		}
	}
	w.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                 o.proxy(),
			DialContext:           (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:   20 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   o.Concurrency,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != base.Host || next.URL.Scheme != base.Scheme || len(via) > 5 {
				return errRedirect
			}
			return nil
		},
	}
	return w
}

func (w *wire) close() {
	w.end()
	w.client.CloseIdleConnections()
}

// query is one request.
type query struct {
	method string // "" is POST
	path   string
	body   any
	// limit bounds the answer; 0 is maxReply.
	limit int64
	// work is the maximal number of tokens that the model has to read and write: a request
	// with more of them may take longer.
	work int
	// alone: the caller holds the server's whole lock. The request is sent once.
	alone bool
}

// text sends a request and reads the answer as it is.
func (w *wire) text(ctx context.Context, q query) (text []byte, err error) {
	err = w.try(ctx, q, func(r *http.Response) error {
		text, err = w.body(q, r)
		return err
	})
	return text, err
}

// body reads an answer of bounded size.
func (w *wire) body(q query, r *http.Response) ([]byte, error) {
	q.limit = cmp.Or(q.limit, maxReply)
	body, err := io.ReadAll(io.LimitReader(r.Body, q.limit+1))
	if err == nil && int64(len(body)) > q.limit {
		err = w.reply(q.path, fmt.Sprintf("the answer is longer than %d bytes", q.limit))
	}
	return body, err
}

// ask sends a request and reads the answer, which must be JSON, into out.
func (w *wire) ask(ctx context.Context, q query, out any) error {
	return w.try(ctx, q, func(r *http.Response) error {
		body, err := w.body(q, r)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, out); err != nil {
			// The error of the decoder would repeat pieces of the answer.
			return w.reply(q.path, "it is not the JSON that the interface describes")
		}
		return nil
	})
}

func (w *wire) get(ctx context.Context, path string, out any) error {
	return w.ask(ctx, query{method: http.MethodGet, path: path}, out)
}

func (w *wire) reply(path, why string) *ReplyError {
	return &ReplyError{Backend: w.backend, Path: path, Why: why}
}

// attemptTimeout returns how long one attempt at a request may take: the timeout, and as much
// again for each patientTokens that the model has to process.
func (w *wire) attemptTimeout(q query) time.Duration {
	return w.options.Timeout + time.Duration(float64(w.options.Timeout)*float64(q.work)/tokensPerTimeout)
}

// tokensPerTimeout is 100 a second at the default timeout.
const tokensPerTimeout = 30_000

// try sends a request until read has got a good answer, or no attempt or time is left. A
// server that sends a byte now and then gets no more time than a silent one.
func (w *wire) try(ctx context.Context, q query, read func(*http.Response) error) error {
	var body []byte
	if q.body != nil {
		var err error
		if body, err = json.Marshal(q.body); err != nil {
			return errors.New("a request cannot be written as JSON")
		}
	}
	retries := w.options.Retries
	if q.alone {
		retries = 0
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, attemptsTime*w.attemptTimeout(q))
	defer cancel()
	for attempt := 1; ; attempt++ {
		if err := w.over(caller); err != nil {
			return err
		}
		next, err := w.attempt(ctx, q, body, read)
		if err == nil {
			return nil
		}
		if over := w.over(caller); over != nil {
			return over
		}
		if ctx.Err() != nil { // the time of all attempts is up
			late := &ConnectionError{Backend: w.backend, Path: q.path, Why: "it took too long, all attempts together", Err: os.ErrDeadlineExceeded}
			err, next = late, retry{}
		}
		switch e := err.(type) {
		case *StatusError:
			e.Attempts = attempt
		case *ConnectionError:
			e.Attempts = attempt
		}
		if !next.worth || attempt > retries {
			return err
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < next.wait {
			return err // it requests a longer wait than there is time
		}
		if err := w.pause(caller, attempt, next.wait); err != nil {
			return err
		}
	}
}

// over returns the reason why nothing more should be sent, if any.
func (w *wire) over(ctx context.Context) error {
	if w.life.Err() != nil {
		return lm.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("waiting for %s: %w", w.backend, err)
	}
	return nil
}

// retry decides whether one more attempt is worth it, and how long the server wants it
// delayed.
type retry struct {
	worth bool
	wait  time.Duration
}

func (w *wire) attempt(ctx context.Context, q query, body []byte, read func(*http.Response) error) (retry, error) {
	if !q.alone {
		lock := serverLock(w.base)
		if err := lock.Acquire(ctx, 1); err != nil {
			return retry{}, err
		}
		defer lock.Release(1)
		select {
		case w.slots <- struct{}{}:
			defer func() { <-w.slots }()
		case <-ctx.Done():
			return retry{}, ctx.Err()
		case <-w.life.Done():
			return retry{}, lm.ErrClosed
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.attemptTimeout(q))
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	target := *w.base
	target.Path = q.path
	request, err := http.NewRequestWithContext(ctx, cmp.Or(q.method, http.MethodPost), target.String(), bytes.NewReader(body))
	if err != nil {
		return retry{}, errors.New("a request cannot be made from the server's URL")
	}
	request.Header = w.header.Clone()
	// Not sent, but tells net/http that it may send a request again over a new
	// connection if the server has closed the idle one.
	request.Header["Idempotency-Key"] = nil
	if q.alone { // nor must it: both might be computed side by side
		delete(request.Header, "Idempotency-Key")
		request.Close = true
	}
	response, err := w.client.Do(request)
	if err != nil {
		return w.broken(q.path, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		// A body that breaks off or never ends changes nothing about the status.
		reply, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorReply))
		e := statusError(w.backend, q.path, response.StatusCode, reply)
		e.Wait = retryAfter(response.Header.Get("Retry-After"), time.Now())
		return retry{transient(e.Status) && e.Wait <= maxWait, e.Wait}, e
	}
	err = read(response)
	var final *ReplyError
	var stop *stopError
	if err == nil || errors.As(err, &final) || errors.As(err, &stop) {
		return retry{}, err
	}
	return w.broken(q.path, err)
}

func (w *wire) broken(path string, err error) (retry, error) {
	e, worth := connectionError(w.backend, path, err)
	return retry{worth: worth}, e
}

// transient reports failures that may be gone at the next attempt. All requests only read, so
// sendOptions one twice does no harm.
func transient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter reads the header of that name: seconds or a date. 0 means none.
func retryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// pause waits before another attempt: uniformly below a bound that doubles, so that many
// clients of a server that was down do not come back at once, and never less than the
// server requested.
func (w *wire) pause(ctx context.Context, attempt int, wish time.Duration) error {
	bound := w.options.Backoff << min(attempt-1, 20)
	if longest := w.options.Backoff * maxBackoff; bound > longest || bound <= 0 {
		bound = longest
	}
	wait := wish
	if n, err := rand.Int(rand.Reader, big.NewInt(int64(bound)+1)); err == nil {
		wait += time.Duration(n.Int64())
	}
	return w.sleep(ctx, wait)
}

// sleep waits unless there is nothing left to wait for.
func (w *wire) sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-w.life.Done():
	}
	return w.over(ctx)
}
