package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/sotto-dp/sotto/internal/rows/convert/pages"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// ReadRows reads rows from a file that ends in .parquet or else is JSONL. A file that does
// not exist has none. The last line of JSONL may be torn, as a program that was killed
// leaves it, and is then left out.
func ReadRows(path string) ([]Row, error) {
	if strings.HasSuffix(path, ".parquet") {
		return readParquet(path)
	}
	data, err := bounded.ReadFile(path, bounded.Huge)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	rows, _, err := parseRows(data)
	if err != nil {
		return nil, fmt.Errorf("read rows: %s: %w", path, err)
	}
	return rows, nil
}

// parseRows reads lines, and returns how many bytes of them are complete.
func parseRows(data []byte) (rows []Row, whole int, err error) {
	for number := 1; whole < len(data); number++ {
		line, rest, ended := bytes.Cut(data[whole:], []byte("\n"))
		next := len(data) - len(rest)
		if len(bytes.TrimSpace(line)) > 0 {
			var row Row
			if err := bounded.UnmarshalJSON(line, bounded.Large, &row); err != nil {
				if !ended {
					return rows, whole, nil
				}
				return nil, whole, fmt.Errorf("line %d is not a row (%w): remove it, and run the suite again", number, err)
			}
			rows = append(rows, row)
		}
		whole = next
	}
	return rows, whole, nil
}

// Log is a file of rows that grows while an evaluation runs. It may be used by several
// goroutines.
type Log struct {
	mu sync.Mutex
	f  *os.File
}

// OpenLog opens a file of rows to add to, and makes it if it is missing. A last line that
// is torn is removed. Close it.
func OpenLog(path string) (*Log, error) {
	// Two programs that add to one file must not write over each other's rows.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the rows: %w", err)
	}
	if err := mend(f); err != nil {
		return nil, errors.Join(fmt.Errorf("open the rows: %s: %w", path, err), f.Close())
	}
	return &Log{f: f}, nil
}

// mend leaves whole lines only, and the place for the next at the end.
func mend(f *os.File) error {
	data, err := bounded.Read(f, bounded.Huge)
	if err != nil {
		return err
	}
	_, whole, err := parseRows(data)
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(whole)); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if whole > 0 && data[whole-1] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

// Add appends rows, each on a line of its own.
func (l *Log) Add(rows ...Row) error {
	var b bytes.Buffer
	if err := encodeRows(&b, rows); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("add to the rows: %w", err)
	}
	return nil
}

// Close ends the log.
func (l *Log) Close() error { return l.f.Close() }

func encodeRows(w io.Writer, rows []Row) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			return fmt.Errorf("encode a row: %w", err)
		}
	}
	return nil
}

// WriteRows writes rows as JSONL, or as Parquet if the name ends in .parquet. A file of
// this name is replaced at once or not at all.
func WriteRows(path string, rows []Row) error {
	encode := encodeRows
	if strings.HasSuffix(path, ".parquet") {
		encode = func(w io.Writer, rows []Row) error {
			return parquet.Write(w, rows, parquet.Compression(&zstd.Codec{Level: zstd.SpeedBestCompression}))
		}
	}
	if err := durable.Replace(path, 0o644, func(w io.Writer) error { return encode(w, rows) }); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readParquet(path string) (rows []Row, err error) {
	defer func() {
		// The library panics on files that are damaged in some ways.
		if damage := recover(); damage != nil {
			rows, err = nil, fmt.Errorf("read rows: %s is damaged: remove it, and run the suite again", path)
		}
	}()
	if err = checkParquet(path); err == nil {
		rows, err = parquet.ReadFile[Row](path)
	}
	if err != nil {
		return nil, fmt.Errorf("read rows: %s: %w: remove it, and run the suite again", path, err)
	}
	for i := range rows {
		if len(rows[i].Settings) == 0 {
			rows[i].Settings = nil
		}
		if len(rows[i].Metrics) == 0 {
			rows[i].Metrics = nil
		}
		if len(rows[i].Items) == 0 {
			rows[i].Items = nil
		}
	}
	return rows, nil
}

// checkParquet checks a file before it is decoded.
func checkParquet(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return pages.Check(f, info.Size())
}
