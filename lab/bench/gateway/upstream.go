package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

// The upstream is a stand-in for a model's server that answers at once, or after a delay, so that
// what is measured is what lies between. A word in the question has it fail.
const (
	answered = `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"big","choices":[{"index":0,"message":{"role":"assistant","content":"billing %09d"},"finish_reason":"stop"}],"usage":{"prompt_tokens":200,"completion_tokens":2,"total_tokens":202}}`
	piece    = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"big","choices":[{"index":0,"delta":{"content":"billing "},"finish_reason":null}]}` + "\n\n"
	ending   = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"big","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	pieces   = 20
)

// serveUpstream serves at an address until the program ends.
func serveUpstream(listen string, delay time.Duration) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		// Answers of a model take different times, and do not come in step.
		began := time.Now()
		time.Sleep(delay/2 + time.Duration(rand.Int64N(int64(delay)+1)))
		stream := bytes.Contains(body, []byte(`"stream":true`))
		fault := ""
		for _, word := range faults {
			if bytes.Contains(body, []byte("fault-"+word)) {
				fault = word
			}
		}
		respond(w, stream, fault, fmt.Sprintf(answered, time.Since(began)))
	}))
}

// faults are the ways in which the upstream fails.
var faults = []string{"dies", "slow", "malformed", "refuses", "cut", "endless"}

// respond answers, or fails. An answer says how many nanoseconds the upstream thought.
func respond(w http.ResponseWriter, stream bool, fault, answer string) {
	switch fault {
	case "dies":
		panic(http.ErrAbortHandler) // the connection ends
	case "slow":
		time.Sleep(2 * time.Second)
	case "refuses":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "<html>busy</html>")
		return
	}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		switch fault {
		case "malformed":
			fmt.Fprint(w, answer[:len(answer)/2])
		case "cut", "endless":
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			fmt.Fprint(w, answer[:len(answer)/2])
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprint(w, answer)
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for i := range pieces {
		text := piece
		if fault == "malformed" && i == 3 {
			text = "data: {" + strings.Repeat("x", 100) + "\n\n"
		}
		if fault == "endless" && i == 3 {
			text = "data: " + strings.Repeat("x", 8<<20)
		}
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return
		}
		if fault == "cut" && i == pieces/2 {
			panic(http.ErrAbortHandler)
		}
	}
	_, _ = io.WriteString(w, ending) // the other side may be gone
}
