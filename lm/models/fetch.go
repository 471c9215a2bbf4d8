package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// diskError is an error of writing here, which no other source fixes.
type diskError struct{ error }

func (e *diskError) Unwrap() error { return e.error }

// tries is the maximal number of requests to a source without a single new byte.
const tries = 4

// from fetches a file from a source, retrying while that helps.
func (p *puller) from(ctx context.Context, f File, s source) error {
	part, err := openPart(ctx, p.options.Dir, f, p.options.faults.open)
	if err != nil {
		return &diskError{err}
	}
	p.meter.begin(p.entry.Title, f.Name, s.String(), part.size, f.Bytes)
	restarted := false
	for try := 1; ; try++ {
		before := part.size
		err := p.attempt(ctx, part, s)
		switch {
		case err == nil:
			if err := part.finish(); err != nil {
				return &diskError{err}
			}
			return nil
		case !restarted && (is[*HashError](err) && part.found > 0 || errors.Is(err, errBeyond)):
			// What an earlier run left may be wrong.
			restarted = true
			p.meter.note("what was fetched before does not fit; starting over")
			if err := part.reset(); err != nil {
				part.discard()
				return &diskError{err}
			}
			p.meter.begin(p.entry.Title, f.Name, s.String(), 0, f.Bytes)
			continue
		case is[*HashError](err):
			part.discard()
			return err
		}
		if is[*damageError](err) {
			part.found = part.size
		}
		if part.size > before {
			try = 1
		}
		if ctx.Err() != nil || is[permanentError](err) || is[*SpaceError](err) || is[*diskError](err) || try == tries {
			part.leave()
			return err
		}
		p.meter.note("%s: %v; trying again", s, err)
		pause(ctx, p.options.faults.pause, try, err)
	}
}

// pause waits before another try: twice as long after each, and at least as long as a
// server asked for.
func pause(ctx context.Context, first time.Duration, try int, failed error) {
	wait := first << (try - 1)
	if b, ok := errors.AsType[busyError](failed); ok {
		wait = max(wait, b.after)
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// attempt appends to a part what it lacks, and checks it.
func (p *puller) attempt(ctx context.Context, part *part, s source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !part.whole() {
		if err := p.append(ctx, part, s); err != nil {
			return err
		}
	}
	return part.check(s.String())
}

func (p *puller) append(ctx context.Context, part *part, s source) error {
	if err := p.roomFor(s.room(part.file, part.size)); err != nil {
		return err
	}
	in, err := s.open(ctx, part.file, part.size)
	if err != nil {
		return err
	}
	defer in.Close()
	if in.start != part.size {
		if err := part.reset(); err != nil {
			return &diskError{err}
		}
		p.meter.begin(p.entry.Title, part.file.Name, s.String(), 0, part.file.Bytes)
	}
	total := part.file.Bytes
	if total == 0 && in.total > 0 {
		total = in.total
		if err := p.roomFor(total - part.size); err != nil {
			return err
		}
		p.meter.current.Total = total
	}
	return p.copy(part, in, total)
}

// copy appends until a total number of bytes, or to the end if it is not known.
// What follows the total does not matter: the hash decides.
func (p *puller) copy(part *part, in io.Reader, total int64) error {
	buffer := make([]byte, 256<<10)
	for {
		n, err := in.Read(buffer)
		if total > 0 && part.size+int64(n) > total {
			n, err = int(total-part.size), io.EOF
		}
		if _, err := part.Write(buffer[:n]); err != nil {
			return &diskError{fmt.Errorf("write %s: %w", part.file.Name, err)}
		}
		p.meter.at(part.size)
		if err == io.EOF {
			if total > 0 && part.size < total {
				return fmt.Errorf("the connection ended after %d of %d bytes", part.size, total)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// roomFor refuses a download that the disk has no room for.
func (p *puller) roomFor(bytes int64) error {
	const slack = 16 << 20
	free := p.options.faults.free(p.options.Dir)
	if bytes <= 0 || free < 0 || free >= bytes+slack {
		return nil
	}
	return &SpaceError{Dir: p.options.Dir, Need: bytes, Free: free}
}
