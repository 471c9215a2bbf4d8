package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// maxLine bounds what is held of a stream.
const maxLine = 4 << 20

// lineBuffer is what is held of every stream.
const lineBuffer = 64 << 10

// readLine returns the next line of a stream, with its end. What is longer than the buffer is held
// before there is memory for it.
func readLine(lines *bufio.Reader, held *bounded.Reservation) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line)+len(part) > lineBuffer {
			if full := held.Add(int64(len(part))); full != nil {
				return nil, full
			}
		}
		line = append(line, part...)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxLine:
			return nil, errors.New("the line is too long")
		}
	}
}

// noteEvent adds the note to an event that is an object.
func noteEvent(line, note []byte) ([]byte, bool) {
	data, is := bytes.CutPrefix(line, []byte("data:"))
	object := bytes.TrimSpace(data)
	if !is || !bytes.HasPrefix(object, []byte("{")) || !json.Valid(object) {
		return line, false
	}
	end := line[len(bytes.TrimRight(line, "\r\n")):]
	return append(append([]byte("data: "), insert(object, "sotto", note)...), end...), true
}

// handStream passes events on as they come. The first that is an object gets the note.
func (h *Handler) handStream(w http.ResponseWriter, answer *http.Response, note []byte, held *bounded.Reservation) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(answer.StatusCode)
	control := http.NewResponseController(w)
	lines := bufio.NewReaderSize(answer.Body, lineBuffer)
	noted, within := false, false // an event
	for {
		held.Release() // the line before
		line, err := readLine(lines, held)
		if err != nil && !errors.Is(err, io.EOF) {
			h.cutShort(w, control, within)
			return
		}
		if !noted {
			line, noted = noteEvent(line, note)
		}
		if len(line) > 0 {
			within = len(bytes.TrimSpace(line)) > 0
			_ = control.SetWriteDeadline(time.Now().Add(h.WriteTimeout)) // not of every writer
			if _, failed := w.Write(line); failed != nil || !within && control.Flush() != nil {
				return
			}
			// With HTTP/2 a deadline counts though nothing is written.
			_ = control.SetWriteDeadline(time.Time{})
		}
		if err != nil {
			_ = control.Flush()
			return
		}
	}
}

// cutShort ends a stream whose upstream broke off: clients see an error event, and no end.
func (h *Handler) cutShort(w http.ResponseWriter, control *http.ResponseController, within bool) {
	data, err := marshal(struct {
		Error *Error `json:"error"`
	}{problem(0, serverSide, "", "", "the model's server broke its answer off: try again")})
	if err != nil {
		return
	}
	event := append(append([]byte("data: "), data...), '\n', '\n')
	if within {
		event = append([]byte("\n"), event...)
	}
	_ = control.SetWriteDeadline(time.Now().Add(h.WriteTimeout))
	_, _ = w.Write(event) // the client may be gone
}
