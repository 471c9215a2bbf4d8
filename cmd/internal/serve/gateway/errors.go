package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Error is an error in OpenAI's shape.
type Error struct {
	// Status of the response.
	Status int `json:"-"`
	// Message says what to do. It holds nothing of the request's content.
	Message string `json:"message"`
	Type    string `json:"type"`
	// Param is the member of the request that is wrong, and Code what programs look at.
	Param *string `json:"param"`
	Code  *string `json:"code"`

	wait   time.Duration // before the next attempt
	final  bool          // another attempt would cost again
	charge string        // that stays
}

func (e *Error) Error() string { return e.Message }

// The types of errors that OpenAI's clients know.
const (
	invalidRequest = "invalid_request_error"
	authentication = "authentication_error"
	permission     = "permission_error"
	rateLimit      = "rate_limit_error"
	serverSide     = "api_error"
)

// problem makes an error; param and code may be "".
func problem(status int, kind, param, code, format string, args ...any) *Error {
	e := &Error{Status: status, Type: kind, Message: fmt.Sprintf(format, args...)}
	if param != "" {
		e.Param = &param
	}
	if code != "" {
		e.Code = &code
	}
	return e
}

// invalid is a problem of a member of the request.
func invalid(param, format string, args ...any) *Error {
	return problem(http.StatusBadRequest, invalidRequest, param, "", format, args...)
}

// write answers with the error.
func (e *Error) write(w http.ResponseWriter) {
	data, err := json.Marshal(struct {
		Error *Error `json:"error"`
	}{e})
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if e.final {
		w.Header().Set("X-Should-Retry", "false") // OpenAI's clients look at it
	}
	if e.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.wait.Seconds()))))
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(append(data, '\n')) // the client may be gone
}

// Unauthorized says that a request's key does not count.
func Unauthorized(message string) error {
	return problem(http.StatusUnauthorized, authentication, "", "invalid_api_key", "%s", message)
}

// Forbidden says that a request's key may not do this.
func Forbidden(message string) error {
	return problem(http.StatusForbidden, permission, "model", "", "%s", message)
}

// TooMany says that a key has made too many requests, and for how long to wait.
func TooMany(wait time.Duration) error {
	e := problem(http.StatusTooManyRequests, rateLimit, "", "rate_limit_exceeded", "the key has made more requests than it may: wait %.0f s", math.Ceil(wait.Seconds()))
	e.wait = wait
	return e
}

// busy says that too many others wait for a model.
func busy(wait time.Duration) error {
	e := problem(http.StatusTooManyRequests, rateLimit, "", "rate_limit_exceeded", "too many requests wait for this model: wait %.0f s", math.Ceil(wait.Seconds()))
	e.wait = wait
	return e
}
