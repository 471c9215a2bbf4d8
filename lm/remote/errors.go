package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// StatusError reports that a server refused a request.
//
// It holds nothing of the server's message: servers repeat prompts in those.
type StatusError struct {
	Backend string
	// Path of the request.
	Path   string
	Status int
	// Kind and Param are the server's name of the error and the parameter it blames, if
	// these are words that servers are known to use.
	Kind, Param string
	// Attempts that were made.
	Attempts int
	// Wait, if any, is the wait that the server requested.
	Wait time.Duration
}

func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s answered %s with %d %s", e.Backend, e.Path, e.Status, http.StatusText(e.Status))
	if e.Kind != "" {
		fmt.Fprintf(&b, " (%s)", e.Kind)
	}
	if e.Param != "" {
		fmt.Fprintf(&b, " about %q", e.Param)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, ", %d times", e.Attempts)
	}
	if e.Wait > 0 {
		fmt.Fprintf(&b, ", and asks to wait %v", e.Wait)
	}
	if hint := e.hint(); hint != "" {
		b.WriteString(": " + hint)
	}
	return b.String()
}

func (e *StatusError) hint() string {
	switch {
	case slices.Contains(contextKinds, e.Kind):
		return "the prompt and the text to write do not fit the model's context"
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return "check the key and what it is allowed to do"
	case e.Status == http.StatusNotFound:
		return "check the URL and the model's name"
	case e.Status == http.StatusTooManyRequests:
		return "the server limits requests: lower the concurrency, or wait"
	case e.Status == http.StatusRequestEntityTooLarge:
		return "the request is too large for the server"
	case e.Status >= 500:
		return "look into the server's log"
	case e.Status == http.StatusBadRequest:
		return "the server does not take this request; its own log says why"
	}
	return ""
}

// hasStatus reports whether a server refused a request with a status.
func hasStatus(err error, status int) bool {
	var refused *StatusError
	return errors.As(err, &refused) && refused.Status == status
}

// ConnectionError reports that no answer came.
type ConnectionError struct {
	Backend, Path string
	// Why explains it, without anything that the server sent.
	Why      string
	Attempts int
	// Err is the error behind it, where it is of a kind that holds no content.
	Err error
}

func (e *ConnectionError) Error() string {
	text := fmt.Sprintf("no answer from %s to %s: %s", e.Backend, e.Path, e.Why)
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	return text
}

func (e *ConnectionError) Unwrap() error { return e.Err }

// ReplyError reports an answer that violates the interface.
type ReplyError struct {
	Backend, Path string
	// Why explains it, without anything that the server sent.
	Why string
}

func (e *ReplyError) Error() string {
	return fmt.Sprintf("%s answered %s in a way that cannot be relied on: %s; is it another server, a proxy or another version?", e.Backend, e.Path, e.Why)
}

// Words that servers use for errors. Others are dropped: a message might be among
// them.
var (
	contextKinds = []string{"exceed_context_size_error", "context_length_exceeded"}
	errorKinds   = append([]string{
		"BadRequestError", "NotFoundError", "InternalServerError", "Bad Request", "Not Found",
		"invalid_request_error", "unavailable_error", "not_found_error", "not_supported_error",
		"authentication_error", "permission_error", "server_error", "rate_limit_error",
		"rate_limit_exceeded", "insufficient_quota", "invalid_api_key", "model_not_found",
		"unsupported_parameter", "unsupported_value", "content_filter", "DeploymentNotFound",
		"OperationNotSupported", "overloaded_error",
	}, contextKinds...)
	errorParams = []string{
		"model", "prompt", "messages", "max_tokens", "max_completion_tokens", "logprobs",
		"logprob_token_ids", "temperature", "top_p", "top_k", "seed", "stop", "input", "cache_salt",
	}
)

// statusError reads the allowed words out of an answer's body.
func statusError(backend, path string, status int, body []byte) *StatusError {
	e := &StatusError{Backend: backend, Path: path, Status: status}
	type details struct {
		Type  any `json:"type"`
		Code  any `json:"code"`
		Param any `json:"param"`
	}
	var answer struct {
		Error json.RawMessage `json:"error"`
		details
	}
	if json.Unmarshal(body, &answer) != nil {
		return e
	}
	reply := answer.details
	if len(answer.Error) > 0 {
		_ = json.Unmarshal(answer.Error, &reply) // a string there has no words we keep
	}
	for _, word := range []any{reply.Code, reply.Type} {
		if w, ok := word.(string); ok && e.Kind == "" && slices.Contains(errorKinds, w) {
			e.Kind = w
		}
	}
	if p, ok := reply.Param.(string); ok && slices.Contains(errorParams, p) {
		e.Param = p
	}
	return e
}

// errRedirect: the server redirects to another place.
var errRedirect = errors.New("the server redirects to another host or scheme, which is not followed because prompts and keys would go there: give the final URL")

// connectionError explains why a request failed without repeating what came over the wire.
// It also reports whether another attempt makes sense.
func connectionError(backend, path string, err error) (*ConnectionError, bool) {
	e := &ConnectionError{Backend: backend, Path: path}
	var dns *net.DNSError
	var timeout net.Error
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, errRedirect):
		e.Why, e.Err = errRedirect.Error(), errRedirect
		return e, false
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		e.Why = "its certificate is not valid for this host and time, or not signed by a known authority"
		return e, false
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		e.Why = "it does not speak TLS: should the URL begin with http://?"
		return e, false
	case errors.As(err, &dns):
		e.Why = "the host's name is not known"
		return e, dns.IsTemporary || dns.IsTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Why, e.Err = "the connection was refused: is the server running there?", syscall.ECONNREFUSED
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.Why, e.Err = "the connection broke", syscall.ECONNRESET
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Why, e.Err = "the connection ended in the middle", io.ErrUnexpectedEOF
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Why, e.Err = "it took too long", os.ErrDeadlineExceeded
	default:
		e.Why = "the connection failed, or what came back is not HTTP"
	}
	return e, true
}
