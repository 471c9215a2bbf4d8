package chain

import (
	"fmt"
	"strconv"
	"strings"
)

// Checkpoint fixes a log up to one row. Kept away from the database, printed,
// signed or sent to someone, it shows later whether rows up to it were changed
// or removed.
type Checkpoint struct {
	// Log identifies the log: the hash of its first row.
	Log Hash
	Head
}

const checkpointPrefix = "sotto-ledger-checkpoint/1"

// String prints the checkpoint in one line.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s %s %d %s", checkpointPrefix, c.Log, c.Count, c.Hash)
}

// MarshalText implements [encoding.TextMarshaler].
func (c Checkpoint) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Checkpoint) UnmarshalText(text []byte) error {
	p, err := ParseCheckpoint(string(text))
	if err == nil {
		*c = p
	}
	return err
}

// ParseCheckpoint reads what [Checkpoint.String] prints.
func ParseCheckpoint(s string) (Checkpoint, error) {
	f := strings.Fields(s)
	if len(f) != 4 || f[0] != checkpointPrefix {
		return Checkpoint{}, fmt.Errorf("not a checkpoint: it should read %q followed by two hashes and a count", checkpointPrefix)
	}
	log, err := ParseHash(f[1])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	count, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || count < 1 {
		return Checkpoint{}, fmt.Errorf("checkpoint: the count %q should be a number above 0", f[2])
	}
	head, err := ParseHash(f[3])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	return Checkpoint{log, Head{count, head}}, nil
}

// Compare checks a row of the log against the checkpoint: the first row gives
// the log away, the checkpointed one its content.
func (c Checkpoint) Compare(r Row) error {
	if r.Seq == 1 && r.Hash != c.Log {
		return &TamperedError{1, "this is not the ledger that the checkpoint was taken of"}
	}
	if r.Seq == c.Count && r.Hash != c.Hash {
		return &TamperedError{r.Seq, "the row, or one before it, is not the one the checkpoint was taken of"}
	}
	return nil
}

// CompareEnd checks that a log that ends at head reaches the checkpoint.
func (c Checkpoint) CompareEnd(head Head) error {
	if head.Count < c.Count {
		return &TamperedError{head.Count + 1, fmt.Sprintf("the row is missing (at the checkpoint there were %d rows)", c.Count)}
	}
	return nil
}
